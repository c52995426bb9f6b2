"""The run worker: it claims the traces of a run, drives each to its verdict, and stores every event before the next.

The database is the only channel between a run and a page, and between processes. Any process may request a run; one at
a time executes it; after a crash another one continues from the stored events.
"""

import asyncio
import contextlib
import logging
import os
import socket
import threading
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from core.errors import RunStopped, TiebreakError
from core.frozen import Frozen
from core.items import Item
from core.llm import costs, images
from core.llm.client import Model
from core.llm.images import ModelWithImages
from core.llm.limits import Budget, Limits
from core.llm.reuse import ReusedReplies, reply_key
from core.protocols import Protocol, registry
from core.protocols.flows import start_flow
from core.protocols.settings_file import validate_settings
from core.runner import run_flow
from core.trace import Event, Spec, TraceFailed, TurnCompleted
from storage import aius, events, experiments, items, runs, studies, traces
from storage.database import Session, reading, write
from storage.database_errors import DatabaseUnavailable
from storage.runs import Run
from storage.traces import NewEvent
from storage.worker.earlier_replies import Replies, earlier_replies
from storage.worker.event_writer import EventWriter, through_outage
from storage.worker.stored_calls import StoredCalls

log = logging.getLogger("tiebreak")
HEARTBEAT_SECONDS = 1.0
"""Interval between two renewals of a worker's claims. A cancelled run stops after at most this time."""
MAX_INITIAL_FAILURES = 5
"""A run stops when this many traces fail before any ends: with a wrong key or model name, all would fail."""
SEQUENCE_END = 1_000_000_000
PROMPTS_CHANGED = (
    "The prompts of this protocol have changed since the trace was started. It starts again with the new ones; the "
    "earlier replies are stored, and do not count."
)


