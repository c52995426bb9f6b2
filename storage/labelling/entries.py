"""An annotator's entries in the tasks of a queue: labels, drafts, marks and claims."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Integer, Row, bindparam, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.items import Item
from core.labels import Target, Value
from storage.db.connections import clock, execute
from storage.db.tables import DraftRow, LabelRow, LeaseRow, MarkRow, TargetRow, TrainingAnswerRow
from storage.labelling import response_order, training
from storage.labelling.context import Json, Refused, Task, Work, find_task
from storage.labelling.queue import TargetState
from storage.labelling.training import Training
from storage.labels.targets import from_columns

Columns = Row[*tuple[Any, ...]]
"""The columns of a label or a mark."""


@dataclass(frozen=True)
class Standing:
    """An annotator's labels of one target."""

    version: int = 0
    """The number of labels, withdrawn ones included: it changes with every label and reveals nothing about others."""
    value: Value | None = None
    """None without a current label."""
    reason: str = ""
    evidence: tuple[Json, ...] = ()
    blind: bool = True
    surplus: bool = False
    at: str | None = None
    shown: tuple[int, ...] = ()
    """The order of the texts under which it was entered, also of a withdrawn label; empty if it is not known."""

    @property
    def content(self) -> Json | None:
        """Value, reason and evidence; None without a current label."""
        if self.value is None:
            return None
        return {"value": self.value, "reason": self.reason, "evidence": list(self.evidence)}

    @property
    def json(self) -> Json | None:
        """The content with its metadata; None without a current label."""
        content = self.content
        return None if content is None else {**content, "blind": self.blind, "at": self.at}


class Entered:
    """The annotator's entries for some tasks, read with one query for each type."""

    def __init__(self, session: Session, work: Work, tasks: Mapping[Task, Sequence[Target]]) -> None:
        self.work = work
        self.target_ids = target_ids(session, tasks)
        ids = list(self.target_ids.values())
        self.training = training.load(session, work)
        self.standing = task_standings(session, work, ids, self.training)
        self.drafts, self.draft_orders = _drafts(session, work.annotator_id, ids)
        self.newest_marks = newest_marks(session, work.annotator_id, ids)
        query = select(col(LeaseRow.target_id)).where(
            col(LeaseRow.annotator_id) == work.annotator_id,
            col(LeaseRow.target_id).in_([task.id for task in tasks]),
            col(LeaseRow.until) > clock(session),
        )
        self.leases = set(session.scalars(query))

    def add(self, target: Target, about: Json) -> Json:
        """Return a target with version, label, draft and flag."""
        target_id = self.target_ids.get(target, 0)
        standing = self.standing.get(target_id, Standing())
        return {
            **about,
            "version": str(standing.version),
            "standing": standing.json,
            "draft": self.drafts.get(target_id),
            "flagged": "flag" in self._marks_on(target_id),
            "reveal": None,
            **self._feedback(target_id),
        }

    def order(self, task: Task, item: Item) -> response_order.Order:
        """Return the order in which the annotator sees the texts of a task: that of the label or draft, if there is
        one. `item` is that of the target.
        """
        standing = self.standing.get(task.id, Standing())
        return response_order.entered(
            standing.shown or self.draft_orders.get(task.id, ()),
            self.work,
            task,
            response_order.count_texts(self.work, task, item),
        )

    def is_training(self, task_id: int) -> bool:
        """Return whether a task is a training item."""
        return self.training is not None and task_id in self.training.tasks

    def is_asked(self, task_id: int, target: Target) -> bool:
        """Return whether a target is part of a task: of a training item, only targets with known answers are."""
        if self.training is None or task_id not in self.training.tasks:
            return True
        return self.target_ids.get(target) in self.training.items

    def _feedback(self, target_id: int) -> Json:
        known = self.training is not None and target_id in self.training.items
        feedback = self.training.again().feedback(target_id) if self.training and known else None
        return {"feedback": feedback} if feedback else {}

    def marks(self, task: Task) -> Json:
        """Return the task's flag, skip and note."""
        own = self._marks_on(task.id)
        note = own["note"].text if "note" in own else ""
        return {"flagged": "flag" in own, "skipped": "skip" in own, "note": note}

    def _marks_on(self, target_id: int) -> dict[str, Columns]:
        return {mark: row for mark, row in self.newest_marks.get(target_id, {}).items() if row.on}

    def claim(self, task: Task, state: TargetState | None) -> str:
        """Return whether the annotator holds the task, or could."""
        if task.id in self.leases or (state and state.labelled):
            return "mine"
        return "full" if state and state.full else "free"


