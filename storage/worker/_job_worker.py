"""A worker that shares runs with others on PostgreSQL: it executes the traces that the queue gives it.

It is registered in the database and renews this every second, by the database's clock. Others continue its traces when
it has not been seen for `storage.runs.calls.WORKER_LEASE`; from then on it can store nothing more for them.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import procrastinate
import psycopg
from procrastinate import PsycopgConnector
from procrastinate.connector import Notify
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Status
from sqlalchemy import Engine, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import RunStopped, TiebreakError
from core.llm.client import Model
from core.llm.images import ModelWithImages
from storage.db import changes, dialects
from storage.db.connections import read, write
from storage.db.errors import DatabaseUnavailable
from storage.db.tables import RunRow
from storage.runs import calls, claims, runs
from storage.runs.claims import ClaimedTrace, ClaimLost
from storage.worker import _shared_limits
from storage.worker._outages import through_outage
from storage.worker._shared_limits import CeilingReached, SharedLimits
from storage.worker._stored_calls import StoredCalls
from storage.worker._trace_execution import (
    HEARTBEAT_SECONDS,
    RunSetup,
    describe,
    execute_trace,
    load_run,
    load_traces,
    update_prompts,
    worker_name,
)
from storage.worker._transactions import EventWriter, Transactions

# The queue of traces on PostgreSQL: jobs of Procrastinate, one for each trace that is about to be executed.
#
# A job says only that its trace may be claimed; what is done and by whom is in the tables of runs and traces. A job
# that is lost or comes twice changes nothing: the trace is queued again, or it is not waiting any more.

TASK = "execute_trace"
# Interval at which a worker asks for jobs when no notification has come.
POLL_SECONDS = 5.0
CONNECTIONS = 4
# Seconds to wait for one of them. After an outage the pool tries again too rarely, and a new one connects at once.
POOL_TIMEOUT = 3.0


def create_app(engine: Engine, execute: Callable[[int], Awaitable[None]]) -> procrastinate.App:
    """Return the queue in a database; its workers call `execute` with the id of a trace."""
    filter_logs()
    address = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    options = dialects.server_arguments(engine.url.query)
    connector = JobConnector(conninfo=address, kwargs=options, min_size=1, max_size=CONNECTIONS, timeout=POOL_TIMEOUT)
    app = procrastinate.App(connector=connector)

    @app.task(name=TASK)
    async def run(trace_id: int) -> None:
        await execute(trace_id)

    return app


def queue_name(run_id: int) -> str:
    """Return the name of a run's queue."""
    return f"run {run_id}"


def fill_queue(session: Session, run_id: int) -> None:
    """Queue the next traces of a requested run, or end it if it is done.

    The queue is short: a cancelled run leaves few jobs, runs take turns, and a run with few concurrent calls occupies
    few of the places of a worker. A run whose protocol or settings are invalid is stopped.
    """
    row = claims.locked_if_shared(session, run_id)
    if row is None or row.state != "requested":
        if row is not None:
            claims.end_if_done(session, row)
        return
    run = runs.get(session, run_id)
    try:
        setup = RunSetup.of(run)
    except TiebreakError as error:
        claims.stop(session, run_id, str(error))
        return
    if not setup.protocol.is_current(run.prompts):
        update_prompts(session, run)
    queued = _queued(session, run_id)
    room = 2 * setup.at_once - len(queued) - claims.count_claimed(session, run_id)
    ids = claims.waiting(session, run_id, without=queued, limit=room) if room > 0 else []
    if ids:
        _defer(session, run_id, ids)
    else:
        claims.end_if_done(session, row)


async def discard_stalled(app: procrastinate.App) -> None:
    """Delete the jobs of workers that have crashed: their traces are queued again when their claims have expired."""
    for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=calls.WORKER_LEASE.total_seconds()):
        if job.id is not None:
            with suppress(ConnectorException):  # another worker has deleted it
                await app.job_manager.finish_job_by_id_async(job.id, status=Status.FAILED, delete_job=True)


