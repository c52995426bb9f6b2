"""Agreement of each judge with people, compared with the human ceiling, as a section of the page Judges."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import streamlit as st

from core.formats.tables import Column, Table
from core.provenance import INTERVALS
from core.statistics.data.frames import ALL
from core.statistics.reports.alignment import AlignmentRow
from core.wording import NO_SCENARIO, scenario_group
from pages.parts import charts, numbers, resources
from pages.parts.chart_files import ChartData
from pages.parts.text import escape_markdown
from pages.results.parts import alignment_data, item_drilldown, value_tables
from pages.results.renderer import Intervals, Mark, Result, draw_chart
from storage.db import connections
from storage.reports import alignment, judge_costs
from storage.reports.alignment import FIRST_OPINION, AlignmentData
from storage.reports.judge_costs import JudgeCost
from storage.reports.judge_ranking import RankingQuery
from storage.reports.references import ADJUDICATED, BY_PEOPLE, Reference
from storage.studies.studies import Study

Report = tuple[list[AlignmentRow], dict[str, JudgeCost]]
"""Every statistic of every judge, of all targets and by scenario if that is drawn, and the cost of each judge."""
LEAVE_ONE_OUT = "judge with the others, one person left out in turn"
CEILING = "that person with the others: human ceiling"
MAJORITY_SUFFIX = "_majority"
MAX_NO_VERDICT = 0.05
"""Share of targets without a verdict above which the values of a judge are of targets that it chose."""
MAX_COMPARISONS = 2
"""Judges whose comparison with the human ceiling is in the first sentence; the table has all."""
CRITIQUE_KIND = "aiu"
"""The kind of rows about whole critiques, which count critiques and have no raters."""


@dataclass(frozen=True)
class View:
    """A statistic that can be drawn, the statistics drawn next to it, and the columns of its table."""

    name: str
    legend: str
    """The judge and its reference."""
    columns: Mapping[str, str]
    others: Mapping[str, str] = field(default_factory=dict)
    """Statistics that are drawn below it, with their names in the legend."""
    ceiling: str = ""
    """The statistic of the human ceiling, if there is one."""
    difference: str = ""
    """The statistic of the judge minus the ceiling."""


def _category_views(reference: str, noun: str) -> dict[str, View]:
    """Return the statistics of agreement on categories with the majority or the reference."""
    columns = {f"accuracy_{reference}": "Accuracy", f"cohen_kappa_{reference}": "Kappa"}
    quadratic = f"cohen_kappa_quadratic_{reference}"
    drawn = {"judge_against_others": LEAVE_ONE_OUT, "human_ceiling": CEILING} if reference == "majority" else {}
    return {
        name: View(
            f"{title} with {noun}",
            f"judge with {noun}",
            columns | ({quadratic: "Quadratic kappa"} if name == quadratic else {}),
            drawn if title == "Accuracy" else {},
            "human_ceiling",
            "judge_less_ceiling",
        )
        for name, title in zip((*columns, quadratic), ("Accuracy", "Cohen's kappa", "Quadratic kappa"), strict=True)
    }


CORRELATIONS = {"spearman": "Spearman", "pearson": "Pearson", "kendall_tau_b": "Tau-b"}
SCORE_CEILING = {"judge_against_others_spearman": LEAVE_ONE_OUT, "human_ceiling_spearman": CEILING}
CRITIQUE_SCORES = {"f1_macro": "F1", "precision_macro": "Precision", "recall_macro": "Recall"}
DISTANCES = {"weights_distance": "Distance", "rank_distance": "Rank distance"}
VIEWS: Mapping[str, View] = {
    **{
        name: View(
            f"{title} with the reference", "judge with the reference", CORRELATIONS,
            SCORE_CEILING if name == "spearman" else {}, "human_ceiling_spearman", "judge_less_ceiling_spearman",
        )
        for name, title in zip(CORRELATIONS, ("Spearman's rho", "Pearson's r", "Kendall's tau-b"), strict=True)
    },
    **_category_views("majority", "the majority"),
    **_category_views("gold", "the reference"),
    **{
        name: View(
            f"{title}, mean over critiques", "by the judge's verdicts", CRITIQUE_SCORES,
            {f"{name}_people": "by people's verdicts"},
        )
        for name, title in CRITIQUE_SCORES.items()
    },
    "weights_distance": View("Weight distance, 0 is equal", "judge from people", DISTANCES),
    "rank_distance": View("Rank distance, 0 is the same order", "judge from people", DISTANCES),
}  # fmt: skip
"""The statistics that can be drawn, in the order of `available_statistics`."""


@dataclass(frozen=True)
class Line:
    """The statistics of a judge by their name, of all targets or of a scenario."""

    judge: str
    group: str
    rows: Mapping[str, AlignmentRow]
    cost: JudgeCost | None = None

    @property
    def often_abstains(self) -> bool:
        """Whether a judge has no verdict on so many targets that its values cannot be compared with others'."""
        return self.no_verdict > MAX_NO_VERDICT

    @property
    def no_verdict(self) -> float:
        """The share of the targets without a verdict."""
        row = self.rows.get("no_verdict_rate")
        return 0.0 if row is None else row.value or 0.0


