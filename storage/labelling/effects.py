"""The effects of each type of workbench action. An action raises Refused or TiebreakError if it is not carried
out.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, delete, func, insert, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.aius import Undo
from core.errors import TiebreakError
from core.formats.study_records import MarkRecord
from core.labels import Evidence, Label, Target
from storage.db.connections import execute, insert_missing
from storage.db.dialects import DEFERRED
from storage.db.fingerprints import mark_row, with_fingerprint
from storage.db.tables import DraftRow, LeaseRow, MarkRow, UndoEntryRow, now
from storage.labelling import (
    action_transaction,
    assignment,
    claims,
    critique_panels,
    critique_queue,
    entries,
    panels,
    queue,
    response_order,
    tasks,
    training,
)
from storage.labelling.action_transaction import (
    Place,
    Transaction,
    check_assignment,
    check_base,
    find_place,
    own_result,
    place_of,
)
from storage.labelling.context import Json, Refused, Task, Work, find_tasks, target_name, task_name
from storage.labelling.entries import Columns, check_training, newest_marks, task_standings
from storage.labelling.queue import Mark
from storage.labelling.training import Training
from storage.labels import labels, targets
from storage.labels.targets import lock_targets
from storage.runs import aius
from storage.studies import studies
from storage.studies.studies import Scales

# What an action stores: labels, drafts and marks.


def save_label(
    transaction: Transaction, place: Place, content: Json | None, version: int | None, shown: Sequence[int]
) -> bool:
    """Add a label that was given under guidelines and an order of texts, or withdraw the current one; return whether it
    is surplus.

    The overlap is checked in the same transaction, with task and target locked. A change does not count again.
    """
    session, work = transaction.session, transaction.work
    lock_targets(session, {place.task.id, place.target_id})
    surplus, viewed = place.standing.surplus, None
    if place.is_required and place.standing.value is None:
        surplus, viewed = claims.is_complete(session, work, place.task, place.target_id)
    surplus = surplus and content is not None
    given = content or {"value": None, "reason": "undo", "evidence": []}
    label = Label(
        target=place.target,
        annotator=work.annotator,
        value=given["value"],
        reason=given["reason"],
        seconds=transaction.action.seconds,
        evidence=tuple(Evidence(**passage) for passage in given["evidence"]),
        surplus=surplus,
        guidelines=version,
        shown=tuple(shown),
    )
    labels.add(session, work.study.id, label, place.target_id, work.annotator_id, viewed=viewed)
    return surplus


def set_mark(transaction: Transaction, target: Target, mark: Mark, *, text: str = "", on: bool = True) -> None:
    """Set or remove the annotator's mark of a target."""
    work = transaction.work
    queue.set_mark(transaction.session, work.study.id, target, work.annotator, mark, text=text, on=on)


def unskip(session: Session, work: Work, task: Task) -> None:
    """Remove the annotator's skip of a task, if there is one."""
    if not task.has_marks:
        return
    newest = entries.newest_marks(session, work.annotator_id, [task.id]).get(task.id, {})
    if "skip" in newest and newest["skip"].on:
        queue.set_mark(session, work.study.id, task.target, work.annotator, "skip", on=False)


def delete_draft(session: Session, work: Work, target_id: int) -> None:
    """Delete the annotator's draft of a target."""
    labels.delete_own(session, DraftRow, target_id, work.annotator_id)


def claim(session: Session, work: Work, task: Task) -> str:
    """Claim a task or renew the claim: "mine", or "full" if enough others have it."""
    return "mine" if claims.claim(session, work, task) else "full"


# The undo and redo stacks of an annotator, one pair for each study and queue.

PAGE = 20
"""Entries in one reply."""


def push_entry(
    session: Session, work: Work, type: str, task: Task, target_id: int, before: Json | None, after: Json
) -> str:
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


def top_entry(session: Session, work: Work) -> UndoEntryRow | None:
    """Return the top entry of the undo stack."""
    return session.scalars(_top(work, undone=False)).first()


