"""Ctrl+C and SIGTERM while a command executes runs: they stop the runs, and not the process at once."""

import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from storage.worker import StopRequests


@contextmanager
def stop_requests() -> Iterator["StopRequests"]:
    """Yield requests that SIGINT and SIGTERM count during the body, in place of ending the process.

    A signal that the process ignores, as SIGINT in the background of a script, remains ignored.
    """
    from storage.worker import StopRequests

    requests = StopRequests()

    def request(_: int, __: FrameType | None) -> None:
        requests.count += 1

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: handler for number, handler in handlers.items() if handler != signal.SIG_IGN}
    for number in handlers:
        signal.signal(number, request)
    try:
        yield requests
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def command_line(*words: str, database: str | None) -> str:
    """Return a command of `cli.py` as it is typed, with the database if it was named; its password is left out."""
    if database is not None:
        from sqlalchemy.engine import make_url

        words = (*words, "--database", make_url(database).render_as_string(hide_password=True))
    return shlex.join(["python", "cli.py", *words])
