"""Who held what, when: a debate seen as a grid of judges and rounds."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.labels import Value
from core.trace import Event, TurnTaken


@dataclass(frozen=True)
class Stance:
    """One judge's stance in one round; `seq` is the number of the event that told it."""

    seq: int
    judge: str
    round: int
    value: Value | None
    problem: str
    before: Value | None
    """The judge's last readable stance before this one; None where there was none."""

    @property
    def changed(self) -> bool:
        """Whether the judge changed its mind here."""
        return self.value is not None and self.before is not None and self.value != self.before


def stances(events: Sequence[tuple[int, Event]]) -> list[Stance]:
    """Every stance of a debate, in the order in which the judges spoke."""
    held: dict[str, Value] = {}
    found = []
    for seq, event in sorted(events, key=_place):
        if isinstance(event, TurnTaken):
            turn = event.turn
            before = held.get(turn.speaker)
            found.append(Stance(seq, turn.speaker, turn.round, turn.reading, turn.problem, before))
            if turn.reading is not None:
                held[turn.speaker] = turn.reading
    return found


def disputes(talk: Sequence[Stance]) -> list[int]:
    """The numbers of the events where somebody changes sides or contradicts the speaker before."""
    found, last = [], None
    for stance in talk:
        if stance.value is None:
            continue
        if stance.changed or (last is not None and stance.value != last):
            found.append(stance.seq)
        last = stance.value
    return found


def _place(told: tuple[int, Event]) -> tuple[int, int]:
    """Turns in the order of the flow, whatever order their replies came in; the rest as it was told."""
    seq, event = told
    return (event.ask, seq) if isinstance(event, TurnTaken) else (-1, seq)