def take_entry(session: Session, work: Work, entry: str | None, *, undo: bool) -> UndoEntryRow:
    """Move the top entry of one stack to the other; raises Refused if it is not the one called `entry`."""
    row = session.scalars(_top(work, undone=not undo)).first()
    if row is None or entry_name(row) != entry:
        raise Refused("stale", "This was undone or changed in another window.")
    row.undone = undo
    return row


def count_entries(session: Session, work: Work) -> Json:
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
    entry = {"id": entry_name(row), "type": row.type, "task": task_name(work, task.id), "target": target}
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


def entry_name(row: UndoEntryRow) -> str:
    """Return the id of an entry."""
    return _entry_name(row.id, row.at)


def _entry_name(id: int, at: datetime) -> str:
    """Return the name of an entry; with its time, because SQLite gives the number of a deleted entry to a later one."""
    return f"e-{id}-{int(at.timestamp() * 1000):x}"


def _number(name: str) -> int:
    digits = name.removeprefix("e-").partition("-")[0]
    return int(digits) if digits.isdecimal() and len(digits) < 16 else 0


# The effects of a label and of a draft.


def label(transaction: Transaction) -> Json:
    """Store the label of a target, or the answer to a training item."""
    session, work, action = transaction.session, transaction.work, transaction.action
    place = find_place(transaction)
    check_base(transaction, place.standing)
    response_order.check(action.shown, work)
    scales = _declared_scales(transaction, place.target)
    content = _content(transaction, panels.checked_value(session, work, place.target, action.value, scales))
    if place.training is not None and place.is_training:
        return _training_answer(transaction, place, place.training, content)
    check_assignment(transaction, place)
    if work.study.rules.reason == "required" and _has_reason(work, place) and not action.reason.strip():
        raise Refused("rejected", "This study requires a reason.")
    if content == place.standing.content:
        delete_draft(session, work, place.target_id)
        return {"version": str(place.standing.version), "entry": None, "claim": "mine"}
    version = None
    if action.guidelines:
        version = min(action.guidelines, studies.current_guidelines(session, work.study.id).version) or None
    surplus = save_label(transaction, place, content, version, action.shown)
    unskip(session, work, place.task)
    if work.name == "aius":
        _claim_or_release(session, work, place.task)
    entry = push_entry(session, work, "label", place.task, place.target_id, place.standing.content, content)
    return {
        "status": "surplus" if surplus else "accepted",
        "version": str(place.standing.version + 1),
        "entry": entry,
        "claim": "full" if surplus else "mine",
        "revealed": place.is_required and work.study.rules.reveal,
    }


def save_draft(transaction: Transaction) -> Json:
    """Store what is entered; the first draft of a task claims it."""
    session, work, action = transaction.session, transaction.work, transaction.action
    place = find_place(transaction)
    check_base(transaction, place.standing)
    check_assignment(transaction, place)
    response_order.check(action.shown, work)
    content = _content(transaction, action.value)
    if content == place.standing.content:
        delete_draft(session, work, place.target_id)
    else:
        order = {"shown": list(action.shown)} if action.shown else {}
        queue.save_draft(session, place.target_id, work.annotator_id, content | order)
    if place.standing.value is not None:
        return {"claim": "mine"}
    return {"claim": claim(session, work, place.task)}


def _declared_scales(transaction: Transaction, target: Target) -> Scales:
    """Return declared scales, that of the target among them if it has one."""
    state = transaction.state
    if target != transaction.task.target:
        return studies.scales(transaction.session, transaction.work.study.id)
    return {} if state.scale is None else {(target.kind, target.criterion): state.scale}


def _content(transaction: Transaction, value: Any) -> Json:
    """Return value, reason and evidence of an action; raises Refused for evidence that is not in the task's texts."""
    action = transaction.action
    passages = action_transaction.checked_evidence(
        transaction.session, transaction.work, transaction.task, action.evidence
    )
    return {"value": value, "reason": action.reason, "evidence": passages}


