"""The effects of each type of workbench action. An action raises Refused or TiebreakError if it is not carried
out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from core.aius import Undo
from core.errors import TiebreakError
from core.labels import Evidence, Label, Target
from storage import aius, guidelines, labels, studies, targets
from storage.labelling import (
    action_log,
    aiu_panel,
    assignment,
    claims,
    critique_queue,
    entered,
    evidence,
    panels,
    queue,
    skips,
    training,
    undo,
)
from storage.labelling.action_fields import Action
from storage.labelling.action_state import ActionState
from storage.labelling.entered import Standing
from storage.labelling.queue import Mark
from storage.labelling.training import Training
from storage.labelling.work import NOT_IN_QUEUE, Json, Refused, Task, Unknown, Work, find_tasks, target_name
from storage.studies import Scales
from storage.tables import DraftRow, UndoEntryRow
from storage.target_summaries import lock_targets

ANSWERED_ELSEWHERE = "You answered this in another window."
UNKNOWN_BASE = "This answer refers to a version of your answer that does not exist; nothing was changed."


@dataclass(frozen=True)
class Place:
    """The task and the target of an action, with the annotator's label of the target."""

    task: Task
    is_required: bool
    target: Target
    target_id: int
    standing: Standing
    training: Training | None
    """The training of the queue."""

    @property
    def is_training(self) -> bool:
        """Whether the task is a training item."""
        return self.training is not None and self.target_id in self.training.items


@dataclass(frozen=True)
class Transaction:
    """An action that is carried out."""

    session: Session
    client: str
    action: Action
    state: ActionState
    """As it was before the action."""

    @property
    def work(self) -> Work:
        """The queue of the task."""
        return self.state.work

    @property
    def task(self) -> Task:
        """The task that the action names; raises Unknown if there is none."""
        if self.state.task is None:
            raise Unknown(NOT_IN_QUEUE)
        return self.state.task


def standing_now(transaction: Transaction) -> Json:
    """Return version and label of the action's target, if it has one."""
    if not transaction.action.target:
        return {}
    try:
        standing = _place(transaction).standing
    except Unknown:
        return {}
    except (Refused, TiebreakError):
        return {"changed": True} if transaction.work.name == "aius" else {}
    return {"version": str(standing.version), "standing": standing.json}


def _label(transaction: Transaction) -> Json:
    session, work, action = transaction.session, transaction.work, transaction.action
    place = _place(transaction)
    _check_base(transaction, place.standing)
    scales = _declared_scales(transaction, place.target)
    content = _content(transaction, panels.checked_value(session, work, place.target, action.value, scales))
    if place.training is not None and place.is_training:
        return _training_answer(transaction, place, place.training, content)
    _check_assignment(transaction, place)
    if work.study.rules.reason == "required" and _has_reason(work, place) and not action.reason.strip():
        raise Refused("rejected", "This study requires a reason.")
    if content == place.standing.content:
        _delete_draft(session, work, place.target_id)
        return {"version": str(place.standing.version), "entry": None, "claim": "mine"}
    version = None
    if action.guidelines:
        version = min(action.guidelines, guidelines.current(session, work.study.id).version) or None
    surplus = _save(transaction, place, content, version)
    _unskip(session, work, place.task)
    if work.name == "aius":
        _claim_or_release(session, work, place.task)
    entry = undo.push(session, work, "label", place.task, place.target_id, place.standing.content, content)
    return {
        "status": "surplus" if surplus else "accepted",
        "version": str(place.standing.version + 1),
        "entry": entry,
        "claim": "full" if surplus else "mine",
        "revealed": place.is_required and work.study.rules.reveal,
    }


def _declared_scales(transaction: Transaction, target: Target) -> Scales:
    """Return declared scales, that of the target among them if it has one."""
    state = transaction.state
    if target != transaction.task.target:
        return studies.scales(transaction.session, transaction.work.study.id)
    return {} if state.scale is None else {(target.kind, target.criterion): state.scale}


def _content(transaction: Transaction, value: Any) -> Json:
    """Return value, reason and evidence of an action; raises Refused for evidence that is not in the task's texts."""
    action = transaction.action
    passages = evidence.checked(transaction.session, transaction.work, transaction.task, action.evidence)
    return {"value": value, "reason": action.reason, "evidence": passages}


def _training_answer(transaction: Transaction, place: Place, plan: Training, content: Json) -> Json:
    """Store an answer to a training item, and return whether it is correct. It cannot be undone."""
    session, work = transaction.session, transaction.work
    plan = training.save_answer(session, work, plan, place.target_id, content, transaction.action.seconds)
    _delete_draft(session, work, place.target_id)
    _unskip(session, work, place.task)
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


