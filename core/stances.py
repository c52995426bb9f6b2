"""The stances of a debate: each judge's value in each round, and where judges change or contradict each other."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.labels import Value
from core.trace import Event, TurnCompleted


@dataclass(frozen=True)
class Stance:
    """One judge's value in one round; `seq` is the number of its event in the trace."""

    seq: int
    judge: str
    round: int
    value: Value | None
    problem: str
    previous_value: Value | None
    """The judge's last readable value before this one, in the same order of the responses; None if there is none."""

    @property
    def changed(self) -> bool:
        """Whether the judge's value differs from its previous one."""
        return self.value is not None and self.previous_value is not None and self.value != self.previous_value


def list_stances(events: Sequence[tuple[int, Event]]) -> list[Stance]:
    """Return every stance of a debate in the order of its turns; `events` are (number, event) pairs."""
    latest_values: dict[tuple[str, tuple[int, ...]], Value] = {}
    stances = []
    for seq, event in sorted(events, key=_turn_order):
        if isinstance(event, TurnCompleted):
            turn = event.turn
            previous_value = latest_values.get((turn.speaker, turn.shown))
            stances.append(Stance(seq, turn.speaker, turn.round, turn.reading, turn.problem, previous_value))
            if turn.reading is not None:
                latest_values[turn.speaker, turn.shown] = turn.reading
    return stances


def find_disagreements(stances: Sequence[Stance]) -> list[int]:
    """Return the event numbers of the stances that change a judge's value or contradict the previous speaker."""
    numbers, previous = [], None
    for stance in stances:
        if stance.value is None:
            continue
        if stance.changed or (previous is not None and stance.value != previous):
            numbers.append(stance.seq)
        previous = stance.value
    return numbers


def _turn_order(numbered_event: tuple[int, Event]) -> tuple[int, int]:
    """Sort turns by their asks: the replies of one round arrive, and are stored, in any order."""
    seq, event = numbered_event
    return (event.ask, seq) if isinstance(event, TurnCompleted) else (-1, seq)
