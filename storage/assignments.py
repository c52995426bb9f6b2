"""Who labels what next: queues, leases, drafts, skips, flags and notes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, cast

from sqlalchemy import ColumnElement, Select, and_, case, distinct, exists, func, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from core.formats.records import MarkRecord
from core.labels import Kind, Target
from storage import items, labels, people
from storage.origins import origin
from storage.tables import (
    DraftRow,
    ItemRow,
    LabelRow,
    LeaseRow,
    MarkRow,
    OpinionRow,
    RunRow,
    StudyRow,
    TargetRow,
    TraceRow,
    now,
)

Mark = Literal["skip", "flag", "note"]


@dataclass(frozen=True)
class Queue:
    """What is to be labelled: the targets of a kind that the judges could not agree on."""

    study_id: int
    kind: Kind = "preference"
    criterion: str | None = None
    scenario: str | None = None
    run_id: int | None = None


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
class Tally:
    """An annotator's progress through a queue."""

    there: int
    labelled: int
    skipped: int
    flagged: int


def queue(session: Session, wanted: Queue, annotator: str, overlap: int) -> list[Place]:
    """The whole queue as the annotator sees it, the most divided debates first."""
    annotator_id = people.annotator_id(session, annotator)
    query = _places(wanted, annotator_id, overlap)
    return [_place(*row) for row in session.execute(query)]


def claim(
    session: Session, wanted: Queue, annotator: str, *, overlap: int, minutes: int, after: Target | None = None
) -> Target | None:
    """The next target to label, held for the annotator until the lease ends; None when nothing is left.

    One transaction: with the study's row locked, two people cannot both take the last place of a target.
    """
    _lock(session, wanted.study_id)
    places = queue(session, wanted, annotator, overlap)
    start = next((i + 1 for i, place in enumerate(places) if place.target == after), 0)
    for place in places[start:] + places[:start]:
        if not (place.labelled or place.skipped or place.full):
            hold(session, wanted.study_id, place.target, annotator, minutes)
            return place.target
    return None


def tally(places: list[Place]) -> Tally:
    """How many there are, and how far the annotator is."""
    return Tally(
        there=sum(place.labelled or not place.full for place in places),
        labelled=sum(place.labelled for place in places),
        skipped=sum(place.skipped and not place.labelled for place in places),
        flagged=sum(place.flagged for place in places),
    )


def hold(session: Session, study_id: int, target: Target, annotator: str, minutes: int) -> None:
    """Hold a target for an annotator, or hold it longer."""
    target_id, annotator_id = items.target_id(session, study_id, target), people.annotator_id(session, annotator)
    row = _one(session, LeaseRow, target_id, annotator_id)
    until = now() + timedelta(minutes=minutes)
    if row is None:
        session.add(LeaseRow(target_id=target_id, annotator_id=annotator_id, until=until))
    else:
        row.until = until


def free(session: Session, study_id: int, target: Target, annotator: str) -> None:
    """Give a target back."""
    row = _one(session, LeaseRow, *_numbers(session, study_id, target, annotator))
    if row is not None:
        session.delete(row)


def save_draft(session: Session, study_id: int, target: Target, annotator: str, body: Mapping[str, Any]) -> None:
    """Keep what an annotator has entered so far."""
    target_id, annotator_id = _numbers(session, study_id, target, annotator)
    row = _one(session, DraftRow, target_id, annotator_id)
    if row is None:
        session.add(DraftRow(target_id=target_id, annotator_id=annotator_id, body=dict(body)))
    else:
        row.body, row.at = dict(body), now()


def draft(session: Session, study_id: int, target: Target, annotator: str) -> dict[str, Any]:
    """What was entered and not submitted; empty when nothing was."""
    row = _one(session, DraftRow, *_numbers(session, study_id, target, annotator))
    return dict(row.body) if row is not None else {}


def mark(
    session: Session, study_id: int, target: Target, annotator: str, what: Mark, *, text: str = "", on: bool = True
) -> None:
    """Skip, flag or note a target, or take that back."""
    record = MarkRecord(target=target, annotator=annotator, mark=what, text=text, on=on, at=now())
    target_id, annotator_id = _numbers(session, study_id, target, annotator)
    session.add(labels.mark_row(record, target_id, annotator_id, origin(study_id, record)))
    if what == "skip":
        free(session, study_id, target, annotator)


