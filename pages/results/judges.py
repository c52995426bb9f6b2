"""Which judge can be trusted: every judge on the same targets, with a recommendation, and each against each."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.formats.tables import rows_csv
from core.provenance import PAIRED_DIFFERENCES
from core.statistics.measures.alternative_annotator import MIN_ITEMS
from core.statistics.measures.comparison import Comparison
from core.statistics.reports.judges import (
    ABSTENTION_POLICIES,
    LARGEST,
    Abstentions,
    JudgeEvaluation,
    Ranking,
    Rule,
    describe_rule,
    summarize,
)
from core.statistics.reports.label_plans import PairPlan, PlanReport
from pages.parts import charts, downloads, numbers, resources, shell, tables
from pages.parts.chart_files import ChartData
from pages.parts.text import escape_markdown
from pages.results.parts import (
    agreement_rows,
    alignment_data,
    alignment_differences,
    chosen_labels_note,
    item_drilldown,
    judge_charts,
)
from pages.results.parts.alignment_data import Version
from pages.results.parts.judge_charts import format_estimate
from storage.reports import judge_ranking, label_plans
from storage.reports.alignment import AlignmentData
from storage.reports.chosen_labels import ALL_TARGETS
from storage.reports.judge_ranking import JudgeReport, RankingQuery
from storage.studies.studies import Study

SECTIONS = ("Accuracy", "A versus B", "Cost", "More labels")
PAGE = "judges"
CEILING_HELP = (
    "Accuracy against the majority of the other annotators, each left out in turn, minus the annotators' own accuracy "
    "against it. It also counts targets without a majority of all, so it is not the difference of the column Accuracy "
    "from the ceiling."
)
WINNING_HELP = (
    "The winning rate of the alternative-annotator test: the share of the annotators for whom a test shows that the "
    "judge is not worse than they are by more than ε, on the targets that they share with others. ε is the advantage "
    "conceded to a judge for its lower cost."
)
COVERAGE_HELP = "The share of the common targets with a verdict of the judge."
ACCURACY_HELP = (
    "The share of the common targets on which the verdict is the value of the reference. Where missing verdicts are "
    "left out, each judge has its own targets."
)
RULE = (
    "The difference d is the judge's accuracy minus the human ceiling.  \n"
    "**Use**: the lower end of d is above minus the margin, and nothing of what follows.  \n"
    "**Use with review**: the lower end of d is above minus the margin, but the coverage or the winning rate of the "
    "alternative-annotator test is under its minimum, the judge is not more accurate than the most frequent answer "
    "alone, it has a bias of at least the margin, or it repeats, or may repeat, the labels of one annotator.  \n"
    "**Do not use**: the upper end of d is not above minus the margin, or the judge gives the same answer to every "
    "target.  \n"
    "**Not enough data**: minus the margin is within the interval of d, or there are not two annotators, 30 targets "
    "that they share, or 30 targets with a reference."
)
RANGE_HELP = (
    "The accuracy if every missing verdict were wrong, and if every one were right. Empty if none is missing. The "
    "distance from the ceiling and ω have no such range: read them with the coverage."
)

HELP = {
    "Accuracy": ACCURACY_HELP,
    "Coverage": COVERAGE_HELP,
    "Range": RANGE_HELP,
    "From ceiling": CEILING_HELP,
    "ω": WINNING_HELP,
}
COLUMNS = {name: st.column_config.TextColumn(alignment="right", help=text) for name, text in HELP.items()}
COLUMNS["Decision"] = st.column_config.TextColumn()


@st.cache_data(max_entries=64, show_spinner="Comparing judges …")
def load_report(
    url: str, study_id: int, version: Version, reference: str, query: RankingQuery, _data: AlignmentData
) -> JudgeReport | None:
    """Return the ranking at a version; the cache is shared by all visitors."""
    return judge_ranking.report(_data, query)


@st.cache_data(max_entries=64, show_spinner="Comparing judges …")
def load_comparisons(
    url: str, study_id: int, version: Version, reference: str, query: RankingQuery, _data: AlignmentData
) -> tuple[Comparison, ...]:
    """Return the difference of every two judges at a version; the cache is shared by all visitors."""
    return judge_ranking.compare(_data, query)


@st.cache_data(max_entries=64, show_spinner="Planning labels …")
def load_plans(
    url: str,
    study_id: int,
    version: Version,
    reference: str,
    query: RankingQuery,
    overlap: int,
    _data: AlignmentData,
    _report: JudgeReport,
) -> tuple[PlanReport | None, PairPlan | None]:
    """Return the plans of all judges, and of the two most accurate ones, at a version."""
    return label_plans.report(_data, query, overlap), label_plans.leaders(_data, query, _report, overlap)


def draw_page(study: Study) -> None:
    """Draw the ranking, and redraw it when a label or an opinion is added."""
    drawn_version = alignment_data.shown_version(study, PAGE)
    alignment_data.rerun_on_change(study, drawn_version, PAGE)
    item_drilldown.apply_selection()
    start = time.thread_time()
    version = alignment_data.shown_version(study, PAGE)
    reference, row = alignment_data.draw_reference_choice(study, version)
    if not alignment_data.has_data(study, PAGE, version, reference):
        return None
    data = alignment_data.load_data(str(resources.engine().url), study.id, version, reference)
    keys = judge_ranking.rankable(data)
    if not keys:
        return empty_state(study, judge_ranking.why_unranked(data))
    query = choose_query(data, keys, row)
    compared = st.query_params.get("section") == SECTIONS[1]

    def compute(newer: Version) -> JudgeReport | None:
        url = str(resources.engine().url)
        newer_data = alignment_data.load_data(url, study.id, newer, reference)
        if compared:
            load_comparisons(url, study.id, newer, reference, query, newer_data)
        return load_report(url, study.id, newer, reference, query, newer_data)

    report = compute(version)
    alignment_data.computed(study, PAGE, version, start, compute)
    if report is None or not report.ranking.targets:
        st.info("No target has both a reference and an opinion of every judge. Choose another criterion.")
        return
    draw_report(study, version, reference, data, query, report)


def draw_report(
    study: Study, version: Version, reference: str, data: AlignmentData, query: RankingQuery, report: JudgeReport
) -> None:
    """Draw the sentence and the open tab."""
    draw_summary(data, query, report)
    several = len(report.ranking.judges) > 1
    accuracy, versus, cost, labels = draw_tabs(several)
    if accuracy.open:
        with accuracy:
            draw_accuracy(report)
    if versus is not None and versus.open:
        with versus:
            url = str(resources.engine().url)
            comparisons = load_comparisons(url, study.id, version, reference, query, data)
            draw_comparisons(study, data, query, report, comparisons)
    if cost.open:
        costs = alignment_data.load_costs(str(resources.engine().url), study.id, version, reference)
        with cost:
            judge_charts.draw_costs(report.ranking, costs)
    if labels is not None and labels.open:
        plans, leaders = load_plans(
            str(resources.engine().url), study.id, version, reference, query, study.rules.overlap, data, report
        )
        with labels:
            agreement_rows.draw_label_plan(plans, leaders, list(judge_charts.judge_numbers(report.ranking)))


def empty_state(study: Study, reason: str) -> None:
    """Draw the empty state if nothing can be ranked."""
    st.info(escape_markdown(reason))
    shell.draw_links(
        study,
        shell.RUN,
        ("label/disagreements.py", "Label disputed debates", ":material/balance:"),
        (shell.STUDIES, "Import labels or judgements", ":material/upload_file:"),
    )


def choose_query(data: AlignmentData, keys: Sequence[tuple[str, str]], row: DeltaGenerator) -> RankingQuery:
    """Draw the choices into a row; they are in the URL."""
    with row:
        query = alignment_data.choose_query(data, keys, clear_selection)
        abstentions = alignment_data.choose(
            "Targets without a verdict", get_args(Abstentions), "abstentions", describe_policy, clear_selection
        )
        query = replace(query, rule=choose_rule())
    for policy in get_args(Abstentions):
        if policy == abstentions:
            return replace(query, abstentions=policy)
    return query


def describe_policy(policy: str) -> str:
    """Return the words of a policy for missing verdicts."""
    return next(words for name, words in ABSTENTION_POLICIES.items() if name == policy)


def choose_rule() -> Rule:
    """Draw the parameters of the recommendation, which are in the URL."""
    default = Rule()

    def choose(label: str, name: str, step: float, key: str | None = None, help: str | None = None) -> float:
        value: float = getattr(default, name)
        return st.number_input(label, 0.0, LARGEST[name], value, step, key=key or name, bind="query-params", help=help)

    with st.popover("Rule", icon=":material/tune:"):
        st.markdown(RULE)
        coverage = choose("Minimum coverage", "min_coverage", 0.01)
        winning = choose("Minimum winning rate ω", "min_winning_rate", 0.05, "min_omega")
        margin = choose("Margin below the ceiling", "margin", 0.01)
        epsilon = choose(
            "ε of the alternative-annotator test", "epsilon", 0.05,
            help="The advantage conceded to a judge: 0.2 for expert annotators, 0.15 skilled, 0.1 crowd workers.",
        )  # fmt: skip
    return Rule(coverage, winning, margin, epsilon)


def draw_tabs(several: bool) -> tuple[Any, Any, Any, Any]:
    """Draw the tabs of `SECTIONS`, None for one that needs several judges; the open one is in the URL."""
    names = SECTIONS if several else (SECTIONS[0], SECTIONS[2])
    tabs = alignment_data.draw_tabs(names, SECTIONS[1] if several and "pair" in st.query_params else SECTIONS[0])
    by_name = dict(zip(names, tabs, strict=True))
    return by_name[SECTIONS[0]], by_name.get(SECTIONS[1]), by_name[SECTIONS[2]], by_name.get(SECTIONS[3])


def draw_summary(data: AlignmentData, query: RankingQuery, report: JudgeReport) -> None:
    """Draw the recommendations, their n, and what is not compared."""
    ranking = report.ranking
    st.markdown(f"**{escape_markdown(summarize(ranking))}**")
    chosen_labels_note.draw(report.chosen)
    facts = (
        f"{numbers.format_count(ranking.targets, 'target')} common to all judges",
        numbers.format_count(ranking.annotators, "annotator"),
        f"targets without a verdict {describe_policy(query.abstentions)}",
        f"reference {escape_markdown(report.reference)}",
    )
    st.caption(f"{' · '.join(facts)}  \n{escape_markdown(describe_rule(query.rule))}")
    if note := describe_counts(ranking):
        st.caption(note)
    if different := [judge for judge in ranking.judges if 0 < judge.accuracy.items < ranking.targets]:
        shares = ", ".join(f"{judge.judge} on {judge.accuracy.items:,}" for judge in different)
        sentence = f"Accuracies are of different targets, of {ranking.targets:,}: {shares}."
        st.caption(f":material/warning: {escape_markdown(sentence)}")
    for judge in ranking.judges:
        if mark := data.marks.get(judge.judge):
            st.caption(f":material/info: {escape_markdown(judge.judge)}: {escape_markdown(mark)}.")
    for note in report.notes:
        st.caption(f":material/info: {escape_markdown(note)}")
    if ranking.ceiling.value is None:
        st.caption(f":material/help: No human ceiling: {escape_markdown(ranking.ceiling.reason)}.")


def describe_counts(ranking: Ranking) -> str:
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


def draw_accuracy(report: JudgeReport) -> None:
    """Draw the charts and the table of accuracy and coverage."""
    ranking = report.ranking
    rows = judge_ranking.table(report)
    method = judge_ranking.describe_method(report)
    number = judge_charts.judge_numbers(ranking)
    printed = [printed_row(row, number.get(row["judge"])) for row in rows]
    ranked = ChartData(printed, method, "targets", names=judge_charts.row_names(ranking))
    left, right = st.columns([3, 2], gap="large")
    with left:
        figure = judge_charts.accuracy_figure(ranking)
        alt = f"Accuracy of each judge. {summarize(ranking)}"
        charts.draw(figure, "ranking", alt, data=ranked, selected=st.query_params.get("judge"))
    with right:
        alt = "Accuracy of each judge against its coverage"
        charts.draw(judge_charts.coverage_figure(ranking), "coverage", alt, data=ranked)
    draw_table(ranking)
    downloads.draw_csv_download(lambda: rows_csv(rows), "judges.csv")


def printed_row(row: Mapping[str, Any], number: int | None) -> dict[str, Any]:
    """Return a row for the files of a chart: with the judge's number, without what the caption has, and the range."""
    left_out = ("reference", "lowest", "highest", *(() if row["population"] != ALL_TARGETS else ("population",)))
    return {"number": number} | {name: cell for name, cell in row.items() if name not in left_out}


