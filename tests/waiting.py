"""Waiting for what another thread or process does."""

import threading
from collections.abc import Callable


def wait_for(condition: Callable[[], object], seconds: float = 20.0, pause: float = 0.05) -> bool:
    """Return whether a condition becomes true within some seconds."""
    never = threading.Event()
    return any(condition() or never.wait(pause) for _ in range(round(seconds / pause)))