@dataclass(frozen=True)
class AlignmentQuery(RankingQuery):
    """The choices of the page, with those of the figures that are computed."""

    by_scenario: bool = False


def choose(query: RankingQuery | None) -> AlignmentQuery | None:
    """Draw the choice of figures by scenario next to those of the page."""
    if query is None:
        return None
    by_scenario = st.toggle("By scenario", key="by_scenario", bind="query-params")
    return AlignmentQuery(**vars(query), by_scenario=by_scenario)


def compute(study: Study, data: AlignmentData, query: AlignmentQuery) -> Report:
    """Return the statistics of all kinds and criteria: the file of the table has all."""
    engine = resources.engine()
    rows = alignment.rows_of(engine, study, data)
    if query.scenario is not None or query.by_scenario:
        rows = rows + alignment.rows_of(engine, study, data, "scenario")
    with connections.reading(engine) as session:
        return rows, judge_costs.cost_by_judge(session, study.id, data.opinions)


def show(study: Study, data: AlignmentData, query: AlignmentQuery, report: Report) -> Result | str:
    """Draw the choice of the statistic; returns its chart, its notes and the table."""
    rows, costs = report
    with st.container(horizontal=True, vertical_alignment="bottom"):
        has_first = any(FIRST_OPINION in row.judge for row in rows if row.kind == query.kind)
        include_first = has_first and st.toggle("First opinions", key="firsts", bind="query-params")
        lines = make_lines(rows, costs, query, include_first=include_first)
        statistics = available_statistics(lines, data.reference, adjudicated=has_adjudications(data, query))
        if not statistics:
            return "No statistic of these values can be drawn. The command judges alignment has every figure."
        titles = {VIEWS[name].name: name for name in statistics}
        statistic = titles[alignment_data.choose("Statistic", list(titles), "statistic")]
    group = chosen_group(query)
    shown = sort_lines([line for line in lines if query.by_scenario or line.group == group], statistic, group)
    of_all = [line for line in shown if line.group == group]
    if not any(is_defined(line, name) for line in shown for name in VIEWS):
        items = numbers.format_count(data.opinions["item"].nunique(), "item")
        columns = [Column("Judge", "judge"), *make_columns({}, query.by_scenario)]
        return Result(
            headline=f"The judges have opinions on {items}, none of which has labels.",
            tables=[Table("alignment", of_all, columns, rows)],
        )
    view = VIEWS[statistic]
    columns = [Column("Judge", "judge"), *make_columns(table_statistics(statistic), query.by_scenario, statistic)]
    return Result(
        headline=" ".join(list(filter(None, (compare_with_ceiling(line, view) for line in of_all)))[:MAX_COMPARISONS]),
        warning=data.choices.note(query.kind, query.criterion, one_scenario=query.scenario is not None),
        caption="\n\n".join(describe(of_all, statistic)),
        figures=[chart("alignment", of_all, statistic, lambda line: line.judge)],
        notes=list_notes(of_all, statistic),
        tables=[Table("alignment", shown, columns, rows)],
        on_click=lambda row, _: select_judge(shown[row].judge),
    )


