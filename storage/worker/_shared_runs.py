"""A worker that shares runs with others on PostgreSQL: it claims single traces, as many as it has places for.

It is registered in the database and renews this every second, by the database's clock. Others continue its traces when
it has not been seen for `storage.runs.calls.WORKER_LEASE`; from then on it can store nothing more for them.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import Engine, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import RunStopped, TiebreakError
from core.llm.client import Model
from storage.db import changes
from storage.db.connections import read, write
from storage.db.errors import DatabaseUnavailable
from storage.db.tables import RunRow
from storage.runs import calls, claims, runs
from storage.worker import _shared_limits, _trace_execution
from storage.worker._outages import end_tasks, through_outage
from storage.worker._shared_limits import CeilingReached, SharedLimits
from storage.worker._stored_calls import StoredCalls
from storage.worker._transactions import EventWriter, Transactions

# Traces that a worker executes at once, of all runs.
TRACES = 32
# Between two steps: many traces may end at the same time.
SHORTEST_WAIT = 0.05
# Interval at which traces are looked for when nothing has changed.
CLAIM_SECONDS = 2.0
# Interval at which crashed workers are looked for.
CHECK_SECONDS = 5.0
log = logging.getLogger("tiebreak")


@dataclass
class _SharedRun:
    """A run of which this process executes traces."""

    setup: _trace_execution.RunSetup
    model: Model
    limits: SharedLimits
    cancelled: threading.Event = field(default_factory=threading.Event)


@dataclass
class _Registration:
    """A worker in the database, until it is not seen for too long."""

    id: int
    name: str
    steady_since: float
    """Before one lease has passed it takes over no trace: after an outage every other worker seems to have crashed."""
    seen: float
    """The last renewal. Both are times of this process's clock, and only their difference counts."""
    runs: dict[int, _SharedRun] = field(default_factory=dict)
    calls: set[int] = field(default_factory=set)
    """The ids of the calls in progress."""
    unknown: tuple[set[int], set[int]] = (set(), set())
    """Traces and calls that the database had for this worker at the last check, and that it knew nothing of."""

    def saw_database(self) -> None:
        """Record a renewal that succeeded."""
        if time.monotonic() - self.seen > calls.WORKER_LEASE.total_seconds() / 2:
            self.steady_since = time.monotonic()
        self.seen = time.monotonic()

    @property
    def is_steady(self) -> bool:
        """Return whether this worker may conclude that others have crashed."""
        return self.seen - self.steady_since >= calls.WORKER_LEASE.total_seconds()


