"""Traces that somebody watches, and their open calls, which a worker states again and again while they are open."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.llm.progress import OpenCall
from storage.db.columns import sanitize
from storage.db.connections import clock, upsert
from storage.db.tables import LiveTraceRow

# Seconds after which a page that watches a trace has to say so again, and after which stated calls are not open any
# more: a worker that was killed states nothing.
WATCHED, STATED = timedelta(seconds=20), timedelta(seconds=4)


def watch(session: Session, trace_id: int) -> None:
    """Record that somebody watches a trace; forget the traces that nobody watches any more."""
    at = clock(session)
    session.execute(delete(LiveTraceRow).where(col(LiveTraceRow.watched_until) < at))
    upsert(session, LiveTraceRow, ("trace_id",), {"trace_id": trace_id, "watched_until": at + WATCHED})


def watched(session: Session, trace_ids: Collection[int]) -> set[int]:
    """Return the traces among these that somebody watches."""
    query = select(col(LiveTraceRow.trace_id)).where(col(LiveTraceRow.watched_until) > clock(session))
    return set(session.scalars(query)) & set(trace_ids)


def state(session: Session, calls: Mapping[int, Sequence[OpenCall]]) -> None:
    """Store the open calls of traces that are watched."""
    for trace_id, found in calls.items():
        values = [{**asdict(call), "text": sanitize(call.text)} for call in found]
        session.execute(
            update(LiveTraceRow).where(col(LiveTraceRow.trace_id) == trace_id).values(calls=values, at=clock(session))
        )


def open_calls(session: Session, trace_id: int) -> list[OpenCall]:
    """Return the open calls of a trace that a worker has stated recently, in the order of their start."""
    stated = (col(LiveTraceRow.trace_id) == trace_id, col(LiveTraceRow.at) > clock(session) - STATED)
    calls = session.scalar(select(col(LiveTraceRow.calls)).where(*stated)) or []
    return sorted((OpenCall(**call) for call in calls), key=lambda call: call.since)