def target_ids(session: Session, tasks: Mapping[Task, Sequence[Target]]) -> dict[Target, int]:
    """Return target -> id, for the targets that exist."""
    known = {task.target: task.id for task in tasks}
    item_ids = {task.target.item: task.item_id for task in tasks}
    others = {target for targets in tasks.values() for target in targets} - known.keys()
    if not others:
        return known
    keys = {item_id: item for item, item_id in item_ids.items()}
    query = select(TargetRow).where(
        col(TargetRow.item_id).in_(keys), col(TargetRow.kind).in_({target.kind for target in others})
    )
    for row in session.scalars(query):
        target = from_columns(keys[row.item_id], row.kind, row.criterion, row.part)
        if target in others:
            known[target] = row.id
    return known


def standings(session: Session, annotator_id: int, target_ids: Sequence[int]) -> dict[int, Standing]:
    """Return target id -> the annotator's label, for those of the targets that the annotator ever labelled."""
    rows: dict[int, list[Columns]] = defaultdict(list)
    for row in execute(session, _own_rows(LabelRow), {"annotator": annotator_id, "targets": list(target_ids)}):
        rows[row.target_id].append(row)
    return {target_id: standing_of(given) for target_id, given in rows.items()}


def standing_of(rows: Sequence[Columns]) -> Standing:
    """Return an annotator's label of a target by all labels of it, oldest first."""
    if not rows:
        return Standing()
    newest = rows[-1]
    return Standing(
        version=len(rows),
        value=newest.value,
        reason=newest.reason,
        evidence=tuple(newest.evidence or ()),
        blind=newest.blind,
        surplus=newest.surplus,
        at=newest.at.isoformat() if newest.at else None,
        shown=tuple(newest.shown or ()),
    )


def circumstances_of(
    session: Session, annotator_id: int, target_id: int, content: Json
) -> tuple[int | None, tuple[int, ...]]:
    """Return the guidelines and the order of the texts of the annotator's newest label of a target with this value,
    reason and evidence.
    """
    rows = execute(session, _own_rows(LabelRow), {"annotator": annotator_id, "targets": [target_id]}).all()
    equal = (
        (row.guidelines, tuple(row.shown or ()))
        for row in reversed(rows)
        if {"value": row.value, "reason": row.reason, "evidence": row.evidence or []} == content
    )
    return next(equal, (None, ()))


def task_standings(
    session: Session, work: Work, target_ids: Sequence[int], plan: Training | None
) -> dict[int, Standing]:
    """Return `standings`, for training items with the answers of the current attempt in place of labels."""
    current = standings(session, work.annotator_id, target_ids)
    if plan is None:
        return current
    answers = plan.again().answers
    items = {
        target_id: _answered(plan, answers.get(target_id), target_id)
        for target_id in target_ids
        if target_id in plan.items
    }
    return {target_id: current[target_id] for target_id in current.keys() - items.keys()} | items


def open_task(session: Session, work: Work, name: str) -> Task:
    """Return the task with an opaque id; raises Unknown or Refused if the annotator cannot open it."""
    task = find_task(session, work, name)
    check_training(session, work, task)
    return task


def check_training(session: Session, work: Work, task: Task) -> None:
    """Raise Refused if the task comes after the training of the queue."""
    plan = training.load(session, work)
    if plan is None or not plan.locks(task.id, 0):
        return
    if task.id not in standings(session, work.annotator_id, [task.id]):
        raise Refused("rejected", training.COMES_FIRST)


def _answered(plan: Training, row: TrainingAnswerRow | None, target_id: int) -> Standing:
    version = plan.versions[target_id]
    return Standing(version) if row is None else Standing(version, row.value, row.reason, at=row.at.isoformat())


def _drafts(
    session: Session, annotator_id: int, target_ids: Sequence[int]
) -> tuple[dict[int, Json], dict[int, tuple[int, ...]]]:
    """Return target id -> the annotator's draft, and the order of the texts under which it was entered."""
    query = select(col(DraftRow.target_id), col(DraftRow.body)).where(
        col(DraftRow.annotator_id) == annotator_id, col(DraftRow.target_id).in_(target_ids)
    )
    blank: Json = {"value": None, "reason": "", "evidence": []}
    bodies = {target_id: dict(body) for target_id, body in session.execute(query)}
    orders = {target_id: tuple(body.pop("shown", ())) for target_id, body in bodies.items()}
    return {target_id: blank | body for target_id, body in bodies.items()}, orders


@cache  # to build the query takes longer than to execute it
def _own_rows(table: Any) -> Any:
    """Select an annotator's rows about some targets, the oldest first."""
    targets = bindparam("targets", type_=Integer, expanding=True)
    own = (col(table.annotator_id) == bindparam("annotator"), col(table.target_id).in_(targets))
    return select(table).where(*own).order_by(col(table.id))


def newest_marks(session: Session, annotator_id: int, target_ids: Sequence[int]) -> dict[int, dict[str, Columns]]:
    """Return target id -> mark -> its newest row."""
    marks_by_target: dict[int, dict[str, Columns]] = defaultdict(dict)
    for row in execute(session, _own_rows(MarkRow), {"annotator": annotator_id, "targets": list(target_ids)}):
        marks_by_target[row.target_id][row.mark] = row
    return marks_by_target
