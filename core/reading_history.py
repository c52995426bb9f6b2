"""The readings of a trace's replies over time: the parser's own, and every later one, also if it was withdrawn."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.trace import (
    Event,
    ReadingReplaced,
    ReadingWithdrawn,
    ReplyExtracted,
    ReplyUnreadable,
    TraceRestarted,
    Turn,
    TurnCompleted,
    extracted_reading,
    with_reading,
)


@dataclass(frozen=True)
class PastReading:
    """One reading of a reply."""

    turn: Turn
    """The reply with this reading."""
    withdrawn_by: str = ""
    """The person who withdrew it; empty if it was not withdrawn."""


@dataclass(frozen=True)
class TurnReadings:
    """The reply to one ask with every reading of it."""

    ask: int
    history: tuple[PastReading, ...]
    """Oldest first: the parser's own, then later ones. The last one that was not withdrawn counts."""
    first: ReplyUnreadable | None = None
    """The reply to the first request, if it was unreadable and this one answers the second request."""

    @property
    def turn(self) -> Turn:
        """The reply with the reading that counts."""
        return self.history[self._standing].turn

    @property
    def earlier(self) -> tuple[PastReading, ...]:
        """The readings that do not count: replaced or withdrawn."""
        return self.history[: self._standing] + self.history[self._standing + 1 :]

    @property
    def _standing(self) -> int:
        return max(place for place, past in enumerate(self.history) if not past.withdrawn_by)

    def with_later(self, reading: ReadingReplaced) -> "TurnReadings":
        """Return the readings with another one."""
        return replace(self, history=(*self.history, PastReading(with_reading(self.turn, reading))))

    def without_last(self, by: str) -> "TurnReadings":
        """Return the readings after a person withdrew the last one; the parser's own always stays."""
        if not self._standing:
            return self
        history = list(self.history)
        history[self._standing] = replace(history[self._standing], withdrawn_by=by)
        return replace(self, history=tuple(history))


def turn_readings(events: Sequence[Event]) -> dict[int, TurnReadings]:
    """Return the number of each answered ask -> its readings, in the order of the flow.

    `events` are all events of a trace as they were stored; those before its last restart are left out.
    """
    restarts = [index for index, event in enumerate(events) if isinstance(event, TraceRestarted)]
    first: dict[int, ReplyUnreadable] = {}
    found: dict[int, TurnReadings] = {}
    for event in events[restarts[-1] if restarts else 0 :]:
        match event:
            case ReplyUnreadable(ask=ask):
                first[ask] = event
            case TurnCompleted(ask=ask, turn=turn):
                found[ask] = TurnReadings(ask, (PastReading(turn),), first.get(ask))
            case ReplyExtracted(ask=ask, turn=turn) if ask in found and turn.reading is not None:
                found[ask] = found[ask].with_later(extracted_reading(ask, turn))
            case ReadingReplaced(ask=ask) if ask in found:
                found[ask] = found[ask].with_later(event)
            case ReadingWithdrawn(ask=ask, by=by) if ask in found:
                found[ask] = found[ask].without_last(by)
    return dict(sorted(found.items()))
