"""Opinion changes in discussions: do judges convince each other, of the right answer, and what do rounds add?"""

import time
from collections.abc import Sequence

import streamlit as st

from core.formats.tables import rows_csv
from core.provenance import WILSON
from core.statistics.reports.discussions import AblationRow, ChangeRow, InfluenceRow, PanelReport
from pages.parts import charts, downloads, numbers, resources, shell, tables
from pages.parts.chart_files import ChartData
from pages.parts.text import escape_markdown
from pages.results.parts import agreement_rows, alignment_data, discussion_chart, item_drilldown
from pages.results.parts.alignment_data import Version
from storage.db import connections
from storage.reports import discussions
from storage.reports.alignment import AlignmentData
from storage.studies.studies import Study

PAGE = "discussions"
SEPARATOR = " ← "
MAX_HEIGHT = 265
"""Pixels of a table; a longer one is scrolled."""
P_COLUMN = {
    "p": st.column_config.TextColumn(
        alignment="right", help="Sign test of as many changes to the reference as from it; Holm."
    )
}


@st.cache_data(max_entries=32, show_spinner="Reading discussions …")
def load_reports(url: str, study_id: int, version: Version, reference: str, _data: AlignmentData) -> list[PanelReport]:
    """Return the discussions of all panels at a version; the cache is shared by all visitors."""
    with connections.reading(resources.engine()) as session:
        return discussions.report(session, study_id, _data)


def draw_page(study: Study) -> None:
    """Draw the discussions of a panel, and redraw them when a label or an opinion is added."""
    start = time.thread_time()
    drawn_version = alignment_data.shown_version(study, PAGE)
    alignment_data.rerun_on_change(study, drawn_version, PAGE)
    item_drilldown.apply_selection()
    reference, row = alignment_data.draw_reference_choice(study, drawn_version)
    url = str(resources.engine().url)

    def compute(version: Version) -> list[PanelReport]:
        newer = alignment_data.load_data(url, study.id, version, reference)
        return load_reports(url, study.id, version, reference, newer)

    if not alignment_data.has_first_figures(study, PAGE, drawn_version, compute):
        return
    reports = compute(drawn_version)
    alignment_data.computed(study, PAGE, drawn_version, start, compute)
    data = alignment_data.load_data(url, study.id, drawn_version, reference)
    if not reports:
        st.info("No judge of this study speaks twice about a pair of responses, or the only debate is the reference.")
        return
    names = [panel_name(panel) for panel in reports]
    with row:
        panel = reports[names.index(alignment_data.choose("Panel", names, "panel", on_change=clear_selection))]
    st.markdown(f"**{escape_markdown(panel.sentence)}**")
    st.caption(
        f"{numbers.format_count(panel.debates, 'debate')} · {numbers.format_count(panel.rounds, 'round')}. An opinion "
        "is adopted if a judge's reply has the value of another judge from which it differed before. Judges of the "
        "same opinion share an adoption, so it is no proof of a cause. A ← B: A adopts the opinion of B."
    )
    if panel.influences:
        shown = discussion_chart.strongest(panel.influences)
        figure = discussion_chart.influence_figure(shown)
        judge, _, source = st.query_params.get("change", "").partition(SEPARATOR)
        influence = [judge, source] if source else None
        points = ChartData(panel.influences, WILSON, "replies")
        charts.draw(figure, "influences", panel.sentence, _select_point, points, influence)
        if len(shown) < len(panel.influences):
            st.caption(
                f"The {len(shown)} of {len(panel.influences):,} pairs of judges whose intervals begin highest. The CSV "
                "file of the chart has all pairs."
            )
    draw_changes(panel.changes)
    draw_targets(study, data, panel)
    draw_ablations(panel.ablations)
    downloads.draw_csv_download(lambda: rows_csv(discussions.table(reports)), "discussions.csv")


