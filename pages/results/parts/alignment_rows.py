"""Agreement of each judge with people, compared with the human ceiling, as a section of the page Judges."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from operator import itemgetter
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from core.formats.tables import Column, Form, Table
from core.provenance import INTERVALS
from core.statistics.data.frames import ALL
from core.statistics.reports.alignment import AlignmentRow
from core.wording import NO_SCENARIO, format_n, group_by_note, list_names, scenario_group
from pages.parts import charts, numbers, resources, shell
from pages.parts.text import escape_markdown, truncate
from pages.results.parts import alignment_data, item_drilldown
from pages.results.renderer import Cell, Drawn, Intervals, Mark, Matrix, Result, draw_chart
from storage.reports import alignment, disagreements, judge_costs
from storage.reports.disagreements import NO_MAJORITY, NO_VERDICT, Drilldown, JudgeQuery, JudgeValues, OpinionChanges
from storage.reports.disagreements import Matrix as Counts
from storage.reports.judge_ranking import RankingQuery
from storage.reports.references import ADJUDICATED, BY_PEOPLE, Reference
from storage.studies.studies import Study

# Every statistic of every judge, of all targets and by scenario if that is drawn, and the cost of each judge.
Report = tuple[list[AlignmentRow], dict[str, judge_costs.RunCost]]
MAJORITY_SUFFIX = "_majority"
# Share of targets without a verdict above which the values of a judge are of targets that it chose.
MAX_NO_VERDICT = 0.05
# Judges whose comparison with the human ceiling is in the first sentence; the table has all.
MAX_COMPARISONS = 2
# The kind of rows about whole critiques, which count critiques and have no raters.
CRITIQUE_KIND = "aiu"


@dataclass(frozen=True)
class View:
    """A statistic that can be drawn, and what is shown with it."""

    name: str
    legend: str
    """The judge and its reference."""
    columns: Mapping[str, str]
    """The statistics of the table and their headings."""
    others: Mapping[str, str] = field(default_factory=dict)
    """Statistics that are drawn below it, with their names in the legend."""
    difference: str = ""
    """The statistic of the judge minus the human ceiling, if there is one."""


def _views(
    names: Mapping[str, str], noun: str, columns: Mapping[str, str], suffix: str, drawn_with: str
) -> dict[str, View]:
    """Return statistics (id -> name) of agreement with people; that of the human ceiling is drawn with one of them."""
    ceiling = {
        f"judge_against_others{suffix}": "judge with the others, one person left out in turn",
        f"human_ceiling{suffix}": "that person with the others: human ceiling",
    }
    table = {f"human_ceiling{suffix}": "Human ceiling", f"judge_less_ceiling{suffix}": "Judge − ceiling"}
    table |= {"advantage_probability": "Advantage", "winning_rate": "Winning rate"}
    return {
        statistic: View(
            f"{name} with {noun}",
            f"judge with {noun}",
            {**columns, **({statistic: name} if "quadratic" in statistic else {}), **table},
            ceiling if statistic == drawn_with else {},
            f"judge_less_ceiling{suffix}",
        )
        for statistic, name in names.items()
    }


def _category_views(reference: str, noun: str) -> dict[str, View]:
    """Return the statistics of categories, with the majority or the reference."""
    accuracy, kappa, quadratic = (
        f"{name}_{reference}" for name in ("accuracy", "cohen_kappa", "cohen_kappa_quadratic")
    )
    names = {accuracy: "Accuracy", kappa: "Cohen's kappa", quadratic: "Quadratic kappa"}
    return _views(names, noun, {accuracy: "Accuracy", kappa: "Kappa"}, "", "accuracy_majority")


CORRELATIONS = {"spearman": "Spearman's rho", "pearson": "Pearson's r", "kendall_tau_b": "Kendall's tau-b"}
SHORT = {"spearman": "Spearman", "pearson": "Pearson", "kendall_tau_b": "Tau-b"}
SCORES = {"f1_macro": "F1", "precision_macro": "Precision", "recall_macro": "Recall"}
DISTANCES = {"weights_distance": "Distance", "rank_distance": "Rank distance"}
# The statistics that can be drawn, in the order of `available_statistics`.
VIEWS: Mapping[str, View] = {
    **_views(CORRELATIONS, "the reference", SHORT, "_spearman", "spearman"),
    **_category_views("majority", "the majority"),
    **_category_views("gold", "the reference"),
    **{
        name: View(
            f"{title}, mean over critiques",
            "by the judge's verdicts",
            SCORES,
            {f"{name}_people": "by people's verdicts"},
        )
        for name, title in SCORES.items()
    },
    "weights_distance": View("Weight distance, 0 is equal", "judge from people", DISTANCES),
    "rank_distance": View("Rank distance, 0 is the same order", "judge from people", DISTANCES),
}


@dataclass(frozen=True)
class Line:
    """The statistics of a judge by their name, of all targets or of a scenario."""

    judge: str
    group: str
    rows: Mapping[str, AlignmentRow]
    cost: judge_costs.RunCost | None = None

    def has(self, statistic: str) -> bool:
        """Return whether a statistic has a value."""
        return statistic in self.rows and self.rows[statistic].value is not None

    @property
    def no_verdict(self) -> float:
        """The share of the targets without a verdict."""
        row = self.rows.get("no_verdict_rate")
        return 0.0 if row is None else row.value or 0.0

    @property
    def often_abstains(self) -> bool:
        """Whether a judge has no verdict on so many targets that its values cannot be compared with others'."""
        return self.no_verdict > MAX_NO_VERDICT


