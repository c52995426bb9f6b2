"""What waits while the database cannot be reached: during a restart of it, for instance."""

import asyncio
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TypeVar

from storage.db.errors import DatabaseUnavailable

# How long an operation is repeated while the database cannot be reached: longer than a restart of it takes.
OUTAGE_SECONDS = 60.0
# Seconds between two attempts in an outage.
MAX_WAIT = 2.0
Result = TypeVar("Result")


def ignore(sentence: str) -> None:
    """Ignore a sentence."""


async def through_outage(operation: Callable[[], Result]) -> Result:
    """Run an operation in a thread, and repeat it while the database is unavailable, up to OUTAGE_SECONDS."""
    end, wait = time.monotonic() + OUTAGE_SECONDS, 0.1
    while True:
        try:
            return await asyncio.to_thread(operation)
        except DatabaseUnavailable:
            if time.monotonic() + wait > end:
                raise
        await asyncio.sleep(wait)
        wait = min(2 * wait, MAX_WAIT)


async def end_tasks(tasks: Collection["asyncio.Task[None]"], grace: float) -> None:
    """Wait `grace` seconds for tasks, and cancel those that have not ended."""
    tasks = list(tasks)
    if tasks:
        await asyncio.wait(tasks, timeout=grace)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


# Requests of a person to stop what a command executes, such as Ctrl+C: it stops in the database, for all workers.

STOPPING = "Stopping: no more calls are started. The command waits for the calls in progress and stores their replies."
STILL_STOPPING = (
    "Still waiting for the calls in progress, which are paid for. Each ends with its time-out at the latest; Ctrl+\\ "
    "ends the command without them."
)


@dataclass
class StopRequests:
    """How often a person has asked to stop, and whether the database has it."""

    count: int = 0
    """Increased by a signal handler. While it is 0 the command may claim runs."""
    stored: threading.Event = field(default_factory=threading.Event)
    """Set when the runs are cancelled in the database: no more calls are started."""
