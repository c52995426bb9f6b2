"""The runs and traces of an imported file, which are stored like those that were executed here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from pydantic import ValidationError
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.contention import verdict_contention
from core.current_events import current_events
from core.errors import TiebreakError
from core.formats.records import RunRecord, TraceRecord
from core.frozen import Frozen
from core.labels import Opinion, Target
from core.protocols import registry
from core.trace import TraceFailed, Verdict, VerdictReached
from core.uncertainty import uncertainty
from storage import items, run_sizes, shown_orders, target_summaries, unread
from storage.database import batches, insert_all
from storage.events import event_row, opinion_row, opinion_target, verdict_columns
from storage.fingerprints import to_utc
from storage.tables import EventRow, OpinionRow, RunRow, TraceRow, now
from storage.unread import Owner

BATCH = 500
"""Traces inserted at once."""
UNFINISHED = "It was not finished when it was exported."
TraceKey = tuple[int, int, str]
"""The ids of a run and of an item, and the part of the trace."""


def opinion_targets(traces: Sequence[TraceRecord]) -> Iterator[Target]:
    """Yield the target of every opinion in the traces."""
    for record in traces:
        for opinion in trace_opinions(record):
            yield opinion_target(record.item, opinion)


def trace_opinions(record: TraceRecord) -> Iterator[Opinion]:
    """Yield the judges' opinions in a trace."""
    for verdict in _verdicts(record):
        yield from verdict.opinions


def _verdicts(record: TraceRecord) -> Iterator[Verdict]:
    for event in current_events(record.events):
        if isinstance(event, VerdictReached):
            yield event.verdict


def add_runs(session: Session, study_id: int, records: Sequence[RunRecord], experiment_ids: Mapping[str, int]) -> int:
    """Add the runs that the study does not have, and return their number; `experiment_ids` are those of the study.

    Raises TiebreakError if the study has a run of the same name with other settings.
    """
    query = select(RunRow).where(col(RunRow.study_id) == study_id)
    rows = {row.name: row for row in session.scalars(query)}
    before = len(rows)
    for record in records:
        row = rows.setdefault(record.name, _run_row(study_id, record, experiment_ids))
        if row.protocol != record.protocol or not _are_equal(row.protocol, row.settings, record.settings):
            raise TiebreakError(f"The study has a run {record.name!r} with other settings; rename one of them.")
        session.add(row)
    session.flush()
    return len(rows) - before


def _are_equal(protocol: str, stored: dict[str, Any], imported: dict[str, Any]) -> bool:
    """Return whether settings are equal, also if one of them has former names of keys or values."""
    return stored == imported or _current_settings(protocol, stored) == _current_settings(protocol, imported)


def _current_settings(protocol: str, settings: dict[str, Any]) -> Frozen | dict[str, Any]:
    """Return the settings as this version's value; unchanged if the protocol or a field is unknown here."""
    try:
        return registry.get(protocol).settings.model_validate(settings)
    except (TiebreakError, ValidationError):
        return settings


def add_traces(
    session: Session,
    study_id: int,
    records: Sequence[TraceRecord],
    target_ids: Mapping[Target, int],
    advance: Callable[[int], None],
) -> int:
    """Add the traces that their runs do not have, and return their number; `advance` is called with each batch's."""
    new = _select_new(session, study_id, records)
    for batch in batches(list(new.items()), BATCH):
        insert_all(session, TraceRow, [_trace_row(study_id, *key, record) for key, record in batch])
    ids = _trace_ids(session, study_id)
    advance(len(records) - len(new))
    for batch in batches(list(new.items()), BATCH):
        traces = [_NewTrace(study_id, *key, ids[key], record) for key, record in batch]
        _insert_events(session, traces)
        _insert_opinions(session, traces, target_ids)
        advance(len(batch))
    if new:
        run_sizes.update_sizes(session, {run_id for run_id, *_ in new})
        target_summaries.mark_disputed_of_study(session, study_id)
    return len(new)


@dataclass(frozen=True)
class _NewTrace:
    study_id: int
    run_id: int
    item_id: int
    part: str
    id: int
    record: TraceRecord


def _insert_events(session: Session, traces: Sequence[_NewTrace]) -> None:
    rows = [
        event_row(event, trace.id, trace.run_id, seq, at)
        for trace in traces
        for seq, (event, at) in enumerate(zip_longest(trace.record.events, trace.record.times))
    ]
    insert_all(session, EventRow, rows)
    unread.insert(
        session,
        [
            (Owner(trace.id, trace.study_id, trace.run_id, trace.record.item), trace.id, seq, event)
            for trace in traces
            for seq, event in enumerate(trace.record.events)
        ],
    )