def _save(transaction: Transaction, place: Place, content: Json | None, version: int | None) -> bool:
    """Add a label, or withdraw the current one; return whether it is surplus.

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
    )
    labels.add(session, work.study.id, label, place.target_id, work.annotator_id, viewed=viewed)
    return surplus


def _draft(transaction: Transaction) -> Json:
    session, work, action = transaction.session, transaction.work, transaction.action
    place = _place(transaction)
    _check_base(transaction, place.standing)
    _check_assignment(transaction, place)
    content = _content(transaction, action.value)
    if content == place.standing.content:
        _delete_draft(session, work, place.target_id)
    else:
        queue.save_draft(session, place.target_id, work.annotator_id, content)
    if place.standing.value is not None:
        return {"claim": "mine"}
    return {"claim": claim(session, work, place.task)}


def claim(session: Session, work: Work, task: Task) -> str:
    """Claim a task or renew the claim: "mine", or "full" if enough others have it."""
    return "mine" if claims.claim(session, work, task) else "full"


def _skip(transaction: Transaction) -> Json:
    session, work, action, task = transaction.session, transaction.work, transaction.action, transaction.task
    entered.check_training(session, work, task)
    _mark(transaction, task.target, "skip", on=action.on)
    entry = undo.push(session, work, "skip", task, task.id, {"on": not action.on}, {"on": action.on})
    return {"entry": entry}


def _flag(transaction: Transaction) -> Json:
    action, task = transaction.action, transaction.task
    entered.check_training(transaction.session, transaction.work, task)
    target = _place(transaction).target if action.target else task.target
    _mark(transaction, target, "flag", on=action.on)
    return {}


def _note(transaction: Transaction) -> Json:
    text = transaction.action.text.strip()
    entered.check_training(transaction.session, transaction.work, transaction.task)
    _mark(transaction, transaction.task.target, "note", text=text, on=bool(text))
    return {}


def _read(transaction: Transaction) -> Json:
    work = transaction.work
    guidelines.mark_read(transaction.session, work.study.id, work.annotator_id, transaction.action.guidelines)
    return {}


def _undo(transaction: Transaction) -> Json:
    return _reverse(transaction, undoing=True)


def _redo(transaction: Transaction) -> Json:
    return _reverse(transaction, undoing=False)


def _reverse(transaction: Transaction, *, undoing: bool) -> Json:
    """Take the top entry of a stack, and restore the state before or after it as a new event."""
    session, work = transaction.session, transaction.work
    name = _own_result(transaction, transaction.action.entry).get("entry")
    row = undo.take(session, work, name, undo=undoing)
    tasks = find_tasks(session, work, [row.task_id])
    if not tasks:
        raise Refused("stale", "This item is not in the queue any more.")
    task, content = tasks[0], row.before if undoing else row.after
    if row.type != "label":
        entered.check_training(session, work, task)
    match row.type:
        case "skip":
            _mark(transaction, task.target, "skip", on=bool(content["on"]))
            return {"entry": name}
        case skips.ENTRY:
            skips.restore(session, work, row, undoing=undoing)
            return {"entry": name, "queue_changed": True}
        case "edit":
            return {"entry": name, **_reverse_edit(transaction, task, row, undoing=undoing)}
    place = _place_of(session, work, task, targets.get(session, row.target_id), row.target_id)
    version = content and entered.guidelines_of(session, work.annotator_id, place.target_id, content)
    surplus = _save(transaction, place, content, version)
    if content is None:  # a withdrawn value stays entered
        queue.save_draft(session, place.target_id, work.annotator_id, row.after)
        claim(session, work, place.task)
    standing = _place_of(session, work, task, place.target, row.target_id).standing
    status = {"status": "surplus"} if surplus and not undoing else {}
    # An AIU that has been edited since is no longer in the task; its label is changed nevertheless.
    changed = {} if place.target in panels.targets_of(session, work, task) else {"changed": True}
    return {**status, **changed, "entry": name, "version": str(standing.version), "standing": standing.json}


def _edit(transaction: Transaction) -> Json:
    """Edit the AIUs of a critique; the first edit claims it."""
    session, work, action = transaction.session, transaction.work, transaction.action
    if work.name != "aius":
        raise Refused("rejected", "There are no AIUs here.")
    task = transaction.task
    if not assignment.may_label(work, task):
        raise Refused("rejected", assignment.NOT_ASSIGNED)
    entered.check_training(session, work, task)
    plan = training.load(session, work)
    if plan is not None and task.id in plan.tasks:
        raise Refused("rejected", training.NO_EDITS)
    target_id = _place(transaction).target_id if action.target else task.id
    number, created = aiu_panel.save_edit(session, work, task, action.change)
    claim(session, work, task)
    entry = undo.push(session, work, "edit", task, target_id, None, {"edit": number})
    return {"entry": entry, "changed": True, **_focus(work, created)}


def _reverse_edit(transaction: Transaction, task: Task, row: UndoEntryRow, *, undoing: bool) -> Json:
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
    return {"changed": True, **_focus(work, aiu_panel.created_target(session, work, task, row.after["edit"]))}


def _focus(work: Work, target: Target | None) -> Json:
    return {} if target is None else {"focus": target_name(work, target)}


CARRY_OUT: Mapping[str, Callable[[Transaction], Json]] = {
    "label": _label,
    "draft": _draft,
    "skip": _skip,
    "flag": _flag,
    "note": _note,
    "undo": _undo,
    "redo": _redo,
    "edit": _edit,
    "read": _read,
}


def _place(transaction: Transaction) -> Place:
    """Return the target that an action names; raises Unknown or Refused if there is no such target."""
    session, work, task = transaction.session, transaction.work, transaction.task
    target = panels.find_target(session, work, task, transaction.action.target)
    standing = transaction.state.standing if target == task.target else None
    return _place_of(session, work, task, target, standing=standing)


def _place_of(
    session: Session,
    work: Work,
    task: Task,
    target: Target,
    target_id: int | None = None,
    standing: Standing | None = None,
) -> Place:
    """Return a target of a task. `standing`: the annotator's label of it, if it is known."""
    if target_id is None:
        target_id = task.id if target == task.target else targets.get_or_create_id(session, work.study.id, target)
    plan = training.load(session, work) if task.has_training else None
    if standing is None or plan is not None:
        standing = entered.task_standings(session, work, [target_id], plan).get(target_id, Standing())
    return Place(task, panels.is_required(work, task, target), target, target_id, standing, plan)


