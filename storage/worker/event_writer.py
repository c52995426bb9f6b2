"""Stores the events of a run: those that arrive at the same time in one transaction."""

import logging
from collections.abc import Callable, Sequence

from sqlalchemy.exc import OperationalError

from core.errors import RunStopped, TiebreakError
from storage import events, run_claims, trace_events
from storage.database import Session
from storage.database_errors import DatabaseUnavailable
from storage.trace_events import NewEvent
from storage.worker.transactions import Operation, Order, Transactions

log = logging.getLogger("tiebreak")


class EventNotStored(TiebreakError):
    """An event that the database does not accept; other events are stored."""


Fence = Callable[[Session, Sequence[int]], None]
"""Locks the claim of traces until the end of the transaction; raises ClaimLost if they are not the worker's any more.

A worker that was suspended longer than its claim writes nothing over the work of its successor.
"""


def run_claim(run_id: int, worker: str) -> Fence:
    """Return the fence of a worker that has claimed a run as a whole."""
    return lambda session, _: run_claims.lock_claim(session, run_id, worker)


class EventWriter:
    """Stores the events of the traces that a worker has claimed; each waits for its commit."""

    def __init__(self, transactions: Transactions, fence: Fence) -> None:
        self._transactions, self._fence = transactions, fence
        self._appending = Operation(Order.events, self._append)

    async def append(self, event: NewEvent) -> None:
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

    def _append(self, session: Session, batch: list[NewEvent], repeated: bool) -> list[None]:
        self._fence(session, sorted({event.trace_id for event in batch}))
        missing = batch
        if repeated:
            numbers = events.next_sequence_numbers(session, [event.trace_id for event in batch])
            missing = [event for event in batch if event.seq >= numbers[event.trace_id]]
        trace_events.append(session, missing)
        return [None] * len(batch)