@dataclass(frozen=True)
class AlignmentQuery(RankingQuery):
    """The choices of the page, with those of the figures that are computed."""

    by_scenario: bool = False

    @property
    def group(self) -> str:
        """The group of the rows of the chosen scenario, or of all."""
        return ALL if self.scenario is None else scenario_group(self.scenario)


def choose(query: RankingQuery | None) -> AlignmentQuery | None:
    """Draw the choice of figures by scenario next to those of the page."""
    if query is None:
        return None
    by_scenario = st.toggle("By scenario", key="by_scenario", bind="query-params")
    return AlignmentQuery(**vars(query), by_scenario=by_scenario)


def compute(study: Study, data: alignment.AlignmentData, query: AlignmentQuery) -> Report:
    """Return the statistics of all kinds and criteria: the file of the table has all."""
    engine = resources.engine()
    rows = alignment.rows_of(engine, study, data)
    if query.scenario is not None or query.by_scenario:
        rows = rows + alignment.rows_of(engine, study, data, "scenario")
    return rows, resources.read(judge_costs.cost_by_judge, study.id, data.opinions)


def show(study: Study, data: alignment.AlignmentData, query: AlignmentQuery, report: Report) -> Result | str:
    """Draw the choice of the statistic; returns its chart, its notes and the table."""
    rows, costs = report
    with st.container(horizontal=True, vertical_alignment="bottom"):
        has_first = any(alignment.FIRST_OPINION in row.judge for row in rows if row.kind == query.kind)
        include_first = has_first and st.toggle("First opinions", key="firsts", bind="query-params")
        lines = make_lines(rows, costs, query, include_first=include_first)
        gold = data.gold[(data.gold["kind"] == query.kind) & (data.gold["source"] == ADJUDICATED)]
        of_criterion = gold if query.criterion == ALL else gold[gold["criterion"] == query.criterion]
        statistics = available_statistics(lines, data.reference, adjudicated=len(of_criterion) > 0)
        if not statistics:
            return "No statistic of these values can be drawn. The command judges alignment has every figure."
        titles = {VIEWS[name].name: name for name in statistics}
        statistic = titles[alignment_data.choose("Statistic", list(titles), "statistic")]
    view = VIEWS[statistic]
    shown = sort_lines(
        [line for line in lines if query.by_scenario or line.group == query.group], statistic, query.group
    )
    of_all = [line for line in shown if line.group == query.group]
    cells = [table_line(line, statistic, by_scenario=query.by_scenario) for line in shown]
    forms: dict[str, Form] = dict.fromkeys(("Judge", "Scenario", "Undefined"), "text")
    columns = [Column(title, itemgetter(title), forms.get(title, "figure")) for title in (cells[0] if cells else ())]
    table = Table("alignment", cells, columns, rows)
    if not any(line.has(name) for line in shown for name in VIEWS):
        items = numbers.format_count(data.opinions["item"].nunique(), "item")
        return Result(headline=f"The judges have opinions on {items}, none of which has labels.", tables=[table])
    return Result(
        headline=" ".join(list(filter(None, (compare_with_ceiling(line, view) for line in of_all)))[:MAX_COMPARISONS]),
        warning=data.choices.note(query.kind, query.criterion, one_scenario=query.scenario is not None),
        caption="\n\n".join(describe(of_all, statistic)),
        figures=[chart("alignment", of_all, statistic, lambda line: line.judge)],
        notes=list_notes(of_all, statistic),
        tables=[table],
        on_click=lambda row, _: select_judge(shown[row].judge),
    )


