"""The runs and traces of an imported file, which are stored like those that were executed here."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from pydantic import ValidationError
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats.records import RunRecord, TraceRecord
from core.labels import Opinion
from core.protocols import registry
from core.trace import TraceFailed, TurnCompleted, Verdict, VerdictReached, current_events
from core.verdicts import verdict_contention
from storage.db.columns import to_json
from storage.db.connections import batches, insert_all
from storage.db.fingerprints import Row, to_utc
from storage.db.tables import EventRow, OpinionRow, RunRow, TraceRow, now
from storage.labels.targets import TargetKey
from storage.runs import call_totals, outcomes, trace_opinions
from storage.runs.events import event_row, opinion_row, verdict_columns
from storage.studies import items

# Traces whose rows are in memory at once.
BATCH = 500
# The settings of runs that are verdicts in a table.
OF_TABLES = {"criterion", "judge", "judges"}
UNFINISHED = "It was not finished when it was exported."
# The ids of a run and of an item, and the part of the trace.
TraceKey = tuple[int, int, str]
TRACE_KEY = (col(TraceRow.run_id), col(TraceRow.item_id), col(TraceRow.part))


def add_runs(session: Session, study_id: int, records: Sequence[RunRecord], experiment_ids: Mapping[str, int]) -> int:
    """Add the runs that the study does not have, and return their number; `experiment_ids` are those of the study.

    Raises TiebreakError if the study has a run of the same name with other settings.
    """
    query = select(RunRow).where(col(RunRow.study_id) == study_id)
    rows = {row.name: row for row in session.scalars(query)}
    before = len(rows)
    for record in records:
        row = rows.setdefault(record.name, _run_row(study_id, record, experiment_ids))
        if row.source == "imported" and {*row.settings, *record.settings} <= OF_TABLES:
            own, imported = _without_criterion(row.settings), _without_criterion(record.settings)
            if row.settings != record.settings and own == imported:
                # Verdicts of a judge on several levels, or of several files: the run is of no single criterion.
                row.settings, row.criterion = own, ""
                record = record.model_copy(update={"settings": own})
        if row.protocol != record.protocol or not _are_equal(row.protocol, row.settings, record.settings):
            raise TiebreakError(f"The study has a run {record.name!r} with other settings; rename one of them.")
        session.add(row)
    session.flush()
    return len(rows) - before


def _without_criterion(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != "criterion"}


def _are_equal(protocol: str, stored: dict[str, Any], imported: dict[str, Any]) -> bool:
    """Return whether settings are equal, also if one of them has former names of keys or values."""
    if stored == imported:
        return True
    try:
        current = registry.get(protocol).settings.model_validate
        return current(stored) == current(imported)
    except (TiebreakError, ValidationError):  # the protocol or a field is unknown here
        return False


def opinions_of(record: TraceRecord) -> Iterator[tuple[TargetKey, Opinion, Verdict]]:
    """Yield the opinions of a trace, each with its target and its verdict."""
    for event in current_events(record.events):
        if isinstance(event, VerdictReached):
            for own in event.verdict.opinions:
                yield (record.item, own.kind, own.criterion, own.part), own, event.verdict


def add_traces(
    session: Session,
    study_id: int,
    traces: Sequence[TraceRecord],
    target_ids: Mapping[TargetKey, int],
    advance: Callable[[int], None],
) -> tuple[int, int]:
    """Add the traces that their runs do not have; `advance` is called with the number of each batch.

    Return how many were added, and of how many others the study has different verdicts, which stay. Raises
    TiebreakError for a trace that has fewer events in the study.
    """
    new, known = _select_new(session, study_id, traces)
    advance(len(traces) - len(new))
    for batch in batches(list(new.items()), BATCH):
        _insert(session, study_id, dict(batch), target_ids)
        advance(len(batch))
    if new:
        run_ids = sorted({run_id for run_id, *_ in new})
        call_totals.update_runs(session, run_ids)
    return len(new), _count_different(session, study_id, known, target_ids)


def _select_new(
    session: Session, study_id: int, traces: Sequence[TraceRecord]
) -> tuple[dict[TraceKey, TraceRecord], dict[TraceKey, TraceRecord]]:
    """Return the traces that the study does not have, and those that it has with as many events."""
    if not traces:
        return {}, {}
    query = (
        select(*TRACE_KEY, func.count(col(EventRow.seq)))
        .outerjoin(EventRow, col(EventRow.trace_id) == col(TraceRow.id))
        .where(col(TraceRow.study_id) == study_id)
        .group_by(*TRACE_KEY)
    )
    stored = {(run, item, part): events for run, item, part, events in session.execute(query)}
    names = select(col(RunRow.name), col(RunRow.id)).where(col(RunRow.study_id) == study_id)
    run_ids = dict(session.execute(names).all())
    item_ids = items.find_ids(session, study_id, {record.item for record in traces})
    new, known = dict[TraceKey, TraceRecord](), dict[TraceKey, TraceRecord]()
    for record in traces:
        place = f"The trace of item {record.item!r} in run {record.run!r}"
        if record.times and len(record.times) != len(record.events):
            raise TiebreakError(f"{place} needs one time for each event.")
        key = (_id_of(run_ids, record.run, "run"), _id_of(item_ids, record.item, "item"), record.part)
        if len(record.events) > stored.get(key, len(record.events)):
            raise TiebreakError(f"{place} is in this study already, and shorter; import the file into a new study.")
        if key not in stored:
            new[key] = record
        elif len(record.events) == stored[key]:
            known[key] = record
    return new, known


def _insert(
    session: Session, study_id: int, traces: Mapping[TraceKey, TraceRecord], target_ids: Mapping[TargetKey, int]
) -> None:
    rows = [
        {"study_id": study_id, "run_id": run, "item_id": item, "part": part, **_trace_columns(record)}
        for (run, item, part), record in traces.items()
    ]
    insert_all(session, TraceRow, rows)
    run_ids, item_ids, _ = map(set, zip(*traces, strict=True))
    added = col(TraceRow.run_id).in_(run_ids), col(TraceRow.item_id).in_(item_ids)
    owners, listed = dict[int, outcomes.Owner](), list[outcomes.NewEvent]()
    events, opinions = list[Row](), list[Row]()
    for id, run_id, item_id, part in session.execute(select(col(TraceRow.id), *TRACE_KEY).where(*added)):
        if (record := traces.get((run_id, item_id, part))) is None:
            continue
        owners[id] = outcomes.Owner(id, study_id, run_id, record.item)
        for seq, (event, at) in enumerate(zip_longest(record.events, record.times)):
            events.append(event_row(event, id, run_id, seq, at))
            if outcomes.is_listed(event):
                listed.append(outcomes.NewEvent(id, seq, event))
        opinions += [
            opinion_row(study_id, run_id, id, target_ids[target], opinion, verdict_columns(verdict))
            for target, opinion, verdict in opinions_of(record)
        ]
    insert_all(session, EventRow, events)
    outcomes.insert_unread(session, owners, listed)
    insert_all(session, OpinionRow, opinions)


def _trace_columns(record: TraceRecord) -> dict[str, Any]:
    """Return the columns of a trace without ids; its outcome follows from the last event."""
    current = current_events(record.events)
    turns = (event.turn for event in current if isinstance(event, TurnCompleted))
    has_verdict = any(isinstance(event, VerdictReached) for event in current)
    row = {
        "outcome": "waiting",
        "problem": "",
        "uncertainty": 0.0,
        "contention": None,
        "shown_orders": trace_opinions.orders_of_turns(turns) if has_verdict else None,
    }
    match record.events[-1] if record.events else None:
        case VerdictReached(verdict=verdict):
            row |= {"outcome": verdict.outcome, "contention": verdict_contention(verdict)}
        case TraceFailed(problem=problem):
            row |= {"outcome": "failed", "problem": problem}
    return row


def _count_different(
    session: Session, study_id: int, known: Mapping[TraceKey, TraceRecord], target_ids: Mapping[TargetKey, int]
) -> int:
    """Return of how many traces of a file the study has other values of judges."""
    columns = (col(OpinionRow.target_id), col(OpinionRow.judge), col(OpinionRow.stage), col(OpinionRow.value))
    query = select(*TRACE_KEY, *columns).join(TraceRow, col(TraceRow.id) == col(OpinionRow.trace_id))
    query = query.where(col(OpinionRow.study_id) == study_id, col(TraceRow.run_id).in_({run for run, *_ in known}))
    stored = defaultdict[TraceKey, set[tuple[int, str, str, str]]](set)
    for run_id, item_id, part, *own, value in session.execute(query) if known else ():
        target_id, judge, stage = own
        stored[run_id, item_id, part].add((target_id, judge, stage, to_json(value)))
    different = 0
    for key, record in known.items():
        given = {
            (target_ids[target], own.judge, own.stage, to_json(own.value)) for target, own, _ in opinions_of(record)
        }
        different += given != stored[key]
    return different


def _id_of(ids: Mapping[str, int], name: str, noun: str) -> int:
    if name not in ids:
        raise TiebreakError(f"The file refers to the {noun} {name!r}, which is neither in the file nor in the study.")
    return ids[name]


def _run_row(study_id: int, record: RunRecord, experiment_ids: Mapping[str, int]) -> RunRow:
    """Return the row of an imported run.

    It is never resumed: its settings may name another machine's servers. One that was being executed is stopped.
    """
    unfinished = record.state in ("requested", "cancelling")
    fields = {name: value for name, value in record if name not in ("type", "experiment")}
    fields |= {
        "experiment_id": _id_of(experiment_ids, record.experiment, "experiment") if record.experiment else None,
        "source": "imported" if record.source == "live" else record.source,
        "state": "stopped" if unfinished else record.state,
        "problem": record.problem or (UNFINISHED if unfinished else ""),
        "created_at": to_utc(record.created_at) or now(),
        "ended_at": to_utc(record.ended_at),
    }
    return RunRow(study_id=study_id, **fields)
