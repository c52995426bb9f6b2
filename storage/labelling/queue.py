"""The labelling queue: targets and their leases, drafts, skips, flags and notes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from sqlalchemy import ColumnElement, Integer, Select, and_, bindparam, case, delete, exists, func, not_, select
from sqlalchemy.orm import Session, aliased
from sqlalchemy.sql.expression import SQLColumnExpression
from sqlmodel import col

from core.formats.records import MarkRecord
from core.labels import Kind, Target
from storage import annotators, targets
from storage.database import clock, insert_missing, upsert
from storage.fingerprints import mark_row, with_fingerprint
from storage.json_columns import sanitize
from storage.tables import (
    DraftRow,
    ItemRow,
    LabelRow,
    LeaseRow,
    MarkRow,
    OpinionRow,
    TargetRow,
    TraceRow,
    now,
)

Mark = Literal["skip", "flag", "note"]
NO_ID = 0
"""No annotator and no target has this id."""
ONE_EACH = ("target_id", "annotator_id")
"""There is at most one draft and one lease of a target and an annotator."""
ANNOTATOR = bindparam("annotator", type_=Integer)


@dataclass(frozen=True)
class Queue:
    """The targets of a kind that the judges could not agree on, or `every` one; None is no condition."""

    study_id: int
    kind: Kind = "preference"
    criterion: str | None = None
    scenario: str | None = None
    run_id: int | None = None
    every: bool = False
    """All targets of the kind in the order of the items; otherwise the disputed ones, highest contention first."""
    compared: bool = False
    """Only targets on which a judge has a value: before that, there are no refined answers to compare."""


@dataclass(frozen=True)
class QueueEntry:
    """One target in a queue, as one annotator sees it."""

    target: Target
    labelled: bool
    skipped: bool
    flagged: bool
    full: bool
    """As many others as the overlap allows have labelled it or have a lease of it."""


@dataclass(frozen=True)
class TargetState:
    """One task in a queue by its id, as one annotator sees it; see `QueueEntry`."""

    id: int
    item: str
    labelled: bool
    skipped: bool
    flagged: bool
    full: bool
    scenario: str | None
    position: int
    """The place of the item in the study."""
    labels: int
    """How many of its required targets the annotator has labelled."""
    available: int
    """How many of its required targets the annotator has labelled or can label."""
    newest: int = 0
    """The id of the annotator's newest label in it, for tasks with several required targets."""


def entries(session: Session, queue: Queue, annotator: str, overlap: int) -> list[QueueEntry]:
    """Return the whole queue as the annotator sees it."""
    parameters = _parameters(annotators.find_id(session, annotator) or NO_ID, overlap)
    return [
        QueueEntry(targets.from_columns(*row[1:5]), *(bool(flag) for flag in row[5:]))
        for row in session.execute(entry_query(queue), parameters)
    ]


def save_draft(session: Session, study_id: int, target: Target, annotator: str, body: Mapping[str, Any]) -> None:
    """Save an annotator's unfinished input; it replaces an earlier draft."""
    target_id, annotator_id = _ids(session, study_id, target, annotator)
    row = {"target_id": target_id, "annotator_id": annotator_id, "body": sanitize(dict(body)), "at": now()}
    upsert(session, DraftRow, ONE_EACH, row)


def set_mark(
    session: Session, study_id: int, target: Target, annotator: str, mark: Mark, *, text: str = "", on: bool = True
) -> None:
    """Skip, flag or note a target, or withdraw that (`on=False`). A skip ends the lease."""
    record = MarkRecord(target=target, annotator=annotator, mark=mark, text=text, on=on, at=now())
    target_id, annotator_id = _ids(session, study_id, target, annotator)
    insert_missing(session, MarkRow, [with_fingerprint(mark_row(record, target_id, annotator_id))])
    if mark == "skip":
        session.execute(delete(LeaseRow).where(_belongs_to(LeaseRow, target_id, annotator_id)))


def _parameters(annotator_id: int, overlap: int) -> dict[str, Any]:
    return {"annotator": annotator_id, "overlap": overlap, "now": now()}


