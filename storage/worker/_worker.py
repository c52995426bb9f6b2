"""The execution of a run by one process: it claims the run, and executes its traces until none is waiting.

The database is the only channel between a run and a page, and between processes. Any process may request a run; after a
crash another one continues from the stored events.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Generic

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from core.errors import RunStopped, TiebreakError
from core.llm import costs
from core.llm.client import Model
from core.llm.limits import Budget, ConcurrencyLimit, Limits
from core.llm.router import Router
from storage.db import guards
from storage.db.connections import clock, read, write
from storage.db.errors import DatabaseUnavailable
from storage.runs import claims, runs
from storage.runs.claims import MAX_INITIAL_FAILURES
from storage.worker import _outages
from storage.worker._stored_calls import StoredCalls
from storage.worker._trace_execution import (
    HEARTBEAT_SECONDS,
    LoadedTrace,
    RunSetup,
    describe,
    execute_trace,
    load_run,
    load_traces,
    update_prompts,
    worker_name,
)
from storage.worker._transactions import EventWriter

log = logging.getLogger("tiebreak")
ONLY_FAILURES = "only failures"


@dataclass
class _RunExecution:
    """One run that this process executes."""

    engine: Engine
    run: runs.Run
    model: Model
    worker: str
    limits: Limits
    writer: EventWriter
    stopped: str = ""
    """The reason why the run ends early; empty while it may continue."""
    ended: int = 0
    failed: int = 0
    setup: RunSetup = field(init=False)

    async def execute(self) -> None:
        """Claim and execute traces, `at_once`, until none is waiting or the run stops.

        Raises TiebreakError if the protocol is not installed or the settings are not valid.
        """
        self.setup = RunSetup.of(self.run)
        if not self.setup.protocol.is_current(self.run.prompts):
            updated = await _outages.through_outage(partial(write, self.engine, partial(update_prompts, run=self.run)))
            self.setup = replace(self.setup, run=updated)
        running: set[asyncio.Task[None]] = set()
        at_once, more = self.setup.at_once, True
        try:
            while True:
                free = 0 if self.stopped else at_once - len(running)
                # A claim is a transaction: it is worth while for a quarter of the places, or when nothing runs.
                if free and ((more and free >= at_once // 4) or not running):
                    claimed = await _outages.through_outage(partial(self._claim, free))
                    more = len(claimed) == free  # otherwise none is waiting
                    running |= {asyncio.create_task(self._execute_trace(trace)) for trace in claimed}
                if not running:
                    return
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for error in [task.exception() for task in done]:  # asyncio logs an exception that is never retrieved
                    if error is not None:
                        raise error
        finally:
            await _outages.end_tasks(running, 0)

    async def _execute_trace(self, trace: LoadedTrace) -> None:
        try:
            has_verdict = await execute_trace(self.setup, trace, self.model, self.writer, self.limits)
        except RunStopped as reason:
            self.stopped = self.stopped or str(reason)
            return
        self._count(failed=not has_verdict)

    def _count(self, *, failed: bool) -> None:
        self.ended, self.failed = self.ended + (not failed), self.failed + failed
        if not self.ended and self.failed == MAX_INITIAL_FAILURES:
            self.stopped = ONLY_FAILURES

    def _claim(self, limit: int) -> list[LoadedTrace]:
        claim = partial(claims.claim_traces, run_id=self.run.id, worker=self.worker, limit=limit)
        claimed = write(self.engine, claim)
        return load_traces(self.engine, self.setup, claimed)


@dataclass
class SharedByRuns:
    """The limits that runs of one experiment have in common while one process executes several at once."""

    budget: Budget | None = None
    """Made by the first of the runs."""
    concurrency: dict[tuple[str, str | None], ConcurrencyLimit] = field(default_factory=dict)

    def budget_of(self, ceiling: float | None, spent: float) -> Budget | None:
        """Return the budget; the first call states what has been spent."""
        if self.budget is None and ceiling is not None:
            self.budget = Budget(ceiling, costs.maximum_cost, spent)
        return self.budget


async def execute_run(
    engine: Engine,
    run_id: int,
    model: Model,
    *,
    worker: str,
    stopping: threading.Event | None = None,
    shared: SharedByRuns | None = None,
) -> None:
    """Execute a run that `worker` has claimed (`claims.claim_run`) until it is finished, cancelled or stopped.

    When `stopping` is set it starts no more calls, and leaves the run to another worker.

    The result is in the database. Errors of providers and of the database stop the run and are not raised.
    """
    run, ceiling, spent, folder = await _outages.through_outage(partial(read, engine, partial(load_run, run_id=run_id)))
    shared = shared or SharedByRuns()
    budget = shared.budget_of(ceiling, spent)
    cancelled = threading.Event()

    def must_end() -> bool:
        return cancelled.is_set() or (stopping is not None and stopping.is_set())

    limits = Limits(parallel=run.parallel, budget=budget, cancelled=must_end, concurrency=shared.concurrency)
    writer = EventWriter(engine, run_id, worker)
    stored_calls = StoredCalls(model, engine, run, worker, folder)
    execution = _RunExecution(engine, run, stored_calls, worker, limits, writer)
    async with _heartbeat(engine, run_id, worker, cancelled):
        try:
            state, problem = await _outcome(execution, must_end)
        finally:  # also if this is cancelled: replies that have arrived are not paid for again
            await stored_calls.finish()
            await writer.finish()
    release = partial(claims.release, run_id=run_id, worker=worker, state=state, problem=problem)
    await _outages.through_outage(lambda: write(engine, release))


async def _outcome(execution: _RunExecution, must_end: Callable[[], bool]) -> tuple[str | None, str]:
    """Execute a run; return its state, or None if that follows from the traces, and the reason."""
    try:
        await execution.execute()
    except TiebreakError as error:
        return "stopped", str(error)
    except SQLAlchemyError as error:
        log.error("An event could not be stored.", exc_info=error)
        return "stopped", f"An event could not be stored: {error.__class__.__name__}."
    except Exception as error:
        return "stopped", describe(error)
    if must_end():
        return None, ""
    if execution.stopped == ONLY_FAILURES:
        describe_all = partial(claims.describe_failures, run_id=execution.run.id)
        return "stopped", await _outages.through_outage(partial(read, execution.engine, describe_all))
    return ("stopped", execution.stopped) if execution.stopped else (None, "")


@asynccontextmanager
async def _heartbeat(engine: Engine, run_id: int, worker: str, cancelled: threading.Event) -> AsyncIterator[None]:
    """Renew the worker's claim during the body; set `cancelled` when the run is cancelled or claimed by another."""
    renew = partial(claims.renew_claim, run_id=run_id, worker=worker)

    async def beat() -> None:
        interrupted = False
        while True:  # after a cancel too: the claim holds until the running traces have ended
            try:
                if not await asyncio.to_thread(write, engine, renew):
                    cancelled.set()
                if interrupted:
                    log.warning("The database is available again.")
                interrupted = False
            except (DatabaseUnavailable, SQLAlchemyError) as error:  # a claim that expires meanwhile is noticed later
                if not interrupted:  # an outage is logged once
                    log.warning("Run %d waits: %s", run_id, str(error).partition("\n")[0])
                interrupted = True
            await asyncio.sleep(HEARTBEAT_SECONDS)

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


