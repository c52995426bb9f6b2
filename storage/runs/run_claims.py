"""Claims of runs by workers that execute them alone; single traces are claimed by `storage.runs.trace_claims`."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import and_, bindparam, case, func, not_, or_, select, update
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from core.errors import RunStopped, TiebreakError
from storage.db.connections import clock, execute
from storage.db.tables import RunRow, TraceRow, now
from storage.runs import call_totals, trace_claims

LEASE = timedelta(seconds=15)
"""A claim expires after this time without renewal: another worker then takes over from one that crashed."""


class ClaimLost(RunStopped):
    """The worker's claim of a run has expired, and another worker has claimed it."""


def unclaimed(session: Session, *, experiment_id: int | None = None) -> list[int]:
    """Return the ids of the requested runs that a worker can execute now, of all runs or of one experiment.

    An experiment has one cost limit, so its runs are executed one after another, in the order of their ids. One that is
    stopped, by the limit or by an error, does not keep the others waiting.
    """
    at, other = clock(session), aliased(RunRow)
    comes_first = or_(
        and_(col(other.state) == "requested", col(other.id) < col(RunRow.id)),
        and_(col(other.id) != col(RunRow.id), col(other.claimed_until) > at),
    )
    has_to_wait = select(col(other.id)).where(col(other.experiment_id) == col(RunRow.experiment_id), comes_first)
    query = select(col(RunRow.id)).where(
        col(RunRow.state) == "requested", trace_claims.is_shared(at), not_(has_to_wait.exists())
    )
    if experiment_id is not None:
        query = query.where(col(RunRow.experiment_id) == experiment_id)
    return list(session.scalars(query.order_by(col(RunRow.id))))


def claim_run(session: Session, run_id: int, worker: str) -> bool:
    """Claim a requested run as a whole; return False if other workers execute it.

    The worker executes it alone: limits and ceiling are counted in its process. `worker` is a name that no
    earlier claim had: it also identifies the traces that are claimed by it, and the events that it may append.
    """
    row = locked(session, run_id)  # before the next query: a claim of a trace locks the run too
    at = clock(session)
    free = row.claimed_by == worker or (not is_active(row, at) and not is_shared_by_workers(session, run_id))
    if row.state != "requested" or not free:
        return False
    row.claimed_by, row.claimed_until = worker, at + LEASE
    trace_claims.forget_spending(session, run_id)
    return True


def is_shared_by_workers(session: Session, run_id: int) -> bool:
    """Return whether workers that are alive execute single traces of a run."""
    query = select(trace_claims.any_alive(clock(session))).where(col(RunRow.id) == run_id)
    return bool(session.scalar(query))


def lock_claim(session: Session, run_id: int, worker: str) -> None:
    """Lock a run against other claims until the end of the transaction; raises ClaimLost if it is not the worker's.

    A worker that was suspended longer than its claim writes nothing over the work of its successor.
    """
    if execute(session, _claim_query(), {"run": run_id}).scalar() != worker:
        raise ClaimLost("Another worker continues this run.")


@cache  # to build this query takes longer than to execute it
def _claim_query() -> Any:
    return select(col(RunRow.claimed_by)).where(col(RunRow.id) == bindparam("run")).with_for_update(read=True)


@dataclass(frozen=True)
class ClaimedTrace:
    """A trace by its id, that of its item, and its part."""

    id: int
    item_id: int
    part: str


def claim_traces(session: Session, run_id: int, worker: str, limit: int, rest: int = 0) -> list[ClaimedTrace]:
    """Claim `limit` waiting traces, or all if only `rest` more are waiting; return them in the order of the items.

    A claim holds as long as the worker's claim of the run. Raises ClaimLost if the worker has none.
    """
    lock_claim(session, run_id, worker)
    waiting = (
        select(col(TraceRow.id), col(TraceRow.item_id), col(TraceRow.part))
        .where(
            col(TraceRow.run_id) == run_id,
            col(TraceRow.outcome) == "waiting",
            col(TraceRow.claimed_by).is_distinct_from(worker),
        )
        .order_by(col(TraceRow.id))
        .limit(limit + rest + 1)
    )
    found = [ClaimedTrace(*row) for row in session.execute(waiting)]
    claimed = found if len(found) <= limit + rest else found[:limit]
    ids = [trace.id for trace in claimed]
    if ids:
        session.execute(update(TraceRow).where(col(TraceRow.id).in_(ids)).values(claimed_by=worker))
    return claimed


def renew_claim(session: Session, run_id: int, worker: str) -> bool:
    """Renew a worker's claim; return False if the run is another worker's or is being cancelled.

    The claim of a run that is being cancelled is renewed too, until its running traces have ended. Only the run's row
    is locked: the worker's own events lock its traces at the same time.
    """
    query = (
        update(RunRow)
        .where(col(RunRow.id) == run_id, col(RunRow.claimed_by) == worker)
        .values(claimed_until=clock(session) + LEASE)
        .returning(col(RunRow.state))
    )
    return session.execute(query).scalars().first() == "requested"


def release(session: Session, run_id: int, worker: str, state: str | None = None, problem: str = "") -> None:
    """End a worker's claims, and set the run's state; without `state` it follows from the traces."""
    row = locked(session, run_id)
    session.execute(
        update(TraceRow)
        .where(col(TraceRow.run_id) == run_id, col(TraceRow.claimed_by) == worker)
        .values(claimed_by=None)
    )
    if row.claimed_by != worker:
        return
    row.claimed_by, row.claimed_until = None, None
    of_traces = _state_of_traces(session, run_id)
    row.state = state or ("cancelled" if row.state == "cancelling" and of_traces == "requested" else of_traces)
    row.problem = problem
    if row.state != "requested":
        row.ended_at, row.call_totals = now(), call_totals.of_ended_run(session, run_id)


def locked(session: Session, run_id: int) -> RunRow:
    """Return a run, locked until the end of the transaction; rows that refer to it can still be added."""
    query = select(RunRow).where(col(RunRow.id) == run_id).with_for_update(key_share=True)
    row = session.scalars(query.execution_options(populate_existing=True)).first()
    if row is None:
        raise TiebreakError(f"There is no run {run_id}.")
    return row


def _state_of_traces(session: Session, run_id: int) -> str:
    waiting = func.sum(case((col(TraceRow.outcome) == "waiting", 1), else_=0))
    count = session.scalars(select(waiting).where(col(TraceRow.run_id) == run_id)).one()
    return "requested" if count else "finished"


def is_active(row: RunRow, at: datetime) -> bool:
    return row.claimed_until is not None and row.claimed_until > at
