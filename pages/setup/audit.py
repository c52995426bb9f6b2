"""The audit log of a study; for administrators also that of the server."""

import streamlit as st

from core.formats.tables import csv_text
from pages.parts import account_guard, downloads, numbers, paging, permissions, resources, shell
from pages.parts.downloads import File
from storage.accounts import access
from storage.db import audit, connections
from storage.studies.studies import Study

ENTRIES_PER_PAGE = 100
THIS_STUDY, WHOLE_SERVER = "This study", "Whole server"
NAMES = {
    "at": "Time (UTC)",
    "actor": "Who",
    "action": "What",
    "study": "Study",
    "address": "Address",
    "details": "Details",
}


def draw_page(study: Study) -> None:
    """Draw the filter, the entries and the download."""
    wanted = draw_filter(study)
    count = resources.read(audit.count, wanted)
    page = resources.read(audit.page, wanted, after=paging.key_place(("audit", wanted)), size=ENTRIES_PER_PAGE)
    if not count:
        st.info("No entry matches.")
        return
    st.caption(numbers.format_count(count, "entry", "entries"))
    st.dataframe(
        [{NAMES[name]: text for name, text in audit.cells(entry).items()} for entry in page.rows],
        hide_index=True,
        key="audit",
        height=min(38 + 35 * len(page.rows), 640),
        column_config={NAMES["details"]: st.column_config.TextColumn(width="large")},
    )
    paging.draw_key_paging(page)
    kind = "audit log" if wanted.study_id is not None else "audit log of the server"
    downloads.draw_file_link("Download all as CSV", File(export(wanted), "audit.csv", "text/csv", kind), "audit")


def draw_filter(study: Study) -> audit.Filter:
    """Draw the choices of entries. Entries without a study, such as sign-ins, are for administrators."""
    scope = THIS_STUDY
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if permissions.is_administrator():
            options = [THIS_STUDY, WHOLE_SERVER]
            scope = st.segmented_control("Entries", options, default=THIS_STUDY, required=True, key="audit_scope")
        actions = st.multiselect("What", [action.value for action in audit.Action], key="audit_actions", width=300)
        actor = st.text_input("Who", key="audit_actor", placeholder="part of a name", width=180)
        until = st.date_input("Until (UTC)", None, key="audit_until", format="YYYY-MM-DD", width=160)
    if scope == WHOLE_SERVER:
        permissions.require_administrator()
    return audit.Filter(study.id if scope == THIS_STUDY else None, tuple(actions), actor, until)


def export(wanted: audit.Filter) -> downloads.MakeFile:
    """Return a function that writes the matching entries as CSV."""
    actor = account_guard.current_actor()

    def make() -> bytes:
        with connections.reading(resources.engine()) as session:
            if wanted.study_id is None:
                access.require_administrator(session, actor)
            entries = audit.entries(session, wanted)
        return csv_text(audit.COLUMNS, [list(audit.cells(entry).values()) for entry in entries]).encode()

    return make


draw_page(
    shell.draw_header("Audit", "Who signed in, saw, exported, decided and changed what. Entries cannot be changed.")
)
