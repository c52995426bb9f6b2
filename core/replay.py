"""The verdict of a finished trace under other readings of its replies, without a call.

A reply answers the prompt that it was sent for. If another reading of one reply changes a later prompt, or leads to
a further ask, the verdict cannot be computed from the stored replies: it would need new calls.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from core.attempts import describe_difference
from core.errors import TiebreakError
from core.trace import Ask, Event, Flow, Turn, TurnCompleted, Verdict, current_events

Reread = Callable[[int, Ask, Turn], Turn]
"""(number of the ask, ask, stored turn) -> the turn with the reading to use."""


class NeedsCalls(TiebreakError):
    """The verdict cannot be computed from the stored replies; the message says why."""


@dataclass(frozen=True)
class Replay:
    """A flow that was run to its verdict with stored turns."""

    asks: Mapping[int, Ask]
    turns: Mapping[int, Turn]
    """The turns by the number of their ask, with the readings that were used."""
    verdict: Verdict


def stored_turns(events: Sequence[Event]) -> dict[int, Turn]:
    """Return the turns of a trace by the number of their ask, with their current readings."""
    return {event.ask: event.turn for event in current_events(events) if isinstance(event, TurnCompleted)}


def replay(start: Callable[[], Flow], stored: Mapping[int, Turn], reread: Reread | None = None) -> Replay:
    """Run a flow to its verdict with stored turns; `start` creates it, equal each time.

    Without `reread` the stored readings are used. With it, each ask has to be the one that the stored reply answered,
    which is compared with a replay of the stored readings. The templates may be newer than the replies: their wording
    changes neither prompts nor replies. Raises NeedsCalls.
    """
    original = None if reread is None else _Run(start(), stored).finish()
    return _Run(start(), stored, reread, original).finish()


@dataclass
class _Run:
    flow: Flow
    stored: Mapping[int, Turn]
    reread: Reread | None = None
    original: Replay | None = None
    asks: dict[int, Ask] = field(default_factory=dict)
    turns: dict[int, Turn] = field(default_factory=dict)

    def finish(self) -> Replay:
        try:
            asks = next(self.flow)
            while True:
                asks = self.flow.send([self._turn(ask) for ask in asks])
        except StopIteration as end:
            return Replay(self.asks, self.turns, end.value)
        finally:
            self.flow.close()

    def _turn(self, ask: Ask) -> Turn:
        number = len(self.asks)
        self._check(number, ask)
        turn = self.stored[number]
        self.asks[number] = ask
        self.turns[number] = turn if self.reread is None else self.reread(number, ask, turn)
        return self.turns[number]

    def _check(self, number: int, ask: Ask) -> None:
        if number not in self.stored:
            raise NeedsCalls(f"{ask.speaker} would be asked for another {ask.step} in round {ask.round}.")
        if difference := describe_difference(self.stored[number], ask, is_first=False):
            raise NeedsCalls(f"The replies do not match the asks of this version: {difference}.")
        before = None if self.original is None else self.original.asks.get(number)
        if before is not None and before.prompt != ask.prompt:
            raise NeedsCalls(f"The prompt of {ask.speaker}'s {ask.step} in round {ask.round} would be different.")