def _training_answer(transaction: Transaction, place: Place, plan: Training, content: Json) -> Json:
    """Store an answer to a training item, and return whether it is correct. It cannot be undone."""
    session, work = transaction.session, transaction.work
    plan = training.save_answer(session, work, plan, place.target_id, content, transaction.action.seconds)
    delete_draft(session, work, place.target_id)
    unskip(session, work, place.task)
    claims.release(session, work, place.task)
    return {
        "version": str(plan.versions[place.target_id]),
        "entry": None,
        "claim": "mine",
        "feedback": plan.feedback(place.target_id),
    }


def _has_reason(work: Work, place: Place) -> bool:
    """Return whether the target's label has a reason: one for a task, and none for AIUs."""
    return place.is_required and work.name != "aius"


def _claim_or_release(session: Session, work: Work, task: Task) -> None:
    """Claim a critique with its first label; with its last one, the claim ends, as a label of another kind ends its."""
    state = critique_queue.critique_state(session, work.queue, work.annotator_id, work.study.rules.overlap, task)
    if state is not None and state.labelled:
        claims.release(session, work, task)
    else:
        claims.claim(session, work, task)


# The effects of an edit of a critique's AIUs, and of its reversal.


def edit(transaction: Transaction) -> Json:
    """Edit the AIUs of a critique; the first edit claims it."""
    session, work, action = transaction.session, transaction.work, transaction.action
    if work.name != "aius":
        raise Refused("rejected", "There are no AIUs here.")
    task = transaction.task
    if not assignment.may_label(work, task):
        raise Refused("rejected", assignment.NOT_ASSIGNED)
    entries.check_training(session, work, task)
    plan = training.load(session, work)
    if plan is not None and task.id in plan.tasks:
        raise Refused("rejected", training.NO_EDITS)
    target_id = find_place(transaction).target_id if action.target else task.id
    number, created = critique_panels.save_edit(session, work, task, action.change)
    claim(session, work, task)
    entry = push_entry(session, work, "edit", task, target_id, None, {"edit": number})
    return {"entry": entry, "changed": True, **_focus(work, created)}


def reverse_edit(transaction: Transaction, task: Task, row: UndoEntryRow, *, undoing: bool) -> Json:
    """Undo an edit, or undo that undo. If later edits prevent it, the entry leaves the stack."""
    session, work = transaction.session, transaction.work
    number = row.after["edit"] if undoing else row.before["undo"]
    try:
        edit = aius.save_edit(session, work.study.id, task.target.item, work.annotator, Undo(edit=number))
    except TiebreakError as error:
        session.delete(row)
        return {"status": "rejected", "message": str(error), "changed": True}
    if undoing:
        row.before = {"undo": edit.number}
        return {"changed": True}
    return {"changed": True, **_focus(work, critique_panels.created_target(session, work, task, row.after["edit"]))}


def _focus(work: Work, target: Target | None) -> Json:
    return {} if target is None else {"focus": target_name(work, target)}


# Skips of many tasks at once: one entry of the undo stack, which undoes all of them.

SKIP_ALL = "skips"
"""The type of the entries of the undo stack."""


def skip_all(session: Session, work: Work, task_ids: Sequence[int], *, on: bool = True) -> int:
    """Skip tasks, or undo the skips; returns their number. Tasks that are labelled or unknown are left out."""
    changed = _set_skips(session, work, task_ids, on=on)
    if changed:
        ids = [task.id for task in changed]
        push_entry(
            session, work, SKIP_ALL, changed[0], changed[0].id, {"on": not on, "tasks": ids}, {"on": on, "tasks": ids}
        )
    return len(changed)


def latest_skips(session: Session, work: Work) -> tuple[str, int, bool] | None:
    """Return (id, number of tasks, whether they were skipped) of the undo stack's top; None for another type."""
    row = top_entry(session, work)
    return None if row is None or row.type != SKIP_ALL else (entry_name(row), len(row.after["tasks"]), row.after["on"])


