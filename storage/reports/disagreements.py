"""Where a judge and people differ: who said what of each target, and how often each two values met.

People's answer is their strict majority; a tie is "no majority". A judge's missing verdict is "no verdict". Both are
places of their own in a table, and never one of the values.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Scale, Target, Value, gold
from storage import labels
from storage.reports.agreement_items import Judged
from storage.reports.alignment import Sides
from storage.tables import RulingRow, TargetRow

if TYPE_CHECKING:
    import pandas as pd

SILENT, DIVIDED = "no verdict", "no majority"
ALL = "all"
MOST_CATEGORIES = 12
"""Beyond so many categories a table of them says nothing; numbers are then compared point by point."""
Leaning = Literal["shown_first", "longer"]
Place = tuple[str, str]
"""A row and a column of a table of values, as `key` writes them."""


@dataclass(frozen=True)
class Wanted:
    """Which judge, on what; criterion "all" for every one, scenario None for every one."""

    judge: str
    kind: str
    criterion: str
    scenario: str | None = None


@dataclass(frozen=True)
class Pair:
    """What a judge, and people, said of one target."""

    target: Target
    scenario: str
    trace: int
    judge: Value | None
    people: Value | None
    """The strict majority; None where there is none."""
    labels: Mapping[str, Value]
    sides: Mapping[Leaning, int] = field(default_factory=dict)
    """The response that was shown first, and the longer one, where that is known and there is one."""

    @property
    def place(self) -> Place:
        """Where the target stands in the table of judge and people."""
        return key(self.judge, SILENT), key(self.people, DIVIDED)

    @property
    def mean(self) -> float | None:
        """The mean of people's numbers."""
        numbers = [float(value) for value in self.labels.values() if isinstance(value, int | float)]
        return fmean(numbers) if numbers else None

    @property
    def distance(self) -> float:
        """How far the judge's number is from people's mean; -1 where one of them is missing."""
        if not isinstance(self.judge, int | float) or self.mean is None:
            return -1.0
        return abs(float(self.judge) - self.mean)

    @property
    def differs(self) -> bool:
        """Whether the judge gave another answer than most people."""
        return self.judge is not None and self.people is not None and self.judge != self.people

    def leans(self, leaning: Leaning) -> bool:
        """Whether the judge chose the response on that side."""
        return self.judge is not None and self.judge == self.sides.get(leaning)


@dataclass(frozen=True)
class Matrix:
    """How often each two values met."""

    down: tuple[str, ...]
    across: tuple[str, ...]
    counts: Mapping[Place, int]


@dataclass(frozen=True)
class Behind:
    """The targets behind a figure, and how many more are not told to whoever asks."""

    items: tuple[Judged, ...]
    hidden: int


def version(session: Session, study_id: int) -> tuple[int, ...]:
    """Changes whenever a label, an opinion or a ruling is added."""
    ruled = (
        select(func.count())
        .select_from(RulingRow)
        .join(TargetRow, col(TargetRow.id) == col(RulingRow.target_id))
        .where(col(TargetRow.study_id) == study_id)
    )
    return (*labels.version(session, study_id), session.scalars(ruled).one())


def key(value: Any, missing: str) -> str:
    """A value as a table and an address name it."""
    if value is None:
        return missing
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def pairs(there: Sides, wanted: Wanted) -> list[Pair]:
    """Every target that the judge was asked about, with what people said of it."""
    said = matching(there.opinions, wanted)
    return paired(there, wanted, said[said["judge"] == wanted.judge] if len(said) else said)


def compared(found: Sequence[Pair]) -> list[Pair]:
    """Those on which people said anything."""
    return [one for one in found if one.labels]


def table(places: Sequence[Place], scale: Scale, missing: Place) -> Matrix:
    """Count places; every category of the scale has a row and a column, what is missing only where it occurs."""
    declared = names(scale)
    ends = (
        tuple([*declared, *([none] if any(place[side] == none for place in places) else [])])
        for side, none in enumerate(missing)
    )
    down, across = ends
    return Matrix(down, across, Counter(places))


