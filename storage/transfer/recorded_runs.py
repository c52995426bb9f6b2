"""Runs and their traces as a file brings them: recorded elsewhere, kept like those that were made here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.formats.records import RunRecord, TraceRecord
from core.labels import Opinion, Target
from core.problems import Problem
from core.trace import TraceFailed, VerdictReached
from core.uncertainty import doubt
from storage import items
from storage.database import batches, insert_all
from storage.events import event_row, opinion_row, target_of
from storage.fingerprints import moment
from storage.tables import EventRow, OpinionRow, RunRow, TraceRow, now

BATCH = 500
"""Traces written at once."""
Place = tuple[int, int]
"""The numbers of a run and of an item."""


def targets_of(traces: Sequence[TraceRecord]) -> Iterator[Target]:
    """What the traces' judges spoke of."""
    for record in traces:
        for opinion in opinions(record):
            yield target_of(record.item, opinion)


def opinions(record: TraceRecord) -> Iterator[Opinion]:
    """What the judges of a trace said."""
    for event in record.events:
        if isinstance(event, VerdictReached):
            yield from event.verdict.opinions


def add_runs(session: Session, study_id: int, records: Sequence[RunRecord]) -> int:
    """Add the runs that the study does not have, and tell how many; another run of the same name is refused."""
    query = select(RunRow).where(col(RunRow.study_id) == study_id)
    known = {row.name: row for row in session.scalars(query)}
    before = len(known)
    for record in records:
        row = known.setdefault(record.name, _run_row(study_id, record))
        if (row.protocol, row.settings) != (record.protocol, record.settings):
            raise Problem(f"The study has a run {record.name!r} with other settings; rename one of them.")
        session.add(row)
    session.flush()
    return len(known) - before


def add_traces(
    session: Session,
    study_id: int,
    records: Sequence[TraceRecord],
    target_ids: Mapping[Target, int],
    step: Callable[[int], None],
) -> int:
    """Add the traces that their runs do not have, and tell how many."""
    fresh = _fresh(session, study_id, records)
    for batch in batches(list(fresh.items()), BATCH):
        rows = [_trace_row(study_id, *place, record) for place, record in batch]
        insert_all(session, TraceRow, rows)
    ids = _trace_ids(session, study_id)
    step(len(records) - len(fresh))
    for batch in batches(list(fresh.items()), BATCH):
        _insert(session, [_Arrived(study_id, *place, ids[place], record) for place, record in batch], target_ids)
        step(len(batch))
    return len(fresh)


@dataclass(frozen=True)
class _Arrived:
    """A trace on its way in."""

    study_id: int
    run_id: int
    item_id: int
    id: int
    record: TraceRecord


def _insert(session: Session, arrived: Sequence[_Arrived], target_ids: Mapping[Target, int]) -> None:
    events = [
        event_row(event, trace.id, trace.run_id, seq)
        for trace in arrived
        for seq, event in enumerate(trace.record.events)
    ]
    said = [
        opinion_row(trace.study_id, trace.run_id, trace.id, target_ids[target_of(trace.record.item, one)], one)
        for trace in arrived
        for one in opinions(trace.record)
    ]
    insert_all(session, EventRow, events)
    insert_all(session, OpinionRow, said)


def _fresh(session: Session, study_id: int, records: Sequence[TraceRecord]) -> dict[Place, TraceRecord]:
    """The traces that are not there yet, each once; one that would be longer than it stands here is refused."""
    if not records:
        return {}
    here = _lengths(session, study_id)
    names = select(col(RunRow.name), col(RunRow.id)).where(col(RunRow.study_id) == study_id)
    runs = dict(session.execute(names).all())
    places = items.ids(session, study_id, {record.item for record in records})
    fresh: dict[Place, TraceRecord] = {}
    for record in records:
        place = (_known(runs, record.run, "run"), _known(places, record.item, "item"))
        if len(record.events) > here.get(place, len(record.events)):
            raise Problem(
                f"The trace of item {record.item!r} in run {record.run!r} is in this study already, and shorter; "
                "import the file into a new study."
            )
        if place not in here and fresh.setdefault(place, record) != record:
            raise Problem(f"The trace of item {record.item!r} in run {record.run!r} is in the file twice.")
    return fresh


def _known(names: Mapping[str, int], name: str, what: str) -> int:
    if name not in names:
        raise Problem(f"A trace speaks of the {what} {name!r}, which is neither in the file nor in the study.")
    return names[name]


def _lengths(session: Session, study_id: int) -> dict[Place, int]:
    """How many events each of the study's traces has."""
    query = (
        select(col(TraceRow.run_id), col(TraceRow.item_id), func.count(col(EventRow.seq)))
        .outerjoin(EventRow, col(EventRow.trace_id) == col(TraceRow.id))
        .where(col(TraceRow.study_id) == study_id)
        .group_by(col(TraceRow.run_id), col(TraceRow.item_id))
    )
    return {(run, item): events for run, item, events in session.execute(query)}


def _trace_ids(session: Session, study_id: int) -> dict[Place, int]:
    query = select(col(TraceRow.run_id), col(TraceRow.item_id), col(TraceRow.id))
    return {(run, item): id for run, item, id in session.execute(query.where(col(TraceRow.study_id) == study_id))}


def _run_row(study_id: int, record: RunRecord) -> RunRow:
    """A run that was made elsewhere is never resumed here: its settings may name somebody else's servers and keys."""
    return RunRow(
        study_id=study_id,
        name=record.name,
        protocol=record.protocol,
        criterion=record.criterion,
        settings=record.settings,
        prompts=record.prompts,
        seed=record.seed,
        source="imported" if record.source == "live" else record.source,
        state="finished",
        created_at=moment(record.created_at) or now(),
    )


def _trace_row(study_id: int, run_id: int, item_id: int, record: TraceRecord) -> dict[str, Any]:
    row = {
        "study_id": study_id,
        "run_id": run_id,
        "item_id": item_id,
        "outcome": "waiting",
        "problem": "",
        "doubt": 0.0,
    }
    match record.events[-1] if record.events else None:
        case VerdictReached(verdict=verdict):
            row |= {"outcome": verdict.outcome, "doubt": doubt(verdict.opinions)}
        case TraceFailed(problem=problem):
            row |= {"outcome": "failed", "problem": problem}
    return row
