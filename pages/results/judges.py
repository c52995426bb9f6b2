"""Which judge can replace annotators: its accuracy, agreement with people, cost, and differences from other judges."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, get_args

import streamlit as st

from core.formats.tables import Column, Table
from core.provenance import PAIRED_DIFFERENCES
from core.statistics.measures.alternative_annotator import MIN_ITEMS
from core.statistics.measures.comparison import Comparison, better_first
from core.statistics.reports import judges as rules
from core.statistics.reports.label_plans import PairPlan
from core.wording import equate_p
from pages.parts import charts, numbers, resources, shell
from pages.parts.text import escape_markdown
from pages.results.parts import alignment_data, alignment_rows, item_drilldown, judge_charts
from pages.results.renderer import MAX_CELL_TEXT, Cell, Matrix, Result, Section, draw_sections
from storage.reports import judge_costs, judge_ranking, label_plans
from storage.reports.alignment import AlignmentData
from storage.reports.chosen_labels import ALL_TARGETS
from storage.reports.judge_ranking import JudgeReport, RankedRow, RankingQuery
from storage.studies.studies import Study

RULE = (
    "The difference d is the judge's accuracy minus the human ceiling.  \n"
    "**Use**: the lower end of d is above minus the margin, and nothing of what follows.  \n"
    "**Use with review**: the lower end of d is above minus the margin, but the coverage or the winning rate of the "
    "alternative-annotator test is under its minimum, the judge is not more accurate than the most frequent answer "
    "alone, or it has a bias of at least the margin.  \n"
    "**Do not use**: the upper end of d is not above minus the margin, the judge gives the same answer to every "
    "target, or a bias of at least twice the margin was found (at least 0.1).  \n"
    "**Not enough data**: minus the margin is within the interval of d; such a bias is not excluded; the judge repeats "
    "the labels of one annotator, or that is not excluded; or there are not two annotators, 30 targets they share, "
    "or 30 targets with a reference. Few data exclude little, so they never make a recommendation more lenient."
)
# The parameters of the rule: name, name in the address, label, step and help.
PARAMETERS = (
    ("min_coverage", "min_coverage", "Minimum coverage", 0.01, None),
    ("min_winning_rate", "min_omega", "Minimum winning rate ω", 0.05, None),
    ("margin", "margin", "Margin below the ceiling", 0.01, None),
    (
        "epsilon", "epsilon", "ε of the alternative-annotator test", 0.05,
        "The advantage conceded to a judge: 0.2 for expert annotators, 0.15 skilled, 0.1 crowd workers.",
    ),
)  # fmt: skip
# Columns that the files of the chart of accuracies do not have: its caption has the reference.
NOT_PRINTED = ("reference", "lowest", "highest")
PAIRS = (
    "A × B: the numbers of the judges, the more accurate first. A − B: the difference in accuracy, with its 95 % "
    "interval. p: corrected by Holm's method, the smallest first. n: targets. A click on a row lists the targets on "
    "which the two judges differ."
)
PLANS = (
    "Targets on which two judges agree cannot tell them apart, whatever people say. If only the others are labelled, "
    "the accuracies of both become lower than on all targets; which judge is better remains right. The order “most "
    "informative first” of the study's settings puts the targets on which judges or people differ first."
)


def filters(data: AlignmentData) -> RankingQuery | None:
    """Draw the choices that all sections share."""
    keys = judge_ranking.keys(data)
    if not keys:
        return None
    query = alignment_data.choose_query(keys, partial(judge_ranking.scenarios, data), clear_selection)
    policies: dict[str, rules.Abstentions] = {policy: policy for policy in get_args(rules.Abstentions)}
    chosen = alignment_data.choose(
        "Targets without a verdict", list(policies), "abstentions",
        lambda name: rules.ABSTENTION_POLICIES[policies[name]], clear_selection,
    )  # fmt: skip
    return replace(query, abstentions=policies[chosen], rule=choose_rule())


def choose_rule() -> rules.Rule:
    """Draw the parameters of the recommendation, which are in the URL."""
    default = asdict(rules.Rule())
    with st.popover("Rule", icon=":material/tune:"):
        st.markdown(RULE)
        chosen = {
            name: st.number_input(
                label, 0.0, rules.LARGEST[name], default[name], step, key=key, bind="query-params", help=help
            )
            for name, key, label, step, help in PARAMETERS
        }
    return rules.Rule(**chosen)


def clear_selection() -> None:
    """Clear the selection, after a click on something that changes the figures."""
    item_drilldown.pick(pair=None, cell=None)


def why_empty(data: AlignmentData) -> str:
    """Return why no judge is compared with people."""
    if len(data.opinions):
        return "The judges' values have no declared scale, so nothing can be compared."
    return f"This study has {'labels but ' if len(data.labels) else ''}no judge opinions yet."


def why_unranked(data: AlignmentData, query: RankingQuery, report: JudgeReport | None) -> str:
    """Return why the judges have no accuracy; "" if they have one."""
    if (query.kind, query.criterion) not in judge_ranking.rankable(data):
        return judge_ranking.why_unranked(data, judge_ranking.Selection(query.kind, query.criterion))
    if report is None or not report.ranking.targets:
        return "No target has both a reference and an opinion of every judge. Choose another criterion."
    return ""


def show_accuracy(study: Study, data: AlignmentData, query: RankingQuery, report: JudgeReport | None) -> Result | str:
    """Return the recommendations and the accuracies."""
    if reason := why_unranked(data, query, report):
        return reason
    assert report is not None
    ranking = report.ranking
    rows = judge_ranking.ranked_rows(report)
    left_out = (*NOT_PRINTED, *(() if report.population != ALL_TARGETS else ("population",)))
    printed = [
        {"number": row.number} | {name: cell for name, cell in record.items() if name not in left_out}
        for row, record in zip(rows, judge_ranking.table(report), strict=True)
    ]
    files = charts.ChartData(printed, judge_ranking.describe_method(report), "targets")
    return Result(
        headline=rules.recommend(ranking),
        warning=warn(data, report),
        caption="\n\n".join(describe(data, query, report)),
        figures=[judge_charts.accuracy_chart(ranking, files)],
        notes=describe_decisions(ranking),
        tables=[Table("judges", rows, (*judge_ranking.COLUMNS, *judge_ranking.LAST_COLUMNS))],
    )


def describe(data: AlignmentData, query: RankingQuery, report: JudgeReport) -> list[str]:
    """Return the n of a ranking, its rule, and what is not compared, as Markdown."""
    ranking = report.ranking
    facts = (
        f"{numbers.format_count(ranking.targets, 'target')} common to all judges",
        numbers.format_count(ranking.annotators, "annotator"),
        f"targets without a verdict {rules.ABSTENTION_POLICIES[query.abstentions]}",
        f"reference {report.reference}",
    )
    lines = [" · ".join(facts), rules.describe_rule(query.rule), describe_counts(ranking)]
    different = [judge for judge in ranking.judges if 0 < judge.accuracy.items < ranking.targets]
    if different:
        shares = ", ".join(f"{judge.judge} on {judge.accuracy.items:,}" for judge in different)
        lines.append(f"Accuracies are of different targets, of {ranking.targets:,}: {shares}.")
    lines += report.notes
    if ranking.ceiling.value is None:
        lines.append(f"No human ceiling: {ranking.ceiling.reason}.")
    return [escape_markdown(line) for line in lines if line]


def warn(data: AlignmentData, report: JudgeReport) -> str:
    """Return what changes what the figures mean: chosen targets, and judges with a model of the reference."""
    marks = (f"{one.judge}: {data.marks[one.judge]}." for one in report.ranking.judges if one.judge in data.marks)
    return " ".join(filter(None, (report.chosen, *marks)))


def describe_counts(ranking: rules.Ranking) -> str:
    """Return the targets of the accuracy, of the human ceiling and of ω; "" if all are the same."""
    of_ceiling = {ranking.ceiling.items, *(judge.less_ceiling.items for judge in ranking.judges)}
    of_omega = {judge.winning_targets for judge in ranking.judges if judge.winning_rate is not None}
    if ranking.ceiling.value is None or of_ceiling | of_omega == {ranking.targets}:
        return ""
    sentence = (
        f"Accuracy and coverage are of the {numbers.format_count(ranking.targets, 'target')} with a value of the "
        f"reference; the human ceiling and the distance from it are of the {numbers.format_span(of_ceiling)} with a "
        "majority among the other annotators when one of them is left out"
    )
    shared = f"that two annotators or more labelled, one of them at least {MIN_ITEMS} such targets"
    return f"{sentence}; ω is of the {numbers.format_span(of_omega)} {shared}." if of_omega else f"{sentence}."


def describe_decisions(ranking: rules.Ranking) -> list[str]:
    """Return the reason of each decision in full, as Markdown: a cell of the table would cut it off."""
    lines = [
        f"{number}. **{escape_markdown(judge.judge)}**, {judge.decision}: {escape_markdown(judge.reason)}"
        for number, judge in enumerate(ranking.judges, start=1)
    ]
    lines += [escape_markdown(text) for judge in ranking.judges for text in rules.remarks(judge)]
    if ranking.ceiling.value is not None:
        people = numbers.format_count(ranking.ceiling.items, "target")
        lines.append(f"Human ceiling: each annotator against the others, {people}.")
    return lines


Comparisons = tuple[JudgeReport | None, tuple[Comparison, ...]]


def compare(study: Study, data: AlignmentData, query: RankingQuery) -> Comparisons:
    """Return the ranking, and the difference of every two judges."""
    return judge_ranking.report(data, query), judge_ranking.compare(data, query)


def show_comparisons(study: Study, data: AlignmentData, query: RankingQuery, found: Comparisons) -> Result | str:
    """Return the difference between every two judges as a matrix and a list."""
    report, comparisons = found
    if report is None or not comparisons:
        return why_unranked(data, query, report) or "A comparison needs two judges."
    names = [judge.judge for judge in report.ranking.judges]
    rows = sorted(  # the smallest corrected p first, then the largest difference; undefined ones last
        (better_first(comparison, names) for comparison in comparisons),
        key=lambda one: (1.0 if one.p_corrected is None else one.p_corrected, -abs(one.difference or 0.0)),
    )
    significant = sum(map(is_significant, comparisons))
    columns = (
        Column("A × B", partial(pair_numbers, names), "figure"),
        Column("A − B", "difference low high", "difference"),
        Column("p", "p_corrected", "p"),
        Column("n", "items", "count"),
        Column("A", "judge"),
        Column("B", "other_judge"),
    )
    return Result(
        headline=f"{significant} of {numbers.format_count(len(comparisons), 'difference')} remain with p under 0.05 "
        "after Holm's correction; marked with *.",
        warning=warn(data, report),
        caption="\n\n".join(describe(data, query, report)),
        figures=[difference_chart(rows, names)],
        remark=PAIRS,
        tables=[Table("pairs", rows, columns, ())],
        on_click=lambda row, _: item_drilldown.pick(pair=f"{rows[row].judge} × {rows[row].other_judge}"),
    )


def is_significant(comparison: Comparison) -> bool:
    """Return whether the corrected p is under 0.05."""
    return comparison.p_corrected is not None and comparison.p_corrected < 0.05


def pair_numbers(names: Sequence[str], pair: Comparison | PairPlan) -> str:
    """Return `1 × 3`: the numbers of two judges in the ranking."""
    return f"{names.index(pair.judge) + 1} × {names.index(pair.other_judge) + 1}"


def difference_chart(rows: Sequence[Comparison], names: Sequence[str]) -> Matrix:
    """Return a matrix of the row's accuracy minus the column's; a star marks a corrected p under 0.05."""
    both = [*rows, *(better_first(row, (row.other_judge, row.judge)) for row in rows)]
    number = {name: place for place, name in enumerate(names, start=1)}
    data = [{"number": number[row.judge], "other_number": number[row.other_judge]} | asdict(row) for row in rows]
    return Matrix(
        "differences", "Row minus column, in accuracy", names, names,
        [difference_cell(row, len(names)) for row in both if row.difference is not None],
        numbered=True, signed=True, data=charts.ChartData(data, PAIRED_DIFFERENCES, "targets"),
        on_select=lambda: item_drilldown.pick(pair=charts.clicked_point("differences")),
        selected=st.query_params.get("pair"),
    )  # fmt: skip


def difference_cell(row: Comparison, judges: int) -> Cell:
    """Return the cell of a difference; of many judges it has the star alone."""
    star, value = "*" * is_significant(row), row.difference or 0.0
    corrected = row.p_corrected
    details = (
        f"{row.judge} minus {row.other_judge}",
        numbers.format_estimate(value, row.low, row.high, sign=True),
        f"Holm-corrected {equate_p(corrected)}" if corrected is not None else row.reason,
        numbers.format_count(row.items, "target"),
        "Click to list the targets on which they differ",
    )
    text = star if judges > MAX_CELL_TEXT else f"{value:+.2f}{star}"
    return Cell(row.judge, row.other_judge, value, text, details, f"{row.judge} × {row.other_judge}")


def draw_differing_targets(study: Study, data: AlignmentData, query: RankingQuery, found: Comparisons) -> None:
    """Draw the targets on which the two judges of the address differ, with people's labels."""
    selected = st.query_params.get("pair", "")
    judge, _, other = selected.partition(" × ")
    if found[0] is not None and {judge, other} <= {one.judge for one in found[0].ranking.judges}:
        targets = judge_ranking.differing_targets(data, query, judge, other, shell.current_annotator())
        text = f"{judge} and {other} have different values"
        item_drilldown.draw_targets(study, targets, text, clear_selection)
    elif selected:
        alignment_data.draw_warning("Pair of judges", selected, "all pairs")


