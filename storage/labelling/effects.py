"""The effects of each type of workbench action, and its reversal. An action raises Refused or TiebreakError if it is
not carried out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, delete, func, insert, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.aius import Undo
from core.errors import TiebreakError
from core.items import target_item
from core.labels import Evidence, Label, Target
from core.texts import _
from storage.db.connections import execute, insert_all
from storage.db.tables import DraftRow, MarkRow, RepeatDraftRow, RepeatRow, Table, UndoEntryRow, now
from storage.labelling import _panels, blocks, claims, critique_queue, queue, tasks, training
from storage.labelling._action_transaction import (
    ActionTarget,
    Transaction,
    check_assignment,
    check_base,
    find_target,
    own_result,
    target_of,
)
from storage.labelling.context import Json, QueueContext, Refused, Task, find_tasks, target_name, task_name
from storage.labels import labels, targets
from storage.runs import aius
from storage.studies import items, studies, transcripts

# What an action stores: labels and marks.


def save_label(
    transaction: Transaction, target: ActionTarget, content: Json | None, version: int | None, shown: Sequence[int]
) -> bool:
    """Add a label that was given under guidelines and an order of texts, or withdraw the current one; return whether it
    is surplus.

    The overlap is checked in the same transaction, with task and target locked. A change does not count again.
    """
    session, work = transaction.session, transaction.work
    given = content or {"value": None, "reason": "undo", "evidence": []}
    if target.task.repeat:
        ids = {"study_id": work.study.id, "target_id": target.target_id, "annotator_id": work.annotator_id}
        number, seconds = target.label.version + 1, transaction.action.seconds
        row = {"number": number, "blind": number == 1 or not work.study.rules.reveal, "seconds": seconds, "at": now()}
        insert_all(session, RepeatRow, [given | ids | row | {"shown": list(shown)}])
        end_draft(transaction, target)
        return False
    targets.lock_targets(session, {target.task.id, target.target_id})
    surplus, viewed = target.label.surplus, None
    if target.is_required and target.label.value is None:
        surplus, viewed, _ = claims.completeness(session, work, target.task, target.target_id)
    surplus = surplus and content is not None
    label = Label(
        target=target.target,
        annotator=work.annotator,
        value=given["value"],
        reason=given["reason"],
        seconds=transaction.action.seconds,
        evidence=tuple(Evidence(**passage) for passage in given["evidence"]),
        surplus=surplus,
        guidelines=version,
        shown=tuple(shown),
    )
    labels.add(session, work.study.id, label, target.target_id, work.annotator_id, viewed=viewed)
    return surplus


def set_mark(transaction: Transaction, target: Target, mark: queue.Mark, *, text: str = "", on: bool = True) -> None:
    """Set or remove the annotator's mark of a target."""
    work = transaction.work
    queue.set_mark(transaction.session, work.study.id, target, work.annotator, mark, text=text, on=on)


def end_draft(transaction: Transaction, target: ActionTarget) -> None:
    """Delete the annotator's draft of a target."""
    table = RepeatDraftRow if target.task.repeat else DraftRow
    labels.delete_own(transaction.session, table, target.target_id, transaction.work.annotator_id)


def unskip(transaction: Transaction, task: Task) -> None:
    """Remove the annotator's skip of a task, if there is one."""
    own = col(MarkRow.target_id) == task.id
    if task.has_marks and "skip" in queue.marks_on(transaction.session, transaction.work.annotator_id, own)[task.id]:
        set_mark(transaction, task.target, "skip", on=False)


# The undo and redo stacks of an annotator, one pair for each study and queue.

# Entries in one reply.
PAGE = 20
_ENTRIES = Table.metadata.tables["undo_entry"]
_OWN = [_ENTRIES.c[name] == bindparam(name) for name in ("study_id", "annotator_id", "queue")]
# Built once: that takes longer than to execute them.
_EMPTY_REDO = delete(_ENTRIES).where(*_OWN, _ENTRIES.c.undone.is_(True))
_INSERT_ENTRY = insert(_ENTRIES).returning(_ENTRIES.c.id)


def push_entry(
    session: Session, work: QueueContext, type: str, task: Task, target_id: int, before: Json | None, after: Json
) -> str:
    """Add an entry on top of the undo stack, empty the redo stack, and return the entry's id."""
    own, at = {"study_id": work.study.id, "annotator_id": work.annotator_id, "queue": work.name}, now()
    execute(session, _EMPTY_REDO, own)
    content = {"type": type, "task_id": task.id, "target_id": target_id, "before": before, "after": after}
    more = {"undone": False, "repeat": task.repeat, "at": at}
    entry_id = execute(session, _INSERT_ENTRY, {**own, **content, **more}).scalar_one()
    return _entry_name(entry_id, at)


