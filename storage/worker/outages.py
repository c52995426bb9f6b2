"""What waits while the database cannot be reached: during a restart of it, for instance."""

import asyncio
import math
import time
from collections.abc import Callable
from typing import TypeVar

from storage.database_errors import DatabaseUnavailable

OUTAGE_SECONDS = 60.0
"""How long an operation is repeated while the database cannot be reached: longer than a restart of it takes."""
MAX_WAIT = 2.0
"""Seconds between two attempts in an outage."""
REPORT_SECONDS = 1.0
"""Interval between two reports about an execution in this process."""
Result = TypeVar("Result")


def ignore(sentence: str) -> None:
    """Ignore a sentence."""


def describe_wait(seconds: float) -> str:
    """Return that the claim of another process is waited for."""
    return (
        "Another process on this database, such as the server, has claimed this run and executes it. If that process "
        "was killed, its claim expires in "
        f"{math.ceil(seconds)} s, and the run continues here."
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


async def report_until_done(
    execution: "asyncio.Task[None]", load: Callable[[], Result], report: Callable[[Result], None]
) -> None:
    """Await an execution, and report a changed progress about once a second while the database can be reached.

    Raises what the execution raises. It is cancelled if the caller is.
    """
    previous: Result | None = None
    try:
        while not execution.done():
            await asyncio.wait({execution}, timeout=REPORT_SECONDS)
            try:
                current = await asyncio.to_thread(load)
            except DatabaseUnavailable:  # the execution waits for the database, or ends with the reason
                continue
            if current != previous:
                report(current)
            previous = current
        await execution
    finally:
        execution.cancel()
        await asyncio.gather(execution, return_exceptions=True)
