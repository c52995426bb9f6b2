"""Requests of a person to stop what a command executes, such as Ctrl+C: it stops in the database, for all workers."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Engine

from storage.database import Session, write
from storage.worker.outages import through_outage

POLL_SECONDS = 0.1
STOPPING = "Stopping: no more calls are started. The command waits for the calls in progress and stores their replies."
STILL_STOPPING = (
    "Still waiting for the calls in progress, which are paid for. Each ends with its time-out at the latest; Ctrl+\\ "
    "ends the command without them."
)
Result = TypeVar("Result")


@dataclass
class StopRequests:
    """How often a person has asked to stop, and whether the database has it."""

    count: int = 0
    """Increased by a signal handler. While it is 0 the command may claim runs."""
    stored: threading.Event = field(default_factory=threading.Event)
    """Set when the runs are cancelled in the database: no more calls are started."""


async def until_stopped(
    work: Coroutine[Any, Any, Result],
    requests: StopRequests,
    engine: Engine,
    cancel: Callable[[Session], object],
    notify: Callable[[str], None],
) -> Result:
    """Return the result of `work`; when a stop is requested, `cancel` is executed in a transaction.

    `work` has to end soon after `requests.stored` is set. `notify` is called with a sentence after each request.
    Raises what `work` raises, or the database if the request cannot be stored; `work` is then cancelled.
    """
    task, watch = asyncio.create_task(work), asyncio.create_task(_store_requests(requests, engine, cancel, notify))
    try:
        await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
        if watch.done():
            watch.result()
        return await task
    finally:
        for one in (task, watch):
            one.cancel()
        await asyncio.gather(task, watch, return_exceptions=True)


async def _store_requests(
    requests: StopRequests, engine: Engine, cancel: Callable[[Session], object], notify: Callable[[str], None]
) -> None:
    """Store the first request and answer all of them, until cancelled."""
    answered = 0
    while True:
        if requests.count > answered:
            answered = requests.count
            if not requests.stored.is_set():
                await through_outage(partial(write, engine, cancel))
                requests.stored.set()
                notify(STOPPING)
            else:
                notify(STILL_STOPPING)
        await asyncio.sleep(POLL_SECONDS)