def worker_name() -> str:
    """Return a name for the claim of a run that no other claim has, on any machine."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


@dataclass(frozen=True)
class _ClaimedTrace:
    id: int
    item: Item
    part: str
    stored: list[Event]
    next_sequence_number: int
    replies: Replies
    """Replies of earlier runs that are reused."""


@dataclass
class _RunExecution:
    """One run that this process executes."""

    engine: Engine
    run: Run
    model: Model
    worker: str
    limits: Limits
    writer: EventWriter
    stopped: str = ""
    """The reason why the run ends early; empty while it may continue."""
    ended: int = 0
    failed: int = 0
    protocol: Protocol = field(init=False)
    settings: Frozen = field(init=False)
    extractor: Spec | None = field(init=False)

    async def execute(self, at_once: int) -> None:
        """Claim and execute traces, `at_once` of them, until none is waiting or the run is stopped.

        Raises TiebreakError if the protocol is not installed or the settings are not valid.
        """
        self.protocol = registry.get(self.run.protocol)
        self.settings = validate_settings(self.run.settings, self.protocol)
        self.extractor = Spec.model_validate(self.run.extractor) if self.run.extractor else None
        if not self.protocol.is_current(self.run.prompts):
            self.run = await asyncio.to_thread(_update_prompts, self.engine, self.run)
        running: set[asyncio.Task[None]] = set()
        try:
            while True:
                free = 0 if self.stopped else at_once - len(running)
                # A claim is a transaction: it is worth while for a quarter of the places, or when nothing runs.
                if free and (free >= at_once // 4 or not running):
                    claimed = await through_outage(partial(self._claim, free))
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

    async def _execute_trace(self, trace: _ClaimedTrace) -> None:
        """Run one trace to its verdict, starting from its stored events."""
        numbers = iter(range(trace.next_sequence_number, SEQUENCE_END))

        async def record(event: Event) -> None:
            await self.writer.append(NewEvent(trace.id, next(numbers), event))

        try:
            flow = start_flow(
                self.protocol,
                trace.item,
                self.settings,
                seed=self.run.seed,
                templates=self.run.prompts,
                part=trace.part,
            )
            verdict = await run_flow(
                flow, self._model_of(trace), record, stored=trace.stored, limits=self.limits, extractor=self.extractor
            )
        except RunStopped as reason:
            self.stopped = self.stopped or str(reason)
            return
        except SQLAlchemyError:
            raise
        except Exception as error:
            await record(TraceFailed(problem=_describe(error)))
            verdict = None
        self._count(failed=verdict is None)

    def _model_of(self, trace: _ClaimedTrace) -> Model:
        used = Counter(reply_key(event.turn) for event in trace.stored if isinstance(event, TurnCompleted))
        return ReusedReplies(self.model, trace.replies, used) if trace.replies else self.model

    def _count(self, *, failed: bool) -> None:
        self.ended, self.failed = self.ended + (not failed), self.failed + failed
        if not self.ended and self.failed == MAX_INITIAL_FAILURES:
            self.stopped = (
                f"The first {MAX_INITIAL_FAILURES} items all failed; open one of them, fix the cause, and resume."
            )

    def _claim(self, limit: int) -> list[_ClaimedTrace]:
        claimed = write(self.engine, lambda session: runs.claim_traces(session, self.run.id, self.worker, limit))
        with reading(self.engine) as session:
            numbers = events.next_sequence_numbers(session, [trace.id for trace in claimed])
            imported = items.by_ids(session, list({trace.item_id for trace in claimed}))
            items_by_id = aius.evaluated_items(session, self.run, imported)
            edited = [item_id for item_id, item in items_by_id.items() if item is not imported[item_id]]
            replies = earlier_replies(session, self.run, edited)
            return [
                _ClaimedTrace(
                    trace.id,
                    items_by_id[trace.item_id],
                    trace.part,
                    traces.events_with_prompts(session, trace.id) if numbers[trace.id] else [],
                    numbers[trace.id],
                    replies.get(trace.item_id, {}),
                )
                for trace in claimed
            ]


def _update_prompts(engine: Engine, run: Run) -> Run:
    """Give a run of an earlier version the study's templates of today, and restart its unfinished traces.

    Replies to the earlier prompts answer other questions than those that are still to be asked.
    """

    def update(session: Session) -> Run:
        prompts = studies.by_id(session, run.study_id).templates(run.protocol)
        runs.replace_prompts(session, run.id, prompts)
        traces.restart_unfinished(session, run.id, PROMPTS_CHANGED)
        return runs.get(session, run.id)

    return write(engine, update)


async def execute_run(engine: Engine, run_id: int, model: Model, *, worker: str) -> None:
    """Execute a run that `worker` has claimed (`runs.claim_run`) until it is finished, cancelled or stopped.

    The result is in the database. Errors of providers and of the database stop the run and are not raised.
    """
    with reading(engine) as session:
        run = runs.get(session, run_id)
        ceiling, spent = experiments.budget(session, run)
        folder = images.media_folder(studies.by_id(session, run.study_id).name)
    budget = Budget(ceiling, costs.maximum_cost, spent) if ceiling is not None else None
    cancelled = threading.Event()
    limits = Limits(parallel=run.parallel, budget=budget, cancelled=cancelled.is_set)
    writer = EventWriter(engine, run_id, worker)
    stored = ModelWithImages(StoredCalls(model, engine, run, worker), folder)
    execution = _RunExecution(engine, run, stored, worker, limits, writer)
    async with _run_concurrently(writer.work()), _heartbeat(engine, run_id, worker, cancelled):
        state, problem = await _outcome(execution, cancelled)
    await through_outage(lambda: write(engine, lambda session: runs.release(session, run_id, worker, state, problem)))


async def _outcome(execution: _RunExecution, cancelled: threading.Event) -> tuple[str | None, str]:
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
        return "stopped", _describe(error)
    if cancelled.is_set():
        return None, ""
    return ("stopped", execution.stopped) if execution.stopped else (None, "")


def _describe(error: Exception) -> str:
    """Return a sentence about an error; the details of an unexpected one go to the log."""
    if isinstance(error, TiebreakError):
        return str(error)
    log.error("A run ended with an unexpected error.", exc_info=error)
    return f"An unexpected error occurred ({type(error).__name__}); its details are in the server's log."


@asynccontextmanager
async def _heartbeat(engine: Engine, run_id: int, worker: str, cancelled: threading.Event) -> AsyncIterator[None]:
    """Renew the worker's claims during the body; set `cancelled` when the run is cancelled or claimed by another."""

    def renew() -> bool:
        return write(engine, lambda session: runs.renew_claim(session, run_id, worker))

    async def beat() -> None:
        while True:  # after a cancel too: the claim holds until the running traces have ended
            try:
                if not await asyncio.to_thread(renew):
                    cancelled.set()
            except (DatabaseUnavailable, SQLAlchemyError) as error:  # a claim that expires meanwhile is noticed later
                log.warning("The claim of run %d could not be renewed: %s", run_id, error)
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async with _run_concurrently(beat()):
        yield


@asynccontextmanager
async def _run_concurrently(work: Awaitable[None]) -> AsyncIterator[None]:
    """Run a coroutine concurrently with the body, and cancel it at the end of the body."""
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
