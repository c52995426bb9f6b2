"""Waiting for what another thread or process does, and threads that begin together."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def wait_for(condition: Callable[[], object], seconds: float = 20.0, pause: float = 0.05) -> bool:
    """Return whether a condition becomes true within some seconds."""
    never = threading.Event()
    return any(condition() or never.wait(pause) for _ in range(round(seconds / pause)))


def at_once(work: Callable[[Any], Any], arguments: Sequence[Any]) -> list[Any]:
    """Call a function with each argument in a thread of its own, all of which begin together; return the results."""
    start = threading.Barrier(len(arguments))

    def begin(argument: Any) -> Any:
        start.wait()
        return work(argument)

    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(begin, arguments))
