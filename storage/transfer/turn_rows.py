"""The replies of a study's traces as rows, oldest run first, in the order of the items and of the asks."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from sqlalchemy import Engine, Text, cast, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.current_events import current_numbered_events
from core.formats.turns import Attempt, TurnRow, turn_row
from core.reading_history import PastReading, turn_readings
from core.trace import NumberedEvent, ReplyExtracted, ReplyUnreadable, TraceRestarted, TurnCompleted
from storage import runs, traces
from storage.database import reading
from storage.events import parse_event
from storage.studies import Study
from storage.tables import EventRow
from storage.traces import Filter, Trace


def turn_rows(engine: Engine, study: Study) -> Iterator[TurnRow]:
    """Yield every reply: of judges with its current reading, and of extractors."""
    with reading(engine) as session:
        for run in reversed(runs.of_study(session, study.id)):
            filter = Filter(study.id, run.id)
            for batch in traces.in_batches(session, filter):
                events = _events(session, [trace.id for trace in batch])
                for trace in batch:
                    yield from _rows(trace, events.get(trace.id, []))


def _events(session: Session, trace_ids: Sequence[int]) -> dict[int, list[NumberedEvent]]:
    """Return trace id -> all of its events, with superseded ones, without prompts."""
    query = (
        select(col(EventRow.trace_id), col(EventRow.seq), cast(col(EventRow.body), Text))
        .where(col(EventRow.trace_id).in_(trace_ids))
        .order_by(col(EventRow.trace_id), col(EventRow.seq))
    )
    by_trace = groupby(session.execute(query), key=lambda row: row[0])
    return {trace_id: [(seq, parse_event(body)) for _, seq, body in rows] for trace_id, rows in by_trace}


def _rows(trace: Trace, events: Sequence[NumberedEvent]) -> list[TurnRow]:
    """Return the rows of one trace in the order of the asks, then of the events."""
    current = dict(current_numbered_events(events))
    history = turn_readings([event for _, event in events])
    repeated: set[int] = set()
    rows = []
    for seq, event in events:
        attempt: Attempt = "first"
        earlier: Sequence[PastReading] = ()
        superseded = seq not in current
        match event:
            case TraceRestarted():
                repeated.clear()
                continue
            case ReplyUnreadable(ask=ask):
                repeated.add(ask)
                superseded = superseded or ask in history
            case TurnCompleted(ask=ask):
                attempt = "second" if ask in repeated else "first"
                earlier = () if superseded else history[ask].earlier
                event = current.get(seq, event)
            case ReplyExtracted():
                attempt = "extractor"
        if isinstance(event, ReplyUnreadable | TurnCompleted | ReplyExtracted):
            row = turn_row(event.turn, event.ask, attempt, superseded, earlier, **_place(trace))
            rows.append((event.ask, seq, row))
    return [row for _, _, row in sorted(rows, key=lambda numbered: numbered[:2])]


def _place(trace: Trace) -> dict[str, object]:
    """Return the fields of a row that concern its trace."""
    return {
        "run": trace.run,
        "protocol": trace.protocol,
        "item": trace.item,
        "part": trace.part,
        "scenario": trace.scenario,
        "criterion": trace.criterion,
        "outcome": trace.status,
        "contention": trace.contention,
    }
