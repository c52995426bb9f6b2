"""Who labels what next: queues, leases, drafts, skips, flags and notes."""

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
from storage.database import insert_new, replace
from storage.fingerprints import mark_row, with_origin
from storage.json_columns import storable
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
NOBODY = 0
"""No annotator and no target has this number."""
UNIQUE = ("target_id", "annotator_id")
"""What there is one draft and one lease of."""
ANNOTATOR = bindparam("annotator", type_=Integer)


@dataclass(frozen=True)
class Queue:
    """What is to be labelled: the targets of a kind that the judges could not agree on, or `every` one."""

    study_id: int
    kind: Kind = "preference"
    criterion: str | None = None
    scenario: str | None = None
    run_id: int | None = None
    every: bool = False
    """All targets of the kind in the order of the items; else the disputed ones, the most divided first."""


@dataclass(frozen=True)
class Place:
    """One target in an annotator's queue."""

    target: Target
    labelled: bool
    skipped: bool
    flagged: bool
    full: bool
    """As many others as the overlap allows have labelled it or hold it."""


@dataclass(frozen=True)
class Draft:
    """What an annotator has entered and not submitted, and when it was kept."""

    body: dict[str, Any]
    at: datetime


@dataclass(frozen=True)
class Tally:
    """An annotator's progress through a queue."""

    there: int
    labelled: int
    skipped: int
    flagged: int


def queue(session: Session, wanted: Queue, annotator: str, overlap: int) -> list[Place]:
    """The whole queue as the annotator sees it, the most divided debates first."""
    values = _values(annotators.find(session, annotator) or NOBODY, overlap)
    return [
        Place(targets.of_row(*row[1:5]), *(bool(truth) for truth in row[5:]))
        for row in session.execute(_queue(wanted), values)
    ]


def claim(
    session: Session, wanted: Queue, annotator: str, *, overlap: int, minutes: int, after: Target | None = None
) -> Target | None:
    """The next target to label, held for the annotator until the lease ends; None when nothing is left.

    One transaction: with the study locked, two people cannot both take the last place of a target.
    """
    studies.lock(session, wanted.study_id)
    annotator_id = annotators.annotator_id(session, annotator)
    last = targets.find(session, wanted.study_id, after) if after is not None else None
    places = session.execute(_open(wanted), _values(annotator_id, overlap)).all()
    start = next((place + 1 for place, (number, _) in enumerate(places) if number == last), 0)
    chosen = next((number for number, is_open in [*places[start:], *places[:start]] if is_open), None)
    if chosen is None:
        return None
    _hold(session, chosen, annotator_id, minutes)
    return targets.get(session, chosen)


def take(session: Session, wanted: Queue, target: Target, annotator: str, *, overlap: int, minutes: int) -> bool:
    """Hold a target that a link leads to; False where as many others as wanted have it already.

    One transaction, as `claim`. What the annotator has labelled is theirs to look at again.
    """
    studies.lock(session, wanted.study_id)
    place = next((place for place in queue(session, wanted, annotator, overlap) if place.target == target), None)
    if place is None or (place.full and not place.labelled):
        return False
    hold(session, wanted.study_id, target, annotator, minutes)
    return True


def tally(places: Sequence[Place]) -> Tally:
    """How many there are, and how far the annotator is."""
    return Tally(
        there=sum(place.labelled or not place.full for place in places),
        labelled=sum(place.labelled for place in places),
        skipped=sum(place.skipped and not place.labelled for place in places),
        flagged=sum(place.flagged for place in places),
    )


def hold(session: Session, study_id: int, target: Target, annotator: str, minutes: int) -> None:
    """Hold a target for an annotator, or hold it longer; to label it again, for others' places are not asked for."""
    _hold(session, *_numbers(session, study_id, target, annotator), minutes)


def free(session: Session, study_id: int, target: Target, annotator: str) -> None:
    """Give a target back."""
    session.execute(delete(LeaseRow).where(_of(LeaseRow, *_numbers(session, study_id, target, annotator))))


def save_draft(session: Session, study_id: int, target: Target, annotator: str, body: Mapping[str, Any]) -> None:
    """Keep what an annotator has entered so far."""
    target_id, annotator_id = _numbers(session, study_id, target, annotator)
    row = {"target_id": target_id, "annotator_id": annotator_id, "body": storable(dict(body)), "at": now()}
    replace(session, DraftRow, UNIQUE, row)


def draft(session: Session, study_id: int, target: Target, annotator: str) -> Draft | None:
    """What was entered and not submitted, if anything."""
    target_id = targets.find(session, study_id, target) or NOBODY
    annotator_id = annotators.find(session, annotator) or NOBODY
    row = session.scalars(select(DraftRow).where(_of(DraftRow, target_id, annotator_id))).first()
    return Draft(dict(row.body), row.at) if row is not None else None


def note(session: Session, study_id: int, target: Target, annotator: str) -> str:
    """The annotator's standing note on a target."""
    target_id = targets.find(session, study_id, target) or NOBODY
    annotator_id = annotators.find(session, annotator) or NOBODY
    query = (
        select(col(MarkRow.text), col(MarkRow.on))
        .where(_of(MarkRow, target_id, annotator_id), col(MarkRow.mark) == "note")
        .order_by(col(MarkRow.id).desc())
    )
    newest = session.execute(query).first()
    return newest[0] if newest is not None and newest[1] else ""


