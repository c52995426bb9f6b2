"""Claims of workers: one worker executes a run at a time, which is its own until `claimed_until`; it renews that.

`claimed_by` of a trace is the worker that has begun it; the claim counts while that worker has claimed the run.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import and_, bindparam, not_, or_, select, update
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from core.errors import RunStopped, TiebreakError
from storage.db.connections import clock, execute
from storage.db.tables import RunRow, TraceRow, now
from storage.runs import call_totals

# A claim expires after this time without renewal: another worker then takes over from one that crashed.
LEASE = timedelta(seconds=15)
# A run stops when this many traces fail before any ends: with a wrong key or model name, all would fail.
MAX_INITIAL_FAILURES = 5
# Characters of the problem of a failed trace that the problem of its run quotes.
LONGEST_PROBLEM = 300
VERDICTS = ("agreed", "disputed", "no_verdict")


class ClaimLost(RunStopped):
    """The worker's claim of a run has expired, and another worker has claimed it."""


@dataclass(frozen=True)
class ClaimedTrace:
    """A trace by its id, that of its item, and its part."""

    id: int
    item_id: int
    part: str


_CLAIM = select(col(RunRow.claimed_by)).where(col(RunRow.id) == bindparam("run")).with_for_update(read=True)


def unclaimed(session: Session, *, run_ids: Collection[int] | None = None, in_turn: bool = True) -> list[int]:
    """Return the ids of the requested runs that a worker can execute now, of all runs or of some.

    An experiment has one cost limit, so its runs are executed `in_turn`, in the order of their ids, unless a process
    that counts the limit itself executes several at once. One that is stopped, by the limit or by an error, does not
    keep the others waiting.
    """
    at, other = clock(session), aliased(RunRow)
    comes_first = or_(
        and_(col(other.state) == "requested", col(other.id) < col(RunRow.id)),
        and_(col(other.id) != col(RunRow.id), col(other.claimed_until) > at),
    )
    has_to_wait = select(col(other.id)).where(col(other.experiment_id) == col(RunRow.experiment_id), comes_first)
    is_free = or_(col(RunRow.claimed_until).is_(None), col(RunRow.claimed_until) <= at)
    query = select(col(RunRow.id)).where(col(RunRow.state) == "requested", is_free)
    if in_turn:
        query = query.where(not_(has_to_wait.exists()))
    if run_ids is not None:
        query = query.where(col(RunRow.id).in_(run_ids))
    return list(session.scalars(query.order_by(col(RunRow.id))))


def claim_run(session: Session, run_id: int, worker: str) -> bool:
    """Claim a requested run; return False if another worker executes it.

    Limits and ceiling are counted in the process of the worker. `worker` is a name that no earlier claim had: it also
    identifies the traces that are claimed by it, and the events that it may append.
    """
    row = locked(session, run_id)
    at = clock(session)
    if row.state != "requested" or (row.claimed_by != worker and is_active(row, at)):
        return False
    row.claimed_by, row.claimed_until = worker, at + LEASE
    return True


def lock_claim(session: Session, run_id: int, worker: str) -> None:
    """Lock a run against other claims until the end of the transaction; raises ClaimLost if it is not the worker's.

    A worker that was suspended longer than its claim writes nothing over the work of its successor.
    """
    if execute(session, _CLAIM, {"run": run_id}).scalar() != worker:
        raise ClaimLost("Another worker continues this run.")


def claim_traces(session: Session, run_id: int, worker: str, limit: int) -> list[ClaimedTrace]:
    """Claim up to `limit` waiting traces, and return them in the order of the items.

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
        .limit(limit)
    )
    claimed = [ClaimedTrace(*row) for row in session.execute(waiting)]
    ids = [trace.id for trace in claimed]
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
    of_worker = (col(TraceRow.run_id) == run_id, col(TraceRow.claimed_by) == worker)
    released = update(TraceRow).where(*of_worker).values(claimed_by=None)
    session.execute(released.execution_options(synchronize_session=False))
    if row.claimed_by != worker:
        return
    row.claimed_by, row.claimed_until = None, None
    waiting = select(col(TraceRow.id)).where(col(TraceRow.run_id) == run_id, col(TraceRow.outcome) == "waiting")
    is_waiting = session.scalars(waiting.limit(1)).first() is not None
    of_traces = "requested" if is_waiting else "finished"
    row.state = state or ("cancelled" if row.state == "cancelling" and is_waiting else of_traces)
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


def is_active(row: RunRow, at: datetime) -> bool:
    """Return whether a worker that is alive executes a run."""
    return row.claimed_until is not None and row.claimed_until > at


def describe_failures(session: Session, run_id: int) -> str:
    """Return why a run stops whose first traces all failed, with the problem of the first: a text without keys."""
    query = select(col(TraceRow.problem)).where(col(TraceRow.run_id) == run_id, col(TraceRow.outcome) == "failed")
    problem = " ".join((session.scalars(query.order_by(col(TraceRow.id)).limit(1)).first() or "").split())
    quoted = problem if len(problem) <= LONGEST_PROBLEM else f"{problem[:LONGEST_PROBLEM]}…"
    first = f"The first {MAX_INITIAL_FAILURES} items all failed"
    return f"{first}: “{quoted}” Fix the cause, and resume." if quoted else f"{first}; fix the cause, and resume."
