"""Where a judge differs from people more often, as a section of the page Causes."""

from collections.abc import Callable, Sequence

import streamlit as st

from core.formats.tables import Column, Table
from core.statistics.reports.discordance import Slice, SliceRow
from pages.parts import numbers, permissions
from pages.parts.text import escape_markdown
from pages.results.parts import item_drilldown
from pages.results.renderer import Result, draw_result
from storage.accounts.access import Permission
from storage.reports import discordance, slice_comparison
from storage.reports.rationales import RationaleReport
from storage.reports.slice_comparison import Conditions
from storage.studies import studies
from storage.studies.studies import Study

SEPARATOR = ": "
COLUMNS = (
    Column("Targets", lambda row: SEPARATOR.join(row.slice)),
    Column("Found", "found", "yes"),
    Column(
        "Differs", lambda row: f"{row.differing:,} of {row.targets:,}", "figure",
        help="Targets of the slice on which the judge differs from the majority of people, of those with a verdict.",
    ),
    Column(
        "Elsewhere", lambda row: f"{row.differing_outside:,} of {row.targets_outside:,}", "figure",
        help="The same outside of the slice, where its feature is known.",
    ),
    Column(
        "Excess", "excess low high", "estimate", help="The difference of the two shares, with its 95 % interval."
    ),
    Column("p", "p_corrected", "p", help="Corrected over all slices of all judges."),
)  # fmt: skip
COMPARED = (
    Column("Judge", "judge"),
    Column("Differs in the first", lambda row: f"{row.differing:,} of {row.targets:,}", "figure"),
    Column("In the second", lambda row: f"{row.differing_outside:,} of {row.targets_outside:,}", "figure"),
    Column("Difference", "excess low high", "estimate"),
    Column("p", "p_corrected", "p"),
)


def chosen_slice() -> Slice | None:
    """Return the slice in the URL."""
    feature, separator, value = st.query_params.get("slice", "").partition(SEPARATOR)
    return (feature, value) if separator else None


def select(chosen: Slice | None) -> None:
    """Select a slice in place of the last selection."""
    item_drilldown.pick(slice=SEPARATOR.join(chosen) if chosen else None)


def draw_section(rows: Sequence[SliceRow], judge: str, without_scenario: int) -> None:
    """Draw the sentence and the table of a judge; a click on a row selects the slice.

    `without_scenario` is the number of the judge's targets without a scenario.
    """
    own = [row for row in rows if row.judge == judge]
    unnamed = f" {discordance.describe_unnamed(without_scenario)}" if without_scenario else ""
    caption = (
        "Targets are those with a verdict of the judge and a majority of people, one label included; for *not "
        f"unanimous* those with two labels or more.{unnamed} Fisher's exact test, corrected "
        "by Benjamini and Hochberg's method over all judges. Click a row."
    )
    draw_slices("Where does it differ more often?", "slices", own, summarize(judge, own), caption, rows)


def draw_rationales(report: RationaleReport, judge: str) -> None:
    """Draw the clusters of a judge's replies; a click on a row selects the cluster."""
    caption = (
        f"{len(report.places):,} replies in {len(report.names)} clusters by their words (TF-IDF, k-means), each named "
        "after its most characteristic terms, and tested as a slice; corrected over the clusters. Click a row."
    )
    if not report.rows:
        caption = f"No clusters of replies: {escape_markdown(report.reason or 'no cluster has five targets')}."
    headline = summarize(judge, report.rows) if any(row.found and row.excess > 0 for row in report.rows) else ""
    draw_slices("What does it write when it differs?", "rationales", report.rows, headline, caption, ())


def draw_slices(
    title: str, name: str, rows: Sequence[SliceRow], headline: str, caption: str, in_file: Sequence[SliceRow]
) -> None:
    """Draw a table of slices; a click on a row selects its slice."""
    table = Table(name, rows, COLUMNS, discordance.table(in_file))
    draw_result(Result(headline, title, caption, tables=[table], on_click=lambda row, _: select(rows[row].slice)))


def summarize(judge: str, tested: Sequence[SliceRow]) -> str:
    """Return where the judge differs significantly more often, the largest excess first, or that it does nowhere."""
    if not tested:
        return "No slice has five targets inside and outside of it."
    found = [row for row in tested if row.found and row.excess > 0]
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


# Saving a slice of the targets under a name, and comparing two slices, as a section of the page Causes.

Compare = Callable[[tuple[str, str], tuple[Conditions, Conditions]], list[SliceRow]]


def draw_save(study: Study, found: Sequence[Slice], chosen: Slice | None) -> None:
    """Draw the form that saves one or several conditions as a slice, and the saved slices."""
    if not permissions.allows(study.id, Permission.edit):
        return
    options = [SEPARATOR.join(one) for one in found]
    selected = [SEPARATOR.join(chosen)] if chosen is not None and SEPARATOR.join(chosen) in options else []
    with st.popover("Saved slices", icon=":material/bookmark:"):
        with st.form("save_slice", border=False):
            conditions = st.multiselect("Targets that meet all of", options, selected, key="slice_conditions")
            name = st.text_input("Name", key="slice_name")
            if st.form_submit_button("Save slice"):
                parts = [found[options.index(condition)] for condition in conditions]
                with permissions.writing(study.id, Permission.edit, f"slice saved: {name}") as session:
                    studies.save_slice(session, study.id, name, parts)
                st.rerun()
        for number, (saved, of_saved) in enumerate(study.rules.slices.items()):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"**{escape_markdown(saved)}** {escape_markdown(describe(of_saved))}")
                if st.button("Delete", key=f"delete_slice_{number}", type="tertiary", icon=":material/delete:"):
                    with permissions.writing(study.id, Permission.edit, f"slice deleted: {saved}") as session:
                        studies.delete_slice(session, study.id, saved)
                    st.rerun()


def describe(conditions: Conditions) -> str:
    """Return `scenario: math and people: not unanimous`."""
    return " and ".join(SEPARATOR.join(condition) for condition in conditions)


def draw_comparison(study: Study, found: Sequence[Slice], compare: Compare) -> None:
    """Draw the choice of two slices, saved or of the table, and the difference of each judge between them."""
    slices: dict[str, Conditions] = {name: conditions for name, conditions in study.rules.slices.items()}
    slices |= {SEPARATOR.join(one): (one,) for one in found if SEPARATOR.join(one) not in slices}
    if len(slices) < 2:
        return
    names = list(slices)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        first = st.selectbox("Compare", names, index=None, key="first", bind="query-params", placeholder="a slice")
        second = st.selectbox("with", names, index=None, key="second", bind="query-params", placeholder="another one")
    if first is None or second is None or first == second:
        return
    rows = compare((first, second), (slices[first], slices[second]))
    if not rows:
        st.caption("Each slice needs five targets that the other one does not have.")
        return
    caption = (
        "How often each judge differs from people in the first slice minus the second; targets of both are left out. "
        "Fisher's exact test, corrected over the judges."
    )
    table = Table("slices_compared", rows, COMPARED, slice_comparison.table(rows))
    draw_result(Result(caption=caption, tables=[table]))