async def work(app: procrastinate.App, traces: int, stopping: asyncio.Event, grace: float) -> None:
    """Execute jobs, `traces` at once, until `stopping` is set; then wait `grace` seconds for those in progress."""
    async with app.open_async():
        worker = asyncio.create_task(
            app.run_worker_async(
                concurrency=traces,
                fetch_job_polling_interval=POLL_SECONDS,
                shutdown_graceful_timeout=grace,
                delete_jobs="always",
                update_heartbeat_interval=2.0,
                stalled_worker_timeout=calls.WORKER_LEASE.total_seconds(),
                install_signal_handlers=False,
            )
        )
        stop = asyncio.create_task(stopping.wait())
        await asyncio.wait({worker, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not worker.done():
            worker.cancel()
        with suppress(asyncio.CancelledError):
            await worker


def _queued(session: Session, run_id: int) -> list[int]:
    """Return the traces with a job that no worker has fetched; the job of a crashed worker does not count."""
    query = text("SELECT args->>'trace_id' FROM procrastinate_jobs WHERE queue_name = :name AND status = 'todo'")
    return [int(trace_id) for trace_id in session.scalars(query, {"name": queue_name(run_id)})]


def _defer(session: Session, run_id: int, trace_ids: list[int]) -> None:
    """Queue traces in the transaction of the session."""
    connection: Any = session.connection().connection.driver_connection
    task = _sender().configure_task(TASK, queue=queue_name(run_id), connection=connection)
    arguments: list[Any] = [{"trace_id": trace_id} for trace_id in trace_ids]
    task.batch_defer(*arguments)


@cache
def _sender() -> procrastinate.App:
    """Return an app that only adds jobs, on the connections that it is given."""
    return procrastinate.App(connector=procrastinate.SyncPsycopgConnector())


# Traces that a worker executes at once, of all runs.
TRACES = 32
# Between two steps: many traces may end at the same time.
SHORTEST_WAIT = 0.05
# Interval at which queues are filled when nothing has changed.
FILL_SECONDS = 2.0
# Interval at which the jobs of crashed workers are looked for.
STALLED_SECONDS = 5.0
# A job queue that ends again within this time is reported, also if only its connections were interrupted.
INTERRUPTED_SECONDS = 10.0
log = logging.getLogger("tiebreak")


@dataclass
class _SharedRun:
    """A run of which this process executes traces."""

    setup: RunSetup
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


class JobWorker:
    """Executes traces of every requested run, together with other workers."""

    def __init__(self, engine: Engine, model: Callable[[], Model], *, traces: int = TRACES, grace: float = 4.0) -> None:
        self._engine, self._create_model, self._traces, self._grace = engine, model, traces, grace
        self._model: Model | None = None
        self._stopping = asyncio.Event()
        self._registration: _Registration | None = None
        self._in_progress: dict[int, str] = {}
        """Trace id -> the name that claimed it."""
        self._transactions = Transactions(engine)
        self._writer = EventWriter(self._transactions, self._fence)
        self._app = create_app(engine, self._execute)
        self._work: asyncio.Task[None] | None = None
        self._work_since = 0.0
        self._known: changes.Version = ()
        self._next_fill = self._next_stalled = 0.0
        self._released = asyncio.Event()
        self._notified: asyncio.Task[None] | None = None

    async def step(self) -> None:
        """Renew the registration, fill the queues, and start what has ended; called again and again.

        Raises what the database raises; the next call may succeed.
        """
        registration = await self._renew()
        now = time.monotonic()
        version = changes.version(self._engine, changes.RUNS)
        if now >= self._next_fill or version != self._known:
            self._known, self._next_fill = version, 0.0
            await asyncio.to_thread(self._fill)
            self._next_fill = now + FILL_SECONDS
        if self._work is None or self._work.done():
            self._restart_work()
        elif now >= self._next_stalled:
            self._next_stalled = now + STALLED_SECONDS
            await self._release_unknown(registration)
            if registration.is_steady:
                await discard_stalled(self._app)
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
        self._stopping.set()
        registration = self._registration
        for run in registration.runs.values() if registration else ():
            run.cancelled.set()
        alive = asyncio.create_task(self._stay_registered())
        if self._work is not None:
            await asyncio.gather(self._work, return_exceptions=True)
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
            await asyncio.sleep(HEARTBEAT_SECONDS)

    def _restart_work(self) -> None:
        """Start to execute jobs: at first, and when they were interrupted.

        Raises TiebreakError with the reason, but not for the first interruption: after an outage of the database, the
        connections of the queue have ended too.
        """
        ended, lasted = self._work, time.monotonic() - self._work_since
        self._work, self._work_since = (
            asyncio.create_task(work(self._app, self._traces, self._stopping, self._grace)),
            time.monotonic(),
        )
        if ended is None or ended.cancelled() or (error := ended.exception()) is None:
            return
        if lasted < INTERRUPTED_SECONDS or not is_interruption(error):
            cause = " ".join(str(error.__cause__ or error).split()).rstrip(".")
            raise TiebreakError(f"The job queue was interrupted: {cause}.")

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
        name = worker_name()
        worker_id = await asyncio.to_thread(write, self._engine, partial(calls.register_worker, name=name))
        now = time.monotonic()
        self._registration = _Registration(worker_id, name, steady_since=now, seen=now)
        return self._registration

    async def _release_unknown(self, registration: _Registration) -> None:
        """Release what this worker does not know of at two checks: a connection was lost after a commit."""
        in_progress, calls = set(self._in_progress), set(registration.calls)
        claimed, reserved = await asyncio.to_thread(read, self._engine, partial(_held, registration=registration))
        unknown = claimed - in_progress, reserved - calls
        traces, held = (now & before for now, before in zip(unknown, registration.unknown, strict=True))
        registration.unknown = unknown
        if traces or held:
            release = partial(_release_unknown, worker=registration.name, traces=traces, calls=held)
            await asyncio.to_thread(write, self._engine, release)

    def _fill(self) -> None:
        unfinished = read(self._engine, claims.unclaimed) + read(self._engine, claims.cancelling_runs)
        for run_id in unfinished:
            write(self._engine, partial(fill_queue, run_id=run_id))

    def _fence(self, session: Session, trace_ids: Sequence[int]) -> None:
        if claims.lost(session, {trace_id: self._in_progress.get(trace_id, "") for trace_id in trace_ids}):
            raise ClaimLost("Another worker continues this trace.")

    async def _execute(self, trace_id: int) -> None:
        """Run a trace to its end if it can be claimed."""
        registration = self._registration
        if registration is None or self._stopping.is_set() or trace_id in self._in_progress:
            return
        self._in_progress[trace_id] = registration.name
        failed, claimed = False, None
        claim = partial(
            claims.claim_trace, trace_id=trace_id, worker=registration.name, take_over=registration.is_steady
        )
        try:
            with contextlib.suppress(DatabaseUnavailable):  # the trace is queued again
                claimed = await asyncio.to_thread(write, self._engine, claim)
            if claimed is not None:
                failed = not await self._execute_claimed(registration, claimed)
        finally:
            self._in_progress.pop(trace_id)
            if claimed is not None:
                await asyncio.shield(self._release(claimed, registration.name, failed=failed))

    async def _execute_claimed(self, registration: _Registration, claimed: ClaimedTrace) -> bool:
        """Return whether the trace has a verdict, or may continue later."""
        try:
            run = await self._shared_run(registration, claimed.run_id)
            [trace] = await asyncio.to_thread(load_traces, self._engine, run.setup, [claimed])
            return await execute_trace(run.setup, trace, run.model, self._writer, run.limits)
        except CeilingReached as reason:
            await self._stop_run(claimed.run_id, str(reason))
        except (RunStopped, DatabaseUnavailable):
            pass
        except Exception as error:
            await self._stop_run(claimed.run_id, describe(error))
        return True

    async def _shared_run(self, registration: _Registration, run_id: int) -> _SharedRun:
        if run_id not in registration.runs:
            loaded = await asyncio.to_thread(self._load_run, registration, run_id)
            registration.runs.setdefault(run_id, loaded)
        return registration.runs[run_id]

    def _load_run(self, registration: _Registration, run_id: int) -> _SharedRun:
        run, ceiling, _, folder = read(self._engine, partial(load_run, run_id=run_id))
        self._model = self._model or self._create_model()  # importing litellm takes seconds
        cancelled = threading.Event()
        limits = SharedLimits(self._engine, run, ceiling, registration.id, cancelled.is_set, registration.calls)
        stored_calls = StoredCalls(self._model, self._engine, run, registration.name, self._transactions)
        model = ModelWithImages(stored_calls, folder)
        return _SharedRun(RunSetup.of(run), model, limits, cancelled)

    async def _stop_run(self, run_id: int, reason: str) -> None:
        await through_outage(partial(write, self._engine, partial(claims.stop, run_id=run_id, reason=reason)))

    async def _release(self, claimed: ClaimedTrace, worker: str, *, failed: bool) -> None:
        release = partial(claims.release_trace, claimed=claimed, worker=worker, failed=failed)
        await through_outage(partial(write, self._engine, release))
        self._next_fill = 0.0
        self._released.set()


def _renew(session: Session, known: _Registration) -> dict[int, str] | None:
    """Renew a registration; return run id -> state of its runs that no worker executes alone, or None if it is lost."""
    if not calls.renew_worker(session, known.id):
        return None
    query = select(col(RunRow.id), col(RunRow.state)).where(col(RunRow.id).in_(list(known.runs)))
    return dict(session.execute(query).all())


def _held(session: Session, registration: _Registration) -> tuple[set[int], set[int]]:
    return claims.traces_of(session, registration.name), _shared_limits.calls_of(session, registration.id)


def _release_unknown(session: Session, worker: str, traces: set[int], calls: set[int]) -> None:
    claims.release_traces(session, worker, traces)
    _shared_limits.remove_calls(session, calls)


def _sign_off(session: Session, registration: _Registration) -> None:
    claims.release_traces(session, registration.name)
    calls.remove_worker(session, registration.id)


# The connections of the job queue, which continue after a restart of the database.
#
# Procrastinate 3.10 ends its listening connection and its heartbeat at the first lost connection, and goes on without
# them: jobs are then found by polling only, and after a while other workers take it for crashed.

# How long a change is repeated. In a longer outage the queue's next poll fails, and the worker starts a new one.
RETRY_SECONDS = 15.0
# Seconds between two attempts to connect.
PAUSE = 0.5
# What the queue writes to in an outage; asyncio writes about tasks of the queue that nobody waits for.
LOGGERS = ("procrastinate.worker", "procrastinate.utils", "psycopg.pool", "asyncio")


class JobConnector(PsycopgConnector):
    """Connects again for notifications, and repeats heartbeats and ends of jobs."""

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        """Call a function for each notification, until cancelled."""
        names = list(channels)
        while True:
            try:
                await super().listen_notify(on_notification, names)
            except ConnectorException as error:
                if not is_interruption(error):
                    raise
            await asyncio.sleep(PAUSE)

    async def execute_query_async(self, query: Any, **arguments: Any) -> None:
        """Execute a statement, again after an interruption."""
        end = time.monotonic() + RETRY_SECONDS
        while True:
            try:
                await super().execute_query_async(query, **arguments)
                return
            except ConnectorException as error:
                if not is_interruption(error) or time.monotonic() > end:
                    raise
            await asyncio.sleep(PAUSE)


def is_interruption(error: BaseException) -> bool:
    """Return whether an error is due to an interruption of the connections."""
    return any(isinstance(cause, psycopg.OperationalError | DatabaseUnavailable) for cause in _causes(error))


def _is_lost_job(error: BaseException) -> bool:
    """Return whether the end of a job could not be stored, because it was taken from this worker in an outage."""
    return any(
        isinstance(cause, psycopg.errors.RaiseException) and "Job was not found" in str(cause)
        for cause in _causes(error)
    )


def _causes(error: BaseException) -> list[BaseException]:
    causes, cause = [], error.__cause__
    while cause is not None:
        causes.append(cause)
        cause = cause.__cause__
    return [error, *causes]


def _is_no_outage(record: logging.LogRecord) -> bool:
    """Return whether a message is not about interrupted connections: the worker reports an outage in one sentence."""
    arguments = record.args if isinstance(record.args, tuple) else ()
    errors = [value for value in (*arguments, *(record.exc_info or ())) if isinstance(value, BaseException)]
    return not any(is_interruption(error) or _is_lost_job(error) for error in errors)


def filter_logs() -> None:
    """Let the queue log no more about outages; other errors are logged."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_is_no_outage)
