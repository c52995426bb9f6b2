"""Agreement of each judge with people, compared with the human ceiling, as a section of the page Judges."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape

import plotly.graph_objects as go
import streamlit as st

from core.formats.tables import Column, Table
from core.provenance import INTERVALS
from core.statistics.data.frames import ALL
from core.statistics.reports.alignment import AlignmentRow
from core.wording import format_n, group_by_note, list_names, scenario_group
from pages.parts import charts, numbers, resources, shell
from pages.parts.text import escape_markdown, truncate
from pages.results.parts import alignment_data, item_drilldown
from pages.results.renderer import Cell, Drawn, Intervals, Mark, Matrix, Result, draw_chart
from storage.reports import alignment, disagreements
from storage.reports.disagreements import NO_MAJORITY, NO_VERDICT, Drilldown, JudgeQuery, JudgeValues
from storage.reports.disagreements import Matrix as Counts
from storage.reports.judge_ranking import RankingQuery
from storage.reports.references import ADJUDICATED, BY_PEOPLE, Reference
from storage.studies.studies import Study

MAJORITY_SUFFIX = "_majority"
# Share of targets without a verdict above which the values of a judge are of targets that it chose.
MAX_NO_VERDICT = 0.05
# Judges whose comparison with the human ceiling is in the first sentence; the table has all.
MAX_COMPARISONS = 2


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
    """The statistics of a judge by their name."""

    judge: str
    rows: Mapping[str, AlignmentRow]

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


def compute(study: Study, data: alignment.AlignmentData, query: RankingQuery) -> list[AlignmentRow]:
    """Return every statistic of every judge, of all targets or of a scenario: the file of the table has all."""
    return alignment.rows_of(resources.engine(), study, data, "all" if query.scenario is None else "scenario")


def show(
    study: Study, data: alignment.AlignmentData, query: RankingQuery, rows: Sequence[AlignmentRow]
) -> Result | str:
    """Draw the choice of the statistic; returns its chart, its notes and the table."""
    lines = make_lines(rows, query)
    gold = data.gold[(data.gold["kind"] == query.kind) & (data.gold["source"] == ADJUDICATED)]
    of_criterion = gold if query.criterion == ALL else gold[gold["criterion"] == query.criterion]
    statistics = available_statistics(lines, data.reference, adjudicated=len(of_criterion) > 0)
    if not statistics:
        return "No statistic of these values can be drawn. The command judges alignment has every figure."
    titles = {VIEWS[name].name: name for name in statistics}
    statistic = titles[alignment_data.choose("Statistic", list(titles), "statistic")]
    view, lines = VIEWS[statistic], sort_lines(lines, statistic)
    table = Table("alignment", lines, table_columns(statistic), rows)
    if not any(line.has(name) for line in lines for name in VIEWS):
        items = numbers.format_count(data.opinions["item"].nunique(), "item")
        return Result(headline=f"The judges have opinions on {items}, none of which has labels.", tables=[table])
    return Result(
        headline=" ".join(list(filter(None, (compare_with_ceiling(line, view) for line in lines)))[:MAX_COMPARISONS]),
        warning=data.choices.note(query.kind, query.criterion, one_scenario=query.scenario is not None),
        caption="\n\n".join(describe(lines, statistic)),
        figures=[chart(lines, statistic)],
        notes=list_notes(lines, statistic),
        tables=[table],
        on_click=lambda row, _: select_judge(lines[row].judge),
    )


def draw_differences(
    study: Study, data: alignment.AlignmentData, query: RankingQuery, rows: Sequence[AlignmentRow]
) -> None:
    """Draw where one judge differs from people."""
    judge = choose_judge(study, [line.judge for line in make_lines(rows, query)], query.kind)
    if judge is not None:
        draw_values(study, data, query, judge)


def select_judge(judge: str | None) -> None:
    """Select every item on which a judge differs from people; None closes the selection."""
    if judge is not None:
        st.session_state["judge"] = judge
    item_drilldown.pick(cell=None if judge is None else ALL_DIFFERENCES)


def make_lines(rows: Iterable[AlignmentRow], query: RankingQuery) -> list[Line]:
    """Return the statistics of a kind, criterion and scenario by judge, without first opinions."""
    subject = query.kind, query.criterion, ALL if query.scenario is None else scenario_group(query.scenario)
    by_judge: dict[str, dict[str, AlignmentRow]] = {}
    for row in rows:
        if (row.kind, row.criterion, row.group) == subject and alignment.FIRST_OPINION not in row.judge:
            by_judge.setdefault(row.judge, {})[row.statistic] = row
    return [Line(judge, found) for judge, found in by_judge.items()]


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


def sort_lines(lines: Sequence[Line], statistic: str) -> list[Line]:
    """Return the judges, the best first; then those that often have no verdict; then those without a value."""
    direction = 1 if statistic in DISTANCES else -1

    def sort_key(line: Line) -> tuple[bool, bool, float, str]:
        value = line.rows[statistic].value if statistic in line.rows else None
        return value is None, line.often_abstains, direction * (value or 0.0), line.judge

    return sorted(lines, key=sort_key)


def chart(lines: Sequence[Line], statistic: str) -> Intervals:
    """Return a row for each judge, with the human ceiling if the statistic has one."""
    view = VIEWS[statistic]
    drawn = {statistic: view.legend, **view.others}
    points = [
        (line, line.rows[shown], legend)
        for line in lines
        if line.has(statistic)
        for shown, legend in drawn.items()
        if line.has(shown)
    ]
    marks = [Mark.of(line.judge, row, legend, format_n(row.items), line.judge) for line, row, legend in points]
    series = list(zip(drawn.values(), ("circle", "circle-open", "line-ns-open"), strict=False))
    return Intervals(
        "alignment", view.name, "Value and 95 % interval", series, marks,
        data=charts.ChartData([row for _, row, _ in points]),
        on_select=lambda: select_judge(charts.clicked_point("alignment")),
        selected=st.session_state.get("judge", st.query_params.get("judge")) if "cell" in st.query_params else None,
    )  # fmt: skip


def table_columns(statistic: str) -> list[Column]:
    """Return the columns of a judge: the statistics that are shown together, and why some of them are undefined."""
    view = VIEWS[statistic]
    estimates = {**view.columns, "no_verdict_rate": "No verdict"}

    def estimate(name: str, line: Line) -> tuple[float | None, ...]:
        row = line.rows.get(name)
        return (None, None, None) if row is None else (row.value, row.low, row.high)

    def count(name: str, line: Line) -> int:
        return getattr(line.rows[statistic], name) if statistic in line.rows else 0

    def limits(line: Line) -> str:
        ends = (line.rows.get(f"{statistic}_{end}") for end in ("lowest", "highest"))
        return " to ".join(f"{end.value:.2f}" for end in ends if end is not None and end.value is not None)

    def undefined(line: Line) -> str:
        names = [name for name in estimates if name in line.rows and not line.has(name)]
        by_reason = group_by_note(names, lambda name: [line.rows[name].reason])
        return "; ".join(f"{', '.join(map(estimates.__getitem__, of))}: {why}" for why, of in by_reason.items())

    return [
        Column("Judge", "judge"),
        Column("Critiques" if statistic in SCORES else "Targets", partial(count, "items"), "count"),
        *([] if statistic in SCORES else [Column("Annotators", partial(count, "raters"), "count")]),
        *(
            Column(title, partial(estimate, name), "difference" if name == view.difference else "estimate")
            for name, title in estimates.items()
        ),
        Column("Range", limits, help=MISSING_VERDICTS),
        Column("Undefined", undefined),
    ]


def unit_name(kind: str, criterion: str = "") -> str:
    """Return the unit that the rows of a kind count; several criteria of an item are several targets."""
    unit = "target" if criterion == ALL else "item"
    return {"aiu": "critique", "aiu_precision": "AIU", "aiu_recall": "AIU"}.get(kind, unit)


# What stands around the chart: comparisons with people, reasons of undefined values, and notes.

MISSING_VERDICTS = "The value if all missing verdicts were wrong, and if all were right."
HUMAN_CEILING = (
    "Human ceiling: each person in turn is left out and compared with the majority of the others, or with their mean "
    "for scores. The judge is compared in the same way on the same items. The difference has its own interval."
)
ORDER = (
    f"Judges without a verdict on more than {MAX_NO_VERDICT:.0%} of the targets are last: their values are of the "
    "targets that they decided."
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
    return sentences


def list_notes(lines: Sequence[Line], statistic: str) -> list[str]:
    """Return what applies to the intervals, the values and the human ceiling, as Markdown."""
    notes = [f"{INTERVALS}."]
    named = [line for line in lines if statistic in line.rows]
    for note, concerned in group_by_note(named, lambda line: line.rows[statistic].reason.split("; ")).items():
        prefix = "" if 1 < len(concerned) == len(lines) else f"{list_judges(concerned)}: "
        notes.append(f":material/info: {prefix}{escape_markdown(note)}.")
    if VIEWS[statistic].difference:
        notes.append(HUMAN_CEILING)
    return notes


def reference_of(line: Line, statistic: str) -> list[str]:
    """Return the sources of the reference of a statistic."""
    row = line.rows.get(statistic)
    if row is None:
        return []
    return [f"majority: {row.items} {BY_PEOPLE}" if statistic.endswith(MAJORITY_SUFFIX) else row.reference]


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


def select(cell: str | None = None, item: str | None = None) -> None:
    """Select the targets of a cell in place of the last selection."""
    item_drilldown.pick(cell=cell, item=item)


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
    """Draw the table of a judge's values, and the selected targets."""
    of_judge = JudgeQuery(judge, query.kind, query.criterion, query.scenario)
    values = disagreements.load_values(data, of_judge)
    if values is None and query.criterion == ALL:
        st.caption("Choose one criterion to see where this judge and annotators disagree.")
    elif values is None or not values.labelled.any():
        st.caption("People have not labelled any item that this judge has judged.")
    else:
        draw_chart(value_chart(values, query.kind), "")
    # One element, selected or not: the browser would make what follows anew at another place of the page.
    with st.container():
        draw_selected(study, of_judge, values)