def _check_base(transaction: Transaction, standing: Standing) -> None:
    """Raise Refused if the target was labelled since the annotator saw it, or if the base is not a version of it."""
    base = _own_result(transaction, transaction.action.base).get("version")
    if base == str(standing.version):
        return
    is_earlier = base is not None and base.isdecimal() and len(base) < 10 and int(base) < standing.version
    if is_earlier or _follows_stale(transaction):
        raise Refused("stale", ANSWERED_ELSEWHERE)
    raise Refused("rejected", UNKNOWN_BASE)


def _check_assignment(transaction: Transaction, place: Place) -> None:
    """Raise Refused if the target is assigned to others, or comes after the training; a label can be changed."""
    plan = place.training
    if plan is not None and plan.locks(place.task.id, place.standing.version):
        raise Refused("rejected", training.COMES_FIRST)
    if plan is not None and place.task.id in plan.tasks and not place.is_training:
        raise Refused("rejected", training.NOT_ASKED)
    is_new = place.standing.version == 0 and not place.is_training
    if is_new and not assignment.may_label(transaction.work, place.task):
        raise Refused("rejected", assignment.NOT_ASSIGNED)


def _own_result(transaction: Transaction, text: str) -> Json:
    """Return the version and entry that a text names: an id, or "#16" for those that action 16 produced.

    A stale action produced nothing. A rejected one left the version as it was.
    """
    if not text.startswith("#"):
        return {"version": text, "entry": text}
    stored = _stored_result(transaction, text)
    return {} if stored.get("status") == "stale" else stored


def _follows_stale(transaction: Transaction) -> bool:
    """Return whether the base is the version that a stale action of the same window should have produced."""
    return _stored_result(transaction, transaction.action.base).get("status") == "stale"


def _stored_result(transaction: Transaction, text: str) -> Json:
    """Return the result of the action that a text such as "#16" names; empty if there is none."""
    is_number = text.startswith("#") and text[1:].isdecimal() and len(text) < 12
    seq = int(text[1:]) if is_number else 0
    return action_log.stored_result(transaction.session, transaction.work, transaction.client, seq) or {}


def _mark(transaction: Transaction, target: Target, mark: Mark, *, text: str = "", on: bool = True) -> None:
    work = transaction.work
    queue.set_mark(transaction.session, work.study.id, target, work.annotator, mark, text=text, on=on)


def _unskip(session: Session, work: Work, task: Task) -> None:
    if not task.has_marks:
        return
    newest = entered.newest_marks(session, work.annotator_id, [task.id]).get(task.id, {})
    if "skip" in newest and newest["skip"].on:
        queue.set_mark(session, work.study.id, task.target, work.annotator, "skip", on=False)


def _delete_draft(session: Session, work: Work, target_id: int) -> None:
    labels.delete_own(session, DraftRow, target_id, work.annotator_id)