def names(scale: Scale) -> list[str]:
    """The categories of a scale, as `key` writes them."""
    return [key(one, "") for one in scale.categories]


def categorical(found: Sequence[Pair], scale: Scale | None) -> bool:
    """Whether a table of values can hold all that the judge said: means lie between categories."""
    if scale is None or not 0 < len(scale.categories) <= MOST_CATEGORIES:
        return False
    return all(one.judge is None or scale.holds(one.judge) for one in found)


def in_cell(found: Sequence[Pair], cell: str | None, *, categorical: bool) -> list[Pair]:
    """Those of one cell, "row × column"; without a cell all that differ, or all numbers, the furthest apart first."""
    there = compared(found)
    if cell is not None:
        return [one for one in there if " × ".join(one.place) == cell]
    if categorical:
        return [one for one in there if one.differs]
    return sorted((one for one in there if one.distance >= 0), key=lambda one: -one.distance)


def behind(found: Sequence[Pair], judge: str, viewer: str | None) -> Behind:
    """These targets with the judge's value beside people's; those that the viewer must still label are kept back."""
    return told([(one, judge, (one.judge,)) for one in found], viewer)


def told(found: Sequence[tuple[Pair, str, tuple[Value | None, ...]]], viewer: str | None) -> Behind:
    """Targets with a judge's values, beside what people said of them; see `behind`."""
    seen = [one for one in found if viewer is None or viewer in one[0].labels]
    told = tuple(
        Judged(
            pair.target,
            pair.scenario,
            {f"{judge} (judge)" if judge in pair.labels else judge: tuple(map(_shown, said))}
            | {who: (value,) for who, value in pair.labels.items()},
            pair.trace,
            False,
        )
        for pair, judge, said in seen
    )
    return Behind(told, len(found) - len(seen))


def _shown(value: Value | None) -> Value:
    return SILENT if value is None else value


def paired(there: Sides, wanted: Wanted, said: "pd.DataFrame") -> list[Pair]:
    """These opinions with what people said of the same targets, in their order."""
    labelled = _labels(there, wanted, set(said["item"]))
    majority: dict[Target, Value | None] = {}
    found = []
    leanings: tuple[Leaning, ...] = ("shown_first", "longer")
    sides = [(name, said[name].tolist()) for name in leanings if name in said]
    columns = (said[name].tolist() for name in ("trace", "scenario", "value"))
    for number, (target, trace, scenario, value) in enumerate(zip(_targets(said), *columns, strict=True)):
        given = labelled.get(target, {})
        if target not in majority:
            majority[target] = gold(target, given).value if given else None
        side = {name: int(values[number]) for name, values in sides if values[number] in (1, 2)}
        scene = scenario if isinstance(scenario, str) else ""
        found.append(Pair(target, scene, trace, plain(value), majority[target], given, side))
    return found


def _labels(there: Sides, wanted: Wanted, items: Collection[str]) -> dict[Target, dict[str, Value]]:
    """What people said of each target."""
    given = matching(there.labels, wanted)
    given = given[given["item"].isin(items)]
    found: dict[Target, dict[str, Value]] = {}
    for target, rater, value in zip(_targets(given), given["rater"].tolist(), given["value"].tolist(), strict=True):
        found.setdefault(target, {})[rater] = value
    return found


def matching(said: "pd.DataFrame", wanted: Wanted) -> "pd.DataFrame":
    """The rows of the kind, criterion and scenario."""
    said = said[said["kind"] == wanted.kind] if len(said) else said
    if wanted.criterion != ALL:
        said = said[said["criterion"] == wanted.criterion]
    return said if wanted.scenario is None else said[said["scenario"].fillna("") == wanted.scenario]


def _targets(said: "pd.DataFrame") -> list[Target]:
    columns = (said[name].tolist() for name in ("item", "kind", "criterion", "part"))
    return [
        Target.model_construct(item=item, kind=kind, criterion=criterion, part=part)
        for item, kind, criterion, part in zip(*columns, strict=True)
    ]


def plain(value: Any) -> Value | None:
    """A missing value of a data frame is None."""
    return None if value is None or value != value else value
