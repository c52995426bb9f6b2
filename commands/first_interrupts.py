"""Ctrl+C while a command is imported: one line in place of a traceback. This module imports nothing that takes time."""

import os
import signal
from types import FrameType


def _end(_: int, __: FrameType | None) -> None:
    os.write(2, b"Interrupted: the command had not begun.\n")
    os._exit(2)


def end_at_once() -> None:
    """Let Ctrl+C end the process, unless it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def raise_again() -> None:
    """Let Ctrl+C raise KeyboardInterrupt, if `end_at_once` has changed that."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
