"""The list of studies, the import, and the page of one study."""

from collections.abc import Collection

import streamlit as st

from core.texts import _
from pages.parts import account_guard, numbers, permissions, resources, shell
from pages.parts.text import escape_markdown, truncate
from pages.setup.parts import import_steps, study_form
from storage.accounts import access
from storage.db import connections
from storage.reports import contents
from storage.studies import studies

PURPOSE = "A study holds items, criteria, guidelines, runs and labels."
ICON = ":material/upload_file:"


def draw_overview() -> None:
    """Draw every study as a card."""
    with connections.reading(resources.engine()) as session:
        all_studies = [studies.get(session, name) for name in permissions.study_names()]
        progress = contents.progress(session)
    left, right = st.columns([4, 1], vertical_alignment="bottom", gap="medium")
    left.title("Studies", anchor=False)
    may_import = permissions.allows_anywhere(access.Permission.edit)
    left.caption(f"{PURPOSE} Import, edit and export studies here." if may_import else PURPOSE)
    if may_import and right.button("Import", type="primary", icon=ICON, width="stretch", key="open_import"):
        open_view(view="import")
    draw_import_result()
    linked = (access.Permission.view, access.Permission.run, access.Permission.label, access.Permission.edit)
    permitted = {permission: set(permissions.study_names(permission)) for permission in linked}
    deleted = permissions.deleted_studies()
    if not all_studies and not permissions.is_administrator():
        st.info(_(shell.NOT_A_MEMBER))
    elif not all_studies:
        st.info("There are no studies. Import a table of items and responses, recorded debates, or an exported study.")
    grid = st.grid(3, min_column_width=320)
    for study in all_studies:
        with grid.container(border=True, key=f"study-{study.id}"):
            allowed = {permission for permission, names in permitted.items() if study.name in names}
            draw_card(study, progress[study.id], allowed)
    study_form.draw_deleted_studies(deleted)


def draw_import_result() -> None:
    """Draw the result of an import that has just finished."""
    result = st.session_state.pop("imported", None)
    if result is None:
        return
    study, sentence = result
    summary, icon = f"{escape_markdown(study)}: {sentence}.", ":material/check_circle:"
    st.success(summary, icon=icon)
    st.toast(summary, icon=icon)
    shell.scroll_to_top()


def draw_card(study: studies.Study, progress: contents.Progress, allowed: Collection[access.Permission]) -> None:
    """Draw the progress of a study, and links to its pages."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"**{escape_markdown(study.name)}**")
        if study.archived:
            st.badge("archived", color="gray", help="Nobody is offered its targets.")
        if study.sample:
            st.badge("sample", color="gray", help="Its items, debates and labels were written for demonstration.")
    if study.description:
        st.caption(escape_markdown(truncate(study.description, 140)))
    st.markdown(f"{numbers.format_count(progress.items, 'item')} · {numbers.format_count(progress.runs, 'run')}")
    if progress.targets:
        text = f"{progress.labelled:,} of {numbers.format_count(progress.targets, 'target')} labelled"
        if progress.labels:
            text += f" · {numbers.format_count(progress.labels, 'label')}"
            text += f" by {numbers.format_count(progress.annotators, 'annotator')}"
        st.progress(progress.labelled / progress.targets, text)
    else:
        st.caption("Nothing has been judged or labelled yet." if progress.items else "No items yet.")
    draw_links(study, progress, allowed)


def draw_links(study: studies.Study, progress: contents.Progress, allowed: Collection[access.Permission]) -> None:
    """Draw links to the study's pages that the visitor's role allows, the most likely next step first."""
    first = ("watch/traces.py", "Watch", "forum", access.Permission.view)
    if not progress.runs:
        first = ("setup/runs.py", "Run", "play_circle", access.Permission.run)
    links = (
        first,
        ("label/disagreements.py", "Label", "balance", access.Permission.label),
        ("results/agreement.py", "Results", "monitoring", access.Permission.view),
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for script, label, icon, permission in links:
            if permission in allowed:
                shell.draw_link(script, label, icon, study=study.name)
        clicked = access.Permission.edit in allowed and st.button(
            "Open", key=f"open_{study.id}", icon=":material/settings:", type="tertiary"
        )
        if clicked:
            open_view(view="study", open=study.name)


def open_view(**parameters: str) -> None:
    """Open another view of this page, with its own URL."""
    shell.open_view(**parameters)
    st.rerun()


view = st.query_params.get("view")
if view in ("import", "study") and st.button("Studies", icon=":material/arrow_back:", key="back", type="tertiary"):
    open_view()
match view:
    case "import":
        st.title("Import", anchor=False)
        st.caption("An invalid file is refused as a whole. Importing the same file twice adds nothing.")
        if not permissions.allows_anywhere(access.Permission.edit):
            raise access.Forbidden(access.ADMINISTRATORS_ONLY)
        import_steps.draw_import()
    case "study":
        chosen = resources.read(access.study, account_guard.current_actor(), st.query_params.get("open", ""))
        permissions.require_page(chosen.id, access.Permission.edit)
        st.title(escape_markdown(chosen.name), anchor=False)
        study_form.draw_study(chosen)
    case _:
        draw_overview()