def take_entry(session: Session, work: QueueContext, entry: str | None, *, undo: bool) -> UndoEntryRow:
    """Move the top entry of one stack to the other; raises Refused if it is not the one called `entry`."""
    row = session.scalars(_top(work, undone=not undo)).first()
    if row is None or _entry_name(row.id, row.at) != entry:
        raise Refused("stale", _("This was undone or changed in another window."))
    row.undone = undo
    return row


def count_entries(session: Session, work: QueueContext) -> Json:
    """Return the number of entries on each stack."""
    return {
        name: session.scalars(select(func.count()).select_from(UndoEntryRow).where(*_stack(work, undone=undone))).one()
        for name, undone in (("undo", False), ("redo", True))
    }


def history(session: Session, work: QueueContext, before: str | None = None) -> Json:
    """Return the newest entries of both stacks, the top last, with their tasks; of the undo stack those below `before`.

    The tasks are without reveals.
    """
    below = [] if before is None else [col(UndoEntryRow.id) < _number(before)]
    rows = session.scalars(_top(work, undone=False).where(*below).limit(PAGE + 1)).all()
    redo = [] if before else session.scalars(_top(work, undone=True).limit(PAGE)).all()
    undo = rows[:PAGE]
    known = find_tasks(session, work, list(dict.fromkeys(map(_key, (*undo, *redo)))))
    by_key = {task.key: task for task in known}
    return {
        "undo": [_json(session, work, by_key[key], row) for row in reversed(undo) if (key := _key(row)) in by_key],
        "redo": [_json(session, work, by_key[key], row) for row in reversed(redo) if (key := _key(row)) in by_key],
        "tasks": tasks.task_jsons(session, work, known) if known else [],
        "more": len(rows) > PAGE,
    }


def _key(row: UndoEntryRow) -> int:
    return -row.task_id if row.repeat else row.task_id


def _json(session: Session, work: QueueContext, task: Task, row: UndoEntryRow) -> Json:
    has_target = row.type == "label" or row.target_id != task.id
    target = target_name(work, targets.get(session, row.target_id), repeat=task.repeat) if has_target else ""
    entry = {"id": _entry_name(row.id, row.at), "type": row.type, "task": task_name(work, task.key), "target": target}
    return entry | {"before": row.before, "after": row.after}


def _top(work: QueueContext, *, undone: bool) -> Select[UndoEntryRow]:
    order = col(UndoEntryRow.id).asc() if undone else col(UndoEntryRow.id).desc()
    return select(UndoEntryRow).where(*_stack(work, undone=undone)).order_by(order)


def _stack(work: QueueContext, *, undone: bool) -> list[ColumnElement[bool]]:
    return [
        col(UndoEntryRow.annotator_id) == work.annotator_id,
        col(UndoEntryRow.study_id) == work.study.id,
        col(UndoEntryRow.queue) == work.name,
        col(UndoEntryRow.undone).is_(undone),
        col(UndoEntryRow.type).in_([name for name, kind in ACTIONS.items() if kind.reverse]),  # not of earlier versions
    ]


def _entry_name(id: int, at: datetime) -> str:
    """Return the name of an entry; with its time, because SQLite gives the number of a deleted entry to a later one."""
    return f"e-{id}-{int(at.timestamp() * 1000):x}"


def _number(name: str) -> int:
    digits = name.removeprefix("e-").partition("-")[0]
    return int(digits) if digits.isdecimal() and len(digits) < 16 else 0


# Labels and drafts.


def label(transaction: Transaction) -> Json:
    """Store the label of a target, or the answer to a training item."""
    session, work, action = transaction.session, transaction.work, transaction.action
    target = find_target(transaction)
    check_base(transaction, target.label)
    blocks.check_order(action.shown, work)
    content = _content(transaction, _panels.checked_value(session, work, target.target, action.value))
    if target.training is not None and target.is_training:
        return _training_answer(transaction, target, target.training, content)
    check_assignment(transaction, target)
    has_reason = target.is_required and work.name != "aius"  # one for a task, and none for AIUs
    if work.study.rules.reason == "required" and has_reason and not action.reason.strip():
        raise Refused("rejected", _("This study requires a reason."))
    if content == target.label.content:
        end_draft(transaction, target)
        return {"version": str(target.label.version), "entry": None, "claim": "mine"}
    version = None
    if action.guidelines:
        version = min(action.guidelines, studies.current_guidelines(session, work.study.id).version) or None
    surplus = save_label(transaction, target, content, version, action.shown)
    unskip(transaction, target.task)
    if work.name == "aius":
        _claim_or_release(session, work, target.task)
    entry = push_entry(session, work, "label", target.task, target.target_id, target.label.content, content)
    return {
        "status": "surplus" if surplus else "accepted",
        "version": str(target.label.version + 1),
        "entry": entry,
        "claim": "full" if surplus else "mine",
        "revealed": target.is_required and work.study.rules.reveal,
    }


