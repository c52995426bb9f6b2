"""How the judges of debates changed their minds between their first and last opinions, and whether towards people."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.labels import Value
from storage.reports.alignment import Sides
from storage.reports.disagreements import SILENT, Behind, Pair, Place, Wanted, key, matching, paired, plain, told

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Move:
    """One judge's first and last opinion in one debate."""

    judge: str
    first: Value | None
    last: Value | None
    pair: Pair
    """The same target, with people's labels."""

    @property
    def place(self) -> Place:
        """Where the move stands in the table of first and last opinions."""
        return key(self.first, SILENT), key(self.last, SILENT)


@dataclass(frozen=True)
class Turned:
    """Changes of mind in debates, by what most people say."""

    opinions: int
    """Those of which both the first and the last could be read."""
    changed: int
    towards: int
    """From another answer to people's."""
    away: int
    """From people's answer to another."""
    unknown: int
    """People have no majority there, or did not label it."""


def moves(there: Sides, wanted: Wanted) -> list[Move]:
    """First and last opinions of the judge; of all judges of the run, where the judge is a method as a whole."""
    said = matching(there.opinions, wanted)
    if said.empty:
        return []
    own = said[said["judge"] == wanted.judge]
    runs, raters = set(own["run"]), set(own["rater"])
    debated = said[said["run"].isin(runs) & said["stage"].isin(["first", "last"])]
    if (debated["rater"].isin(raters) & (debated["stage"] == "first")).any():
        debated = debated[debated["rater"].isin(raters)]
    return list(_moved(there, wanted, debated))


def _moved(there: Sides, wanted: Wanted, debated: "pd.DataFrame") -> Iterator[Move]:
    unit = ["trace", "rater", "criterion", "part"]
    firsts = debated[debated["stage"] == "first"].set_index(unit)["value"].to_dict()
    lasts = debated[debated["stage"] == "last"]
    columns = zip(*(lasts[name].tolist() for name in unit), lasts["rater"].tolist(), strict=True)
    for (*place, rater), pair in zip(columns, paired(there, wanted, lasts), strict=True):
        if tuple(place) in firsts:
            yield Move(rater, plain(firsts[tuple(place)]), pair.judge, pair)


def turned(found: Sequence[Move]) -> Turned:
    """How many minds changed, and whether towards people."""
    read = [one for one in found if one.first is not None and one.last is not None]
    changed = [one for one in read if one.first != one.last]
    known = [one for one in changed if one.pair.people is not None]
    return Turned(
        opinions=len(read),
        changed=len(changed),
        towards=sum(one.last == one.pair.people for one in known),
        away=sum(one.first == one.pair.people for one in known),
        unknown=len(changed) - len(known),
    )


def behind(found: Sequence[Move], viewer: str | None) -> Behind:
    """The targets of these, with first and last opinion beside people's; see `disagreeing.behind`."""
    return told([(one.pair, one.judge, (one.first, one.last)) for one in found], viewer)