def draw_table(ranking: Ranking) -> None:
    """Draw every judge with its decision, the human ceiling, the baselines, and the reasons of the decisions."""
    lines = [table_line(judge, number) for number, judge in enumerate(ranking.judges, start=1)]
    others = [("human ceiling", "people", ranking.ceiling)]
    others += [(baseline.name, "baseline", baseline.accuracy) for baseline in ranking.baselines]
    lines += [
        dict.fromkeys(lines[0], "") | {"Judge": name, "Decision": role, "Accuracy": format_estimate(estimate)}
        for name, role, estimate in others
        if estimate.value is not None
    ]
    lines = [{name: line[name] for name in line if any(other[name] for other in lines)} for line in lines]
    columns = tables.figure_columns(lines, ("Judge",), COLUMNS)
    st.dataframe(lines, key="judges_table", hide_index=True, column_config=columns)
    draw_reasons(ranking)
    tables.draw_notes(columns)


def draw_reasons(ranking: Ranking) -> None:
    """Draw the reason of each decision in full: a cell of the table would cut it off."""
    with st.expander("Why: the reason of each decision"):
        lines = [
            f"{number}. **{escape_markdown(judge.judge)}**, {judge.decision}: {escape_markdown(judge.reason)}"
            for number, judge in enumerate(ranking.judges, start=1)
        ]
        if ranking.ceiling.value is not None:
            people = numbers.format_count(ranking.ceiling.items, "target")
            lines.append(f"\nHuman ceiling: each annotator against the others, {people}.")
        st.markdown("\n".join(lines))