def draw_differences(study: Study, data: alignment.AlignmentData, query: AlignmentQuery, report: Report) -> None:
    """Draw where one judge differs from people, and its figures in each scenario if they are chosen."""
    lines = make_lines(*report, query, include_first=bool(st.session_state.get("firsts")))
    statistics = available_statistics(lines, data.reference, adjudicated=False)
    if not statistics:
        return
    chosen = st.session_state.get("statistic")
    statistic = next((name for name in statistics if VIEWS[name].name == chosen), statistics[0])
    ordered = sort_lines([line for line in lines if line.group == query.group], statistic, query.group)
    judge = choose_judge(study, [line.judge for line in ordered], query.kind)
    if judge is None:
        return
    own = [line for line in lines if line.judge == judge and line.group != ALL]
    by_scenario = chart("scenarios", own, statistic, lambda line: line.group or NO_SCENARIO)
    if query.by_scenario and by_scenario.marks:
        draw_chart(by_scenario, f"{judge}, by scenario")
    draw_values(study, data, query, judge)


def select_judge(judge: str | None) -> None:
    """Select every item on which a judge differs from people; None closes the selection."""
    if judge is not None:
        st.session_state["judge"] = judge
    item_drilldown.pick(cell=None if judge is None else ALL_DIFFERENCES, change=None)


def make_lines(
    rows: Iterable[AlignmentRow], costs: Mapping[str, judge_costs.RunCost], query: RankingQuery, *, include_first: bool
) -> list[Line]:
    """Return the statistics of a kind and criterion by judge and group, with first opinions only on request."""
    by_place: dict[tuple[str, str], dict[str, AlignmentRow]] = {}
    for row in rows:
        if (row.kind, row.criterion) == (query.kind, query.criterion):
            by_place.setdefault((row.judge, row.group), {})[row.statistic] = row
    return [
        Line(judge, group, found, costs.get(judge))
        for (judge, group), found in by_place.items()
        if include_first or alignment.FIRST_OPINION not in judge
    ]


def available_statistics(lines: Sequence[Line], reference: Reference, *, adjudicated: bool) -> list[str]:
    """Return the statistics that at least one judge has, in the order of `VIEWS`; the first one is the default.

    Those with people's majority are left out if something else than people's decisions is the reference. They are
    last if the reference is gold with adjudicated values, which differs from the majority; without them the majority
    is the same and also has the human ceiling. An open page stays at its statistic when the first adjudication is
    stored: what a reader looks at does not change by another person's decision.
    """
    names = {name for line in lines for name in line.rows}
    if reference.type not in ("gold", "majority"):
        names = {name for name in names if not name.endswith(MAJORITY_SUFFIX)}
    ordered = [name for name in VIEWS if name in names]
    if reference.type == "gold" and adjudicated:
        ordered.sort(key=lambda name: name.endswith(MAJORITY_SUFFIX))
    return ordered


def sort_lines(lines: Sequence[Line], statistic: str, first_group: str) -> list[Line]:
    """Return the judges, each followed by its scenarios in order of name.

    The best is first; then those that often have no verdict, whose values are of the targets that they decided; then
    those without a value.
    """
    direction = 1 if statistic in DISTANCES else -1
    by_judge = {line.judge: line for line in lines if line.group == first_group}

    def sort_key(line: Line) -> tuple[bool, bool, float, str, bool, str]:
        of_all = by_judge.get(line.judge, line)
        value = of_all.rows[statistic].value if statistic in of_all.rows else None
        place = line.judge, line.group != first_group, line.group
        return value is None, of_all.often_abstains, direction * (value or 0.0), *place

    return sorted(lines, key=sort_key)


