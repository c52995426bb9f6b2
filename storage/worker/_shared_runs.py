"""A worker that shares runs with others on PostgreSQL: it claims single traces, as many as it has places for.

It is registered in the database and renews this every second, by the database's clock. Others continue its traces when
it has not been seen for `storage.runs.calls.WORKER_LEASE`; from then on it can store nothing more for them. The limits
of such a run hold over all workers: concurrent calls and costs are counted in the database.
"""

import asyncio
import contextlib
import logging
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import Engine, delete, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import RunStopped, TiebreakError
from core.llm import costs, local_server
from core.llm.client import Model
from core.llm.limits import Budget, ConcurrencyLimit, Limits, Recording, ceiling_reached
from core.trace import Ask, Spec
from storage.db import changes
from storage.db.connections import insert_missing, read, write
from storage.db.errors import DatabaseUnavailable
from storage.db.tables import ReservationRow, RunRow, SpendingRow
from storage.runs import calls, claims, experiments, runs
from storage.worker import _trace_execution
from storage.worker._outages import end_tasks, through_outage
from storage.worker._stored_calls import StoredCalls
from storage.worker._transactions import EventWriter, Transactions

# Calls in progress of workers that share a run: the limits of concurrent calls and of costs hold over all of them.

# Between two attempts to reserve a call, at random: a call takes about a second.
WAIT_SECONDS = (0.02, 0.1)
# The class of the advisory locks of runs: one call at a time is counted for each run.
LOCK = 8_442_326


class CeilingReached(RunStopped):
    """The costs and reservations of a run leave no room for a call, and no call in progress can release any."""


@dataclass(frozen=True)
class Paused:
    """The model may not be called for some seconds, because its provider asked for it."""

    seconds: float


def reserve(
    session: Session, run_id: int, worker_id: int, model: str, *, slots: int, dollars: float, ceiling: float | None
) -> int | Paused | None:
    """Reserve one of `slots` concurrent calls to a model, and what it costs at most; return the id of the call.

    Returns None if it has to wait for other calls; raises CeilingReached if waiting would not help.
    """
    if (pause := calls.remaining_pause(session).get(model)) is not None:
        return Paused(pause)
    session.execute(text("SELECT pg_advisory_xact_lock(:class, :run)"), {"class": LOCK, "run": run_id})
    in_progress = select(func.count()).where(col(ReservationRow.run_id) == run_id, col(ReservationRow.model) == model)
    if (session.scalar(in_progress) or 0) >= slots:
        return None
    if ceiling is not None:
        spent = _spent(session, run_id)
        reserved = (
            session.scalar(select(func.sum(col(ReservationRow.dollars))).where(col(ReservationRow.run_id) == run_id))
            or 0.0
        )
        if spent >= ceiling or spent + reserved + dollars > ceiling:
            if reserved > 0:
                return None
            raise CeilingReached(ceiling_reached(ceiling))
    row = {"run_id": run_id, "worker_id": worker_id, "model": model, "dollars": dollars}
    query = insert(ReservationRow.__table__).values(row).returning(col(ReservationRow.id))  # type: ignore[attr-defined]
    return int(session.execute(query).scalar_one())


def end_call(session: Session, run_id: int, call_id: int, dollars: float) -> None:
    """End a call, and add what has been spent."""
    if dollars:
        session.execute(text("SELECT pg_advisory_xact_lock(:class, :run)"), {"class": LOCK, "run": run_id})
        spent = update(SpendingRow).where(col(SpendingRow.run_id) == run_id)
        session.execute(spent.values(dollars=col(SpendingRow.dollars) + dollars))
    session.execute(delete(ReservationRow).where(col(ReservationRow.id) == call_id))


def calls_of(session: Session, worker_id: int) -> set[int]:
    """Return the ids of a worker's calls in progress."""
    return set(session.scalars(select(col(ReservationRow.id)).where(col(ReservationRow.worker_id) == worker_id)))


def remove_calls(session: Session, call_ids: Collection[int]) -> None:
    """End calls without costs: their worker knows nothing of them."""
    session.execute(delete(ReservationRow).where(col(ReservationRow.id).in_(call_ids)))


def _spent(session: Session, run_id: int) -> float:
    query = select(col(SpendingRow.dollars)).where(col(SpendingRow.run_id) == run_id)
    spent = session.scalar(query)
    if spent is None:
        _, spent = experiments.budget(session, runs.get(session, run_id))
        insert_missing(session, SpendingRow, [{"run_id": run_id, "dollars": spent}])
    return spent


