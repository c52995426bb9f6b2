"""The undo and redo stacks of an annotator, one pair for each study and queue."""

from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, delete, func, insert, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage import targets
from storage.database import execute
from storage.labelling import tasks
from storage.labelling.work import Json, Refused, Task, Work, find_tasks, target_name, task_name
from storage.postgresql import DEFERRED
from storage.tables import UndoEntryRow, now

PAGE = 20
"""Entries in one reply."""


def push(session: Session, work: Work, type: str, task: Task, target_id: int, before: Json | None, after: Json) -> str:
    """Add an entry on top of the undo stack, empty the redo stack, and return the entry's id."""
    own = {"study": work.study.id, "annotator": work.annotator_id, "name": work.name}
    execute(session, _empty_redo(), own)
    at = now()
    row = {
        "study_id": work.study.id,
        "annotator_id": work.annotator_id,
        "queue": work.name,
        "type": type,
        "task_id": task.id,
        "target_id": target_id,
        "before": before,
        "after": after,
        "undone": False,
        "at": at,
    }
    return _entry_name(execute(session, _insert(), row).scalar_one(), at)


@cache  # to build the statements takes longer than to execute them
def _empty_redo() -> Any:
    table: Any = UndoEntryRow
    return (
        delete(table.__table__)
        .prefix_with(DEFERRED)
        .where(
            col(UndoEntryRow.annotator_id) == bindparam("annotator"),
            col(UndoEntryRow.study_id) == bindparam("study"),
            col(UndoEntryRow.queue) == bindparam("name"),
            col(UndoEntryRow.undone).is_(True),
        )
    )


@cache
def _insert() -> Any:
    table: Any = UndoEntryRow
    return insert(table.__table__).returning(table.__table__.c.id)


def top(session: Session, work: Work) -> UndoEntryRow | None:
    """Return the top entry of the undo stack."""
    return session.scalars(_top(work, undone=False)).first()


def take(session: Session, work: Work, entry: str | None, *, undo: bool) -> UndoEntryRow:
    """Move the top entry of one stack to the other; raises Refused if it is not the one called `entry`."""
    row = session.scalars(_top(work, undone=not undo)).first()
    if row is None or name(row) != entry:
        raise Refused("stale", "This was undone or changed in another window.")
    row.undone = undo
    return row


def count(session: Session, work: Work) -> Json:
    """Return the number of entries on each stack."""
    return {
        name: session.scalars(select(func.count()).select_from(UndoEntryRow).where(*_stack(work, undone=undone))).one()
        for name, undone in (("undo", False), ("redo", True))
    }


def history(session: Session, work: Work, before: str | None = None) -> Json:
    """Return the newest entries of both stacks, the top last, with their tasks; of the undo stack those below `before`.

    The tasks are without reveals.
    """
    below = [] if before is None else [col(UndoEntryRow.id) < _number(before)]
    rows = session.scalars(_top(work, undone=False).where(*below).limit(PAGE + 1)).all()
    redo = [] if before else session.scalars(_top(work, undone=True).limit(PAGE)).all()
    undo = rows[:PAGE]
    known = find_tasks(session, work, list(dict.fromkeys(row.task_id for row in (*undo, *redo))))
    by_id = {task.id: task for task in known}
    return {
        "undo": [_json(session, work, by_id[row.task_id], row) for row in reversed(undo) if row.task_id in by_id],
        "redo": [_json(session, work, by_id[row.task_id], row) for row in reversed(redo) if row.task_id in by_id],
        "tasks": tasks.task_jsons(session, work, known) if known else [],
        "more": len(rows) > PAGE,
    }


def _json(session: Session, work: Work, task: Task, row: UndoEntryRow) -> Json:
    has_target = row.type == "label" or row.target_id != task.id
    target = target_name(work, targets.get(session, row.target_id)) if has_target else ""
    entry = {"id": name(row), "type": row.type, "task": task_name(work, task.id), "target": target}
    return entry | {"before": _shown(row.before), "after": _shown(row.after)}


def _shown(side: Json | None) -> Json | None:
    """Return one side of an entry; for many tasks, only their number."""
    return side if side is None or "tasks" not in side else {"on": side["on"], "count": len(side["tasks"])}


def _top(work: Work, *, undone: bool) -> Select[UndoEntryRow]:
    order = col(UndoEntryRow.id).asc() if undone else col(UndoEntryRow.id).desc()
    return select(UndoEntryRow).where(*_stack(work, undone=undone)).order_by(order)


def _stack(work: Work, *, undone: bool) -> list[ColumnElement[bool]]:
    return [
        col(UndoEntryRow.annotator_id) == work.annotator_id,
        col(UndoEntryRow.study_id) == work.study.id,
        col(UndoEntryRow.queue) == work.name,
        col(UndoEntryRow.undone).is_(undone),
    ]


def name(row: UndoEntryRow) -> str:
    """Return the id of an entry."""
    return _entry_name(row.id, row.at)


def _entry_name(id: int, at: datetime) -> str:
    """Return the name of an entry; with its time, because SQLite gives the number of a deleted entry to a later one."""
    return f"e-{id}-{int(at.timestamp() * 1000):x}"


def _number(name: str) -> int:
    digits = name.removeprefix("e-").partition("-")[0]
    return int(digits) if digits.isdecimal() and len(digits) < 16 else 0
