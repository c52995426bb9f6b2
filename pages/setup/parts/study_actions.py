"""Renaming, archiving and deleting a study, deleting its runs, and restoring what was deleted."""

from collections.abc import Sequence

import streamlit as st

from core.errors import TiebreakError
from core.wording import format_count
from pages.parts import current_study, permissions, resources
from pages.parts.text import escape_markdown
from storage import database, deletions, studies
from storage.access import Permission
from storage.deletions import Deleted
from storage.runs import Run
from storage.studies import Study


def draw_actions(study: Study) -> None:
    """Draw the forms that rename, archive and delete the study, for its owners."""
    if not permissions.allows(study.id, Permission.manage):
        st.caption("Owners of the study can rename, archive and delete it.")
        return
    with st.form("rename", border=False):
        left, right = st.columns([4, 1], vertical_alignment="bottom")
        name = left.text_input("Name", study.name, max_chars=studies.MAX_NAME_LENGTH)
        if right.form_submit_button("Rename", width="stretch"):
            _rename(study, name)
    st.caption("Links with the former name lead to the study until another one has that name.")
    st.divider()
    label = "Activate" if study.archived else "Archive"
    if st.button(label, icon=":material/archive:", key="archive"):
        with permissions.writing(study.id, Permission.manage, "") as session:
            studies.archive(session, study.id, archived=not study.archived)
        st.rerun()
    st.caption("Nobody is offered targets of an archived study. Its traces, labels and results stay.")
    st.divider()
    with st.popover("Delete", icon=":material/delete:", key="delete_study"):
        st.markdown(f"**{escape_markdown(study.name)}** with its runs and labels is no longer listed anywhere.")
        if st.button("Delete the study", type="primary", key="delete_study_confirmed"):
            _delete(study)
    st.caption(f"A deleted study can be restored for {deletions.PERIOD.days} days on the page Studies.")


def draw_deleted_studies(deleted: Sequence[Deleted]) -> None:
    """Draw the studies that can be restored, if there are any."""
    if (chosen := _draw_deleted(deleted, "study", "studies")) is not None:
        with permissions.writing(chosen, Permission.manage, "") as session:
            deletions.restore_study(session, chosen)
        st.rerun()


def draw_deleted_runs(study: Study) -> None:
    """Draw the runs of a study that can be restored, if there are any and the visitor may."""
    if not permissions.allows(study.id, Permission.edit):
        return
    with database.reading(resources.engine()) as session:
        deleted = deletions.deleted_runs(session, study.id)
    chosen = _draw_deleted(deleted, "run", "runs")
    if chosen is None:
        return
    try:
        with permissions.writing(study.id, Permission.edit, "") as session:
            deletions.restore_run(session, study.id, chosen)
    except TiebreakError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
    else:
        st.rerun()


def draw_run_deletion(run: Run) -> None:
    """Draw the deletion of a run, in the popover of its settings, if the visitor may."""
    if not permissions.allows(run.study_id, Permission.edit):
        return
    if st.button("Delete this run", key=f"delete_{run.id}", icon=":material/delete:"):
        with permissions.writing(run.study_id, Permission.edit, "") as session:
            deletions.delete_run(session, run.id)
        st.toast(f"Deleted. It can be restored for {deletions.PERIOD.days} days, at the end of this page.")
        st.rerun(scope="app")
    st.caption("Its traces and verdicts are deleted, and its labels stay.")


def _draw_deleted(deleted: Sequence[Deleted], noun: str, nouns: str) -> int | None:
    """Draw what can be restored; returns the id of the one that the user chose."""
    if not deleted:
        return None
    chosen = None
    with st.expander(f"{format_count(len(deleted), f'deleted {noun}', f'deleted {nouns}')}"):
        for one in deleted:
            with st.container(horizontal=True, vertical_alignment="center"):
                traces = f" · {format_count(one.traces, 'trace')}" if noun == "run" else ""
                st.markdown(
                    f"{escape_markdown(one.name)}  \n:small[deleted {one.deleted_at:%Y-%m-%d}{traces}, "
                    f"can be restored until {one.until:%Y-%m-%d}]"
                )
                if st.button("Restore", key=f"restore_{noun}_{one.id}", icon=":material/restore_from_trash:"):
                    chosen = one.id
    return chosen


def _rename(study: Study, name: str) -> None:
    try:
        with permissions.writing(study.id, Permission.manage, "") as session:
            studies.rename(session, study.id, name)
            new = studies.by_id(session, study.id).name
    except TiebreakError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return
    current_study.replace(study.name, new)
    current_study.open_view(view="study", open=new)
    st.rerun()


def _delete(study: Study) -> None:
    try:
        with permissions.writing(study.id, Permission.manage, "") as session:
            deletions.delete_study(session, study.id)
    except TiebreakError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return
    current_study.replace(study.name, None)
    current_study.open_view()
    st.rerun()