def panel_name(panel: PanelReport) -> str:
    """Return `judge A, judge B · helpfulness`."""
    return " · ".join(filter(None, (", ".join(panel.judges), agreement_rows.criterion_name(panel.criterion))))


def draw_changes(rows: Sequence[ChangeRow]) -> None:
    """Draw first against last opinions; a click on a row lists the targets."""
    st.subheader("Changed opinions, first to last", anchor=False)
    lines = [
        {
            "Judge": row.judge,
            "Changed": f"{row.changed:,} of {row.opinions:,}",
            "Share": numbers.format_estimate(row.share, row.low, row.high),
            "To the reference": f"{row.towards:,}",
            "From it": f"{row.away:,}",
            "p": numbers.format_p(row.p_corrected),
        }
        for row in rows
    ]
    columns = tables.figure_columns(lines, {"Judge"}, P_COLUMN)
    key = f"changes_{st.session_state.get('opened', 0)}"
    tables.draw_clickable(
        lines, key, lambda row, _: select(rows[row].judge), max_height=MAX_HEIGHT, column_config=columns
    )
    tables.draw_notes(columns)


def draw_ablations(rows: Sequence[AblationRow]) -> None:
    """Draw the majority with fewer rounds and judges."""
    st.subheader("Without a judge, or with fewer rounds", anchor=False)
    if not rows:
        st.caption("That needs 10 targets with a reference and two rounds.")
        return
    lines = [
        {
            "Judges": f"without {row.left_out}" if row.left_out else "all",
            "Rounds": f"{row.rounds}",
            "Accuracy": f"{row.accuracy:.2f}",
            "Decided": f"{row.decided:.2f}",
            "Difference": numbers.format_estimate(row.difference, row.low, row.high),
            "p": numbers.format_p(row.p_corrected),
        }
        for row in rows
    ]
    columns = tables.figure_columns(lines, {"Judges"})
    height = min(tables.HEADER + tables.ROW * len(lines), MAX_HEIGHT)
    st.dataframe(lines, key="ablations", hide_index=True, height=height, column_config=columns)
    st.caption(
        f"The majority of the latest opinions on {numbers.format_count(rows[0].targets, 'target')}; no majority is an "
        "error. Computed from the stored replies, without calls: before the discussion a panel without a judge is "
        "exact, afterwards the others have read its replies, and only its vote is left out. Round 1 are the first "
        "opinions; p is corrected by Holm's method."
    )


def draw_targets(study: Study, data: AlignmentData, panel: PanelReport) -> None:
    """Draw the targets of the chosen change or adoption."""
    chosen = st.query_params.get("change", "")
    judge, _, source = chosen.partition(SEPARATOR)
    rows: Sequence[ChangeRow | InfluenceRow] = (
        [row for row in panel.influences if (row.judge, row.source) == (judge, source)]
        if source
        else [row for row in panel.changes if row.judge == judge]
    )
    if not rows:
        st.caption("Click a point or a row to list its targets.")
        return
    traces = rows[0].traces
    found = discussions.drill_down(data, judge, panel.criterion, traces, shell.current_annotator())
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(f"Selected targets: {len(traces):,}", anchor=False, width="content")
        st.button("Close", icon=":material/close:", type="tertiary", key="close_items", on_click=clear_selection)
    text = f"{judge} adopts the opinion of {source}" if source else f"{judge} changes its opinion"
    st.caption(escape_markdown(text))
    item = item_drilldown.draw_drilldown(found)
    if item is not None:
        item_drilldown.draw_detail(study, item)


def select(change: str | None = None) -> None:
    """Select a change in place of the last selection."""
    st.session_state["opened"] = st.session_state.get("opened", 0) + 1
    st.session_state["clicked"] = {"change": change, "item": None, "part": None}


def clear_selection() -> None:
    """Clear the selection."""
    select()


def _select_point() -> None:
    point = charts.clicked_point("influences")
    select(None if point is None else SEPARATOR.join(point))


draw_page(shell.draw_header("Discussions", "Do judges convince each other, and of the right answer?"))
