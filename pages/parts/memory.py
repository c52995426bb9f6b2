"""Return of freed memory to the system, after the figures of a large study were computed."""

import ctypes
from collections.abc import Callable
from functools import cache


def release() -> None:
    """Return freed memory to the system, in a few milliseconds; only glibc keeps so much of it, and only there."""
    trim = _trim_function()
    if trim is not None:
        trim(0)


@cache
def _trim_function() -> Callable[[int], int] | None:
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return trim
