"""A study of 300 pairs, a panel of three judges and labels of any part of its targets."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from core.formats.records import ItemRecord, Record, RunRecord, TraceRecord
from core.items import Item, Response
from core.labels import Opinion
from core.trace import TurnCompleted, Verdict, VerdictReached
from tests.conftest import make_label
from tests.storage.shared import a_turn

PAIRS, DISPUTED = 300, 128
SHARE_OF_A, SHARE_OF_A_IN_DISPUTES = 0.592, 0.414
"""The share of the pairs on which system A is better: of all, and of those that the judges dispute."""


@dataclass(frozen=True)
class PlannedPair:
    """One pair of responses of A and B."""

    number: int
    first: str
    better: str
    disputed: bool

    @property
    def key(self) -> str:
        """The id of its item."""
        return f"i{self.number}"

    @property
    def value(self) -> int:
        """The number of the better response."""
        return 1 if self.first == self.better else 2


def planned_pairs(seed: int = 5) -> list[PlannedPair]:
    """Return the pairs, in random order."""
    rng = random.Random(seed)
    better_in_disputes = round(DISPUTED * SHARE_OF_A_IN_DISPUTES)
    better_elsewhere = round(PAIRS * SHARE_OF_A) - better_in_disputes
    kinds = [(True, place < better_in_disputes) for place in range(DISPUTED)]
    kinds += [(False, place < better_elsewhere) for place in range(PAIRS - DISPUTED)]
    rng.shuffle(kinds)
    return [
        PlannedPair(number, rng.choice("AB"), "A" if is_a else "B", disputed)
        for number, (disputed, is_a) in enumerate(kinds)
    ]


def records(
    labelled: Callable[[Sequence[PlannedPair]], Sequence[PlannedPair]], *, in_one_run: bool = True
) -> Iterator[Record]:
    """Yield the study; two people label the pairs that are chosen, with one error in 20.

    Judges agree on the better response of pairs without a dispute, and one of three errs on the others. They are the
    members of a panel, or each has a run of its own.
    """
    rng, pairs = random.Random(1), planned_pairs()
    names = ("j0", "j1", "j2")
    for run in ("panel",) if in_one_run else names:
        yield RunRecord(name=run, protocol="scaleeval", criterion="helpfulness")
    for pair in pairs:
        responses = tuple(Response(text=name, system=name) for name in (pair.first, "B" if pair.first == "A" else "A"))
        yield ItemRecord(item=Item(id=pair.key, prompt="?", responses=responses))
        values = [pair.value] * 3
        if pair.disputed:
            values[rng.randrange(3)] = 3 - pair.value
        if in_one_run:
            yield _trace(pair, "panel", dict(zip(names, values, strict=True)) | {"panel": pair.value})
        else:
            yield from (_trace(pair, name, {name: value}) for name, value in zip(names, values, strict=True))
    for pair in labelled(pairs):
        for name in ("ann", "ben"):
            yield make_label(pair.value if rng.random() < 0.95 else 3 - pair.value, name, pair.key)


def _trace(pair: PlannedPair, run: str, values: dict[str, int]) -> TraceRecord:
    opinions = tuple(
        Opinion(
            kind="preference", criterion="helpfulness", judge=name, value=value,
            stage="verdict" if name == run else "last",
        )
        for name, value in values.items()
    )  # fmt: skip
    outcome = "disputed" if pair.disputed and run == "panel" else "agreed"
    verdict = Verdict(outcome=outcome, value=pair.value, opinions=opinions)
    return TraceRecord(
        run=run, item=pair.key, events=(TurnCompleted(ask=0, turn=a_turn().turn), VerdictReached(verdict=verdict))
    )


def disputed_only(pairs: Sequence[PlannedPair]) -> list[PlannedPair]:
    """Return the disputed pairs."""
    return [pair for pair in pairs if pair.disputed]


def disputed_and_a_few(pairs: Sequence[PlannedPair]) -> list[PlannedPair]:
    """Return the disputed pairs, and 30 others."""
    return disputed_only(pairs) + [pair for pair in pairs if not pair.disputed][:30]


def some_disputed(pairs: Sequence[PlannedPair]) -> list[PlannedPair]:
    """Return 60 of the disputed pairs."""
    return disputed_only(pairs)[:60]


def random_pairs(number: int) -> Callable[[Sequence[PlannedPair]], list[PlannedPair]]:
    """Return a function that returns so many of the pairs at random."""
    return lambda pairs: random.Random(3).sample(list(pairs), number)