def chart(name: str, lines: Sequence[Line], statistic: str, name_of: Callable[[Line], str]) -> Intervals:
    """Return a row for each judge or scenario, with the human ceiling if the statistic has one."""
    view, opens = VIEWS[statistic], name == "alignment"
    drawn = {statistic: view.legend, **view.others}
    points = [
        (line, line.rows[shown], legend)
        for line in lines
        if line.has(statistic)
        for shown, legend in drawn.items()
        if line.has(shown)
    ]
    marks = [
        Mark(
            name_of(line), row.value or 0.0, row.low, row.high, legend, f"{line.rows[statistic].items:,}",
            describe_line(line, statistic), line.judge if opens else None,
        )
        for line, row, legend in points
    ]  # fmt: skip
    series = list(zip(drawn.values(), ("circle", "circle-open", "line-ns-open"), strict=False))
    return Intervals(
        name, view.name, "Value and 95 % interval", series, marks, data=charts.ChartData([row for _, row, _ in points]),
        on_select=(lambda: select_judge(charts.clicked_point(name))) if opens else None,
        selected=st.session_state.get("judge", st.query_params.get("judge")) if "cell" in st.query_params else None,
    )  # fmt: skip


def unit_name(kind: str, criterion: str = "") -> str:
    """Return the unit that the rows of a kind count; several criteria of an item are several targets."""
    unit = "target" if criterion == ALL else "item"
    return {CRITIQUE_KIND: "critique", "aiu_precision": "AIU", "aiu_recall": "AIU"}.get(kind, unit)


def describe_line(line: Line, statistic: str) -> str:
    """Return `24 items · 3 annotators · no verdict 2.5 % · $1.20 per 1,000`."""
    row = line.rows[statistic]
    parts = [numbers.format_count(row.items, unit_name(row.kind, row.criterion))]
    parts += [numbers.format_count(row.raters, "annotator")] if row.raters and row.kind != CRITIQUE_KIND else []
    if line.has("no_verdict_rate"):
        parts.append(f"no verdict {round(100 * line.no_verdict, 1):g} %")
    if line.cost is not None and line.cost.dollars_per_thousand is not None:
        parts.append(f"{numbers.format_dollars(line.cost.dollars_per_thousand)} per 1,000")
    return " · ".join(parts)


def table_line(line: Line, statistic: str, *, by_scenario: bool) -> dict[str, str]:
    """Return the cells of a judge, or of a judge in one scenario."""
    row, view = line.rows.get(statistic), VIEWS[statistic]
    counts = {"Critiques": row.items if row else 0}
    if statistic not in SCORES:
        counts = {"Targets": row.items if row else 0, "Annotators": row.raters if row else 0}
    estimates = {**view.columns, "no_verdict_rate": "No verdict"}
    cells = {
        title: numbers.format_interval(found, sign=name == view.difference)
        if (found := line.rows.get(name)) is not None
        else "–"
        for name, title in estimates.items()
    }
    limits = [line.rows[name] for end in ("lowest", "highest") if (name := f"{statistic}_{end}") in line.rows]
    dollars = None if line.cost is None else line.cost.dollars_per_thousand
    return {
        "Judge": line.judge,
        **({"Scenario": line.group or NO_SCENARIO} if by_scenario else {}),
        **{title: f"{count:,}" for title, count in counts.items()},
        **cells,
        "Range": " to ".join(f"{one.value:.2f}" for one in limits if one.value is not None),
        "$ per 1,000": "–" if dollars is None else numbers.format_dollars(dollars),
        "Undefined": "; ".join(describe_undefined(line, estimates)),
    }


def describe_undefined(line: Line, columns: Mapping[str, str]) -> list[str]:
    """Return `Kappa: both used one and the same category` for the undefined columns, and why there is no price."""
    undefined = [name for name in columns if name in line.rows and not line.has(name)]
    by_reason = group_by_note(undefined, lambda name: [line.rows[name].reason])
    reasons = [f"{', '.join(columns[name] for name in names)}: {reason}" for reason, names in by_reason.items()]
    if line.cost is None:
        return [*reasons, "$: no calls were recorded"]
    unpriced = numbers.format_count(line.cost.unpriced, "call")
    return [*reasons, *([f"$: {unpriced} of unknown price"] if line.cost.unpriced else [])]


# What stands around the chart: comparisons with people, reasons of undefined values, and notes.

