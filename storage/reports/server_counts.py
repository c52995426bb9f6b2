"""Counts of the whole database for monitoring."""

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.db.connections import clock
from storage.db.guards import COUNTS, reading_for
from storage.db.tables import LabelRow, LeaseRow, RunRow, TraceRow


@dataclass(frozen=True)
class ServerCounts:
    """Numbers of rows."""

    labels: int
    claims: int
    """Targets that an annotator has claimed now."""
    runs: dict[str, int]
    """By state."""
    traces: dict[str, int]
    """By outcome."""


@reading_for(COUNTS)
def count(session: Session) -> ServerCounts:
    """Count labels, claims, runs and traces."""
    claims = select(func.count()).select_from(LeaseRow).where(col(LeaseRow.until) > clock(session))
    runs = select(col(RunRow.state), func.count()).group_by(col(RunRow.state))
    traces = select(col(TraceRow.outcome), func.count()).group_by(col(TraceRow.outcome))
    return ServerCounts(
        labels=session.scalar(select(func.count()).select_from(LabelRow)) or 0,
        claims=session.scalar(claims) or 0,
        runs={state: number for state, number in session.execute(runs)},
        traces={outcome: number for outcome, number in session.execute(traces)},
    )
