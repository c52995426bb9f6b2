"""Traces with their events and the settings of their runs, as they are shown after a label."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Integer, Select, Text, bindparam, cast, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.current_events import current_numbered_events
from core.trace import Event
from storage.database import execute
from storage.events import parse_event
from storage.tables import EventRow, OpinionRow, RunRow, TraceRow
from storage.traces import Trace, trace_of_row, trace_query


@dataclass(frozen=True)
class Debate:
    """A trace with its events and the settings of its run."""

    trace: Trace
    settings: Mapping[str, object]
    events: Sequence[tuple[int, Event]]
    """See `storage.traces.events`."""


def of_target(session: Session, target_id: int) -> list[Debate]:
    """Return the traces that judged a target with their events, newest run first."""
    rows = execute(session, _traces_query(), {"target": target_id}).all()
    events_by_trace: dict[int, list[tuple[int, Event]]] = defaultdict(list)
    for trace_id, seq, body in execute(session, _events_query(), {"traces": [row[0] for row in rows]}):
        events_by_trace[trace_id].append((seq, parse_event(body)))
    return [Debate(trace_of_row(row[:-1]), row[-1], current_numbered_events(events_by_trace[row[0]])) for row in rows]


@cache  # to build the queries takes longer than to execute them
def _traces_query() -> Select[*tuple[Any, ...]]:
    target = bindparam("target", type_=Integer)
    judged = select(col(OpinionRow.trace_id)).where(col(OpinionRow.target_id) == target)
    query = trace_query(None).add_columns(col(RunRow.settings)).where(col(TraceRow.id).in_(judged))
    return query.order_by(col(RunRow.id).desc())


@cache
def _events_query() -> Select[*tuple[Any, ...]]:
    traces = bindparam("traces", type_=Integer, expanding=True)
    query = select(col(EventRow.trace_id), col(EventRow.seq), cast(col(EventRow.body), Text))
    return query.where(col(EventRow.trace_id).in_(traces)).order_by(col(EventRow.trace_id), col(EventRow.seq))
