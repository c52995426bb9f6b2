"""The thread that executes requested runs while the app is serving, or in a process of its own."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol

from sqlalchemy import Engine

from core.errors import TiebreakError
from core.llm.client import Model
from storage.db import guards
from storage.db.connections import reading, write
from storage.runs import run_claims
from storage.worker.worker import execute_run, worker_name

POLL_SECONDS = 0.5
"""Interval between two queries for requested runs."""
MAX_WAIT = 5.0
"""Seconds between two queries after several errors: shorter than a claim holds."""
STALLED_SECONDS = 60.0
"""Without a query for this time the worker is not ready: an operation of the database may be stuck."""
STORING_SECONDS = 3.0
"""After the grace of a stop: to store the last replies, and to release claims."""
THREADS = 16
"""For operations of the database, which may wait for locks."""
log = logging.getLogger("tiebreak")


class _Executor(Protocol):
    """Executes requested runs in the worker's event loop."""

    async def step(self) -> None:
        """Start what is requested; called again and again, also after an error."""

    async def wait(self, seconds: float) -> None:
        """Wait for the next step."""

    async def end(self) -> None:
        """Stop what is in progress."""


class RunWorker:
    """Executes every requested run, and continues after errors.

    On SQLite it executes whole runs; on PostgreSQL it shares the traces of a run with other workers, and executes
    `traces` at once.
    """

    def __init__(
        self, engine: Engine, model: Callable[[], Model], *, traces: int | None = None, grace: float = 4.0
    ) -> None:
        """Create a worker that waits `grace` seconds for calls in progress when it is stopped."""
        self._engine, self._create_model, self._traces, self._grace = engine, model, traces, grace
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="run worker", daemon=True)
        self._last_query = time.monotonic()
        self._problem = ""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread. Another worker can continue its traces."""
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
        executor, wait = self._create_executor(), POLL_SECONDS
        while not self._stopping.is_set():
            try:
                await executor.step()
                self._report_recovery()
                wait = POLL_SECONDS
            except Exception as error:  # the next attempt may succeed
                wait = min(2 * wait, MAX_WAIT)
                self._report(error)
            self._last_query = time.monotonic()
            await executor.wait(wait)
        await executor.end()

    def _create_executor(self) -> _Executor:
        if self._engine.dialect.name != "postgresql":
            return _WholeRuns(self._engine, self._create_model, self._grace)
        from storage.worker.job_worker import TRACES, JobWorker

        return JobWorker(self._engine, self._create_model, traces=self._traces or TRACES, grace=self._grace)

    def _report(self, error: Exception) -> None:
        is_expected = isinstance(error, TiebreakError)
        problem = str(error) if is_expected else f"An unexpected error occurred ({type(error).__name__})."
        if problem != self._problem:  # an outage is logged once
            log.error("Requested runs cannot be executed: %s", problem, exc_info=None if is_expected else error)
        self._problem = problem

    def _report_recovery(self) -> None:
        if self._problem:
            log.info("Requested runs are executed again.")
        self._problem = ""


class _WholeRuns:
    """Claims runs and executes each alone."""

    def __init__(self, engine: Engine, model: Callable[[], Model], grace: float) -> None:
        self._engine, self._create_model, self._grace = engine, model, grace
        self._model: Model | None = None
        self._stopping = threading.Event()
        self._executions: set[asyncio.Task[None]] = set()

    async def step(self) -> None:
        for run_id, worker in (await asyncio.to_thread(self._claim_runs)).items():
            model = self._model = self._model or self._create_model()  # importing litellm takes seconds
            execution = asyncio.create_task(
                execute_run(self._engine, run_id, model, worker=worker, stopping=self._stopping)
            )
            self._executions.add(execution)
            execution.add_done_callback(self._ended)

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def end(self) -> None:
        """Start no more calls, and wait for those in progress; the claims of runs that are cancelled then expire."""
        self._stopping.set()
        executions = list(self._executions)
        if executions:
            await asyncio.wait(executions, timeout=self._grace)
        for execution in executions:
            execution.cancel()
        await asyncio.gather(*executions, return_exceptions=True)
        if self._model is not None:
            await self._model.close()

    def _claim_runs(self) -> dict[int, str]:
        """Return the runs that were claimed, each with the name of its claim."""
        with reading(self._engine) as session:
            requested = run_claims.unclaimed(session)
        named = {run_id: worker_name() for run_id in requested}
        return {
            run_id: worker
            for run_id, worker in named.items()
            if write(self._engine, partial(run_claims.claim_run, run_id=run_id, worker=worker))
        }

    def _ended(self, execution: asyncio.Task[None]) -> None:
        self._executions.discard(execution)
        if not execution.cancelled() and (error := execution.exception()) is not None:
            log.error("A run could not be ended; it is continued when its claim has expired.", exc_info=error)
