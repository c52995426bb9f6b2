"""Opinion changes in discussions: do judges convince each other, of the right answer, and what do rounds add?"""

from collections.abc import Sequence

import streamlit as st

from core.formats.tables import Table
from core.provenance import WILSON
from core.statistics.reports.discussions import ChangeRow, InfluenceRow, PanelReport
from core.wording import format_count
from pages.parts import charts, resources, shell
from pages.results.parts import agreement_rows, alignment_data, item_drilldown
from pages.results.renderer import Intervals, Mark, Result, Section, draw_sections
from storage.reports import discussions
from storage.reports.alignment import AlignmentData
from storage.studies.studies import Study

SEPARATOR = " ← "
# Pairs of judge and source in the chart: a panel of 30 judges has 870.
MAX_PAIRS = 20
METHOD = (
    "An opinion is adopted if a judge's reply has the value of another judge from which it differed before. Judges of "
    "the same opinion share an adoption, so it is no proof of a cause. A ← B: A adopts the opinion of B. Click a point "
    "or a row to list its targets."
)


def panel_name(panel: PanelReport) -> str:
    """Return `judge A, judge B · helpfulness`."""
    return " · ".join(filter(None, (", ".join(panel.judges), agreement_rows.criterion_name(panel.criterion))))


def show(study: Study, data: AlignmentData, query: str, reports: list[PanelReport]) -> Result | str:
    """Return who adopts whose opinion, the changed opinions, and the majority with fewer rounds and judges."""
    if not reports:
        return "No judge of this study speaks twice about a pair of responses, or the only debate is the reference."
    by_name = {panel_name(panel): panel for panel in reports}
    panel = by_name[alignment_data.choose("Panel", list(by_name), "panel", on_change=clear_selection)]
    # Of many pairs not those with the highest shares, most of which have few replies.
    ranked = sorted(panel.influences, key=lambda row: -row.low)[:MAX_PAIRS]
    shown = [row for row in panel.influences if row in ranked]
    left_out = (
        f"The {len(shown)} of {len(panel.influences):,} pairs of judges whose intervals begin highest. The CSV file of "
        "the chart has all pairs."
    )
    changes = Result(
        title="Changed opinions, first to last",
        tables=[Table("discussions", panel.changes, discussions.CHANGE_COLUMNS, discussions.table(reports))],
        on_click=lambda row, _: item_drilldown.pick(change=panel.changes[row].judge),
    )
    votes = Result(
        title="Effective number of votes",
        tables=[Table("votes", panel.votes, discussions.VOTES_COLUMNS, ())],
        caption="Judges that err on the same targets count less than their number: their unanimous verdict is weaker "
        "evidence. A discussion makes opinions more alike, errors too.",
    )
    return Result(
        headline=panel.sentence,
        caption=f"{format_count(panel.debates, 'debate')} · {format_count(panel.rounds, 'round')}.\n\n{METHOD}",
        figures=[influence_chart(panel, shown)],
        remark=left_out if len(shown) < len(panel.influences) else "",
        rest=[changes, ablation_result(panel), votes],
    )


def ablation_result(panel: PanelReport) -> Result:
    """Return the majority with fewer rounds and judges."""
    title = "Without a judge, or with fewer rounds"
    if not panel.ablations:
        return Result(title=title, caption="That needs 10 targets with a reference and two rounds.")
    return Result(
        title=title,
        tables=[Table("ablations", panel.ablations, discussions.ABLATION_COLUMNS, ())],
        caption=f"The majority of the latest opinions on {format_count(panel.ablations[0].targets, 'target')}; no "
        "majority is an error. Computed from the stored replies, without calls: before the discussion a panel without "
        "a judge is exact, afterwards the others have read its replies, and only its vote is left out. Round 1 are the "
        "first opinions; p is corrected by Holm's method.",
    )


def influence_chart(panel: PanelReport, rows: Sequence[InfluenceRow]) -> Intervals:
    """Return a row for each judge and source: the share of adopted opinions."""
    marks = [
        Mark(
            f"{row.judge}{SEPARATOR}{row.source}", row.share, row.low, row.high, "", f"{row.heard:,}",
            f"adopted: {row.adopted:,} of {row.heard:,} replies after a different opinion", [row.judge, row.source],
        )
        for row in rows
    ]  # fmt: skip
    judge, _, source = st.query_params.get("change", "").partition(SEPARATOR)
    return Intervals(
        "influences",
        "Who adopts whose opinion",
        "Adopted share and 95 % interval",
        [("", "circle")],
        marks,
        data=charts.ChartData(panel.influences, WILSON, "replies"),
        on_select=lambda: item_drilldown.pick(change=SEPARATOR.join(charts.clicked_point("influences") or ()) or None),
        selected=[judge, source] if source else None,
    )


def draw_targets(study: Study, data: AlignmentData, query: str, reports: list[PanelReport]) -> None:
    """Draw the targets of the chosen change or adoption."""
    chosen = st.session_state.get("panel")
    panel = next((panel for panel in reports if panel_name(panel) == chosen), reports[0])
    judge, _, source = st.query_params.get("change", "").partition(SEPARATOR)
    rows: Sequence[ChangeRow | InfluenceRow] = (
        [row for row in panel.influences if (row.judge, row.source) == (judge, source)]
        if source
        else [row for row in panel.changes if row.judge == judge]
    )
    if rows:
        viewer = shell.current_annotator()
        found = discussions.drill_down(data, judge, panel.criterion, rows[0].traces, viewer)
        text = f"{judge} adopts the opinion of {source}" if source else f"{judge} changes its opinion"
        item_drilldown.draw_targets(study, found, text, clear_selection)


def clear_selection() -> None:
    """Clear the selection."""
    item_drilldown.pick(change=None)


SECTION = Section(
    name="discussions",
    title="Discussions",
    filters=lambda data: "",
    compute=lambda study, data, query: resources.read(discussions.report, study.id, data),
    show=show,
    empty="",
    below=draw_targets,
)
draw_sections(shell.draw_header(SECTION.title, "Do judges convince each other, and of the right answer?"), [SECTION])