@lru_cache(maxsize=256)  # to build the query takes longer than to execute it
def entry_query(queue: Queue) -> Select[*tuple[Any, ...]]:
    """Select the id and target of each entry, then the fields of `QueueEntry`."""
    columns = (col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
    entries = _target_query(queue).add_columns(*columns).group_by(*columns)
    return entries.add_columns(_labelled_by(ANNOTATOR), _marked("skip"), _marked("flag"), full_condition())


def _target_query(queue: Queue) -> Select[*tuple[Any, ...]]:
    query = (
        select(col(TargetRow.id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(*_conditions(queue))
        .group_by(col(TargetRow.id), col(ItemRow.position))
    )
    if queue.every:
        judged = exists().where(col(OpinionRow.target_id) == col(TargetRow.id), col(OpinionRow.run_id) == queue.run_id)
        query = query if queue.run_id is None else query.where(judged)
        return query.order_by(col(ItemRow.position), col(TargetRow.id))
    in_run = [] if queue.run_id is None else [col(TraceRow.run_id) == queue.run_id]
    return (
        query.join(OpinionRow, and_(col(OpinionRow.target_id) == col(TargetRow.id), col(OpinionRow.stage) == "verdict"))
        .join(TraceRow, col(TraceRow.id) == col(OpinionRow.trace_id))
        .where(col(TraceRow.outcome).in_(("disputed", "no_verdict")), *in_run)
        .order_by(
            func.max(func.coalesce(col(TraceRow.contention), -1.0)).desc(),  # unknown contention comes last
            func.max(col(TraceRow.uncertainty)).desc(),
            col(ItemRow.position),
            col(TargetRow.id),
        )
    )


def _conditions(queue: Queue) -> list[ColumnElement[bool]]:
    conditions = [col(TargetRow.study_id) == queue.study_id, col(TargetRow.kind) == queue.kind]
    if queue.criterion is not None:
        conditions.append(col(TargetRow.criterion) == queue.criterion)
    if queue.scenario is not None:
        conditions.append(col(ItemRow.scenario) == queue.scenario)
    if queue.compared:
        has_value = and_(col(OpinionRow.target_id) == col(TargetRow.id), col(OpinionRow.value).is_not(None))
        conditions.append(exists().where(has_value))
    return conditions


def _current_labels(*conditions: Callable[[Any], ColumnElement[bool]]) -> Select[*tuple[Any, ...]]:
    """Select the current labels of the outer query's target: the newest of their annotators, and not withdrawn."""
    label, newer = aliased(LabelRow), aliased(LabelRow)
    replaced = exists().where(
        col(newer.target_id) == col(label.target_id),
        col(newer.annotator_id) == col(label.annotator_id),
        col(newer.id) > col(label.id),
    )
    return (
        select(col(label.id))
        .where(col(label.target_id) == col(TargetRow.id), col(label.value).is_not(None), ~replaced)
        .where(*(condition(label) for condition in conditions))
        .correlate(TargetRow, LeaseRow)
    )


def _labelled_by(annotator_id: SQLColumnExpression[int]) -> ColumnElement[bool]:
    return _current_labels(lambda label: col(label.annotator_id) == annotator_id).exists()


def full_condition(leased_target: SQLColumnExpression[int] | None = None) -> ColumnElement[bool]:
    """Whether as many others as the overlap allows have labelled the outer query's target, or have a lease of it.

    `leased_target` is the target that is leased, if that is another one.
    """
    if leased_target is None:
        leased_target = col(TargetRow.id)
    leased = (
        select(func.count())
        .where(col(LeaseRow.target_id) == leased_target, col(LeaseRow.annotator_id) != ANNOTATOR)
        .where(col(LeaseRow.until) > bindparam("now"), not_(_labelled_by(col(LeaseRow.annotator_id))))
    )
    labelled = _current_labels(lambda label: and_(col(label.annotator_id) != ANNOTATOR, not_(col(label.surplus))))
    wanted = func.coalesce(col(TargetRow.overlap), bindparam("overlap", type_=Integer))
    return labelled.with_only_columns(func.count()).scalar_subquery() + leased.scalar_subquery() >= wanted


def is_full(session: Session, target_id: int, annotator_id: int, overlap: int, *, leased: int) -> bool:
    """Return whether a target is full for an annotator; `leased` is the id of the target that is leased for it."""
    condition = full_condition(bindparam("leased", type_=Integer))
    query = select(condition).select_from(TargetRow).where(col(TargetRow.id) == target_id)
    parameters = {"annotator": annotator_id, "overlap": overlap, "now": clock(session), "leased": leased}
    return bool(session.execute(query, parameters).scalar_one())


def _marked(mark: Mark) -> ColumnElement[bool]:
    """Whether the annotator's newest mark of that type is on."""
    newest = (
        select(case((col(MarkRow.on), 1), else_=0))
        .where(
            col(MarkRow.target_id) == col(TargetRow.id),
            col(MarkRow.annotator_id) == ANNOTATOR,
            col(MarkRow.mark) == mark,
        )
        .order_by(col(MarkRow.id).desc())
        .limit(1)
        .scalar_subquery()
    )
    return func.coalesce(newest, 0) == 1


def _belongs_to(table: Any, target_id: int, annotator_id: int) -> ColumnElement[bool]:
    return and_(col(table.target_id) == target_id, col(table.annotator_id) == annotator_id)


def _ids(session: Session, study_id: int, target: Target, annotator: str) -> tuple[int, int]:
    return targets.get_or_create_id(session, study_id, target), annotators.get_or_create_id(session, annotator)