def table_line(judge: JudgeEvaluation, number: int) -> dict[str, str]:
    """Return the table row of a judge with its number, by which charts name it."""
    return {
        "": str(number),
        "Judge": judge.judge,
        "Decision": judge.decision,
        "Accuracy": format_estimate(judge.accuracy),
        "Coverage": format_estimate(judge.coverage),
        "From ceiling": format_estimate(judge.less_ceiling, sign=True),
        "ω": "–" if judge.winning_rate is None else f"{judge.winning_rate:.2f}",
        "Range": numbers.format_range(judge.accuracy_range),
    }


def draw_comparisons(
    study: Study, data: AlignmentData, query: RankingQuery, report: JudgeReport, comparisons: Sequence[Comparison]
) -> None:
    """Draw the difference between every two judges as a matrix and a list; a click lists where they differ."""
    names = [judge.judge for judge in report.ranking.judges]
    selected = st.query_params.get("pair", "")
    significant = [comparison for comparison in comparisons if judge_charts.is_significant(comparison)]
    st.markdown(
        f"{len(significant)} of {numbers.format_count(len(comparisons), 'difference')} "
        "remain with p under 0.05 after Holm's correction; marked with *."
    )
    figure = judge_charts.difference_figure(comparisons, names)
    paired = ChartData(alignment_differences.chart_rows(comparisons, names), PAIRED_DIFFERENCES, "targets", names=names)
    alt = "Differences in accuracy between judges"
    is_compact = len(names) > judge_charts.MAX_CELL_TEXT
    with st.container(key="many_differences" if is_compact else None):
        charts.draw(figure, "differences", alt, _select_pair, paired, selected or None)
    alignment_differences.draw_list(comparisons, names, select, selected)
    judges = selected.split(" × ", 1)
    if len(judges) == 2 and set(judges) <= set(names):
        draw_differing_targets(study, data, query, *judges)
    elif selected:
        alignment_data.draw_warning("Pair of judges", selected, "all pairs")


def _select_pair() -> None:
    select(charts.clicked_point("differences"))


def select(pair: str | None = None) -> None:
    """Select the targets of a pair of judges in place of the last selection."""
    st.session_state["opened"] = st.session_state.get("opened", 0) + 1
    st.session_state["clicked"] = {"pair": pair, "item": None, "part": None}


def clear_selection() -> None:
    """Clear the selection."""
    select()


def draw_differing_targets(study: Study, data: AlignmentData, query: RankingQuery, judge: str, other: str) -> None:
    """Draw the targets on which two judges differ, with people's labels."""
    drilldown = judge_ranking.differing_targets(data, query, judge, other, shell.current_annotator())
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(f"Selected targets: {drilldown.selected:,}", anchor=False, width="content")
        st.button("Close", icon=":material/close:", type="tertiary", key="close_items", on_click=clear_selection)
    st.caption(f"{escape_markdown(judge)} and {escape_markdown(other)} have different values")
    item = item_drilldown.draw_drilldown(drilldown)
    if item is not None:
        item_drilldown.draw_detail(study, item)


draw_page(shell.draw_header("Judges", "Which judge can replace annotators, and is one judge better than another?"))