def value_chart(values: JudgeValues, kind: str) -> Matrix | Drawn:
    """Return the judge's values against people's: a table, or points for numbers without categories."""
    title, scale = f"Judge and people: {count_targets(values)}", values.dataset.scale
    if disagreements.is_categorical(scale):
        down, across = (side[values.labelled] for side in values.texts)
        counts = disagreements.count_matrix(scale, down, across, (NO_VERDICT, NO_MAJORITY))
        return matrix(title, counts, kind)
    drawn = score_figure(values, title)
    return Drawn(
        "dots",
        drawn,
        title,
        data=charts.ChartData(method=""),
        on_select=select_point,
        selected=st.query_params.get("item"),
    )


def matrix(title: str, counts: Counts, kind: str) -> Matrix:
    """Return a table of counts; a click on a cell selects it in the address, as "row × column"."""
    down, across = "Judge", "People, by majority"
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
        "cells", title, rows, columns, cells, down, across,
        data=charts.ChartData(table, f"Counts; columns: {across}"),
        on_select=lambda: select(charts.clicked_point("cells")),
        selected=st.query_params.get("cell"),
    )  # fmt: skip


def select_point() -> None:
    """Open the item of the clicked point among all targets."""
    item = charts.clicked_point("dots")
    select(None if item is None else ALL_DIFFERENCES, item)


