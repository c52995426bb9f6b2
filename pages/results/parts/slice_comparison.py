"""Saving a slice of the targets under a name, and comparing two slices, as a section of the page Causes."""

from collections.abc import Callable, Sequence

import streamlit as st

from core.formats.tables import rows_csv
from core.statistics.reports.discordance import Slice, SliceRow
from pages.parts import downloads, name_columns, numbers, permissions
from pages.parts.text import escape_markdown
from pages.results.parts.slice_section import SEPARATOR
from storage import study_slices
from storage.access import Permission
from storage.reports import slice_comparison
from storage.reports.slice_comparison import Conditions
from storage.studies import Study

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
                    study_slices.save(session, study.id, name, parts)
                st.rerun()
        for number, (saved, of_saved) in enumerate(study.rules.slices.items()):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"**{escape_markdown(saved)}** {escape_markdown(describe(of_saved))}")
                if st.button("Delete", key=f"delete_slice_{number}", type="tertiary", icon=":material/delete:"):
                    with permissions.writing(study.id, Permission.edit, f"slice deleted: {saved}") as session:
                        study_slices.delete(session, study.id, saved)
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
    lines = [
        {
            "Judge": row.judge,
            "Differs in the first": f"{row.differing:,} of {row.targets:,}",
            "In the second": f"{row.differing_outside:,} of {row.targets_outside:,}",
            "Difference": numbers.format_estimate(row.excess, row.low, row.high),
            "p": numbers.format_p(row.p_corrected),
        }
        for row in rows
    ]
    table = name_columns.shorten(lines, {"Judge": 300})
    st.dataframe(table.lines, key="compared_slices", hide_index=True, column_config=table.columns)
    table.draw_full_names()
    st.caption(
        "How often each judge differs from people in the first slice minus the second; targets of both are left out. "
        "Fisher's exact test, corrected over the judges."
    )
    downloads.draw_csv_download(
        lambda: rows_csv(slice_comparison.table(rows)), "slices_compared.csv", "download_compared"
    )