def _insert_opinions(session: Session, traces: Sequence[_NewTrace], target_ids: Mapping[Target, int]) -> None:
    opinions = [
        (trace, target_ids[opinion_target(trace.record.item, opinion)], opinion, columns)
        for trace in traces
        for verdict in _verdicts(trace.record)
        for columns in [verdict_columns(verdict)]
        for opinion in verdict.opinions
    ]
    rows = [
        opinion_row(trace.study_id, trace.run_id, trace.id, target_id, opinion, columns)
        for trace, target_id, opinion, columns in opinions
    ]
    insert_all(session, OpinionRow, rows)


def _select_new(session: Session, study_id: int, records: Sequence[TraceRecord]) -> dict[TraceKey, TraceRecord]:
    """Return the traces that the study does not have.

    Raises TiebreakError for a trace that has fewer events in the study, and for two different traces of one item and
    run.
    """
    if not records:
        return {}
    stored = _event_counts(session, study_id)
    run_ids = dict(
        session.execute(select(col(RunRow.name), col(RunRow.id)).where(col(RunRow.study_id) == study_id)).all()
    )
    item_ids = items.find_ids(session, study_id, {record.item for record in records})
    new: dict[TraceKey, TraceRecord] = {}
    for record in records:
        if record.times and len(record.times) != len(record.events):
            raise TiebreakError(
                f"The trace of item {record.item!r} in run {record.run!r} needs one time for each event."
            )
        key = (_id_of(run_ids, record.run, "run"), _id_of(item_ids, record.item, "item"), record.part)
        if len(record.events) > stored.get(key, len(record.events)):
            raise TiebreakError(
                f"The trace of item {record.item!r} in run {record.run!r} is in this study already, and shorter; "
                "import the file into a new study."
            )
        if key not in stored and new.setdefault(key, record) != record:
            raise TiebreakError(f"The trace of item {record.item!r} in run {record.run!r} is in the file twice.")
    return new


def _id_of(ids: Mapping[str, int], name: str, noun: str) -> int:
    if name not in ids:
        raise TiebreakError(f"The file refers to the {noun} {name!r}, which is neither in the file nor in the study.")
    return ids[name]


def _event_counts(session: Session, study_id: int) -> dict[TraceKey, int]:
    """Return the number of events of each of the study's traces."""
    query = (
        select(col(TraceRow.run_id), col(TraceRow.item_id), col(TraceRow.part), func.count(col(EventRow.seq)))
        .outerjoin(EventRow, col(EventRow.trace_id) == col(TraceRow.id))
        .where(col(TraceRow.study_id) == study_id)
        .group_by(col(TraceRow.run_id), col(TraceRow.item_id), col(TraceRow.part))
    )
    return {(run, item, part): events for run, item, part, events in session.execute(query)}


def _trace_ids(session: Session, study_id: int) -> dict[TraceKey, int]:
    query = select(col(TraceRow.run_id), col(TraceRow.item_id), col(TraceRow.part), col(TraceRow.id))
    query = query.where(col(TraceRow.study_id) == study_id)
    return {(run, item, part): id for run, item, part, id in session.execute(query)}


def _run_row(study_id: int, record: RunRecord, experiment_ids: Mapping[str, int]) -> RunRow:
    """Return the row of an imported run.

    It is never resumed: its settings may name another machine's servers. One that was being executed is stopped.
    """
    unfinished = record.state in ("requested", "cancelling")
    return RunRow(
        study_id=study_id,
        name=record.name,
        protocol=record.protocol,
        criterion=record.criterion,
        settings=record.settings,
        prompts=record.prompts,
        seed=record.seed,
        extractor=record.extractor,
        pairs=record.pairs,
        repeat=record.repeat,
        fresh=record.fresh,
        experiment_id=_id_of(experiment_ids, record.experiment, "experiment") if record.experiment else None,
        cell=record.cell,
        source="imported" if record.source == "live" else record.source,
        state="stopped" if unfinished else record.state,
        problem=record.problem or (UNFINISHED if unfinished else ""),
        ceiling=record.ceiling,
        parallel=record.parallel,
        created_at=to_utc(record.created_at) or now(),
        ended_at=to_utc(record.ended_at),
    )


def _trace_row(study_id: int, run_id: int, item_id: int, part: str, record: TraceRecord) -> dict[str, Any]:
    """Return the row of a trace; its outcome follows from the last event."""
    row = {
        "study_id": study_id,
        "run_id": run_id,
        "item_id": item_id,
        "part": part,
        "outcome": "waiting",
        "problem": "",
        "uncertainty": 0.0,
        "contention": None,
        "shown_orders": shown_orders.of_events(record.events) if any(_verdicts(record)) else None,
    }
    match record.events[-1] if record.events else None:
        case VerdictReached(verdict=verdict):
            row |= {
                "outcome": verdict.outcome,
                "uncertainty": uncertainty(verdict.opinions),
                "contention": verdict_contention(verdict),
            }
        case TraceFailed(problem=problem):
            row |= {"outcome": "failed", "problem": problem}
    return row
