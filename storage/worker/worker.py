"""Carries runs: claims their traces, drives each to its end, and keeps every event before its flow goes on.

The database is the only channel between a run and whoever watches it, and between processes: anybody may ask for a run,
one process at a time carries it, and after a crash another goes on from what is stored.
"""

import asyncio
import contextlib
import os
import socket
import threading
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from core.items import Item
from core.llm import costs, images
from core.llm.client import Model
from core.llm.images import Seeing
from core.llm.limits import Budget, Limits
from core.problems import Problem, Stopped
from core.protocols import registry
from core.protocols.protocol import trace_random
from core.runner import run_flow
from core.trace import Event
from storage import events, items, runs, studies, traces
from storage.database import reading, writing
from storage.runs import Run
from storage.traces import Happened

RENEWAL = 1.0
"""Seconds between two signs of life; a run that was cancelled notices as soon."""
HOPELESS = 5
"""Traces that fail before any has ended: the run is stopped, since the rest would fail as well."""
LARGEST_BATCH = 256
"""Events kept in one transaction."""
AWAKE = 0.5
"""Seconds between two looks for runs that were asked for."""


def worker_name() -> str:
    """A name for this process that no other has."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


class EventWriter:
    """Keeps events. Those that happen together are committed together, and each waits until it is safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._arriving: asyncio.Queue[tuple[Happened, asyncio.Future[None]]] = asyncio.Queue()

    async def append(self, happened: Happened) -> None:
        """Return when the event is in the database."""
        safe: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arriving.put_nowait((happened, safe))
        await safe

    async def work(self) -> None:
        """Write what arrives, until cancelled."""
        while True:
            batch = [await self._arriving.get()]
            while not self._arriving.empty() and len(batch) < LARGEST_BATCH:
                batch.append(self._arriving.get_nowait())
            await self._write(batch)

    async def _write(self, batch: list[tuple[Happened, asyncio.Future[None]]]) -> None:
        try:
            await asyncio.to_thread(self._append, [happened for happened, _ in batch])
        except SQLAlchemyError as error:
            for _, safe in batch:
                if not safe.done():
                    safe.set_exception(error)
            return
        for _, safe in batch:
            if not safe.done():
                safe.set_result(None)

    def _append(self, happened: list[Happened]) -> None:
        with writing(self._engine) as session:
            traces.append(session, happened)


