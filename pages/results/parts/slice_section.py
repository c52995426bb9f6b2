"""Where a judge differs from people more often, as a section of the page Causes."""

from collections.abc import Sequence

import streamlit as st

from core.formats.tables import rows_csv
from core.statistics.reports.discordance import Slice, SliceRow
from pages.parts import clickable_table, column_notes, column_widths, downloads, name_columns, numbers
from pages.parts.text import escape_markdown
from storage.reports import discordance
from storage.reports.rationales import RationaleReport

SEPARATOR = ": "
KEY = "slices_table"
COLUMNS = {
    "Found": st.column_config.TextColumn(),
    "Differs": st.column_config.TextColumn(
        alignment="right",
        help="Targets of the slice on which the judge differs from the majority of people, of those with a verdict.",
    ),
    "Elsewhere": st.column_config.TextColumn(
        alignment="right", help="The same outside of the slice, where its feature is known."
    ),
    "Excess": st.column_config.TextColumn(
        alignment="right", help="The difference of the two shares, with its 95 % interval."
    ),
    "p": st.column_config.TextColumn(alignment="right", help="Corrected over all slices of all judges."),
}
TARGETS_WIDTH = 560
"""The largest width of the condition of a slice, in pixels."""


def chosen_slice() -> Slice | None:
    """Return the slice in the URL."""
    feature, separator, value = st.query_params.get("slice", "").partition(SEPARATOR)
    return (feature, value) if separator else None


def select(chosen: Slice | None) -> None:
    """Select a slice in place of the last selection; `item_drilldown.apply_selection` writes it to the URL."""
    st.session_state["opened"] = st.session_state.get("opened", 0) + 1
    st.session_state["clicked"] = {"slice": SEPARATOR.join(chosen) if chosen else None, "item": None, "part": None}


def draw_section(rows: Sequence[SliceRow], judge: str, without_scenario: int) -> None:
    """Draw the sentence and the table of a judge; a click on a row selects the slice.

    `without_scenario` is the number of the judge's targets without a scenario.
    """
    own = [row for row in rows if row.judge == judge]
    st.subheader("Where does it differ more often?", anchor=False)
    if not own:
        st.caption("No slice has five targets inside and outside of it.")
        return
    found = [row for row in own if row.found and row.excess > 0]
    unnamed = f" {discordance.describe_unnamed(without_scenario)}" if without_scenario else ""
    st.markdown(f"**{escape_markdown(summarize(judge, found, own))}**")
    st.caption(
        "Targets are those with a verdict of the judge and a majority of people, one label included; for *not "
        f"unanimous* those with two labels or more.{unnamed} Fisher's exact test, corrected "
        "by Benjamini and Hochberg's method over all judges. Click a row."
    )
    draw_table(own, f"{KEY}_{st.session_state.get('opened', 0)}")
    column_notes.draw(COLUMNS)
    downloads.draw_csv_download(lambda: rows_csv(discordance.table(rows)), "slices.csv", "download_slices")


def draw_rationales(report: RationaleReport, judge: str) -> None:
    """Draw the clusters of a judge's replies; a click on a row selects the cluster."""
    st.subheader("What does it write when it differs?", anchor=False)
    if not report.rows:
        st.caption(f"No clusters of replies: {escape_markdown(report.reason or 'no cluster has five targets')}.")
        return
    found = [row for row in report.rows if row.found and row.excess > 0]
    if found:
        st.markdown(f"**{escape_markdown(summarize(judge, found, report.rows))}**")
    st.caption(
        f"{len(report.places):,} replies in {len(report.names)} clusters by their words (TF-IDF, k-means), each named "
        "after its most characteristic terms, and tested as a slice; corrected over the clusters. Click a row."
    )
    key = f"rationales_{st.session_state.get('opened', 0)}"
    draw_table(report.rows, key)


def draw_table(rows: Sequence[SliceRow], key: str) -> None:
    """Draw the table of slices; a click on a row selects its slice."""
    lines = [table_line(row) for row in rows]
    figures = column_widths.fit_figures(lines, ("Targets",), COLUMNS)
    table = name_columns.shorten(lines, column_widths.fit_names(lines, {"Targets": TARGETS_WIDTH}, figures))
    clickable_table.draw(
        table.lines, key, lambda row, _: select(rows[row].slice), column_config=figures | table.columns
    )
    table.draw_full_names()


def summarize(judge: str, found: Sequence[SliceRow], tested: Sequence[SliceRow]) -> str:
    """Return where the judge differs significantly more often, the largest excess first, or that it does nowhere."""
    if not found:
        counts = [row.targets + row.targets_outside for row in tested]
        return (
            f"{judge} does not differ from people significantly more often in any slice: "
            f"{numbers.format_count(len(tested), 'slice')} tested, n {numbers.format_span(counts)}, p corrected."
        )
    parts = [
        f"{' '.join(row.slice)} ({row.differing:,} of {row.targets:,}, otherwise {row.differing_outside:,} of "
        f"{row.targets_outside:,})"
        for row in sorted(found, key=lambda row: -row.excess)[:3]
    ]
    return f"{judge} differs from people more often on these targets: {'; '.join(parts)}."


def table_line(row: SliceRow) -> dict[str, str]:
    """Return the table row of a slice."""
    return {
        "Targets": SEPARATOR.join(row.slice),
        "Found": "yes" if row.found else "no",
        "Differs": f"{row.differing:,} of {row.targets:,}",
        "Elsewhere": f"{row.differing_outside:,} of {row.targets_outside:,}",
        "Excess": numbers.format_estimate(row.excess, row.low, row.high),
        "p": numbers.format_p(row.p_corrected),
    }