Costs = tuple[JudgeReport | None, dict[str, judge_costs.RunCost]]


def load_costs(study: Study, data: AlignmentData, query: RankingQuery) -> Costs:
    """Return the ranking and the cost of each judge."""
    costs = resources.read(judge_costs.cost_by_judge, study.id, data.opinions)
    return judge_ranking.report(data, query), costs


def show_costs(study: Study, data: AlignmentData, query: RankingQuery, found: Costs) -> Result | str:
    """Return accuracy against dollars and against seconds, for the judges whose calls have them."""
    report, costs = found
    if reason := why_unranked(data, query, report):
        return reason
    assert report is not None
    rows = [row for row in judge_ranking.ranked_rows(report, costs) if row.cost is not None]
    figures = judge_charts.cost_charts(rows)
    if not figures:
        return "No call of these judges has a price or a duration."
    columns = (
        Column("No.", "number", "count"),
        Column("Judge", "evaluation.judge"),
        Column("Accuracy", "evaluation.accuracy.value evaluation.accuracy.low evaluation.accuracy.high", "estimate"),
        Column("$ per 1,000", lambda row: judge_charts.format_amount(row, "dollars"), "figure"),
        Column("Seconds per 1,000", lambda row: judge_charts.format_amount(row, "seconds"), "figure"),
        Column("Efficient by", lambda row: ", ".join(judge_charts.NAMES[unit] for unit in row.efficient)),
    )
    return Result(
        headline=rules.recommend(report.ranking),
        warning=warn(data, report),
        caption="\n\n".join(describe(data, query, report)),
        figures=figures,
        remark="\n\n".join(unknown_costs(report.ranking, rows)),
        tables=[Table("costs", rows, columns, ())],
    )