MISSING_VERDICTS = (
    "Some verdicts are missing; No verdict is their share. An accuracy has a range: its value if all missing "
    "verdicts were wrong, and if all were right. Kappas and correlations have none, because a single verdict can move "
    "them either way: read them with the share."
)
HUMAN_CEILING = (
    "Human ceiling: each person in turn is left out and compared with the majority of the others, or with their mean "
    "for scores. The judge is compared in the same way on the same items. The difference has its own interval."
)
ORDER = (
    f"Judges are in the order of this value, the best first, but those without a verdict on more than "
    f"{MAX_NO_VERDICT:.0%} of the targets are after the others: their values are of the targets that they decided."
)


def compare_with_ceiling(line: Line, view: View) -> str:
    """Return how a judge compares with the human ceiling; empty if the difference is undefined."""
    row = line.rows.get(view.difference)
    if row is None or row.value is None:
        return ""
    place = "not distinguishable from"
    if row.low is None or row.high is None:
        place = "from"
    elif row.low > 0 or row.high < 0:
        place = "above" if row.low > 0 else "below"
    n = format_n(row.items, row.effective)
    if line.often_abstains:
        share = f"no verdict on {line.no_verdict:.0%} of all, see Accuracy"
        n = f"only on the {row.items:,} targets that it decided: {share}"
    estimate = numbers.format_interval(row, sign=True)
    return f"{line.judge}: {place} the human ceiling: {estimate}, {n}."


def describe(lines: Sequence[Line], statistic: str) -> list[str]:
    """Return the references, the order and the undefined values, as Markdown."""
    mixes = group_by_note(lines, partial(reference_of, statistic=statistic))
    sentences = []
    for mix, concerned in mixes.items():
        subject = "Reference" if len(mixes) == 1 else f"{list_judges(concerned)}: reference"
        sentences.append(f":material/flag: {subject} {escape_markdown(mix)}.")
    if len({line.often_abstains for line in lines if line.has(statistic)}) > 1:
        sentences.append(f":material/sort: {ORDER}")
    for reason, concerned in group_by_note(lines, partial(why_undefined, statistic=statistic)).items():
        sentences.append(f":material/help: No value for {list_judges(concerned)}: {escape_markdown(reason)}.")
    return sentences


def list_notes(lines: Sequence[Line], statistic: str) -> list[str]:
    """Return what applies to the intervals, the values and the human ceiling, as Markdown."""
    notes = [f"{INTERVALS}."]
    valued = [line for line in lines if line.has(statistic)]
    for note, concerned in group_by_note(valued, lambda line: line.rows[statistic].reason.split("; ")).items():
        prefix = "" if 1 < len(concerned) == len(lines) else f"{list_judges(concerned)}: "
        notes.append(f":material/info: {prefix}{escape_markdown(note)}.")
    if any(line.no_verdict for line in lines):
        notes.append(f":material/info: {MISSING_VERDICTS}")
    if VIEWS[statistic].difference:
        notes.append(HUMAN_CEILING)
        tested = [line for line in lines if "winning_rate" in line.rows]
        for note, concerned in group_by_note(tested, lambda line: [line.rows["winning_rate"].reason]).items():
            notes.append(
                f":material/group: Alternative-annotator test, {list_judges(concerned)}: {escape_markdown(note)}."
            )
    return notes


def reference_of(line: Line, statistic: str) -> list[str]:
    """Return the sources of the reference of a statistic."""
    row = line.rows.get(statistic)
    if row is None:
        return []
    return [f"majority: {row.items} {BY_PEOPLE}" if statistic.endswith(MAJORITY_SUFFIX) else row.reference]


def why_undefined(line: Line, statistic: str) -> list[str]:
    """Return why a statistic has no value."""
    if line.has(statistic):
        return []
    row = line.rows.get(statistic)
    return [row.reason if row else "its scores are means, which lie between the categories of the scale"]


def list_judges(lines: Sequence[Line]) -> str:
    """Return the names of the judges, as Markdown."""
    return escape_markdown(list_names([line.judge for line in lines]))


# Where one judge differs from people: tables of values whose cells list their targets, and changed opinions.

# The value of `cell` for all items on which the judge and people differ.
ALL_DIFFERENCES = "differ"
# Kinds whose items are on another page: its script, its name, and a sentence about it.
OTHER_PAGES = {
    "aiu": (
        "critiques",
        "Critiques",
        "These scores are computed from AIUs. Choose AIU precision or recall above, or open the ranking of authors.",
    ),
    "aspect_weights": ("weights", "Weights", "The items behind weight distances are on the page Weights."),
}