def draw_differences(study: Study, data: AlignmentData, query: AlignmentQuery, report: Report) -> None:
    """Draw where one judge differs from people, and its figures in each scenario if they are chosen."""
    lines = make_lines(*report, query, include_first=bool(st.session_state.get("firsts")))
    statistic = next((name for name, view in VIEWS.items() if view.name == st.session_state.get("statistic")), None)
    statistic = statistic or next(iter(available_statistics(lines, data.reference, adjudicated=False)), None)
    if statistic is None:
        return
    of_all = sort_lines([line for line in lines if line.group == chosen_group(query)], statistic, chosen_group(query))
    judge = value_tables.choose_judge(study, [line.judge for line in of_all], query.kind)
    if judge is None:
        return
    if query.by_scenario:
        own = [line for line in lines if line.judge == judge and line.group != ALL]
        scenarios = chart("scenarios", own, statistic, lambda line: line.group or NO_SCENARIO)
        if scenarios.marks:
            draw_chart(scenarios, f"{judge}, by scenario")
    value_tables.draw(study, data, query, judge)


def chosen_group(query: RankingQuery) -> str:
    """Return the group of the rows of the chosen scenario, or of all."""
    return ALL if query.scenario is None else scenario_group(query.scenario)


def select_judge(judge: str | None) -> None:
    """Select every item on which a judge differs from people; None closes the selection."""
    if judge is not None:
        st.session_state["judge"] = judge
    item_drilldown.pick(cell=None if judge is None else value_tables.ALL_DIFFERENCES, change=None)


def make_lines(
    rows: Iterable[AlignmentRow], costs: Mapping[str, JudgeCost], query: RankingQuery, *, include_first: bool
) -> list[Line]:
    """Return the statistics of a kind and criterion by judge and group, with first opinions only on request."""
    by_place: dict[tuple[str, str], dict[str, AlignmentRow]] = {}
    for row in rows:
        if (row.kind, row.criterion) == (query.kind, query.criterion):
            by_place.setdefault((row.judge, row.group), {})[row.statistic] = row
    return [
        Line(judge, group, found, costs.get(judge))
        for (judge, group), found in by_place.items()
        if include_first or FIRST_OPINION not in judge
    ]


def has_adjudications(data: AlignmentData, query: RankingQuery) -> bool:
    """Return whether the reference has adjudicated values of a kind and criterion, or of all its criteria."""
    gold = data.gold[(data.gold["kind"] == query.kind) & (data.gold["source"] == ADJUDICATED)]
    return bool(len(gold) if query.criterion == ALL else (gold["criterion"] == query.criterion).any())


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


