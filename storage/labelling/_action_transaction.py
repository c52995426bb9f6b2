"""An action within its transaction: its fields, the target that it names, and the checks before it changes anything."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError
from sqlalchemy import bindparam, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.frozen import Frozen
from core.labels import Evidence, Target
from core.texts import _, mark, number
from storage.db.connections import execute
from storage.db.tables import ActionRow
from storage.labelling import _panels, claims, training
from storage.labelling.context import NOT_IN_QUEUE, Json, QueueContext, Refused, Task, Unknown
from storage.labelling.tasks import OwnLabel, own_labels
from storage.labelling.training import Training
from storage.labels import targets

# The fields of a workbench action, and the sentence about a field that is not valid.

LONGEST_TEXT = 20_000
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Name = Annotated[str, Field(max_length=64)]


class Passage(Evidence):
    """A passage of a request: true and "1" are no positions."""

    start: int = Field(ge=0, strict=True)
    end: int = Field(ge=0, strict=True)


class Action(Frozen):
    """One action; which fields it has depends on its type."""

    seq: int
    type: Literal["label", "draft", "skip", "flag", "note", "undo", "redo", "edit", "read"]
    task: Name = ""
    target: Name = ""
    base: Name = ""
    value: Any = None
    reason: Text = ""
    evidence: tuple[Passage, ...] = Field(default=(), max_length=100)
    seconds: float | None = Field(default=None, ge=0, le=1e6)
    shown: tuple[Annotated[int, Field(ge=1, strict=True)], ...] = Field(default=(), max_length=1_000)
    """The order of the texts under which the value was entered; empty from a page that does not state it."""
    guidelines: int = Field(default=0, ge=0, lt=2**31)
    on: bool = True
    text: Text = ""
    entry: Name = ""
    change: dict[str, Any] = Field(default_factory=dict)


def problem(error: ValidationError) -> str:
    """Return one sentence about the first field that is not valid."""
    first = error.errors()[0]
    field = str(first["loc"][0]) if first["loc"] else ""
    if first["type"] == "string_too_long" and field in ("reason", "text"):
        longer = mark("The text is longer than {most} characters.")
        if field == "reason":
            longer = mark("The reason is longer than {most} characters.")
        return _(longer, most=number(LONGEST_TEXT))
    return _("This action is not valid: {problem}.", problem=first["msg"])


_OF_CLIENT = (
    col(ActionRow.study_id) == bindparam("study"),
    col(ActionRow.annotator_id) == bindparam("annotator"),
    col(ActionRow.client) == bindparam("client"),
)
# Built once: that takes longer than to execute it.
_LOG = select(
    select(func.max(col(ActionRow.seq))).where(*_OF_CLIENT).scalar_subquery(),
    select(col(ActionRow.result)).where(*_OF_CLIENT, col(ActionRow.seq) == bindparam("seq")).scalar_subquery(),
)


def read_log(session: Session, work: QueueContext, client: str, seq: int) -> tuple[int | None, Json | None]:
    """Return the highest number of a client's actions, None for a new client, and the stored result of one action."""
    own = {"study": work.study.id, "annotator": work.annotator_id, "client": client, "seq": seq}
    last, stored = execute(session, _LOG, own).one()
    return last, stored


ANSWERED_ELSEWHERE = mark("You answered this in another window.")
UNKNOWN_BASE = mark("This answer refers to a version of your answer that does not exist; nothing was changed.")


@dataclass(frozen=True)
class ActionTarget:
    """The task and the target of an action, with the annotator's label of the target."""

    task: Task
    is_required: bool
    target: Target
    target_id: int
    label: OwnLabel
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
    work: QueueContext
    """The queue of the task, which need not be the one on the page."""
    found: Task | None

    @property
    def task(self) -> Task:
        """The task that the action names; raises Unknown if there is none."""
        if self.found is None:
            raise Unknown(_(NOT_IN_QUEUE))
        return self.found


def label_now(transaction: Transaction) -> Json:
    """Return version and label of the action's target, if it has one."""
    if not transaction.action.target:
        return {}
    try:
        label = find_target(transaction).label
    except Unknown:
        return {}
    except (Refused, TiebreakError):
        return {"changed": True} if transaction.work.name == "aius" else {}
    return {"version": str(label.version), "standing": label.json}


def find_target(transaction: Transaction) -> ActionTarget:
    """Return the target that an action names; raises Unknown or Refused if there is no such target."""
    session, work, task = transaction.session, transaction.work, transaction.task
    return target_of(session, work, task, _panels.find_target(session, work, task, transaction.action.target))


def target_of(session: Session, work: QueueContext, task: Task, target: Target) -> ActionTarget:
    """Return a target of a task, which is stored if it is new."""
    target_id = task.id if target == task.target else targets.get_or_create_id(session, work.study.id, target)
    plan = training.load(session, work) if task.has_training else None
    key = task.key if task.repeat else target_id
    label = own_labels(session, work, [key], plan).get(key, OwnLabel())
    return ActionTarget(task, _panels.is_required(work, task, target), target, target_id, label, plan)


def check_base(transaction: Transaction, label: OwnLabel) -> None:
    """Raise Refused if the target was labelled since the annotator saw it, or if the base is not a version of it."""
    text = transaction.action.base
    base = own_result(transaction, text).get("version")
    if base == str(label.version):
        return
    is_earlier = base is not None and base.isdecimal() and len(base) < 10 and int(base) < label.version
    # The version that a stale action of the same window should have produced.
    follows_stale = _logged(transaction, text).get("status") == "stale"
    if is_earlier or follows_stale:
        raise Refused("stale", _(ANSWERED_ELSEWHERE))
    raise Refused("rejected", _(UNKNOWN_BASE))


def check_assignment(transaction: Transaction, found: ActionTarget) -> None:
    """Raise Refused if the target is assigned to others, or comes after the training; a label can be changed."""
    plan, work = found.training, transaction.work
    if plan is not None and plan.locks(found.task.id, found.label.version):
        raise Refused("rejected", _(training.COMES_FIRST))
    if plan is not None and found.task.id in plan.tasks and not found.is_training:
        raise Refused("rejected", _(training.NOT_ASKED))
    is_assigned = claims.is_assigned(work.study.rules, work.annotator, found.task.scenario)
    if found.label.version == 0 and not found.is_training and not is_assigned:
        raise Refused("rejected", _(claims.NOT_ASSIGNED))


def own_result(transaction: Transaction, text: str) -> Json:
    """Return the version and entry that a text names: an id, or "#16" for those that action 16 produced.

    A stale action produced nothing. A rejected one left the version as it was.
    """
    if not text.startswith("#"):
        return {"version": text, "entry": text}
    stored = _logged(transaction, text)
    return {} if stored.get("status") == "stale" else stored


def _logged(transaction: Transaction, text: str) -> Json:
    """Return the result of the action that a text such as "#16" names; empty if there is none."""
    is_number = text.startswith("#") and text[1:].isdecimal() and len(text) < 12
    seq = int(text[1:]) if is_number else 0
    return read_log(transaction.session, transaction.work, transaction.client, seq)[1] or {}
