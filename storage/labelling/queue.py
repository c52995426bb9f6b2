"""The labelling queue: targets and their leases, drafts, skips, flags and notes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Literal

from sqlalchemy import ColumnElement, Integer, Select, and_, bindparam, case, delete, exists, func, not_, select
from sqlalchemy.orm import Session, aliased
from sqlalchemy.sql.expression import SQLColumnExpression
from sqlmodel import col

from core.formats.records import MarkRecord
from core.labels import Kind, Target
from storage import annotators, studies, targets
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
    """All targets of the kind in the order of the items; else the disputed ones, highest contention first."""
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


@dataclass(frozen=True)
class Draft:
    """An answer that was entered and not submitted, and when it was saved."""

    body: dict[str, Any]
    at: datetime


@dataclass(frozen=True)
class QueueProgress:
    """An annotator's progress through a queue."""

    total: int
    labelled: int
    skipped: int
    flagged: int


def entries(session: Session, queue: Queue, annotator: str, overlap: int) -> list[QueueEntry]:
    """Return the whole queue as the annotator sees it."""
    parameters = _parameters(annotators.find_id(session, annotator) or NO_ID, overlap)
    return [
        QueueEntry(targets.from_columns(*row[1:5]), *(bool(flag) for flag in row[5:]))
        for row in session.execute(entry_query(queue), parameters)
    ]


def claim_next(
    session: Session, queue: Queue, annotator: str, *, overlap: int, minutes: int, after: Target | None = None
) -> Target | None:
    """Lease the next target to the annotator, and return it; None where the queue has no more.

    The search begins behind `after`, and continues from the top. The study is locked: two annotators that claim at the
    same time would otherwise both get the last free lease of a target.
    """
    studies.lock(session, queue.study_id)
    annotator_id = annotators.get_or_create_id(session, annotator)
    last = targets.find_id(session, queue.study_id, after) if after is not None else None
    rows = session.execute(_open_query(queue), _parameters(annotator_id, overlap)).all()
    start = next((index + 1 for index, (target_id, _) in enumerate(rows) if target_id == last), 0)
    chosen = next((target_id for target_id, is_open in [*rows[start:], *rows[:start]] if is_open), None)
    if chosen is None:
        return None
    _save_lease(session, chosen, annotator_id, minutes)
    return targets.get(session, chosen)


def claim_target(session: Session, queue: Queue, target: Target, annotator: str, *, overlap: int, minutes: int) -> bool:
    """Lease a given target, such as that of a link; return False where it is full or not in the queue.

    A target that the annotator has labelled can always be leased again. The study is locked, as in `claim_next`.
    """
    studies.lock(session, queue.study_id)
    all_entries = entries(session, queue, annotator, overlap)
    entry = next((entry for entry in all_entries if entry.target == target), None)
    if entry is None or (entry.full and not entry.labelled):
        return False
    extend_lease(session, queue.study_id, target, annotator, minutes)
    return True


def count_progress(entries: Sequence[QueueEntry]) -> QueueProgress:
    """Return the annotator's progress; targets that others have filled are not in the total."""
    return QueueProgress(
        total=sum(entry.labelled or not entry.full for entry in entries),
        labelled=sum(entry.labelled for entry in entries),
        skipped=sum(entry.skipped and not entry.labelled for entry in entries),
        flagged=sum(entry.flagged for entry in entries),
    )


def extend_lease(session: Session, study_id: int, target: Target, annotator: str, minutes: int) -> None:
    """Lease a target to an annotator, or extend the lease. The overlap is not checked: see `claim_target`."""
    _save_lease(session, *_ids(session, study_id, target, annotator), minutes)


def release(session: Session, study_id: int, target: Target, annotator: str) -> None:
    """End the annotator's lease of a target."""
    session.execute(delete(LeaseRow).where(_belongs_to(LeaseRow, *_ids(session, study_id, target, annotator))))


def save_draft(session: Session, study_id: int, target: Target, annotator: str, body: Mapping[str, Any]) -> None:
    """Save what an annotator has entered so far, in place of an earlier draft."""
    target_id, annotator_id = _ids(session, study_id, target, annotator)
    row = {"target_id": target_id, "annotator_id": annotator_id, "body": sanitize(dict(body)), "at": now()}
    upsert(session, DraftRow, ONE_EACH, row)


def find_draft(session: Session, study_id: int, target: Target, annotator: str) -> Draft | None:
    """Return the annotator's draft of a target; None where there is none."""
    target_id = targets.find_id(session, study_id, target) or NO_ID
    annotator_id = annotators.find_id(session, annotator) or NO_ID
    row = session.scalars(select(DraftRow).where(_belongs_to(DraftRow, target_id, annotator_id))).first()
    return Draft(dict(row.body), row.at) if row is not None else None


def current_note(session: Session, study_id: int, target: Target, annotator: str) -> str:
    """Return the annotator's note on a target; empty where there is none or it was withdrawn."""
    target_id = targets.find_id(session, study_id, target) or NO_ID
    annotator_id = annotators.find_id(session, annotator) or NO_ID
    query = (
        select(col(MarkRow.text), col(MarkRow.on))
        .where(_belongs_to(MarkRow, target_id, annotator_id), col(MarkRow.mark) == "note")
        .order_by(col(MarkRow.id).desc())
    )
    newest = session.execute(query).first()
    return newest[0] if newest is not None and newest[1] else ""


def set_mark(
    session: Session, study_id: int, target: Target, annotator: str, mark: Mark, *, text: str = "", on: bool = True
) -> None:
    """Skip, flag or note a target, or withdraw that (`on=False`). A skip ends the lease."""
    record = MarkRecord(target=target, annotator=annotator, mark=mark, text=text, on=on, at=now())
    target_id, annotator_id = _ids(session, study_id, target, annotator)
    insert_missing(session, MarkRow, [with_fingerprint(mark_row(record, target_id, annotator_id))])
    if mark == "skip":
        session.execute(delete(LeaseRow).where(_belongs_to(LeaseRow, target_id, annotator_id)))


def _save_lease(session: Session, target_id: int, annotator_id: int, minutes: int) -> None:
    until = now() + timedelta(minutes=minutes)
    upsert(session, LeaseRow, ONE_EACH, {"target_id": target_id, "annotator_id": annotator_id, "until": until})


def _parameters(annotator_id: int, overlap: int) -> dict[str, Any]:
    return {"annotator": annotator_id, "overlap": overlap, "now": now()}


@lru_cache(maxsize=256)  # to build the query takes longer than to execute it
def entry_query(queue: Queue) -> Select[*tuple[Any, ...]]:
    """Select the id and target of each entry, then the fields of `QueueEntry`."""
    columns = (col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
    entries = _target_query(queue).add_columns(*columns).group_by(*columns)
    return entries.add_columns(_labelled_by(ANNOTATOR), _marked("skip"), _marked("flag"), full_condition())


@lru_cache(maxsize=256)
def _open_query(queue: Queue) -> Select[*tuple[Any, ...]]:
    """Select the id of each target, and whether the annotator can claim it."""
    return _target_query(queue).add_columns(
        and_(not_(_labelled_by(ANNOTATOR)), not_(_marked("skip")), not_(full_condition()))
    )


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

    `leased_target` is the target that is leased, where that is another one.
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