def unknown_costs(ranking: rules.Ranking, rows: Sequence[RankedRow]) -> list[str]:
    """Return whose prices and durations are unknown, and what a judge costs, as Markdown."""
    by_judge: Mapping[str, Any] = {row.evaluation.judge: row.cost for row in rows}
    lines = []
    for unit, name in judge_charts.NAMES.items():
        missing = [
            escape_markdown(judge.judge)
            for judge in ranking.judges
            if judge.judge not in by_judge or by_judge[judge.judge].amount(unit) is None
        ]
        if missing:
            lines.append(f":material/help: The {name} of some calls is unknown: {', '.join(missing)}.")
    numbered = "No.: the number in the ranking, which efficient judges have in the charts."
    entered = "Prices of models that are not in the price list can be entered in the settings of a run."
    return [*lines, f"{numbered} {judge_charts.METHOD}. {entered}"]


def show_plans(
    study: Study, data: AlignmentData, query: RankingQuery, found: label_plans.StudyPlans | None
) -> Result | str:
    """Return the labels that separate the two most accurate judges, and every two judges."""
    if found is None or found.ranked is None:
        return why_unranked(data, query, None) or "No labels can be planned without targets that judges share."
    report = found.ranked
    names = [judge.judge for judge in report.ranking.judges]
    columns = (Column("A × B", partial(pair_numbers, names), "figure", help="The numbers of the two judges."),)
    return Result(
        headline=" ".join(found.sentences),
        warning=warn(data, report),
        caption=PLANS,
        tables=[Table("plan", found.pairs, (*columns, *label_plans.COLUMNS))],
    )


QUESTION = "Which judge can replace annotators, and is one judge better than another?"
LINKS = (
    shell.RUN,
    ("label/disagreements.py", "Label disputed debates", ":material/balance:"),
    (shell.STUDIES, "Import labels or judgements", ":material/upload_file:"),
)


def make_section(name: str, title: str, *parts: Any) -> Section[Any, Any]:
    """Return a section of what it computes, shows, and draws below."""
    compute, show, *below = parts
    return Section(name, title, filters, compute, show, why_empty, LINKS, *below)


SECTIONS = (
    make_section("judges", "Accuracy", lambda study, data, query: judge_ranking.report(data, query), show_accuracy),
    make_section("judges/versus", "A versus B", compare, show_comparisons, draw_differing_targets),
    make_section(
        "judges/alignment", "Alignment", alignment_rows.compute, alignment_rows.show, alignment_rows.draw_differences
    ),
    make_section("judges/cost", "Cost", load_costs, show_costs),
    make_section(
        "judges/plan",
        "More labels",
        lambda study, data, query: resources.read(label_plans.report, study, data, query),
        show_plans,
    ),
)

study = shell.draw_header("Judges", QUESTION)
draw_sections(study, SECTIONS, "A versus B" if "pair" in st.query_params else "")
