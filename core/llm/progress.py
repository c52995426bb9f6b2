"""The open calls of a trace, for people who watch it. Nothing of them is kept: replies are stored when complete."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from core.trace import Ask


@dataclass(frozen=True)
class OpenCall:
    """A call that was sent and has not ended."""

    speaker: str
    round: int
    since: float
    """Seconds since 1970."""


@dataclass
class Progress:
    """The open calls of one trace."""

    calls: dict[int, OpenCall] = field(default_factory=dict)
    """By the id of their ask."""

    @contextmanager
    def open(self, ask: Ask) -> Iterator[None]:
        """Count a call as open within the block."""
        self.calls[id(ask)] = OpenCall(ask.speaker, ask.round, time.time())
        try:
            yield
        finally:
            self.calls.pop(id(ask), None)


current: ContextVar[Progress | None] = ContextVar("progress", default=None)