def value_name(kind: str, name: str) -> str:
    """Return the display name of a value."""
    names = {str(value): response for value, response in numbers.RESPONSE_NAMES.items()}
    return names.get(name, name) if kind == "preference" else name


def count_targets(values: JudgeValues) -> str:
    """Return `3 items`, or `6 targets of 3 items` if several criteria or parts of a labelled item were judged."""
    count = int(values.labelled.sum())
    items = len({*values.dataset.item[values.labelled].tolist()})
    if items == count:
        return numbers.format_count(count, "item")
    return f"{numbers.format_count(count, 'target')} of {numbers.format_count(items, 'item')}"


def draw_selected(study: Study, query: JudgeQuery, values: JudgeValues | None) -> None:
    """Draw the targets of the cell in the address, or how to select one."""
    cell = st.query_params.get("cell")
    if not cell:
        st.caption("Click a point, a cell or a row of the table to list its targets.")
        return
    row, _, column = cell.partition(" × ")
    description = f"{query.judge}: {value_name(query.kind, row)} · people: {value_name(query.kind, column)}"
    if cell == ALL_DIFFERENCES:
        is_table = values is not None and disagreements.is_categorical(values.dataset.scale)
        text = "differs from the majority" if is_table else "and people, largest difference first"
        description = f"{query.judge} {text}"
    found = Drilldown((), 0)
    if values is not None:
        places = values.select(None if cell == ALL_DIFFERENCES else cell)
        found = disagreements.list_places(
            values.dataset, places, [query.judge], shell.current_annotator(), limit=item_drilldown.MAX_ITEMS,
            item=st.query_params.get("item"),
        )  # fmt: skip
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