def undo_latest_skips(session: Session, work: Work, entry: str) -> None:
    """Undo the top entry of the undo stack.

    Raises Refused if it is not the one called `entry`, or while a required training is not passed.
    """
    row = take_entry(session, work, entry, undo=True)
    for task in find_tasks(session, work, [row.task_id]):
        check_training(session, work, task)
    restore_skips(session, work, row, undoing=True)


def restore_skips(session: Session, work: Work, row: UndoEntryRow, *, undoing: bool) -> None:
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


# The effects of undo and redo: they take the top entry of a stack, and store the state before or after it.


def undo_entry(transaction: Transaction) -> Json:
    """Undo the annotator's newest entry."""
    return _reverse(transaction, undoing=True)


def redo_entry(transaction: Transaction) -> Json:
    """Carry the entry out again that was undone last."""
    return _reverse(transaction, undoing=False)


def _reverse(transaction: Transaction, *, undoing: bool) -> Json:
    """Take the top entry of a stack, and restore the state before or after it as a new event."""
    session, work = transaction.session, transaction.work
    name = own_result(transaction, transaction.action.entry).get("entry")
    row = take_entry(session, work, name, undo=undoing)
    tasks = find_tasks(session, work, [row.task_id])
    if not tasks:
        raise Refused("stale", "This item is not in the queue any more.")
    task, content = tasks[0], row.before if undoing else row.after
    if row.type != "label":
        entries.check_training(session, work, task)
    match row.type:
        case "skip":
            set_mark(transaction, task.target, "skip", on=bool(content["on"]))
            return {"entry": name}
        case _ if row.type == SKIP_ALL:
            restore_skips(session, work, row, undoing=undoing)
            return {"entry": name, "queue_changed": True}
        case "edit":
            return {"entry": name, **reverse_edit(transaction, task, row, undoing=undoing)}
    place = place_of(session, work, task, targets.get(session, row.target_id), row.target_id)
    version, shown = (
        entries.circumstances_of(session, work.annotator_id, place.target_id, content)
        if content
        else (None, place.standing.shown)
    )
    surplus = save_label(transaction, place, content, version, shown)
    if content is None:  # a withdrawn value stays entered
        queue.save_draft(session, place.target_id, work.annotator_id, row.after)
        claim(session, work, place.task)
    standing = place_of(session, work, task, place.target, row.target_id).standing
    status = {"status": "surplus"} if surplus and not undoing else {}
    # An AIU that has been edited since is no longer in the task; its label is changed nevertheless.
    changed = {} if place.target in panels.targets_of(session, work, task) else {"changed": True}
    return {**status, **changed, "entry": name, "version": str(standing.version), "standing": standing.json}


def _skip(transaction: Transaction) -> Json:
    session, work, action, task = transaction.session, transaction.work, transaction.action, transaction.task
    entries.check_training(session, work, task)
    set_mark(transaction, task.target, "skip", on=action.on)
    entry = push_entry(session, work, "skip", task, task.id, {"on": not action.on}, {"on": action.on})
    return {"entry": entry}


def _flag(transaction: Transaction) -> Json:
    action, task = transaction.action, transaction.task
    entries.check_training(transaction.session, transaction.work, task)
    target = find_place(transaction).target if action.target else task.target
    set_mark(transaction, target, "flag", on=action.on)
    return {}


def _note(transaction: Transaction) -> Json:
    text = transaction.action.text.strip()
    entries.check_training(transaction.session, transaction.work, transaction.task)
    set_mark(transaction, transaction.task.target, "note", text=text, on=bool(text))
    return {}


def _read(transaction: Transaction) -> Json:
    work = transaction.work
    studies.mark_guidelines_read(transaction.session, work.study.id, work.annotator_id, transaction.action.guidelines)
    return {}


CARRY_OUT: Mapping[str, Callable[[Transaction], Json]] = {
    "label": label,
    "draft": save_draft,
    "skip": _skip,
    "flag": _flag,
    "note": _note,
    "undo": undo_entry,
    "redo": redo_entry,
    "edit": edit,
    "read": _read,
}