# The runs that a process executes, each alone: those that a command names, or all that are requested.


class RunExecutions:
    """Claims runs and executes each alone, up to `at_once` at the same time."""

    def __init__(
        self,
        engine: Engine,
        model: Callable[[], Model],
        stopping: threading.Event,
        find: Callable[[Session], list[int]] = lambda session: claims.unclaimed(session),
        at_once: float = inf,
        shared: SharedByRuns | None = None,
        grace: float = 0,
    ) -> None:
        """Execute the runs that `find` returns until `stopping` is set; then no more calls are started.

        At the end, calls in progress have `grace` seconds.
        """
        self._engine, self._create_model, self._stopping, self._shared = engine, model, stopping, shared
        self._find, self._at_once, self._grace = find, at_once, grace
        self.model: Model | None = None
        self.running: set[asyncio.Task[None]] = set()

    def claim(self, most: float = inf) -> dict[int, str]:
        """Return the runs that were claimed for the free places, at most `most`, each with the name of its claim."""
        free = min(self._at_once - len(self.running), most)
        claimed: dict[int, str] = {}
        for run_id in read(self._engine, self._find) if free > 0 else ():
            worker = worker_name()
            if len(claimed) < free and write(self._engine, partial(claims.claim_run, run_id=run_id, worker=worker)):
                claimed[run_id] = worker
        return claimed

    def start(self, claimed: Mapping[int, str]) -> None:
        """Start the execution of claimed runs."""
        for run_id, worker in claimed.items():
            model = self.model = self.model or self._create_model()  # importing litellm takes seconds
            execution = execute_run(
                self._engine, run_id, model, worker=worker, stopping=self._stopping, shared=self._shared
            )
            self.running.add(asyncio.create_task(execution))

    async def step(self) -> None:
        """Claim and start the next run; the ones after it are left to other workers until the next step."""
        self.start(await asyncio.to_thread(self.claim, 1))

    async def wait(self, seconds: float) -> None:
        """Wait until a run ends, or for some seconds; raises the error of an execution that has ended."""
        if not self.running:
            return await asyncio.sleep(seconds)
        ended, self.running = await asyncio.wait(self.running, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()

    async def end(self) -> None:
        """Wait for the executions; the claims of those that are cancelled then expire."""
        await _outages.end_tasks(self.running, self._grace)
        if self.model is not None:
            await self.model.close()


# Interval between two looks at what a command executes and at requests to stop, and between two reports.
LOOK_SECONDS, REPORT_SECONDS = 0.2, 1.0
WAITING = (
    "Another process on this database, such as the server, has claimed this run and executes it. If that process was "
    "killed, the run continues here within seconds."
)


@dataclass(frozen=True)
class Work(Generic[_outages.Result]):
    """Runs that a command executes until they have ended."""

    run_ids: Callable[[Session], list[int]]
    load: Callable[[Session], _outages.Result]
    """Returns their progress."""
    name: str
    command: str
    """How they are called in a sentence, and what continues them."""
    at_once: int = 1
    """Runs that are executed at the same time."""
    in_turn: bool = False
    """Whether a run waits for the earlier ones of its experiment; the others share the ceiling in this process."""

    def find(self, session: Session) -> list[int]:
        """Return the runs that can be claimed now."""
        return claims.unclaimed(session, run_ids=self.run_ids(session), in_turn=self.in_turn)

    def cancel(self, session: Session) -> None:
        """Cancel what has not ended, for other processes too."""
        for run_id in self.run_ids(session):
            runs.cancel(session, run_id)

    def observe(self, session: Session, *, is_cancelled: bool) -> tuple[_outages.Result, bool, bool]:
        """Return the progress, whether something is left to be executed or waited for here, and whether another process
        executes it. What is resumed after a cancel is others'."""
        found = runs.by_ids(session, self.run_ids(session))
        states = ("cancelling",) if is_cancelled else ("requested", "cancelling")
        is_elsewhere = any(run.active for run in found)
        is_left = any(run.state in states for run in found) or (is_elsewhere and not is_cancelled)
        return self.load(session), is_left, is_elsewhere


async def execute_until_ended(
    engine: Engine,
    work: Work[_outages.Result],
    report: Callable[[_outages.Result], None],
    model: Model | None,
    notify: Callable[[str], None],
    requests: _outages.StopRequests | None,
) -> _outages.Result:
    """Execute work until it has ended; `report` is called about once a second when there is progress.

    `notify` is called with a sentence if the claim of another process is waited for. The first of the `requests` to
    stop cancels the work, for other processes too.
    """
    requests = requests or _outages.StopRequests()
    shared = SharedByRuns() if work.at_once > 1 else None
    executions = RunExecutions(engine, Router, requests.stored, work.find, work.at_once, shared)
    executions.model = model or Router()
    try:
        return await _Command(engine, work, executions, report, notify, requests).execute()
    except DatabaseUnavailable as error:
        state = (
            f"is cancelled; {work.command} continues it."
            if requests.stored.is_set()
            else "has not ended: a server or worker on this database continues it when the database is available "
            f"again, and so does {work.command}."
        )
        raise DatabaseUnavailable(f"{error} {work.name} {state}") from error
    finally:
        await executions.end()


@dataclass
class _Command(Generic[_outages.Result]):
    """A command that executes work, reports its progress and answers requests to stop it."""

    engine: Engine
    work: Work[_outages.Result]
    executions: RunExecutions
    report: Callable[[_outages.Result], None]
    notify: Callable[[str], None]
    requests: _outages.StopRequests
    reported: _outages.Result | None = None
    next_report: float = 0.0
    answered: int = 0
    """How many of the requests were answered."""

    async def execute(self) -> _outages.Result:
        """Return the last progress."""
        is_waiting = False
        while True:
            await self._answer_requests()
            if not self.requests.count:
                self.executions.start(await _outages.through_outage(self.executions.claim))
            if self.executions.running:
                await self.executions.wait(LOOK_SECONDS)
                await self._report_running()
                continue
            observe = partial(self.work.observe, is_cancelled=self.requests.stored.is_set())
            progress, is_left, is_elsewhere = await _outages.through_outage(partial(read, self.engine, observe))
            self._report(progress)
            if not is_left:
                return progress
            if is_elsewhere and not is_waiting:
                self.notify(WAITING)
            is_waiting = is_elsewhere
            await asyncio.sleep(REPORT_SECONDS)

    async def _answer_requests(self) -> None:
        """Cancel the work in the database at the first request, and say what is waited for."""
        if self.requests.count == self.answered:
            return
        self.answered = self.requests.count
        if self.requests.stored.is_set():
            self.notify(_outages.STILL_STOPPING)
            return
        await _outages.through_outage(partial(write, self.engine, self.work.cancel))
        self.requests.stored.set()
        self.notify(_outages.STOPPING)

    async def _report_running(self) -> None:
        if time.monotonic() < self.next_report:
            return
        self.next_report = time.monotonic() + REPORT_SECONDS
        with contextlib.suppress(DatabaseUnavailable):  # the executions wait for it, or end with the reason
            self._report(await asyncio.to_thread(read, self.engine, self.work.load))

    def _report(self, progress: _outages.Result) -> None:
        if progress != self.reported:
            self.report(progress)
        self.reported = progress


# The thread that executes requested runs while the app is serving, or in a process of its own.

# Interval between two queries for requested runs.
POLL_SECONDS = 0.5
# Seconds between two queries after several errors: shorter than a claim holds.
MAX_WAIT = 5.0
# Without a query for this time the worker is not ready: an operation of the database may be stuck.
STALLED_SECONDS = 60.0
# After the grace of a stop: to store the last replies, and to release claims.
STORING_SECONDS = 3.0
# For operations of the database, which may wait for locks.
THREADS = 16
# After an outage of the database every claim seems to have expired: workers that are alive renew theirs in this time.
RENEWAL_SECONDS = 3 * HEARTBEAT_SECONDS


class RunWorker:
    """Executes every requested run that no other worker executes, and continues after errors."""

    def __init__(self, engine: Engine, model: Callable[[], Model], *, grace: float = 4.0) -> None:
        """Create a worker that waits `grace` seconds for calls in progress when it is stopped."""
        self._engine, self._grace = engine, grace
        self._stopping = threading.Event()
        self._executions = RunExecutions(engine, model, self._stopping, grace=grace)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="run worker", daemon=True)
        self._last_query = time.monotonic()
        self._problem = ""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread. Another worker can continue its runs."""
        self._stopping.set()
        self._thread.join(timeout=self._grace + STORING_SECONDS)

    def problem(self) -> str:
        """Return why requested runs are not executed now, as a sentence; empty while they are."""
        if not self._thread.is_alive():
            return "The worker that executes runs is not running."
        if time.monotonic() - self._last_query > STALLED_SECONDS:
            return "The worker that executes runs does not respond."
        return self._problem

    async def _serve(self) -> None:
        guards.read_freely()
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS))
        wait = POLL_SECONDS
        while not self._stopping.is_set():
            try:
                if self._problem:
                    await asyncio.to_thread(read, self._engine, clock)
                    await asyncio.sleep(RENEWAL_SECONDS)
                await self._executions.step()
                if self._problem:
                    log.info("Requested runs are executed again.")
                self._problem = ""
                wait = POLL_SECONDS
            except Exception as error:  # the next attempt may succeed
                wait = min(2 * wait, MAX_WAIT)
                self._report(error)
            self._last_query = time.monotonic()
            try:
                await self._executions.wait(wait)
            except Exception as error:
                log.error("A run could not be ended; it is continued when its claim has expired.", exc_info=error)
        await self._executions.end()

    def _report(self, error: Exception) -> None:
        is_expected = isinstance(error, TiebreakError)
        problem = str(error) if is_expected else f"An unexpected error occurred ({type(error).__name__})."
        if problem != self._problem:  # an outage is logged once
            log.error("Requested runs cannot be executed: %s", problem, exc_info=None if is_expected else error)
        self._problem = problem
