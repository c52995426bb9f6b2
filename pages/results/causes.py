"""Is the judge wrong, or the people: the causes of each judge's disagreements, and the targets to label again."""

import time
from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.formats.tables import rows_csv
from core.provenance import CAUSE_MODEL
from core.statistics.measures.causes import CAUSES
from core.statistics.reports.discordance import Slice, SliceRow
from pages.parts import charts, downloads, numbers, permissions, resources, shell, tables
from pages.parts.chart_files import ChartData
from pages.parts.text import escape_markdown
from pages.results.parts import alignment_data, causes_chart, item_drilldown, slice_section
from pages.results.parts.alignment_data import Version
from storage.accounts.access import Permission
from storage.db import connections
from storage.reports import disagreements, discordance, judge_errors, judge_ranking, rationales
from storage.reports import slice_comparison as compared_slices
from storage.reports.alignment import AlignmentData
from storage.reports.disagreements import Drilldown
from storage.reports.judge_errors import Disagreement, JudgeErrors
from storage.reports.judge_ranking import RankingQuery
from storage.reports.rationales import RationaleReport
from storage.reports.slice_comparison import Conditions
from storage.studies.studies import Study

PAGE, SENTENCES = "causes", 3
"""The name of the page, and the judges with a sentence: the chart and the table have all."""
SECTIONS = ("Causes", "Slices", "Replies", "To label")


@st.cache_data(max_entries=32, show_spinner="Explaining disagreements …")
def load_errors(
    url: str, study_id: int, version: Version, query: RankingQuery, _data: AlignmentData
) -> list[JudgeErrors]:
    """Return the disagreements of all judges at a version; the cache is shared by all visitors."""
    return judge_errors.report(_data, query)


@st.cache_resource(max_entries=4, show_spinner=False)
def load_contentions(url: str, study_id: int, opinion_version: Version) -> discordance.Contentions:
    """Return the contention of verdicts at a version of the opinions; shared by all visitors, so do not modify."""
    with connections.reading(resources.engine()) as session:
        return discordance.contentions(session, study_id)


@st.cache_data(max_entries=32, show_spinner="Comparing slices …")
def load_slices(url: str, study_id: int, version: Version, query: RankingQuery, _data: AlignmentData) -> list[SliceRow]:
    """Return the slices of all judges at a version."""
    return discordance.report(_data, query, load_contentions(url, study_id, alignment_data.opinion_version(version)))


@st.cache_data(max_entries=32, show_spinner=False)
def load_without_scenario(
    url: str, study_id: int, version: Version, query: RankingQuery, _data: AlignmentData
) -> dict[str, int]:
    """Return the number of each judge's targets without a scenario at a version."""
    return discordance.without_scenario(_data, query)


@st.cache_data(max_entries=32, show_spinner="Clustering replies …")
def load_rationales(
    url: str, study_id: int, version: Version, query: RankingQuery, judge: str, _data: AlignmentData
) -> RationaleReport:
    """Return the clusters of a judge's replies at a version."""
    with connections.reading(resources.engine()) as session:
        return rationales.report(session, _data, query, judge)


def draw_page(study: Study) -> None:
    """Draw the causes, and redraw them when a label or an opinion is added."""
    start = time.thread_time()
    drawn_version = alignment_data.shown_version(study, PAGE)
    alignment_data.rerun_on_change(study, drawn_version, PAGE)
    item_drilldown.apply_selection()
    if not alignment_data.has_data(study, PAGE, drawn_version, "majority"):
        return
    url = str(resources.engine().url)
    data = alignment_data.load_data(url, study.id, drawn_version, "majority")
    keys = judge_ranking.rankable(data)
    if not keys:
        st.info(escape_markdown(judge_ranking.why_unranked(data)))
        return
    with alignment_data.draw_row():
        query = alignment_data.choose_query(data, keys)

    chosen = slice_section.chosen_slice()
    causes, slices, replies, label = draw_tabs(chosen)

    def compute(version: Version) -> list[JudgeErrors]:
        data = alignment_data.load_data(url, study.id, version, "majority")
        if slices.open:
            load_slices(url, study.id, version, query, data)
        return load_errors(url, study.id, version, query, data)

    found = compute(drawn_version)
    alignment_data.computed(study, PAGE, drawn_version, start, compute)
    if causes.open:
        with causes:
            draw_causes(found)
    draw_of_judge(study, query, data, found, drawn_version, (slices, replies, label))


