"""Stores the events of a run: those that arrive at the same time in one transaction."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from core.errors import RunStopped, TiebreakError
from storage import events, runs, traces
from storage.database import Session, write
from storage.database_errors import DatabaseUnavailable
from storage.traces import NewEvent
from storage.worker.outages import through_outage

MAX_BATCH = 256
"""Events stored in one transaction."""
log = logging.getLogger("tiebreak")
Waiter = asyncio.Future[None]


class EventNotStored(TiebreakError):
    """An event that the database does not accept; other events are stored."""


Fence = Callable[[Session, Sequence[int]], None]
"""Locks the claim of traces until the end of the transaction; raises ClaimLost if they are not the worker's any more.

A worker that was suspended longer than its claim writes nothing over the work of its successor.
"""


def run_claim(run_id: int, worker: str) -> Fence:
    """Return the fence of a worker that has claimed a run as a whole."""
    return lambda session, _: runs.lock_claim(session, run_id, worker)


class EventWriter:
    """Stores the events of the traces that a worker has claimed; each waits for its commit."""

    def __init__(self, engine: Engine, fence: Fence) -> None:
        self._engine, self._fence = engine, fence
        self._queue: asyncio.Queue[tuple[NewEvent, Waiter]] = asyncio.Queue()

    async def append(self, event: NewEvent) -> None:
        """Store an event; return when it is committed.

        Raises EventNotStored for this event only, and RunStopped if the claim is lost or an outage lasts too long.
        """
        committed: Waiter = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((event, committed))
        await committed

    async def work(self) -> None:
        """Write the events that arrive, until cancelled."""
        while True:
            batch = [await self._queue.get()]
            while not self._queue.empty() and len(batch) < MAX_BATCH:
                batch.append(self._queue.get_nowait())
            await self._write(batch)

    async def _write(self, batch: list[tuple[NewEvent, Waiter]]) -> None:
        """Store events and notify the waiting tasks, also after an error: no task waits forever."""
        try:
            await self._store([event for event, _ in batch])
        except DatabaseUnavailable as error:
            _resolve(batch, RunStopped(str(error)))
        except OperationalError as error:
            _resolve(batch, error)
        except Exception as error:
            if len(batch) > 1:  # one of them is the cause, and the others can be stored
                for entry in batch:
                    await self._write([entry])
                return
            if isinstance(error, TiebreakError):
                return _resolve(batch, error)
            log.error("An event could not be stored.", exc_info=error)
            _resolve(batch, EventNotStored(f"An event could not be stored ({type(error).__name__})."))
        else:
            _resolve(batch, None)

    async def _store(self, batch: list[NewEvent]) -> None:
        attempts = 0

        def commit() -> None:
            nonlocal attempts
            attempts += 1
            write(self._engine, lambda session: self._append(session, batch, is_first=attempts == 1))

        await through_outage(commit)

    def _append(self, session: Session, batch: list[NewEvent], *, is_first: bool) -> None:
        self._fence(session, sorted({event.trace_id for event in batch}))
        if not is_first:  # the connection may have been lost after the commit
            numbers = events.next_sequence_numbers(session, [event.trace_id for event in batch])
            batch = [event for event in batch if event.seq >= numbers[event.trace_id]]
        traces.append(session, batch)


def _resolve(batch: list[tuple[NewEvent, Waiter]], error: Exception | None) -> None:
    for _, committed in batch:
        if committed.done():
            continue
        if error is None:
            committed.set_result(None)
        else:
            committed.set_exception(error)