def save_draft(transaction: Transaction) -> Json:
    """Store what is entered; the first draft of a task claims it."""
    session, work, action = transaction.session, transaction.work, transaction.action
    target = find_target(transaction)
    check_base(transaction, target.label)
    check_assignment(transaction, target)
    blocks.check_order(action.shown, work)
    content = _content(transaction, action.value)
    if content == target.label.content:
        end_draft(transaction, target)
    else:
        order = {"shown": list(action.shown)} if action.shown else {}
        queue.save_draft(session, target.target_id, work.annotator_id, content | order, repeat=target.task.repeat)
    is_mine = target.label.value is not None or claims.claim(session, work, target.task)
    return {"claim": "mine" if is_mine else "full"}


def _content(transaction: Transaction, value: Any) -> Json:
    """Return value, reason and evidence of an action as they are stored; no evidence if the study has none.

    Raises Refused for a passage that is not in a text of the task, and for one that is listed twice.
    """
    session, work, action, task = transaction.session, transaction.work, transaction.action, transaction.task
    content: Json = {"value": value, "reason": action.reason, "evidence": []}
    if not action.evidence or not work.study.rules.evidence:
        return content
    found = transcripts.with_text(session, work.study.id, items.by_ids(session, [task.item_id])[task.item_id])
    item = target_item(found, task.target)
    texts = _panels.task_content(session, work, task, item, None)
    lengths = {block["id"]: len(block["text"]) for block in (*texts["above"], *texts["columns"])}
    if not all(passage.start < passage.end <= lengths.get(passage.block, 0) for passage in action.evidence):
        raise Refused("rejected", _("The evidence is not a passage of a text of this item."))
    if len({(passage.block, passage.start, passage.end) for passage in action.evidence}) < len(action.evidence):
        raise Refused("rejected", _("The evidence lists a passage twice."))
    return content | {"evidence": [passage.model_dump() for passage in action.evidence]}


def _training_answer(transaction: Transaction, target: ActionTarget, plan: training.Training, content: Json) -> Json:
    """Store an answer to a training item, and return whether it is correct. It cannot be undone."""
    session, work = transaction.session, transaction.work
    plan = training.save_answer(session, work, plan, target.target_id, content, transaction.action.seconds)
    end_draft(transaction, target)
    unskip(transaction, target.task)
    claims.release(session, work, target.task)
    return {
        "version": str(plan.versions[target.target_id]),
        "entry": None,
        "claim": "mine",
        "feedback": plan.feedback(target.target_id),
    }


def _claim_or_release(session: Session, work: QueueContext, task: Task) -> None:
    """Claim a critique with its first label; with its last one, the claim ends, as a label of another kind ends its."""
    state = critique_queue.critique_state(session, work, task)
    if state is not None and state.labelled:
        claims.release(session, work, task)
    else:
        claims.claim(session, work, task)


def reverse_label(transaction: Transaction, task: Task, row: UndoEntryRow, undoing: bool) -> Json:
    """Restore the label before an entry, or the one after it, as a new label."""
    session, work = transaction.session, transaction.work
    content = row.before if undoing else row.after
    target = target_of(session, work, task, targets.get(session, row.target_id))
    version, shown = None, target.label.shown
    if content and not task.repeat:
        version, shown = tasks.circumstances_of(session, work.annotator_id, target.target_id, content)
    surplus = save_label(transaction, target, content, version, shown)
    if content is None:  # a withdrawn value stays entered
        queue.save_draft(session, target.target_id, work.annotator_id, row.after, repeat=task.repeat)
        claims.claim(session, work, task)
    label = target_of(session, work, task, target.target).label
    status = {"status": "surplus"} if surplus and not undoing else {}
    # An AIU that has been edited since is no longer in the task; its label is changed nevertheless.
    changed = {} if target.target in _panels.targets_of(session, work, task) else {"changed": True}
    return {**status, **changed, "version": str(label.version), "standing": label.json}


# Edits of a critique's AIUs.


