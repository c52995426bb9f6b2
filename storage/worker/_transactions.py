"""Changes of a worker that arrive at the same time are stored in one transaction."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
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
# Requests stored in one transaction.
MAX_BATCH = 256
Request = TypeVar("Request")
Result = TypeVar("Result")


class Order(IntEnum):
    """The order of operations in a transaction: all workers take locks in the same order."""

    calls_begin = 0
    calls_end = 1
    events = 2


@dataclass(frozen=True, eq=False)
class Operation(Generic[Request, Result]):
    """A change of the database for any number of requests at once."""

    order: Order
    apply: Callable[[Session, list[Request], bool], Sequence[Result]]
    """Return the result of each request. It may be applied several times; the last argument is whether an earlier
    attempt may have been committed, because the connection was lost after it."""


# Requests, each with the future of its result.
Batch = list[tuple[Request, asyncio.Future[Result]]]


class Batches(Generic[Request, Result]):
    """Combines requests that arrive at the same time, and executes one combination after another."""

    def __init__(self, operation: Callable[[list[Request]], Awaitable[Sequence[Result]]]) -> None:
        self._operation = operation
        self._waiting: Batch[Request, Result] = []
        self._task: asyncio.Task[None] | None = None

    def add(self, request: Request) -> asyncio.Future[Result]:
        """Return the future of a request's result."""
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, result))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        return result

    async def finish(self) -> None:
        """Wait until all requests are executed or refused."""
        while self._task is not None and not self._task.done():
            await asyncio.wait({self._task})

    async def _work(self) -> None:
        while self._waiting:
            batch = self._next()
            taken = set(map(id, batch))
            self._waiting = [one for one in self._waiting if id(one) not in taken]
            await self._execute(batch)

    def _next(self) -> Batch[Request, Result]:
        return self._waiting[:MAX_BATCH]

    async def _execute(self, batch: Batch[Request, Result]) -> None:
        """Resolve the futures of a batch, also after an error: no task waits forever."""
        try:
            _resolve(batch, await self._operation([request for request, _ in batch]))
        except Exception as error:
            _refuse(batch, error)


class Transactions(Batches[tuple[Operation[Any, Any], Any], Any]):
    """Stores the requests of one worker, one transaction after another, in the order in which they arrive."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._waiting, self._task = [], None

    def submit(self, operation: Operation[Request, Result], request: Request) -> asyncio.Future[Result]:
        """Return the future of a request's result, which is set when it is committed.

        Its exception is the operation's, if it raises one for this request alone, or DatabaseUnavailable after a long
        outage.
        """
        return self.add((operation, request))

    def _next(self) -> Batch[tuple[Operation[Any, Any], Any], Any]:
        # Calls that are about to be sent come first, alone: a place among the concurrent calls waits for them.
        calls = [one for one in self._waiting if one[0][0].order == Order.calls_begin]
        return (calls or self._waiting)[:MAX_BATCH]

    async def _execute(self, batch: Batch[tuple[Operation[Any, Any], Any], Any], *, repeated: bool = False) -> None:
        attempts = 0

        def commit() -> list[Any]:
            nonlocal attempts
            attempts += 1
            requests = [request for request, _ in batch]
            return write(self.engine, lambda session: _apply(session, requests, repeated or attempts > 1))

        try:
            _resolve(batch, await through_outage(commit))
        except (DatabaseUnavailable, OperationalError) as error:
            _refuse(batch, error)
        except Exception as error:
            if len(batch) == 1:
                return _refuse(batch, error)
            for one in batch:  # one of them is the cause, and the others can be stored
                await self._execute([one], repeated=repeated or attempts > 1)


def _apply(session: Session, requests: list[tuple[Operation[Any, Any], Any]], repeated: bool) -> list[Any]:
    """Apply the operations of requests in their order, each to all of its requests; return the results."""
    by_operation: dict[Operation[Any, Any], list[int]] = {}
    for position, (operation, _) in enumerate(requests):
        by_operation.setdefault(operation, []).append(position)
    results: dict[int, Any] = {}
    for operation in sorted(by_operation, key=lambda operation: operation.order):
        positions = by_operation[operation]
        applied = operation.apply(session, [requests[position][1] for position in positions], repeated)
        results |= zip(positions, applied, strict=True)
    return [results[position] for position in range(len(requests))]


def _resolve(batch: Batch[Any, Any], results: Sequence[Any]) -> None:
    for (_, future), result in zip(batch, results, strict=True):
        if not future.done():  # its task was cancelled
            future.set_result(result)


def _refuse(batch: Batch[Any, Any], error: Exception) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error)


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

    def __init__(self, transactions: Transactions, run_id: int, worker: str) -> None:
        self._transactions, self._run_id, self._worker = transactions, run_id, worker
        self.live = LiveTraces(transactions.engine)
        """The open calls of the traces, for people who watch them."""
        self._appending = Operation(Order.events, self._append)

    async def append(self, event: outcomes.NewEvent) -> None:
        """Store an event; return when it is committed.

        Raises EventNotStored for this event only, and RunStopped if the claim is lost or an outage lasts too long.
        """
        try:
            await self._transactions.submit(self._appending, event)
        except DatabaseUnavailable as error:
            raise RunStopped(str(error)) from error
        except (OperationalError, TiebreakError):
            raise
        except Exception as error:
            log.error("An event could not be stored.", exc_info=error)
            raise EventNotStored(f"An event could not be stored ({type(error).__name__}).") from error

    def _append(self, session: Session, batch: list[outcomes.NewEvent], repeated: bool) -> list[None]:
        claims.lock_claim(session, self._run_id, self._worker)
        missing = batch
        if repeated:
            numbers = events.next_sequence_numbers(session, [event.trace_id for event in batch])
            missing = [event for event in batch if event.seq >= numbers[event.trace_id]]
        outcomes.append_events(session, missing)
        return [None] * len(batch)