def _lock(session: Session, study_id: int) -> None:
    """On PostgreSQL, one claim in a study at a time; SQLite has one writer anyway."""
    session.execute(select(col(StudyRow.id)).where(col(StudyRow.id) == study_id).with_for_update())


def _places(wanted: Queue, annotator_id: int, overlap: int) -> Select[str, str, str, str, bool, bool, bool, bool]:
    mine = _mine(annotator_id)
    others = select(func.count(distinct(col(LabelRow.annotator_id)))).where(
        col(LabelRow.target_id) == col(TargetRow.id),
        col(LabelRow.annotator_id) != annotator_id,
        col(LabelRow.id).in_(labels.standing_ids().where(col(LabelRow.study_id) == wanted.study_id)),
        col(LabelRow.value).is_not(None),
    )
    holding = select(func.count()).where(
        col(LeaseRow.target_id) == col(TargetRow.id),
        col(LeaseRow.annotator_id) != annotator_id,
        col(LeaseRow.until) > now(),
    )
    doubt = func.max(col(TraceRow.doubt))
    return (
        select(
            col(ItemRow.key),
            col(TargetRow.kind),
            col(TargetRow.criterion),
            col(TargetRow.part),
            mine,
            _marked(annotator_id, "skip"),
            _marked(annotator_id, "flag"),
            (others.scalar_subquery() + holding.scalar_subquery()) >= overlap,
        )
        .select_from(TargetRow)
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(OpinionRow, and_(col(OpinionRow.target_id) == col(TargetRow.id), col(OpinionRow.stage) == "verdict"))
        .join(TraceRow, col(TraceRow.id) == col(OpinionRow.trace_id))
        .join(RunRow, col(RunRow.id) == col(TraceRow.run_id))
        .where(*_conditions(wanted))
        .group_by(
            col(TargetRow.id),
            col(ItemRow.key),
            col(TargetRow.kind),
            col(TargetRow.criterion),
            col(TargetRow.part),
            col(ItemRow.position),
        )
        .order_by(doubt.desc(), col(ItemRow.position), col(TargetRow.id))
    )


def _conditions(wanted: Queue) -> list[ColumnElement[bool]]:
    found = [
        col(TargetRow.study_id) == wanted.study_id,
        col(TargetRow.kind) == wanted.kind,
        col(TraceRow.outcome).in_(("disputed", "no_verdict")),
    ]
    if wanted.criterion is not None:
        found.append(col(TargetRow.criterion) == wanted.criterion)
    if wanted.scenario is not None:
        found.append(col(ItemRow.scenario) == wanted.scenario)
    if wanted.run_id is not None:
        found.append(col(RunRow.id) == wanted.run_id)
    return found


def _mine(annotator_id: int) -> ColumnElement[bool]:
    """Whether the annotator's newest label of the target has a value."""
    newest = (
        select(func.max(col(LabelRow.id)))
        .where(col(LabelRow.target_id) == col(TargetRow.id), col(LabelRow.annotator_id) == annotator_id)
        .scalar_subquery()
    )
    standing = aliased(LabelRow)
    return exists().where(col(standing.id) == newest, col(standing.value).is_not(None))


def _marked(annotator_id: int, what: Mark) -> ColumnElement[bool]:
    """Whether the annotator's newest mark of that sort is on."""
    newest = (
        select(case((col(MarkRow.on), 1), else_=0))
        .where(
            col(MarkRow.target_id) == col(TargetRow.id),
            col(MarkRow.annotator_id) == annotator_id,
            col(MarkRow.mark) == what,
        )
        .order_by(col(MarkRow.id).desc())
        .limit(1)
        .scalar_subquery()
    )
    return func.coalesce(newest, 0) == 1


def _place(key: str, kind: str, criterion: str, part: str, mine: bool, skip: bool, flag: bool, full: bool) -> Place:
    target = Target(item=key, kind=cast(Kind, kind), criterion=criterion, part=part)
    return Place(target=target, labelled=bool(mine), skipped=bool(skip), flagged=bool(flag), full=bool(full))


def _numbers(session: Session, study_id: int, target: Target, annotator: str) -> tuple[int, int]:
    return items.target_id(session, study_id, target), people.annotator_id(session, annotator)


def _one(session: Session, table: type[Any], target_id: int, annotator_id: int) -> Any:
    return session.scalars(
        select(table).where(col(table.target_id) == target_id, col(table.annotator_id) == annotator_id)
    ).first()
