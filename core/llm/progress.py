"""The open calls of a trace and what has arrived of their replies, for people who watch the trace.

Only replies to a trace that somebody watches are requested as a stream: a stream takes more of the processor, and
some servers count tokens in it differently. Nothing of it is kept: a reply is stored when it is complete.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from core.trace import Ask

# Characters of a text that are shown: its end.
SHOWN = 2_000


@dataclass
class OpenCall:
    """A call that was sent and has not ended."""

    speaker: str
    round: int
    since: float
    """Seconds since 1970."""
    text: str = ""
    is_loading: bool = False
    """Whether the model is not in memory yet."""


@dataclass
class Progress:
    """The open calls of one trace."""

    is_watched: bool = False
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


@contextmanager
def loading(ask: Ask) -> Iterator[None]:
    """State that the model of an ask is loaded within the block."""
    progress = current.get()
    call = progress.calls.get(id(ask)) if progress else None
    if call is None:
        yield
        return
    call.is_loading = True
    try:
        yield
    finally:
        call.is_loading = False


def streamed_call(ask: Ask) -> OpenCall | None:
    """Return the open call of an ask whose reply is to be streamed; None for a trace that nobody watches.

    Several replies, and log probabilities, are requested as a whole.
    """
    progress = current.get()
    if progress is None or not progress.is_watched or ask.samples > 1 or ask.top_logprobs:
        return None
    return progress.calls.get(id(ask))