def edit(transaction: Transaction) -> Json:
    """Edit the AIUs of a critique; the first edit claims it."""
    session, work, action, task = transaction.session, transaction.work, transaction.action, transaction.task
    if work.name != "aius":
        raise Refused("rejected", _("There are no AIUs here."))
    if not claims.is_assigned(work.study.rules, work.annotator, task.scenario):
        raise Refused("rejected", _(claims.NOT_ASSIGNED))
    plan = training.load(session, work)
    if plan is not None and task.id in plan.tasks:
        raise Refused("rejected", _(training.NO_EDITS))
    target_id = find_target(transaction).target_id if action.target else task.id
    number, created = _panels.save_edit(session, work, task, action.change)
    claims.claim(session, work, task)
    entry = push_entry(session, work, "edit", task, target_id, None, {"edit": number})
    return {"entry": entry, "changed": True, **_focus(work, created)}


def reverse_edit(transaction: Transaction, task: Task, row: UndoEntryRow, undoing: bool) -> Json:
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
    return {"changed": True, **_focus(work, _panels.created_target(session, work, task, row.after["edit"]))}


def _focus(work: QueueContext, target: Target | None) -> Json:
    return {} if target is None else {"focus": target_name(work, target)}


# Skips.


def skip(transaction: Transaction) -> Json:
    """Skip a task, or undo the skip."""
    action, task = transaction.action, transaction.task
    set_mark(transaction, task.target, "skip", on=action.on)
    entry = push_entry(
        transaction.session, transaction.work, "skip", task, task.id, {"on": not action.on}, {"on": action.on}
    )
    return {"entry": entry}


def reverse_skip(transaction: Transaction, task: Task, row: UndoEntryRow, undoing: bool) -> Json:
    """Set the skip of an entry as it was before or after it; later labels are not changed."""
    set_mark(transaction, task.target, "skip", on=bool((row.before if undoing else row.after)["on"]))
    return {}


# Flags, notes, and guidelines that were read.


def flag(transaction: Transaction) -> Json:
    """Flag a task or one of its targets, or withdraw that."""
    action = transaction.action
    target = find_target(transaction).target if action.target else transaction.task.target
    set_mark(transaction, target, "flag", on=action.on)
    return {}


def note(transaction: Transaction) -> Json:
    """Set the note on a task; an empty text withdraws it."""
    text = transaction.action.text.strip()
    set_mark(transaction, transaction.task.target, "note", text=text, on=bool(text))
    return {}


def read_guidelines(transaction: Transaction) -> Json:
    """Record that the annotator has read a version of the guidelines."""
    work, version = transaction.work, transaction.action.guidelines
    studies.mark_guidelines_read(transaction.session, work.study.id, work.annotator_id, version)
    return {}


# Undo and redo: they take the top entry of a stack, and store the state before or after it.


def _reverse(transaction: Transaction, *, undoing: bool) -> Json:
    """Take the top entry of a stack, and restore the state before or after it as a new event."""
    session, work = transaction.session, transaction.work
    name = own_result(transaction, transaction.action.entry).get("entry")
    row = take_entry(session, work, name, undo=undoing)
    task = next(iter(find_tasks(session, work, [_key(row)])), None)
    if task is None:
        raise Refused("stale", _("This item is not in the queue any more."))
    kind = ACTIONS[row.type]
    assert kind.reverse is not None, "only actions with a reversal push entries"
    if kind.after_training:
        tasks.check_training(session, work, task)
    return {"entry": name, **kind.reverse(transaction, task, row, undoing)}


@dataclass(frozen=True)
class ActionType:
    """What an action of a type does; `storage.labelling._action_transaction.Action` has its fields."""

    effect: Callable[[Transaction], Json]
    after_training: bool = False
    """Whether it is refused for a task that comes after the training, as is its reversal."""
    reverse: Callable[[Transaction, Task, UndoEntryRow, bool], Json] | None = None
    """Restores the state before an entry of the undo stack (undoing), or the one after it."""


ACTIONS: Mapping[str, ActionType] = {
    # A label and a draft check the training themselves: answers to its items are allowed.
    "label": ActionType(label, reverse=reverse_label),
    "draft": ActionType(save_draft),
    "skip": ActionType(skip, after_training=True, reverse=reverse_skip),
    "flag": ActionType(flag, after_training=True),
    "note": ActionType(note, after_training=True),
    "edit": ActionType(edit, after_training=True, reverse=reverse_edit),
    "undo": ActionType(partial(_reverse, undoing=True)),
    "redo": ActionType(partial(_reverse, undoing=False)),
    "read": ActionType(read_guidelines),
}


def carry_out(transaction: Transaction) -> Json:
    """Check an action, and return its result besides the status "accepted"."""
    kind = ACTIONS[transaction.action.type]
    if kind.after_training:
        tasks.check_training(transaction.session, transaction.work, transaction.task)
    return kind.effect(transaction)