@st.cache_resource(max_entries=4, show_spinner=False)
def load_values(
    data_token: str, query: JudgeQuery, _data: alignment.AlignmentData
) -> tuple[JudgeValues | None, OpinionChanges | None]:
    """Return the values of judge and people, and first with last opinions; cached and shared, so do not modify."""
    return disagreements.load_values(_data, query), disagreements.load_changes(_data, query)


def select(**clicked: str | None) -> None:
    """Select the targets of a cell or of a change in place of the last selection."""
    item_drilldown.pick(**{"cell": None, "change": None} | clicked)


def choose_judge(study: Study, judges: Sequence[str], kind: str) -> str | None:
    """Draw the choice of a judge; None, with a link, if the values of the kind are on another page."""
    if kind in OTHER_PAGES:
        script, label, sentence = OTHER_PAGES[kind]
        st.caption(sentence)
        st.page_link(shell.page_path(f"results/{script}.py"), label=label, query_params={"study": study.name})
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.subheader("Disagreement with people", anchor=False, width="content")
        if len(judges) < 2:
            return judges[0]
        return st.selectbox("Judge", judges, key="judge", bind="query-params", width=400, on_change=select)


def draw_values(study: Study, data: alignment.AlignmentData, query: RankingQuery, judge: str) -> None:
    """Draw the tables of values and of changed opinions of a judge, and the selected targets."""
    of_judge = JudgeQuery(judge, query.kind, query.criterion, query.scenario)
    values, changes = load_values(data.token, of_judge, data)
    if values is None and query.criterion == ALL:
        st.caption("Choose one criterion to see where this judge and annotators disagree.")
    elif values is None or not values.labelled.any():
        st.caption("People have not labelled any item that this judge has judged.")
    else:
        draw_chart(value_chart(values, query.kind), "")
    if changes is not None:
        draw_changes(changes, query.kind)
    # One element, selected or not: the browser would make what follows anew at another place of the page.
    with st.container():
        draw_selected(study, of_judge, values, changes)


def value_chart(values: JudgeValues, kind: str) -> Matrix | Drawn:
    """Return the judge's values against people's: a table, or points for numbers without categories."""
    title, scale = f"Judge and people: {count_targets(values)}", values.dataset.scale
    if disagreements.is_categorical(scale):
        down, across = (side[values.labelled] for side in values.texts)
        counts = disagreements.count_matrix(scale, down, across, (NO_VERDICT, NO_MAJORITY))
        return matrix("cell", title, ("Judge", "People, by majority"), counts, kind)
    drawn = score_figure(values, title)
    return Drawn(
        "dots",
        drawn,
        title,
        data=charts.ChartData(method=""),
        on_select=select_point,
        selected=st.query_params.get("item"),
    )


def matrix(parameter: str, title: str, axes: tuple[str, str], counts: Counts, kind: str) -> Matrix:
    """Return a table of counts; a click on a cell selects it in the address, as "row × column"."""
    down, across = axes
    rows, columns = ([value_name(kind, name) for name in names] for names in (counts.rows, counts.columns))
    cells = [
        Cell(
            value_name(kind, row), value_name(kind, column), count, f"{count:,}",
            (f"{down}: {value_name(kind, row)}", f"{across}: {value_name(kind, column)}", f"{count:,}",
             "Click to list the items"),
            f"{row} × {column}",
        )
        for (row, column), count in counts.counts.items()
    ]  # fmt: skip
    table = [
        {down: row} | {column: counts.counts.get((row, column), 0) for column in counts.columns} for row in counts.rows
    ]
    return Matrix(
        f"{parameter}s", title, rows, columns, cells, down, across,
        data=charts.ChartData(table, f"Counts; columns: {across}"),
        on_select=lambda: select(**{parameter: charts.clicked_point(f"{parameter}s")}),
        selected=st.query_params.get(parameter),
    )  # fmt: skip


def select_point() -> None:
    """Open the item of the clicked point among all targets."""
    item = charts.clicked_point("dots")
    select(cell=None if item is None else ALL_DIFFERENCES, item=item)


