"""Skips of many tasks at once: one entry of the undo stack, which undoes all of them."""

from collections.abc import Mapping, Sequence

from sqlalchemy import delete
from sqlalchemy.orm import Session
from sqlmodel import col

from core.formats.study_records import MarkRecord
from storage.database import insert_missing
from storage.fingerprints import mark_row, with_fingerprint
from storage.labelling import training, undo
from storage.labelling.entered import Columns, check_training, newest_marks, task_standings
from storage.labelling.work import Task, Work, find_tasks
from storage.tables import LeaseRow, MarkRow, UndoEntryRow, now

ENTRY = "skips"
"""The type of the entries of the undo stack."""


def skip_all(session: Session, work: Work, task_ids: Sequence[int], *, on: bool = True) -> int:
    """Skip tasks, or undo the skips; returns their number. Tasks that are labelled or unknown are left out."""
    changed = _set_skips(session, work, task_ids, on=on)
    if changed:
        ids = [task.id for task in changed]
        undo.push(
            session, work, ENTRY, changed[0], changed[0].id, {"on": not on, "tasks": ids}, {"on": on, "tasks": ids}
        )
    return len(changed)


def latest(session: Session, work: Work) -> tuple[str, int, bool] | None:
    """Return (id, number of tasks, whether they were skipped) of the undo stack's top; None for another type."""
    row = undo.top(session, work)
    return None if row is None or row.type != ENTRY else (undo.name(row), len(row.after["tasks"]), row.after["on"])


def undo_latest(session: Session, work: Work, entry: str) -> None:
    """Undo the top entry of the undo stack.

    Raises Refused if it is not the one called `entry`, or while a required training is not passed.
    """
    row = undo.take(session, work, entry, undo=True)
    for task in find_tasks(session, work, [row.task_id]):
        check_training(session, work, task)
    restore(session, work, row, undoing=True)


def restore(session: Session, work: Work, row: UndoEntryRow, *, undoing: bool) -> None:
    """Set the skips of an entry as they were before or after it; later labels are not changed."""
    state = row.before if undoing else row.after
    _set_skips(session, work, state["tasks"], on=state["on"])


def _set_skips(session: Session, work: Work, task_ids: Sequence[int], *, on: bool) -> list[Task]:
    """Set the skips of unlabelled tasks, and return the tasks whose skip has changed."""
    known = find_tasks(session, work, list(dict.fromkeys(task_ids)))
    ids = [task.id for task in known]
    given = task_standings(session, work, ids, training.load(session, work))
    marks = newest_marks(session, work.annotator_id, ids)
    changed = [
        task
        for task in known
        if (task.id not in given or given[task.id].value is None) and _is_skipped(marks.get(task.id, {})) != on
    ]
    at = now()
    records = {
        task.id: MarkRecord(target=task.target, annotator=work.annotator, mark="skip", on=on, at=at) for task in changed
    }
    rows = [with_fingerprint(mark_row(record, task_id, work.annotator_id)) for task_id, record in records.items()]
    insert_missing(session, MarkRow, rows)
    if on:
        own = col(LeaseRow.annotator_id) == work.annotator_id
        session.execute(delete(LeaseRow).where(own, col(LeaseRow.target_id).in_(list(records))))
    return changed


def _is_skipped(marks: Mapping[str, Columns]) -> bool:
    return "skip" in marks and marks["skip"].on