def draw_of_judge(
    study: Study,
    query: RankingQuery,
    data: AlignmentData,
    found: Sequence[JudgeErrors],
    version: Version,
    tabs: tuple[Any, Any, Any],
) -> None:
    """Draw the open one of the tabs Slices, Replies and To label, for a chosen judge; nothing if none is open."""
    slices, replies, _ = tabs
    tab = next((tab for tab in tabs if tab.open), None)
    if tab is None:
        return
    names = [errors.judge for errors in found if errors.uncertain]
    with tab:
        if not names:
            st.caption("No judge has disagreements that can be divided: the tab Causes has the reasons.")
            return
        judge = alignment_data.choose("Disagreements of", names, "judge")
        if tab is slices:
            draw_slices(study, query, data, judge, version)
        elif tab is replies:
            draw_replies(study, query, data, judge, version)
        else:
            errors = next(errors for errors in found if errors.judge == judge)
            draw_request(study, errors, query)
            draw_disagreements(study, errors, judge_errors.informative(data, query, errors), query)


def draw_tabs(chosen: Slice | None) -> tuple[Any, ...]:
    """Draw the tabs of `SECTIONS`; the open one is in the URL, otherwise it is that of the chosen slice."""
    opened = SECTIONS[0] if chosen is None else SECTIONS[2] if chosen[0] == rationales.FEATURE else SECTIONS[1]
    return tuple(alignment_data.draw_tabs(SECTIONS, opened))


def draw_slices(study: Study, query: RankingQuery, data: AlignmentData, judge: str, version: Version) -> None:
    """Draw the slices of a judge, the saved ones, the comparison of two, and the targets of the chosen one."""
    url = str(resources.engine().url)
    rows = load_slices(url, study.id, version, query, data)
    without_scenario = load_without_scenario(url, study.id, version, query, data).get(judge, 0)
    slice_section.draw_section(rows, judge, without_scenario)
    chosen = slice_section.chosen_slice()
    measured = load_contentions(url, study.id, alignment_data.opinion_version(version))
    if chosen is not None:
        viewer = shell.current_annotator()
        differing = discordance.differing_targets(data, query, measured, judge, chosen, viewer)
        draw_slice(study, judge, chosen, differing)
    found = list(dict.fromkeys(row.slice for row in rows))
    slice_section.draw_save(study, found, chosen)

    def compare(names: tuple[str, str], slices: tuple[Conditions, Conditions]) -> list[SliceRow]:
        return compared_slices.compare(data, query, measured, names, slices)

    slice_section.draw_comparison(study, found, compare)


def draw_replies(study: Study, query: RankingQuery, data: AlignmentData, judge: str, version: Version) -> None:
    """Draw the clusters of a judge's replies, and the targets of the chosen one."""
    report = load_rationales(str(resources.engine().url), study.id, version, query, judge, data)
    slice_section.draw_rationales(report, judge)
    chosen = slice_section.chosen_slice()
    if chosen is not None:
        viewer = shell.current_annotator()
        draw_slice(study, judge, chosen, rationales.differing_targets(data, query, report, judge, chosen, viewer))


def draw_causes(found: Sequence[JudgeErrors]) -> None:
    """Draw the sentence of each judge, the chart and the table."""
    st.markdown("  \n".join(f"**{escape_markdown(errors.sentence)}**" for errors in found[:SENTENCES]))
    st.caption(
        "Targets are those with a verdict of the judge, two labels or more, and a majority of the annotators; the page "
        "Judges also counts those without a verdict. A disagreement is a "
        "verdict that is not this majority. Judge error: fewer than a third of "
        "all possible annotators would choose the judge's verdict. Human noise: more than two thirds would, and those "
        "who labelled are the exception. Ambiguity: people are divided. Estimated from the votes on each target, how "
        "often annotators agree, and how often the judge is right on clear targets. Few labels cannot tell divided "
        "people from clear targets with annotators that err: the 95 % intervals allow for both, so they are wide, and "
        "held the true shares in 92 to 100 % of planted studies."
    )
    if any(errors.causes.shares for errors in found):
        sentences = " ".join(errors.sentence for errors in found)
        names = [errors.judge for errors in found if errors.causes.shares]
        data = ChartData(judge_errors.table(found), CAUSE_MODEL, "targets", names=names)
        charts.draw(causes_chart.causes_figure(found), "causes", sentences, data=data)
    draw_table([table_line(errors) for errors in found])
    numbers.draw_reasons({errors.judge: errors.causes.reason for errors in found})
    if found:
        downloads.draw_csv_download(lambda: rows_csv(judge_errors.table(found)), "causes.csv")