def mark(
    session: Session, study_id: int, target: Target, annotator: str, what: Mark, *, text: str = "", on: bool = True
) -> None:
    """Skip, flag or note a target, or take that back."""
    record = MarkRecord(target=target, annotator=annotator, mark=what, text=text, on=on, at=now())
    target_id, annotator_id = _numbers(session, study_id, target, annotator)
    insert_new(session, MarkRow, [with_origin(mark_row(record, target_id, annotator_id))])
    if what == "skip":
        session.execute(delete(LeaseRow).where(_of(LeaseRow, target_id, annotator_id)))


def _hold(session: Session, target_id: int, annotator_id: int, minutes: int) -> None:
    until = now() + timedelta(minutes=minutes)
    replace(session, LeaseRow, UNIQUE, {"target_id": target_id, "annotator_id": annotator_id, "until": until})


def _values(annotator_id: int, overlap: int) -> dict[str, Any]:
    return {"annotator": annotator_id, "overlap": overlap, "moment": now()}


@lru_cache(maxsize=256)
def _queue(wanted: Queue) -> Select[*tuple[Any, ...]]:
    """The whole queue: number and target, then what `Place` says. To build the query takes longer than to ask it."""
    columns = (col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
    places = _places(wanted).add_columns(*columns).group_by(*columns)
    return places.add_columns(_labelled_by(ANNOTATOR), _marked("skip"), _marked("flag"), _full())


@lru_cache(maxsize=256)
def _open(wanted: Queue) -> Select[*tuple[Any, ...]]:
    """The numbers of the whole queue, and whether the annotator can label each."""
    return _places(wanted).add_columns(and_(not_(_labelled_by(ANNOTATOR)), not_(_marked("skip")), not_(_full())))


def _places(wanted: Queue) -> Select[*tuple[Any, ...]]:
    query = (
        select(col(TargetRow.id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(*_conditions(wanted))
        .group_by(col(TargetRow.id), col(ItemRow.position))
    )
    if wanted.every:
        judged = exists().where(col(OpinionRow.target_id) == col(TargetRow.id), col(OpinionRow.run_id) == wanted.run_id)
        query = query if wanted.run_id is None else query.where(judged)
        return query.order_by(col(ItemRow.position), col(TargetRow.id))
    in_run = [] if wanted.run_id is None else [col(TraceRow.run_id) == wanted.run_id]
    return (
        query.join(OpinionRow, and_(col(OpinionRow.target_id) == col(TargetRow.id), col(OpinionRow.stage) == "verdict"))
        .join(TraceRow, col(TraceRow.id) == col(OpinionRow.trace_id))
        .where(col(TraceRow.outcome).in_(("disputed", "no_verdict")), *in_run)
        .order_by(func.max(col(TraceRow.doubt)).desc(), col(ItemRow.position), col(TargetRow.id))
    )


def _conditions(wanted: Queue) -> list[ColumnElement[bool]]:
    found = [col(TargetRow.study_id) == wanted.study_id, col(TargetRow.kind) == wanted.kind]
    if wanted.criterion is not None:
        found.append(col(TargetRow.criterion) == wanted.criterion)
    if wanted.scenario is not None:
        found.append(col(ItemRow.scenario) == wanted.scenario)
    return found


def _standing(*conditions: Callable[[Any], ColumnElement[bool]]) -> Select[*tuple[Any, ...]]:
    """The labels of the target at hand that stand: the newest of their annotator, and not taken back."""
    label, newer = aliased(LabelRow), aliased(LabelRow)
    outdone = exists().where(
        col(newer.target_id) == col(label.target_id),
        col(newer.annotator_id) == col(label.annotator_id),
        col(newer.id) > col(label.id),
    )
    return (
        select(col(label.id))
        .where(col(label.target_id) == col(TargetRow.id), col(label.value).is_not(None), ~outdone)
        .where(*(condition(label) for condition in conditions))
        .correlate(TargetRow, LeaseRow)
    )


def _labelled_by(annotator_id: SQLColumnExpression[int]) -> ColumnElement[bool]:
    return _standing(lambda label: col(label.annotator_id) == annotator_id).exists()


def _full() -> ColumnElement[bool]:
    """Whether as many others as the overlap allows have labelled the target at hand, or hold it to label it."""
    holding = (
        select(func.count())
        .where(col(LeaseRow.target_id) == col(TargetRow.id), col(LeaseRow.annotator_id) != ANNOTATOR)
        .where(col(LeaseRow.until) > bindparam("moment"), not_(_labelled_by(col(LeaseRow.annotator_id))))
    )
    labelled = _standing(lambda label: col(label.annotator_id) != ANNOTATOR)
    return labelled.with_only_columns(func.count()).scalar_subquery() + holding.scalar_subquery() >= bindparam(
        "overlap"
    )


def _marked(what: Mark) -> ColumnElement[bool]:
    """Whether the annotator's newest mark of that sort is on."""
    newest = (
        select(case((col(MarkRow.on), 1), else_=0))
        .where(
            col(MarkRow.target_id) == col(TargetRow.id),
            col(MarkRow.annotator_id) == ANNOTATOR,
            col(MarkRow.mark) == what,
        )
        .order_by(col(MarkRow.id).desc())
        .limit(1)
        .scalar_subquery()
    )
    return func.coalesce(newest, 0) == 1


def _of(table: Any, target_id: int, annotator_id: int) -> ColumnElement[bool]:
    return and_(col(table.target_id) == target_id, col(table.annotator_id) == annotator_id)


def _numbers(session: Session, study_id: int, target: Target, annotator: str) -> tuple[int, int]:
    return targets.number(session, study_id, target), annotators.annotator_id(session, annotator)