def value_name(kind: str, name: str) -> str:
    """Return the display name of a value."""
    names = {str(value): response for value, response in numbers.RESPONSE_NAMES.items()}
    return names.get(name, name) if kind == "preference" else name


def count_targets(values: JudgeValues) -> str:
    """Return `3 items`, or `6 targets of 3 items` if several criteria or parts of a labelled item were judged."""
    count = int(values.labelled.sum())
    if values.dataset.kind in ("aiu_precision", "aiu_recall"):
        return numbers.format_count(count, "AIU")
    items = len({*values.dataset.item[values.labelled].tolist()})
    if items == count:
        return numbers.format_count(count, "item")
    return f"{numbers.format_count(count, 'target')} of {numbers.format_count(items, 'item')}"


def draw_changes(changes: OpinionChanges, kind: str) -> None:
    """Draw first against last opinions, and the number of changes towards people's majority."""
    readable, changed, known, towards, away = changes.count()
    text = f"Changed {numbers.format_count(changed, 'opinion')} of {readable:,}."
    if known:
        text += f" Of {known:,} with a majority of people: {towards:,} changed towards it, {away:,} away from it."
    first, last = changes.cells()
    of_judges = " of all judges" * (len(changes.first) > 1)
    title = f"First and last{of_judges}: {numbers.format_count(len(first), 'opinion')}"
    cells = disagreements.count_matrix(changes.dataset.scale, first, last, (NO_VERDICT, NO_VERDICT))
    with st.expander("First and last opinions", expanded="change" in st.query_params):
        draw_chart(matrix("change", title, ("First opinion", "Last opinion"), cells, kind), "")
        st.caption(f"{text} The page Discussions has each judge's changes, and whose opinion it adopts.")


def draw_selected(study: Study, query: JudgeQuery, values: JudgeValues | None, changes: OpinionChanges | None) -> None:
    """Draw the targets of the cell or the change in the address, or how to select one."""
    cell, change = st.query_params.get("cell"), st.query_params.get("change")
    row, _, column = (change or cell or "").partition(" × ")
    names = [value_name(query.kind, name) for name in (row, column)]
    viewer, found = shell.current_annotator(), Drilldown((), 0)
    options: dict[str, Any] = {"limit": item_drilldown.MAX_ITEMS, "item": st.query_params.get("item")}
    if cell:
        if values is not None:
            places = values.select(None if cell == ALL_DIFFERENCES else cell)
            found = disagreements.list_places(values.dataset, places, [query.judge], viewer, **options)
        description = f"{query.judge}: {names[0]} · people: {names[1]}"
        if cell == ALL_DIFFERENCES:
            is_table = values is not None and disagreements.is_categorical(values.dataset.scale)
            text = "differs from the majority" if is_table else "and people, largest difference first"
            description = f"{query.judge} {text}"
    elif change:
        found = found if changes is None else changes.list_cell((row, column), viewer, **options)
        description = f"First {names[0]} · last {names[1]}"
    else:
        st.caption("Click a point, a cell or a row of the table to list its targets.")
        return
    item_drilldown.draw_targets(study, found, description, select)


def score_figure(values: JudgeValues, title: str) -> go.Figure:
    """Return a point for each target with both: people's mean and the judge's score, equal on the dashed line."""
    places = values.select()
    means, judge_scores = values.means[places].tolist(), values.numbers[places].tolist()
    ends = [min([*means, *judge_scores], default=0.0), max([*means, *judge_scores], default=1.0)]
    line = {"dash": "dash", "color": charts.GREY}
    figure = go.Figure(go.Scatter(x=ends, y=ends, mode="lines", line=line, hoverinfo="skip"))
    name, points = truncate(values.judge, 34), []
    for item, score, mean in zip(values.dataset.item[places].tolist(), judge_scores, means, strict=True):
        lines = (truncate(item, 60), f"{name} {score:g} · people {mean:.2f}", "Click to open the item")
        points.append(charts.Point(mean, score, lines, opens=item))
    pale = {"marker": {"opacity": 0.2}}
    figure.add_trace(charts.scatter(points, charts.accent_colour(), opacity=0.7, unselected=pale))
    figure.update_xaxes(title="Mean of people", showgrid=True)
    figure.update_yaxes(title=f"{escape(name, quote=False)}<br>on the scale of the labels", showgrid=True)
    return charts.apply_layout(figure, title, 420)