def draw_table(lines: Sequence[dict[str, str]]) -> None:
    """Draw the table of judges, without columns that have no value."""
    lines = [{name: line[name] for name in line if any(one[name] not in ("", "–") for one in lines)} for line in lines]
    columns = tables.figure_columns(lines, ("Judge",))
    st.dataframe(lines, key="causes_table", hide_index=True, column_config=columns)


def table_line(errors: JudgeErrors) -> dict[str, str]:
    """Return the table row of a judge."""
    causes = errors.causes
    shares = {one.cause: numbers.format_estimate(one.value, one.low, one.high) for one in causes.shares}
    return {
        "Judge": errors.judge,
        "Disagreements": f"{causes.disagreements:,} of {causes.decided:,}",
        **{cause.capitalize(): shares.get(cause, "–") for cause in CAUSES},
        "Wrong on clear targets": "–" if causes.error_rate is None else f"{causes.error_rate:.2f}",
        "Without labels of": ", ".join(errors.without),
    }


def draw_request(study: Study, errors: JudgeErrors, query: RankingQuery) -> None:
    """Draw the estimate at the last request of more labels, and the present one."""
    with connections.reading(resources.engine()) as session:
        before = judge_errors.last_request(session, study.id, errors.judge, query)
    if before is not None:
        text = numbers.format_count(before.targets, "target")
        st.markdown(
            f"At the request of one more label of {text}, {before.at:%Y-%m-%d %H:%M} UTC: "
            f"{escape_markdown(before.estimate)}  \n**Now: {escape_markdown(errors.sentence)}**"
        )


def draw_disagreements(study: Study, errors: JudgeErrors, chosen: Sequence[Disagreement], query: RankingQuery) -> None:
    """Draw the most uncertain disagreements of a judge, and the button that asks for more labels of them."""
    count = numbers.format_count(len(chosen), "target")
    st.subheader(f"The most informative: {count}", anchor=False)
    st.caption("One more label of these tells most about the causes: the chances of the three are closest to even.")
    judge = errors.judge
    requested_key = f"requested_{study.id}_{judge}"
    if st.button(
        f"Ask annotators for one more label of the {count}", icon=":material/person_add:", key="request_labels"
    ):
        with permissions.writing(study.id, Permission.edit, "") as session:
            st.session_state[requested_key] = judge_errors.request_labels(session, study.id, chosen, errors, query)
    if requested := st.session_state.get(requested_key):
        text = numbers.format_count(requested, "target")
        st.success(f"One more label of {text} is requested; they are in the annotators' queues. The causes are "
                   "estimated again with every new label.")  # fmt: skip
    viewer = shell.current_annotator()
    draw_targets(study, disagreements.drill_down([one.pair for one in chosen], judge, viewer))


def draw_slice(study: Study, judge: str, chosen: Slice, differing: Drilldown) -> None:
    """Draw the targets of a slice on which the judge differs from people."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(f"Selected targets: {differing.selected:,}", anchor=False, width="content")
        st.button("Close", icon=":material/close:", type="tertiary", key="close_slice",
                  on_click=lambda: slice_section.select(None))  # fmt: skip
    st.caption(f"{escape_markdown(judge)} differs from people on {escape_markdown(': '.join(chosen))}")
    draw_targets(study, differing)


def draw_targets(study: Study, drilldown: Drilldown) -> None:
    """Draw the targets with their values, except those that the viewer has not labelled, and the opened one."""
    item = item_drilldown.draw_drilldown(drilldown)
    if item is not None:
        item_drilldown.draw_detail(study, item)


draw_page(shell.draw_header("Causes", "Where a judge and people disagree: is the judge wrong, or the people?"))