class SharedRuns:
    """Executes traces of every requested run, together with other workers."""

    def __init__(self, engine: Engine, model: Callable[[], Model], *, traces: int = TRACES, grace: float = 4.0) -> None:
        self._engine, self._create_model, self._traces, self._grace = engine, model, traces, grace
        self._model: Model | None = None
        self._registration: _Registration | None = None
        self._in_progress: dict[int, tuple[claims.ClaimedTrace, str]] = {}
        """Trace id -> its claim, and the name that claimed it."""
        self._executions: set[asyncio.Task[None]] = set()
        self._transactions = Transactions(engine)
        self._writer = EventWriter(self._transactions, self._fence)
        self._known: changes.Version = ()
        self._next_claim = self._next_check = 0.0
        self._released = asyncio.Event()
        self._notified: asyncio.Task[None] | None = None

    async def step(self) -> None:
        """Renew the registration, and claim and start traces; called again and again.

        Raises what the database raises; the next call may succeed.
        """
        registration = await self._renew()
        now = time.monotonic()
        version = changes.version(self._engine, changes.RUNS)
        if now >= self._next_claim or version != self._known:
            self._known, self._next_claim = version, now + CLAIM_SECONDS
            await self._claim(registration)
        if now >= self._next_check:
            self._next_check = now + CHECK_SECONDS
            await self._release_unknown(registration)
            if registration.is_steady:
                await asyncio.to_thread(write, self._engine, calls.remove_crashed_workers)

    async def wait(self, seconds: float) -> None:
        """Wait until a run is requested or a trace has ended, or for some seconds."""
        if self._notified is None or self._notified.done():
            wait = partial(changes.wait, self._engine, self._known, changes.RUNS, timeout=seconds)
            self._notified = asyncio.create_task(asyncio.to_thread(wait))
        released = asyncio.create_task(self._released.wait())
        await asyncio.wait({self._notified, released}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        released.cancel()
        self._released.clear()
        await asyncio.sleep(SHORTEST_WAIT)

    async def end(self) -> None:
        """Start no more calls, wait until the replies to those in progress are stored, and release every claim."""
        registration = self._registration
        for run in registration.runs.values() if registration else ():
            run.cancelled.set()
        alive = asyncio.create_task(self._stay_registered())
        await end_tasks(self._executions, self._grace)
        await self._transactions.finish()
        alive.cancel()
        if registration is not None:
            await asyncio.to_thread(write, self._engine, partial(_sign_off, registration=registration))
        if self._model is not None:
            await self._model.close()

    async def _stay_registered(self) -> None:
        """Renew the registration until cancelled: calls in progress may last longer than it holds."""
        while self._registration is not None:
            renew = partial(calls.renew_worker, worker_id=self._registration.id)
            with contextlib.suppress(DatabaseUnavailable, SQLAlchemyError):
                await asyncio.to_thread(write, self._engine, renew)
            await asyncio.sleep(_trace_execution.HEARTBEAT_SECONDS)

    async def _renew(self) -> _Registration:
        """Renew the registration, and cancel what may not continue; register again after a long interruption."""
        known = self._registration
        if known is not None:
            states = await asyncio.to_thread(write, self._engine, partial(_renew, known=known))
            if states is not None:
                known.saw_database()
                for run_id in [run_id for run_id in known.runs if states.get(run_id) != "requested"]:
                    known.runs.pop(run_id).cancelled.set()
                return known
            log.warning("This worker was not seen for too long; others continue its traces.")
            for run in known.runs.values():
                run.cancelled.set()
        name = _trace_execution.worker_name()
        worker_id = await asyncio.to_thread(write, self._engine, partial(calls.register_worker, name=name))
        now = time.monotonic()
        self._registration = _Registration(worker_id, name, steady_since=now, seen=now)
        return self._registration

    async def _release_unknown(self, registration: _Registration) -> None:
        """Release what this worker does not know of at two checks: a connection was lost after a commit."""
        in_progress, calls = set(self._in_progress), set(registration.calls)
        claimed = await asyncio.to_thread(read, self._engine, partial(claims.traces_of, worker=registration.name))
        find_calls = partial(_shared_limits.calls_of, worker_id=registration.id)
        reserved = await asyncio.to_thread(read, self._engine, find_calls)
        unknown = claimed - in_progress, reserved - calls
        traces, held = (now & before for now, before in zip(unknown, registration.unknown, strict=True))
        registration.unknown = unknown
        if traces or held:
            release = partial(_release_unknown, worker=registration.name, traces=traces, calls=held)
            await asyncio.to_thread(write, self._engine, release)

    async def _claim(self, registration: _Registration) -> None:
        """Claim traces for the free places and start them; the runs with the fewest traces here come first."""
        unfinished = await asyncio.to_thread(
            read, self._engine, lambda session: claims.unclaimed(session) + claims.cancelling_runs(session)
        )
        here = Counter(claimed.run_id for claimed, _ in self._in_progress.values())
        for position, run_id in enumerate(sorted(unfinished, key=lambda run_id: here[run_id])):
            places = self._traces - len(self._in_progress)
            share = -(-places // (len(unfinished) - position))
            # After a new registration, traces of the earlier one may still end here.
            claimable = partial(claims.claim_shared, without=list(self._in_progress), take_over=registration.is_steady)
            claim = partial(claim_traces, run_id=run_id, worker=registration.name, limit=share, claim=claimable)
            for claimed in await asyncio.to_thread(write, self._engine, claim):
                self._in_progress[claimed.id] = claimed, registration.name
                execution = asyncio.create_task(self._execute(registration, claimed))
                self._executions.add(execution)
                execution.add_done_callback(self._executions.discard)

    def _fence(self, session: Session, trace_ids: Sequence[int]) -> None:
        workers = {trace_id: self._in_progress[trace_id][1] for trace_id in trace_ids if trace_id in self._in_progress}
        if len(workers) < len(set(trace_ids)) or claims.lost(session, workers):
            raise claims.ClaimLost("Another worker continues this trace.")

    async def _execute(self, registration: _Registration, claimed: claims.ClaimedTrace) -> None:
        """Run a trace to its end, and release it."""
        failed = False
        try:
            failed = not await self._execute_claimed(registration, claimed)
        finally:
            del self._in_progress[claimed.id]
            await asyncio.shield(self._release(claimed, registration.name, failed=failed))

    async def _execute_claimed(self, registration: _Registration, claimed: claims.ClaimedTrace) -> bool:
        """Return whether the trace has a verdict, or may continue later."""
        try:
            if claimed.run_id not in registration.runs:
                loaded = await asyncio.to_thread(self._load_run, registration, claimed.run_id)
                registration.runs.setdefault(claimed.run_id, loaded)
            run = registration.runs[claimed.run_id]
            [trace] = await asyncio.to_thread(_trace_execution.load_traces, self._engine, run.setup, [claimed])
            return await _trace_execution.execute_trace(run.setup, trace, run.model, self._writer, run.limits)
        except CeilingReached as reason:
            await self._stop_run(claimed.run_id, str(reason))
        except (RunStopped, DatabaseUnavailable):
            pass
        except Exception as error:
            await self._stop_run(claimed.run_id, _trace_execution.describe(error))
        return True

    def _load_run(self, registration: _Registration, run_id: int) -> _SharedRun:
        run, ceiling, _, folder = read(self._engine, partial(_trace_execution.load_run, run_id=run_id))
        self._model = self._model or self._create_model()  # importing litellm takes seconds
        cancelled = threading.Event()
        limits = SharedLimits(self._engine, run, ceiling, registration.id, cancelled.is_set, registration.calls)
        model = StoredCalls(self._model, self._engine, run, registration.name, self._transactions, folder)
        return _SharedRun(_trace_execution.RunSetup.of(run), model, limits, cancelled)

    async def _stop_run(self, run_id: int, reason: str) -> None:
        await through_outage(partial(write, self._engine, partial(claims.stop, run_id=run_id, reason=reason)))

    async def _release(self, claimed: claims.ClaimedTrace, worker: str, *, failed: bool) -> None:
        release = partial(claims.release_trace, claimed=claimed, worker=worker, failed=failed)
        await through_outage(partial(write, self._engine, release))
        self._next_claim = 0.0
        self._released.set()


def claim_traces(
    session: Session, run_id: int, worker: str, limit: int, claim: Callable[..., list[claims.ClaimedTrace]]
) -> list[claims.ClaimedTrace]:
    """Claim up to `limit` traces of a requested run with `claim`, or end it if it is done.

    A run has at most twice the traces that one process executes at once, and leaves the other workers their part of
    them. A run whose protocol or settings are invalid is stopped.
    """
    row = claims.locked_if_shared(session, run_id)
    if row is None or row.state != "requested":
        if row is not None:
            claims.end_if_done(session, row)
        return []
    run = runs.get(session, run_id)
    try:
        setup = _trace_execution.RunSetup.of(run)
    except TiebreakError as error:
        claims.stop(session, run_id, str(error))
        return []
    if not setup.protocol.is_current(run.prompts):
        _trace_execution.update_prompts(session, run)
    room = 2 * setup.at_once - claims.count_claimed(session, run_id)
    limit = min(limit, -(-room // max(1, calls.count_workers(session))))
    claimed = claim(session, run_id, worker, limit) if limit > 0 else []
    if not claimed:
        claims.end_if_done(session, row)
    return claimed


def _renew(session: Session, known: _Registration) -> dict[int, str] | None:
    """Renew a registration; return run id -> state of its runs that no worker executes alone, or None if it is lost."""
    if not calls.renew_worker(session, known.id):
        return None
    query = select(col(RunRow.id), col(RunRow.state)).where(col(RunRow.id).in_(list(known.runs)))
    return dict(session.execute(query).all())


def _release_unknown(session: Session, worker: str, traces: set[int], calls: set[int]) -> None:
    claims.release_traces(session, worker, traces)
    _shared_limits.remove_calls(session, calls)


def _sign_off(session: Session, registration: _Registration) -> None:
    claims.release_traces(session, registration.name)
    calls.remove_worker(session, registration.id)
