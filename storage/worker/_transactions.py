"""Changes of a worker that arrive at the same time are stored in one transaction."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Generic, TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.orm import Session

from core.errors import RunStopped, TiebreakError
from core.llm.progress import Progress, current
from storage.db.connections import read, write
from storage.db.errors import DatabaseUnavailable
from storage.runs import claims, events, outcomes, traces
from storage.worker._outages import through_outage

log = logging.getLogger("tiebreak")
# Requests in one transaction.
MAX_BATCH = 256
Request = TypeVar("Request")
Result = TypeVar("Result")
# Requests, each with the future of its result.
Batch = list[tuple[Request, asyncio.Future[Result]]]


class Batches(Generic[Request, Result]):
    """Combines requests that arrive at the same time, and executes one combination after another in a transaction."""

    def __init__(
        self,
        engine: Engine,
        operation: Callable[[Session, list[Request], bool], Sequence[Result]],
        transaction: Callable[[Engine, Callable[[Session], Any]], Any] = write,
    ) -> None:
        """Execute requests with `operation`, which returns the result of each of them.

        Its last argument is whether an earlier attempt may have been committed, because the connection was lost.
        """
        self._engine, self._operation, self._transaction = engine, operation, transaction
        self._waiting: Batch[Request, Result] = []
        self._task: asyncio.Task[None] | None = None

    async def add(self, request: Request) -> Result:
        """Return a request's result when it is committed; raises RunStopped after a long outage of the database."""
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, result))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        return await result

    async def finish(self) -> None:
        """Wait until all requests are executed or refused."""
        while self._task is not None and not self._task.done():
            await asyncio.wait({self._task})

    async def _work(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
            await self._execute(batch)

    async def _execute(self, batch: Batch[Request, Result], *, repeated: bool = False) -> None:
        """Resolve the futures of a batch, also after an error: no task waits forever."""
        requests, attempts = [request for request, _ in batch], 0

        def commit() -> Any:
            nonlocal attempts
            attempts += 1
            was_lost = repeated or attempts > 1
            return self._transaction(self._engine, lambda session: self._operation(session, requests, was_lost))

        try:
            results = await through_outage(commit)
        except Exception as error:
            if len(batch) > 1 and not isinstance(error, DatabaseUnavailable | OperationalError):
                for one in batch:  # one of them is the cause, and the others can be stored
                    await self._execute([one], repeated=repeated or attempts > 1)
                return
            problem = RunStopped(str(error)) if isinstance(error, DatabaseUnavailable) else error
            for future in [future for _, future in batch if not future.done()]:
                future.set_exception(problem)
            return
        for (_, future), result in zip(batch, results, strict=True):
            if not future.done():  # its task was cancelled
                future.set_result(result)


# States the open calls of the traces that somebody watches, while a worker executes them.

# Seconds between two looks whether a trace is watched, and between two statements of the calls of one that is.
LOOK, STATE = 1.0, 0.5


class LiveTraces:
    """The traces that a worker executes now."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._followed: dict[int, Progress] = {}
        self._stated: set[int] = set()
        """Traces whose last statement had open calls."""
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def followed(self, trace_id: int) -> Iterator[None]:
        """Follow the calls that are made within the block as those of a trace."""
        progress = self._followed[trace_id] = Progress()
        token = current.set(progress)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._state_repeatedly())
        try:
            yield
        finally:
            current.reset(token)
            del self._followed[trace_id]

    async def _state_repeatedly(self) -> None:
        while self._followed or self._stated:
            is_watched = any(progress.is_watched for progress in self._followed.values())
            await asyncio.sleep(STATE if is_watched else LOOK)
            try:
                await self._state()
            except (SQLAlchemyError, TiebreakError) as error:  # nobody sees the calls until the database is back
                log.debug("Open calls could not be stated.", exc_info=error)

    async def _state(self) -> None:
        find = partial(traces.watched, trace_ids=list(self._followed))
        watched = await asyncio.to_thread(read, self._engine, find)
        for trace_id, progress in self._followed.items():
            progress.is_watched = trace_id in watched
        calls = {id: list(progress.calls.values()) for id, progress in self._followed.items() if progress.is_watched}
        calls |= {id: [] for id in self._stated - calls.keys()}
        self._stated = {id for id, found in calls.items() if found}
        if calls:
            await asyncio.to_thread(write, self._engine, partial(traces.state_calls, by_trace=calls))


# Stores the events of a run: those that arrive at the same time in one transaction.


class EventNotStored(TiebreakError):
    """An event that the database does not accept; other events are stored."""


class EventWriter:
    """Stores the events of a run that a worker has claimed; each waits for its commit."""

    def __init__(self, engine: Engine, run_id: int, worker: str) -> None:
        self._run_id, self._worker = run_id, worker
        self._appending = Batches(engine, self._append)
        self.live = LiveTraces(engine)
        """The open calls of the traces, for people who watch them."""

    async def append(self, event: outcomes.NewEvent) -> None:
        """Store an event; return when it is committed.

        Raises EventNotStored for this event only, and RunStopped if the claim is lost or an outage lasts too long.
        """
        try:
            await self._appending.add(event)
        except (OperationalError, TiebreakError):
            raise
        except Exception as error:
            log.error("An event could not be stored.", exc_info=error)
            raise EventNotStored(f"An event could not be stored ({type(error).__name__}).") from error

    async def finish(self) -> None:
        """Wait until the events that were to be stored are stored or refused."""
        await self._appending.finish()

    def _append(self, session: Session, batch: list[outcomes.NewEvent], repeated: bool) -> list[None]:
        claims.lock_claim(session, self._run_id, self._worker)
        missing = batch
        if repeated:
            numbers = events.next_sequence_numbers(session, [event.trace_id for event in batch])
            missing = [event for event in batch if event.seq >= numbers[event.trace_id]]
        outcomes.append_events(session, missing)
        return [None] * len(batch)