def is_defined(line: Line, statistic: str) -> bool:
    """Return whether a statistic has a value."""
    return statistic in line.rows and line.rows[statistic].value is not None


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
    view = VIEWS[statistic]
    drawn = {statistic: view.legend, **view.others}
    points = [
        (line, line.rows[shown], legend)
        for line in lines
        if is_defined(line, statistic)
        for shown, legend in drawn.items()
        if is_defined(line, shown)
    ]
    marks = [
        Mark(
            name_of(line), row.value or 0.0, row.low, row.high, legend, f"{line.rows[statistic].items:,}",
            describe_line(line, statistic), line.judge if name == "alignment" else None,
        )
        for line, row, legend in points
    ]  # fmt: skip
    symbols = ("circle", "circle-open", "line-ns-open")
    series = list(zip(drawn.values(), symbols, strict=False))
    selected = st.session_state.get("judge", st.query_params.get("judge")) if "cell" in st.query_params else None
    return Intervals(
        name, view.name, "Value and 95 % interval", series, marks, data=ChartData([row for _, row, _ in points]),
        on_select=(lambda: select_judge(charts.clicked_point(name))) if name == "alignment" else None,
        selected=selected,
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
    if is_defined(line, "no_verdict_rate"):
        parts.append(f"no verdict {round(100 * line.no_verdict, 1):g} %")
    if line.cost is not None and line.cost.per_thousand is not None:
        parts.append(f"{numbers.format_dollars(line.cost.per_thousand)} per 1,000")
    return " · ".join(parts)


def table_statistics(statistic: str) -> dict[str, str]:
    """Return the statistics of the table and their headings."""
    view = VIEWS[statistic]
    if not view.ceiling:
        return dict(view.columns)
    of_ceiling = {view.ceiling: "Human ceiling", view.difference: "Judge − ceiling"}
    return {**view.columns, **of_ceiling, "advantage_probability": "Advantage", "winning_rate": "Winning rate"}


def make_columns(statistics: Mapping[str, str], by_scenario: bool, statistic: str = "no_verdict_rate") -> list[Column]:
    """Return the columns of the table after the judge; `statistic` is that whose targets are counted."""
    columns = [Column("Scenario", lambda line: line.group or NO_SCENARIO)] if by_scenario else []
    unit = "Critiques" if statistic in CRITIQUE_SCORES else "Targets"
    columns.append(Column(unit, lambda line: line.rows[statistic].items if statistic in line.rows else 0, "count"))
    if statistic not in CRITIQUE_SCORES:
        raters = Column(
            "Annotators", lambda line: line.rows[statistic].raters if statistic in line.rows else 0, "count"
        )
        columns.append(raters)
    columns += [Column(title, partial(format_cell, name=name), "figure") for name, title in statistics.items()]
    if statistic.startswith("accuracy"):
        columns.append(Column("Range", partial(format_limits, statistic=statistic), "figure"))
    shown = {**statistics, "no_verdict_rate": "No verdict"}
    return [
        *columns,
        Column("No verdict", partial(format_cell, name="no_verdict_rate"), "figure"),
        Column("Readable", format_readable, "figure"),
        Column("$ per 1,000", format_price, "figure"),
        Column("Undefined", partial(describe_undefined, columns=shown)),
    ]


def count(line: Line, statistic: str, noun: str) -> int:
    """Return the items or the raters of a statistic."""
    return getattr(line.rows[statistic], noun) if statistic in line.rows else 0


def format_cell(line: Line, name: str) -> str:
    """Return a statistic with its interval; a difference has its sign."""
    row = line.rows.get(name)
    sign = name.startswith("judge_less_ceiling")
    return "–" if row is None else numbers.format_estimate(row.value, row.low, row.high, sign=sign)


def format_limits(line: Line, statistic: str) -> str:
    """Return the range of an accuracy that missing verdicts allow."""
    ends = [line.rows[name].value for end in ("lowest", "highest") if (name := f"{statistic}_{end}") in line.rows]
    return " to ".join(f"{end:.2f}" for end in ends if end is not None)


def format_readable(line: Line) -> str:
    """Return the share of the targets with a verdict."""
    if not is_defined(line, "no_verdict_rate"):
        return ""
    items = line.rows["no_verdict_rate"].items
    return numbers.format_readable(round(items * (1 - line.no_verdict)), items)


def format_price(line: Line) -> str:
    """Return the dollars per 1,000 items."""
    cost = line.cost
    return "–" if cost is None or cost.per_thousand is None else numbers.format_dollars(cost.per_thousand)


def describe_undefined(line: Line, columns: Mapping[str, str]) -> str:
    """Return `Kappa: both used one and the same category` for the undefined columns, and why there is no price."""
    by_reason: dict[str, list[str]] = {}
    for name, title in columns.items():
        row = line.rows.get(name)
        if row is not None and row.value is None:
            by_reason.setdefault(row.reason, []).append(title)
    reasons = [f"{', '.join(titles)}: {reason}" for reason, titles in by_reason.items()]
    if line.cost is None:
        reasons.append("$: no calls were recorded")
    elif line.cost.unpriced:
        reasons.append(f"$: {numbers.format_count(line.cost.unpriced, 'call')} of unknown price")
    return "; ".join(reasons)


# What stands around the chart: comparisons with people, reasons of undefined values, and notes.

MISSING_VERDICTS = (
    "Some verdicts are missing; Readable is the share with one. An accuracy has a range: its value if all missing "
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
    if row.low is None or row.high is None:
        place = "from"
    elif row.low > 0:
        place = "above"
    else:
        place = "below" if row.high < 0 else "not distinguishable from"
    n = f"n {row.items:,}"
    if line.often_abstains:
        n = (
            f"only on the {row.items:,} targets that it decided: no verdict on {line.no_verdict:.0%} of all, see "
            "Accuracy"
        )
    estimate = numbers.format_estimate(row.value, row.low, row.high, sign=True)
    return f"{line.judge}: {place} the human ceiling: {estimate}, {n}."


def describe(lines: Sequence[Line], statistic: str) -> list[str]:
    """Return the references, the order and the undefined values, as Markdown."""
    mixes = judges_by(lines, partial(reference_of, statistic=statistic))
    sentences = []
    for mix, judges in mixes.items():
        subject = "Reference" if len(mixes) == 1 else f"{list_names(judges)}: reference"
        sentences.append(f":material/flag: {subject} {escape_markdown(mix)}.")
    if len({line.often_abstains for line in lines if is_defined(line, statistic)}) > 1:
        sentences.append(f":material/sort: {ORDER}")
    undefined = judges_by(lines, partial(why_undefined, statistic=statistic))
    sentences += [
        f":material/help: No value for {list_names(judges)}: {escape_markdown(reason)}."
        for reason, judges in undefined.items()
    ]
    return sentences


def list_notes(lines: Sequence[Line], statistic: str) -> list[str]:
    """Return what applies to the intervals, the values and the human ceiling, as Markdown."""
    notes = [f"{INTERVALS}."]
    for note, judges in judges_by(lines, partial(notes_on, statistic=statistic)).items():
        prefix = "" if 1 < len(judges) == len(lines) else f"{list_names(judges)}: "
        notes.append(f":material/info: {prefix}{escape_markdown(note)}.")
    if any(line.no_verdict for line in lines):
        notes.append(f":material/info: {MISSING_VERDICTS}")
    if VIEWS[statistic].ceiling:
        notes.append(HUMAN_CEILING)
        notes += [
            f":material/group: Alternative-annotator test, {list_names(judges)}: {escape_markdown(note)}."
            for note, judges in judges_by(lines, reasons_of_test).items()
        ]
    return notes


def judges_by(lines: Sequence[Line], find: Callable[[Line], Iterable[str]]) -> dict[str, list[str]]:
    """Return each text that `find` returns of a judge -> the judges that it is about."""
    judges: dict[str, list[str]] = {}
    for line in lines:
        for text in filter(None, find(line)):
            judges.setdefault(text, []).append(line.judge)
    return judges


def reference_of(line: Line, statistic: str) -> list[str]:
    """Return the sources of the reference of a statistic."""
    row = line.rows.get(statistic)
    if row is None:
        return []
    return [f"majority: {row.items} {BY_PEOPLE}" if statistic.endswith(MAJORITY_SUFFIX) else row.reference]


def why_undefined(line: Line, statistic: str) -> list[str]:
    """Return why a statistic has no value."""
    if is_defined(line, statistic):
        return []
    row = line.rows.get(statistic)
    return [row.reason if row else "its scores are means, which lie between the categories of the scale"]


def notes_on(line: Line, statistic: str) -> list[str]:
    """Return the notes on a value."""
    return line.rows[statistic].reason.split("; ") if is_defined(line, statistic) else []


def reasons_of_test(line: Line) -> list[str]:
    """Return the result of the alternative-annotator test, or why it was not made."""
    return [line.rows["winning_rate"].reason] if "winning_rate" in line.rows else []


def list_names(judges: Sequence[str]) -> str:
    """Return the first four names, and the number of the others."""
    names = ", ".join(escape_markdown(judge) for judge in judges[:4])
    return f"{names} and {len(judges) - 4} more" if len(judges) > 4 else names