@dataclass
class _Carried:
    """One run on its way in this process."""

    engine: Engine
    run: Run
    model: Model
    worker: str
    limits: Limits
    keeper: EventWriter
    stopped: str = ""
    ended: int = 0
    failed: int = 0

    async def all_traces(self, at_once: int) -> None:
        """Claim and carry traces until none waits, or until the run is stopped."""
        under_way: set[asyncio.Task[None]] = set()
        try:
            while True:
                room = 0 if self.stopped else at_once - len(under_way)
                if room and (room >= at_once // 4 or not under_way):
                    work = await asyncio.to_thread(self._claim, room)
                    under_way |= {asyncio.create_task(self._one(*piece)) for piece in work}
                if not under_way:
                    return
                done, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                for trouble in [task.exception() for task in done]:  # each is looked at, or it would be logged
                    if trouble is not None:
                        raise trouble
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def _one(self, trace_id: int, item: Item, stored: list[Event], first: int) -> None:
        """Carry one trace to its end, from whatever is stored of it."""
        protocol = registry.get(self.run.protocol)
        settings = protocol.settings.model_validate(self.run.settings)
        sequence = iter(range(first, 1_000_000_000))

        async def record(event: Event) -> None:
            await self.keeper.append(Happened(trace_id, next(sequence), event))

        flow = protocol.flow(item, settings, trace_random(self.run.seed, item), self.run.prompts)
        try:
            verdict = await run_flow(flow, self.model, record, stored=stored, limits=self.limits)
        except Stopped as end:
            self.stopped = self.stopped or str(end)
            return
        self._count(verdict is not None)

    def _count(self, reached: bool) -> None:
        """Give up where nothing but failures comes: a wrong key or a wrong name fails on every item."""
        self.ended, self.failed = self.ended + reached, self.failed + (not reached)
        if not self.ended and self.failed == HOPELESS:
            self.stopped = f"The first {HOPELESS} items all failed; look at one of them, mend it, and resume."

    def _claim(self, room: int) -> list[tuple[int, Item, list[Event], int]]:
        with writing(self.engine) as session:
            chosen = runs.claim(session, self.run.id, self.worker, room)
        with reading(self.engine) as session:
            numbers = events.next_seq(session, [trace for trace, _ in chosen])
            things = items.by_number(session, [item for _, item in chosen])
            return [
                (trace, things[item], traces.whole(session, trace) if numbers[trace] else [], numbers[trace])
                for trace, item in chosen
            ]


async def carry_run(engine: Engine, run_id: int, model: Model, *, worker: str) -> None:
    """Carry a run that `worker` has taken (`runs.take`) until it is finished, cancelled or stopped.

    What happened is in the database; nothing is raised but programming errors.
    """
    with reading(engine) as session:
        run, spent = runs.get(session, run_id), traces.totals(session, run_id=run_id).dollars
        home = images.folder(studies.of_id(session, run.study_id).name)
    budget = Budget(run.ceiling, costs.most, spent) if run.ceiling is not None else None
    cancelled = threading.Event()
    limits = Limits(parallel=run.parallel, budget=budget, cancelled=cancelled.is_set)
    async with _working(EventWriter(engine)) as keeper:
        carried = _Carried(engine, run, Seeing(model, home), worker, limits, keeper)
        async with _heartbeat(engine, run_id, worker, cancelled):
            state, problem = await _outcome(carried, cancelled)
    with writing(engine) as session:
        runs.release(session, run_id, worker, state, problem)


async def _outcome(carried: _Carried, cancelled: threading.Event) -> tuple[str | None, str]:
    """How the run ended: the state to set (None: as its traces tell) and what to say of it."""
    try:
        await carried.all_traces(at_once=max(4, 2 * carried.run.parallel))
    except Problem as problem:
        return "stopped", str(problem)
    except SQLAlchemyError as error:
        return "stopped", f"What happened could not be kept: {error.__class__.__name__}."
    if cancelled.is_set():
        return None, ""
    return ("stopped", carried.stopped) if carried.stopped else (None, "")


@asynccontextmanager
async def _working(keeper: EventWriter) -> AsyncIterator[EventWriter]:
    async with _beside(keeper.work()):
        yield keeper


@asynccontextmanager
async def _heartbeat(engine: Engine, run_id: int, worker: str, cancelled: threading.Event) -> AsyncIterator[None]:
    """Renew the claims while the run is carried, and notice when it was cancelled or taken away."""

    def renew() -> bool:
        with writing(engine) as session:
            return runs.renew(session, run_id, worker)

    async def pulse() -> None:
        while True:  # also after a cancel: what is under way is still ours until it has ended
            if not await asyncio.to_thread(renew):
                cancelled.set()
            await asyncio.sleep(RENEWAL)

    async with _beside(pulse()):
        yield


@asynccontextmanager
async def _beside(work: Awaitable[None]) -> AsyncIterator[None]:
    """Do something beside the body, until the body ends."""
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


class Carrier:
    """A thread that carries every run somebody asks for, as long as the app serves."""

    def __init__(self, engine: Engine, model: Callable[[], Model]) -> None:
        self._engine, self._model = engine, model
        self._worker = worker_name()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="carrier", daemon=True)

    def start(self) -> None:
        """Begin to look for runs."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; what is under way is left to whoever comes next."""
        self._ending.set()
        self._thread.join(timeout=5)

    async def _serve(self) -> None:
        carrying: set[asyncio.Task[None]] = set()
        model: Model | None = None
        while not self._ending.is_set():
            for run_id in await asyncio.to_thread(self._take):
                model = model or self._model()
                carrying.add(asyncio.create_task(carry_run(self._engine, run_id, model, worker=self._worker)))
            carrying = {task for task in carrying if not task.done()}
            await asyncio.sleep(AWAKE)
        for task in carrying:
            task.cancel()
        await asyncio.gather(*carrying, return_exceptions=True)
        if model is not None:
            await model.close()

    def _take(self) -> list[int]:
        with reading(self._engine) as session:
            asked_for = runs.waiting(session)
        taken = []
        for run_id in asked_for:
            with writing(self._engine) as session:
                if runs.take(session, run_id, self._worker):
                    taken.append(run_id)
        return taken