class ProcessLimits(Limits):
    """The limits of one run in this process, with the pauses that any process on the database was asked for."""

    def __init__(
        self,
        engine: Engine,
        *,
        parallel: int,
        budget: Budget | None,
        cancelled: Callable[[], bool],
        concurrency: dict[tuple[str, str | None], ConcurrencyLimit] | None = None,
    ) -> None:
        """Limit the calls of a run; runs with the same `concurrency` share their places at each model."""
        super().__init__(parallel=parallel, budget=budget, cancelled=cancelled)
        self._engine = engine
        if concurrency is not None:
            self._concurrency_limits = concurrency

    async def pause_model(self, spec: Spec, seconds: float) -> None:
        """Start no call to a model for some seconds, in any process."""
        await super().pause_model(spec, seconds)
        record = partial(calls.record_pause, model=_model_key(spec), seconds=seconds)
        with suppress(DatabaseUnavailable):  # this process waits in any case
            await asyncio.to_thread(write, self._engine, record)

    def observe(self, pauses: Mapping[str, float]) -> None:
        """Observe the pauses of other processes: model with its address -> seconds from now."""
        for model, address in list(self._concurrency_limits) if pauses else ():
            spec = Spec(model=model, address=address)
            self.concurrency_limit(spec).pause(pauses.get(_model_key(spec), 0.0))


class SharedLimits(ProcessLimits):
    """The limits of one run in one of its workers. The process starts no more calls than the whole run may."""

    def __init__(
        self,
        engine: Engine,
        run: runs.Run,
        ceiling: float | None,
        worker_id: int,
        cancelled: Callable[[], bool],
        open_calls: set[int],
    ) -> None:
        """Limit the calls of a run; `open_calls` holds the ids of all calls of this process while they last."""
        # Adds up the costs of calls until one of them is released, which stores them.
        self._spending = Budget(ceiling or 0.0, costs.maximum_cost)
        budget = self._spending if ceiling is not None else None
        super().__init__(engine, parallel=run.parallel, budget=budget, cancelled=cancelled)
        self._run, self._ceiling, self._worker_id = run, ceiling, worker_id
        self._open_calls = open_calls
        self._reserving: dict[str, asyncio.Lock] = {}
        self._releasing = asyncio.Lock()

    @asynccontextmanager
    async def acquire(self, ask: Ask, recording: Recording = nullcontext) -> AsyncIterator[None]:
        """Reserve a call in the database; raises RunStopped instead of starting it.

        It is recorded afterwards: other workers may have the places of the run for long.
        """
        limit = self.concurrency_limit(ask.spec)
        async with limit.semaphore:
            call_id = await self._reserve(ask, limit)
            try:
                async with recording():
                    yield
            finally:
                await asyncio.shield(self._release(call_id))

    async def _reserve(self, ask: Ask, limit: ConcurrencyLimit) -> int:
        model = _model_key(ask.spec)
        async with self._reserving.setdefault(model, asyncio.Lock()):  # one attempt at a time from this process
            while True:
                while (remaining := limit.remaining_pause()) > 0:
                    await self.pause(remaining)
                self.raise_if_cancelled()
                call_id = await through_outage(partial(self._try, ask, model))
                if isinstance(call_id, Paused):
                    limit.pause(call_id.seconds)
                elif call_id is not None:
                    self._open_calls.add(call_id)
                    return call_id
                else:
                    await asyncio.sleep(random.uniform(*WAIT_SECONDS))

    def _try(self, ask: Ask, model: str) -> int | Paused | None:
        slots = min(self.parallel, local_server.SLOTS) if local_server.is_local(ask.spec) else self.parallel
        ceiling = self._ceiling
        attempt = partial(
            reserve,
            run_id=self._run.id,
            worker_id=self._worker_id,
            model=model,
            slots=slots,
            dollars=(costs.maximum_cost(ask) or 0.0) if ceiling is not None else 0.0,
            ceiling=ceiling,
        )
        try:
            return write(self._engine, attempt)
        except IntegrityError:  # the worker was not seen for too long, or the run has been deleted
            raise RunStopped("Another worker continues this run.") from None

    async def _release(self, call_id: int) -> None:
        try:
            async with self._releasing:  # the costs of a call are stored before its reservation ends
                dollars, self._spending.spent = self._spending.spent, 0.0
                end = partial(end_call, run_id=self._run.id, call_id=call_id, dollars=dollars)
                await through_outage(partial(write, self._engine, end))
        finally:
            self._open_calls.discard(call_id)


def _model_key(spec: Spec) -> str:
    """Return what a limit counts: a model at an address; each machine has its own local server."""
    return calls.pause_key(spec.model, socket.gethostname() if local_server.is_local(spec) else spec.address)


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
        find_calls = partial(calls_of, worker_id=registration.id)
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
    remove_calls(session, calls)


def _sign_off(session: Session, registration: _Registration) -> None:
    claims.release_traces(session, registration.name)
    calls.remove_worker(session, registration.id)
