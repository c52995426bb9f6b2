"""Claims of workers: of a run as a whole, which one executes alone, or of single traces of a run that they share.

A claimed run is its worker's until `claimed_until`, which the worker renews. `claimed_by` of a trace is the name of its
worker; the claim holds while that has claimed the run, or is alive (`storage.runs.calls`). The two ways exclude each
other.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, and_, bindparam, delete, func, not_, or_, select, update
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from core.errors import RunStopped, TiebreakError
from storage.db.connections import clock, execute
from storage.db.tables import RunRow, SpendingRow, TraceRow, now
from storage.runs import call_totals, calls

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
    """A trace by its id, that of its run and item, and its part."""

    id: int
    run_id: int
    item_id: int
    part: str


_CLAIMED = (col(TraceRow.id), col(TraceRow.run_id), col(TraceRow.item_id), col(TraceRow.part))
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
    query = select(col(RunRow.id)).where(col(RunRow.state) == "requested", is_shared(at))
    if in_turn:
        query = query.where(not_(has_to_wait.exists()))
    if run_ids is not None:
        query = query.where(col(RunRow.id).in_(run_ids))
    return list(session.scalars(query.order_by(col(RunRow.id))))


def claim_run(session: Session, run_id: int, worker: str) -> bool:
    """Claim a requested run as a whole; return False if other workers execute it.

    The worker executes it alone: limits and ceiling are counted in its process. `worker` is a name that no
    earlier claim had: it also identifies the traces that are claimed by it, and the events that it may append.
    """
    row = locked(session, run_id)  # before the next query: a claim of a trace locks the run too
    at = clock(session)
    if row.state != "requested" or (row.claimed_by != worker and is_executed(session, row)):
        return False
    row.claimed_by, row.claimed_until = worker, at + LEASE
    forget_spending(session, run_id)
    return True


def is_executed(session: Session, row: RunRow) -> bool:
    """Return whether workers that are alive execute a run, one alone or several that share it."""
    at = clock(session)
    return is_active(row, at) or bool(session.scalar(select(any_alive(at)).where(col(RunRow.id) == row.id)))


def lock_claim(session: Session, run_id: int, worker: str) -> None:
    """Lock a run against other claims until the end of the transaction; raises ClaimLost if it is not the worker's.

    A worker that was suspended longer than its claim writes nothing over the work of its successor.
    """
    if execute(session, _CLAIM, {"run": run_id}).scalar() != worker:
        raise ClaimLost("Another worker continues this run.")


def claim_traces(session: Session, run_id: int, worker: str, limit: int, rest: int = 0) -> list[ClaimedTrace]:
    """Claim `limit` waiting traces, or all if only `rest` more are waiting; return them in the order of the items.

    A claim holds as long as the worker's claim of the run. Raises ClaimLost if the worker has none.
    """
    lock_claim(session, run_id, worker)
    waiting = (
        select(*_CLAIMED)
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
    release_traces(session, worker, select(col(TraceRow.id)).where(col(TraceRow.run_id) == run_id))
    if row.claimed_by != worker:
        return
    row.claimed_by, row.claimed_until = None, None
    is_waiting = _any(session, run_id, col(TraceRow.outcome) == "waiting")
    of_traces = "requested" if is_waiting else "finished"
    row.state = state or ("cancelled" if row.state == "cancelling" and is_waiting else of_traces)
    row.problem = problem
    if row.state != "requested":
        _end(session, row, row.state, problem)


def locked(session: Session, run_id: int) -> RunRow:
    """Return a run, locked until the end of the transaction; rows that refer to it can still be added."""
    row = _locked(session, run_id)
    if row is None:
        raise TiebreakError(f"There is no run {run_id}.")
    return row


def is_active(row: RunRow, at: datetime) -> bool:
    return row.claimed_until is not None and row.claimed_until > at


# Claims of single traces by workers that share a run, and the end of such a run.


def claim_shared(
    session: Session, run_id: int, worker: str, limit: int, *, without: Collection[int] = (), take_over: bool = True
) -> list[ClaimedTrace]:
    """Claim waiting traces of a run that is locked by `locked_if_shared`; return them in the order of the items.

    Without `take_over` only traces that no worker has claimed, alive or not.
    """
    alive = calls.is_worker_alive(col(TraceRow.claimed_by), clock(session))
    free = not_(alive) if take_over else col(TraceRow.claimed_by).is_(None)
    waiting = select(col(TraceRow.id)).where(
        col(TraceRow.run_id) == run_id, col(TraceRow.outcome) == "waiting", col(TraceRow.id).not_in(without), free
    )
    query = (
        update(TraceRow)
        .where(col(TraceRow.id).in_(waiting.order_by(col(TraceRow.id)).limit(limit)))
        .values(claimed_by=worker)
        .returning(*_CLAIMED)
        .execution_options(synchronize_session=False)
    )
    return sorted((ClaimedTrace(*row) for row in session.execute(query)), key=lambda claimed: claimed.id)


def cancelling_runs(session: Session) -> list[int]:
    """Return the ids of the runs that are being cancelled, and that no worker executes alone."""
    query = select(col(RunRow.id)).where(col(RunRow.state) == "cancelling", is_shared(clock(session)))
    return list(session.scalars(query))


def forget_spending(session: Session, run_id: int) -> None:
    """Let the next reservation compute the costs of a run again: a worker that has a run alone counts in memory."""
    session.execute(delete(SpendingRow).where(col(SpendingRow.run_id) == run_id))


def is_shared(at: datetime) -> ColumnElement[bool]:
    """Return whether no worker executes the run alone."""
    return or_(col(RunRow.claimed_until).is_(None), col(RunRow.claimed_until) <= at)


def lost(session: Session, claims: Mapping[int, str]) -> set[int]:
    """Lock traces until the end of the transaction; return those that are not claimed by the given worker any more."""
    query = select(col(TraceRow.id), col(TraceRow.claimed_by)).where(col(TraceRow.id).in_(claims))
    held = dict(session.execute(query.order_by(col(TraceRow.id)).with_for_update(key_share=True)).all())
    return {trace_id for trace_id, worker in claims.items() if held.get(trace_id) != worker}


def any_alive(at: datetime) -> ColumnElement[bool]:
    """Return whether a worker that is alive has claimed a trace of the run."""
    # Not correlated with the run: SQLite would read all of its traces instead of the index of the claimed ones.
    return col(RunRow.id).in_(select(col(TraceRow.run_id)).where(_is_claimed(at)))


def release_trace(session: Session, claimed: ClaimedTrace, worker: str, *, failed: bool = False) -> None:
    """End a worker's claim of a trace, and the run if this was its last trace.

    A run whose first traces all `failed` is stopped. If it was stopped earlier, the sums over its calls are stored
    again after its last claim.
    """
    run = _locked(session, claimed.run_id)
    release_traces(session, worker, [claimed.id])
    if run is None:
        return
    if run.state == "stopped" and not _any(session, run.id, _is_claimed(clock(session))):
        call_totals.store_newer(session, run)
    if failed and run.state == "requested" and _only_failures(session, run.id):
        _end(session, run, "stopped", describe_failures(session, run.id))
    end_if_done(session, run)


def describe_failures(session: Session, run_id: int) -> str:
    """Return why a run stops whose first traces all failed, with the problem of the first: a text without keys."""
    query = select(col(TraceRow.problem)).where(col(TraceRow.run_id) == run_id, col(TraceRow.outcome) == "failed")
    problem = " ".join((session.scalars(query.order_by(col(TraceRow.id)).limit(1)).first() or "").split())
    quoted = problem if len(problem) <= LONGEST_PROBLEM else f"{problem[:LONGEST_PROBLEM]}…"
    first = f"The first {MAX_INITIAL_FAILURES} items all failed"
    return f"{first}: “{quoted}” Fix the cause, and resume." if quoted else f"{first}; fix the cause, and resume."


def seconds_left(session: Session, run_ids: Collection[int]) -> float | None:
    """Return the seconds until the claim of a run as a whole expires unless it is renewed; None if none is claimed."""
    at = clock(session)
    claimed = (col(RunRow.id).in_(run_ids), col(RunRow.claimed_by).is_not(None), col(RunRow.claimed_until) > at)
    until = session.scalar(select(func.max(col(RunRow.claimed_until))).where(*claimed))
    return None if until is None else (until - at).total_seconds()


def release_traces(session: Session, worker: str, trace_ids: Collection[int] | Select[int] | None = None) -> None:
    """End claims of a worker, of some traces or of all: others can continue them at once."""
    query = update(TraceRow).where(col(TraceRow.claimed_by) == worker).values(claimed_by=None)
    if trace_ids is not None:
        query = query.where(col(TraceRow.id).in_(trace_ids))
    session.execute(query.execution_options(synchronize_session=False))


def traces_of(session: Session, worker: str) -> set[int]:
    """Return the ids of the traces that a worker has claimed."""
    return set(session.scalars(select(col(TraceRow.id)).where(col(TraceRow.claimed_by) == worker)))


def stop(session: Session, run_id: int, reason: str) -> None:
    """Stop a requested run: its workers start no more calls."""
    run = _locked(session, run_id)
    if run is not None and run.state == "requested":
        _end(session, run, "stopped", reason)


def end_if_done(session: Session, run: RunRow) -> None:
    """End a run, locked, that is done or whose cancelled traces have ended; not one that a worker executes alone."""
    at = clock(session)
    if is_active(run, at):
        return
    is_current = run.state in ("requested", "cancelling")
    if is_current and not _any(session, run.id, col(TraceRow.outcome) == "waiting"):
        _end(session, run, "finished", "")
    elif run.state == "cancelling" and not _any(session, run.id, _is_claimed(at)):
        _end(session, run, "cancelled", "")


def count_claimed(session: Session, run_id: int) -> int:
    """Return how many traces of a run are claimed by living workers."""
    claimed = _is_claimed(clock(session))
    return session.scalar(select(func.count()).where(col(TraceRow.run_id) == run_id, claimed)) or 0


def locked_if_shared(session: Session, run_id: int) -> RunRow | None:
    """Return a run, locked until the end of the transaction; None if it has been deleted or has one worker."""
    run = _locked(session, run_id)
    return None if run is None or is_active(run, clock(session)) else run


def _locked(session: Session, run_id: int) -> RunRow | None:
    query = select(RunRow).where(col(RunRow.id) == run_id).with_for_update(key_share=True)
    return session.scalars(query.execution_options(populate_existing=True)).first()


def _is_claimed(at: datetime) -> ColumnElement[bool]:
    return and_(col(TraceRow.claimed_by).is_not(None), calls.is_worker_alive(col(TraceRow.claimed_by), at))


def _any(session: Session, run_id: int, condition: ColumnElement[bool]) -> bool:
    query = select(col(TraceRow.id)).where(col(TraceRow.run_id) == run_id, condition).limit(1)
    return session.scalars(query).first() is not None


def _only_failures(session: Session, run_id: int) -> bool:
    if _any(session, run_id, col(TraceRow.outcome).in_(VERDICTS)):
        return False
    failed = select(col(TraceRow.id)).where(col(TraceRow.run_id) == run_id, col(TraceRow.outcome) == "failed")
    return len(session.scalars(failed.limit(MAX_INITIAL_FAILURES)).all()) == MAX_INITIAL_FAILURES


def _end(session: Session, run: RunRow, state: str, problem: str) -> None:
    run.state, run.problem, run.ended_at = state, problem, now()
    run.call_totals = call_totals.of_ended_run(session, run.id)
