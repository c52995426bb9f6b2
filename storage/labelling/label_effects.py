"""The effects of a label and of a draft."""

from typing import Any

from sqlalchemy.orm import Session

from core.labels import Target
from storage import guidelines, studies
from storage.labelling import claims, critique_queue, evidence, panels, queue, response_order, training, undo
from storage.labelling.action_transaction import Place, Transaction, check_assignment, check_base, find_place
from storage.labelling.stored_answers import claim, delete_draft, save_label, unskip
from storage.labelling.training import Training
from storage.labelling.work import Json, Refused, Task, Work
from storage.studies import Scales


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
        version = min(action.guidelines, guidelines.current(session, work.study.id).version) or None
    surplus = save_label(transaction, place, content, version, action.shown)
    unskip(session, work, place.task)
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
    passages = evidence.checked(transaction.session, transaction.work, transaction.task, action.evidence)
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
