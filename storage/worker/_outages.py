"""What waits while the database cannot be reached: during a restart of it, for instance."""

import asyncio
import math
import threading
import time
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from storage.db.connections import write
from storage.db.errors import DatabaseUnavailable

# How long an operation is repeated while the database cannot be reached: longer than a restart of it takes.
OUTAGE_SECONDS = 60.0
# Seconds between two attempts in an outage.
MAX_WAIT = 2.0
# Interval between two reports about an execution in this process.
REPORT_SECONDS = 1.0
Result = TypeVar("Result")


def ignore(sentence: str) -> None:
    """Ignore a sentence."""


def describe_wait(seconds: float) -> str:
    """Return that the claim of another process is waited for."""
    return (
        "Another process on this database, such as the server, has claimed this run and executes it. If that process "
        f"was killed, its claim expires in {math.ceil(seconds)} s, and the run continues here."
    )


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


def only_changes(report: Callable[[Result], None]) -> Callable[[Result], None]:
    """Return `report` without what is equal to what was reported before."""
    previous: list[Result] = []

    def report_change(current: Result) -> None:
        if previous != [current]:
            report(current)
        previous[:] = [current]

    return report_change


# Requests of a person to stop what a command executes, such as Ctrl+C: it stops in the database, for all workers.

POLL_SECONDS = 0.1
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
