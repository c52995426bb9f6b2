"""The execution of a run by one process: it claims the run, and executes its traces until none is waiting.

The database is the only channel between a run and a page, and between processes. Any process may request a run; after a
crash another one continues from the stored events. `storage.worker.job_worker` shares a run among processes.
"""

import asyncio
import contextlib
import logging
import os
import socket
import threading
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from core.errors import RunStopped, TiebreakError
from core.llm import costs, images
from core.llm.client import Model
from core.llm.images import ModelWithImages
from core.llm.limits import Budget
from storage.db.connections import reading, write
from storage.db.errors import DatabaseUnavailable
from storage.runs import calls, experiments, run_claims, runs
from storage.runs.runs import Run
from storage.runs.trace_claims import MAX_INITIAL_FAILURES, describe_failures
from storage.studies import studies
from storage.worker.outages import through_outage
from storage.worker.shared_limits import ProcessLimits
from storage.worker.stored_calls import StoredCalls
from storage.worker.trace_execution import LoadedTrace, RunSetup, describe, execute_trace, load_traces, update_prompts
from storage.worker.transactions import EventWriter, Transactions, run_claim

log = logging.getLogger("tiebreak")
HEARTBEAT_SECONDS = 1.0
"""Interval between two renewals of a worker's claims. A cancelled run stops after at most this time."""


def worker_name() -> str:
    """Return a name for the claim of a run that no other claim has, on any machine."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


@dataclass
class _RunExecution:
    """One run that this process executes."""

    engine: Engine
    run: Run
    model: Model
    worker: str
    limits: ProcessLimits
    writer: EventWriter
    stopped: str = ""
    """The reason why the run ends early; empty while it may continue."""
    ended: int = 0
    failed: int = 0
    has_only_failures: bool = False
    setup: RunSetup = field(init=False)

    async def execute(self, at_once: int) -> None:
        """Claim and execute traces, `at_once` or the last `2 * at_once`, until none is waiting or the run stops.

        Raises TiebreakError if the protocol is not installed or the settings are not valid.
        """
        self.setup = RunSetup.of(self.run)
        if not self.setup.protocol.is_current(self.run.prompts):
            updated = await through_outage(partial(write, self.engine, partial(update_prompts, run=self.run)))
            self.setup = replace(self.setup, run=updated)
        running: set[asyncio.Task[None]] = set()
        more = True
        try:
            while True:
                free = 0 if self.stopped else at_once - len(running)
                # A claim is a transaction: it is worth while for a quarter of the places, or when nothing runs.
                if free and ((more and free >= at_once // 4) or not running):
                    # The last traces start together: those that start alone at the end leave places unused.
                    claimed = await through_outage(partial(self._claim, free, at_once))
                    more = len(claimed) == free  # otherwise none is waiting
                    running |= {asyncio.create_task(self._execute_trace(trace)) for trace in claimed}
                if not running:
                    return
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for error in [task.exception() for task in done]:  # asyncio logs an exception that is never retrieved
                    if error is not None:
                        raise error
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

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
            self.stopped = "only failures"
            self.has_only_failures = True

    def _claim(self, limit: int, rest: int) -> list[LoadedTrace]:
        claim = partial(run_claims.claim_traces, run_id=self.run.id, worker=self.worker, limit=limit, rest=rest)
        claimed = write(self.engine, claim)
        return load_traces(self.engine, self.setup.run, claimed)


async def execute_run(
    engine: Engine, run_id: int, model: Model, *, worker: str, stopping: threading.Event | None = None
) -> None:
    """Execute a run that `worker` has claimed (`run_claims.claim_run`) until it is finished, cancelled or stopped.

    When `stopping` is set it starts no more calls, and leaves the run to another worker.

    The result is in the database. Errors of providers and of the database stop the run and are not raised.
    """
    run, ceiling, spent, folder = await through_outage(partial(_load, engine, run_id))
    budget = Budget(ceiling, costs.maximum_cost, spent) if ceiling is not None else None
    cancelled = threading.Event()

    def must_end() -> bool:
        return cancelled.is_set() or (stopping is not None and stopping.is_set())

    limits = ProcessLimits(engine, parallel=run.parallel, budget=budget, cancelled=must_end)
    transactions = Transactions(engine)
    writer = EventWriter(transactions, run_claim(run_id, worker))
    stored_calls = StoredCalls(model, engine, run, worker, transactions)
    execution = _RunExecution(engine, run, ModelWithImages(stored_calls, folder), worker, limits, writer)
    async with _heartbeat(engine, run_id, worker, cancelled, limits):
        try:
            state, problem = await _outcome(execution, must_end)
        finally:  # also if this is cancelled: replies that have arrived are not paid for again
            await transactions.finish()
    release = partial(run_claims.release, run_id=run_id, worker=worker, state=state, problem=problem)
    await through_outage(lambda: write(engine, release))


def _load(engine: Engine, run_id: int) -> tuple[Run, float | None, float, Path]:
    """Return a run, its ceiling, what has been spent of it, and the folder of its images."""
    with reading(engine) as session:
        run = runs.get(session, run_id)
        ceiling, spent = experiments.budget(session, run)
        return run, ceiling, spent, images.media_folder(studies.by_id(session, run.study_id).name)


async def _outcome(execution: _RunExecution, must_end: Callable[[], bool]) -> tuple[str | None, str]:
    """Execute a run; return its state, or None if that follows from the traces, and the reason."""
    try:
        # Twice the concurrent calls of one model: a trace that waits for its other judges leaves calls free.
        await execution.execute(at_once=max(4, 2 * execution.run.parallel))
    except TiebreakError as error:
        return "stopped", str(error)
    except SQLAlchemyError as error:
        log.error("An event could not be stored.", exc_info=error)
        return "stopped", f"An event could not be stored: {error.__class__.__name__}."
    except Exception as error:
        return "stopped", describe(error)
    if must_end():
        return None, ""
    if execution.has_only_failures:
        return "stopped", await through_outage(partial(_describe_failures, execution.engine, execution.run.id))
    return ("stopped", execution.stopped) if execution.stopped else (None, "")


def _describe_failures(engine: Engine, run_id: int) -> str:
    with reading(engine) as session:
        return describe_failures(session, run_id)


@asynccontextmanager
async def _heartbeat(
    engine: Engine, run_id: int, worker: str, cancelled: threading.Event, limits: ProcessLimits
) -> AsyncIterator[None]:
    """Renew the worker's claims during the body, and observe the pauses that other processes were asked for.

    Sets `cancelled` when the run is cancelled or claimed by another worker.
    """

    def renew(session: Session) -> tuple[bool, dict[str, float]]:
        return run_claims.renew_claim(session, run_id, worker), calls.remaining_pause(session)

    async def beat() -> None:
        interrupted = False
        while True:  # after a cancel too: the claim holds until the running traces have ended
            try:
                is_claimed, pauses = await asyncio.to_thread(write, engine, renew)
                limits.observe(pauses)
                if not is_claimed:
                    cancelled.set()
                if interrupted:
                    log.warning("The database is available again.")
                interrupted = False
            except (DatabaseUnavailable, SQLAlchemyError) as error:  # a claim that expires meanwhile is noticed later
                if not interrupted:  # an outage is logged once
                    log.warning("Run %d waits: %s", run_id, str(error).partition("\n")[0])
                interrupted = True
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async with run_concurrently(beat()):
        yield


@asynccontextmanager
async def run_concurrently(work: Awaitable[None]) -> AsyncIterator[None]:
    """Run a coroutine concurrently with the body, and cancel it at the end of the body."""
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
