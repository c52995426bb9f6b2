"""An action within its transaction: the target that it names, and the checks before it changes anything."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from core.errors import TiebreakError
from core.labels import Target
from storage import targets
from storage.labelling import action_log, assignment, entered, panels, training
from storage.labelling.action_fields import Action
from storage.labelling.action_state import ActionState
from storage.labelling.entered import Standing
from storage.labelling.training import Training
from storage.labelling.work import NOT_IN_QUEUE, Json, Refused, Task, Unknown, Work

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
        standing = find_place(transaction).standing
    except Unknown:
        return {}
    except (Refused, TiebreakError):
        return {"changed": True} if transaction.work.name == "aius" else {}
    return {"version": str(standing.version), "standing": standing.json}


def find_place(transaction: Transaction) -> Place:
    """Return the target that an action names; raises Unknown or Refused if there is no such target."""
    session, work, task = transaction.session, transaction.work, transaction.task
    target = panels.find_target(session, work, task, transaction.action.target)
    standing = transaction.state.standing if target == task.target else None
    return place_of(session, work, task, target, standing=standing)


def place_of(
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


def check_base(transaction: Transaction, standing: Standing) -> None:
    """Raise Refused if the target was labelled since the annotator saw it, or if the base is not a version of it."""
    base = own_result(transaction, transaction.action.base).get("version")
    if base == str(standing.version):
        return
    is_earlier = base is not None and base.isdecimal() and len(base) < 10 and int(base) < standing.version
    if is_earlier or _follows_stale(transaction):
        raise Refused("stale", ANSWERED_ELSEWHERE)
    raise Refused("rejected", UNKNOWN_BASE)


def check_assignment(transaction: Transaction, place: Place) -> None:
    """Raise Refused if the target is assigned to others, or comes after the training; a label can be changed."""
    plan = place.training
    if plan is not None and plan.locks(place.task.id, place.standing.version):
        raise Refused("rejected", training.COMES_FIRST)
    if plan is not None and place.task.id in plan.tasks and not place.is_training:
        raise Refused("rejected", training.NOT_ASKED)
    is_new = place.standing.version == 0 and not place.is_training
    if is_new and not assignment.may_label(transaction.work, place.task):
        raise Refused("rejected", assignment.NOT_ASSIGNED)


def own_result(transaction: Transaction, text: str) -> Json:
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
