"""An action within its transaction: the target that it names, and the checks before it changes anything."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError
from sqlalchemy import Integer, Select, and_, bindparam, func, literal, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.frozen import Frozen
from core.items import target_item
from core.labels import Evidence, Scale, Target
from storage.db.columns import sanitize
from storage.db.connections import execute, insert_all
from storage.db.tables import ActionRow, ItemRow, LabelRow, ScaleRow, TargetRow, now
from storage.labelling import assignment, entries, panels, training
from storage.labelling.context import (
    NOT_IN_QUEUE,
    Json,
    Refused,
    Task,
    Unknown,
    Work,
    queue_named,
    task_columns,
    task_of,
)
from storage.labelling.entries import Standing, standing_of
from storage.labelling.training import Training
from storage.labels import targets
from storage.studies import items

# The check of the passages that an action selects as evidence.


class Passage(Evidence):
    """A passage of a request: true and "1" are no positions."""

    start: int = Field(ge=0, strict=True)
    end: int = Field(ge=0, strict=True)


def checked_evidence(session: Session, work: Work, task: Task, passages: Sequence[Passage]) -> list[Json]:
    """Return passages as they are stored; none if the study has no evidence.

    Raises Refused for a passage that is not in a text of the task, and for one that is listed twice.
    """
    if not passages or not work.study.rules.evidence:
        return []
    item = target_item(items.by_ids(session, [task.item_id])[task.item_id], task.target)
    content = panels.task_content(session, work, task, item, None)
    lengths = {block["id"]: len(block["text"]) for block in (*content["above"], *content["columns"])}
    if not all(passage.start < passage.end <= lengths.get(passage.block, 0) for passage in passages):
        raise Refused("rejected", "The evidence is not a passage of a text of this item.")
    if len({(passage.block, passage.start, passage.end) for passage in passages}) < len(passages):
        raise Refused("rejected", "The evidence lists a passage twice.")
    return [passage.model_dump() for passage in passages]


# The fields of a workbench action, and the sentence about a field that is not valid.

LONGEST_TEXT = 20_000
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Name = Annotated[str, Field(max_length=64)]


class Action(Frozen):
    """One action; which fields it has depends on its type."""

    seq: int = Field(ge=1, lt=2**31)
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
        return f"The {field} is longer than {LONGEST_TEXT:,} characters."
    return f"This action is not valid: {first['msg']}."


# The results of actions, by study, annotator, client and sequence number.


def save_result(session: Session, work: Work, client: str, seq: int, result: Json) -> None:
    """Store the result of an action."""
    row = {"study_id": work.study.id, "annotator_id": work.annotator_id, "client": client, "seq": seq, "at": now()}
    insert_all(session, ActionRow, [row | {"result": sanitize(result)}])


def stored_result(session: Session, work: Work, client: str, seq: int) -> Json | None:
    """Return the stored result of an action; None if it was not carried out."""
    result: Json | None = execute(session, _result_query(), log_parameters(work, client, seq)).scalar_one()
    return result


def log_parameters(work: Work, client: str, seq: int) -> dict[str, Any]:
    """Return the parameters of `columns`."""
    return {"study": work.study.id, "annotator": work.annotator_id, "client": client, "seq": seq}


@cache  # to build the query takes longer than to execute it
def _result_query() -> Select[*tuple[Any, ...]]:
    return select(log_columns()[1])


def log_columns() -> tuple[Any, Any]:
    """Return the highest number of a client's actions, null for a new client, and the stored result of one action."""
    own = (
        col(ActionRow.study_id) == bindparam("study"),
        col(ActionRow.annotator_id) == bindparam("annotator"),
        col(ActionRow.client) == bindparam("client"),
    )
    stored = select(col(ActionRow.result)).where(*own, col(ActionRow.seq) == bindparam("seq"))
    return select(func.max(col(ActionRow.seq))).where(*own).scalar_subquery(), stored.scalar_subquery()


# What is stored before an action is executed: the client's earlier actions, the task, and the annotator's label of it.
#
# All of it is read with one query, because every action begins with it.

NO_TARGET = 0
"""No target has this id."""
LABEL_COLUMNS = ("value", "reason", "evidence", "blind", "surplus", "at", "shown")


@dataclass(frozen=True)
class ActionState:
    """The state of a study for one action."""

    last: int | None
    """The highest number of the client's actions; None for a new client."""
    stored: Json | None
    """The stored result of this action."""
    work: Work
    """The queue of the task, which need not be the one on the page."""
    task: Task | None
    standing: Standing
    """The annotator's label of the task's main target."""
    scale: Scale | None
    """The declared scale of the task's main target."""


def read_state(session: Session, work: Work, client: str, seq: int, task_name: object) -> ActionState:
    """Return the state for an action about the task with an opaque id, which may be any value."""
    task_id = work.ids.decode("t", task_name) if isinstance(task_name, str) else None
    parameters = log_parameters(work, client, seq) | {"target": task_id or NO_TARGET}
    rows = execute(session, _query(), parameters).all()
    last, stored, scale, *columns = rows[0][: -1 - len(LABEL_COLUMNS)]
    found = task_of(columns) if columns[0] is not None else None
    if found is None:
        return ActionState(last, stored, work, None, Standing(), None)
    name, task = found
    if name != work.name:
        work = replace(work, name=name, queue=queue_named(work.study.id, name))
    standing = standing_of([row for row in rows if row.label_id is not None])
    return ActionState(last, stored, work, task, standing, None if scale is None else Scale.model_validate(scale))


@cache  # to build the query takes longer than to execute it
def _query() -> Select[*tuple[Any, ...]]:
    study, annotator = bindparam("study", type_=Integer), bindparam("annotator", type_=Integer)
    target = and_(col(TargetRow.id) == bindparam("target", type_=Integer), col(TargetRow.study_id) == study)
    own = and_(col(LabelRow.target_id) == col(TargetRow.id), col(LabelRow.annotator_id) == annotator)
    scale = select(col(ScaleRow.body)).where(
        col(ScaleRow.study_id) == study,
        col(ScaleRow.kind) == col(TargetRow.kind),
        col(ScaleRow.criterion) == col(TargetRow.criterion),
    )
    label = [col(LabelRow.id).label("label_id"), *(getattr(LabelRow, name) for name in LABEL_COLUMNS)]
    always = select(literal(1).label("one")).subquery()
    tables = always.outerjoin(TargetRow, target).outerjoin(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
    return (
        select(*log_columns(), scale.correlate(TargetRow).scalar_subquery(), *task_columns(), *label)
        .select_from(tables.outerjoin(LabelRow, own))
        .order_by(col(LabelRow.id))
    )


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
        standing = entries.task_standings(session, work, [target_id], plan).get(target_id, Standing())
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
    return stored_result(transaction.session, transaction.work, transaction.client, seq) or {}
