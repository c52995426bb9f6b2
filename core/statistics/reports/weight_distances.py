"""Weights compared by rank, rater by rater, and averaged by category: DnA-Eval's Figure 5 and Tables 7 to 10.

A unit is one set of aspects of one item. Distances are made within a unit, averaged over the pairs of people where
there are several, then over units; items are resampled whole, for their units belong together.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from core.aspects import Weights, tops
from core.statistics.data.estimate import Estimate
from core.statistics.measures.means import mean
from core.statistics.measures.rankings import kendall_distance, partial_distance

ALL = "all"
"""All categories together."""
PEOPLE = "people"
"""The name of all people together, where there are more than two."""

Measure = Callable[[Weights, Weights], float | None]
"""How far two weightings of the same aspects are apart; None where that is not defined."""


@dataclass(frozen=True)
class Unit:
    """What was given to one set of aspects of one item."""

    item: str
    part: str
    scenario: str
    people: Mapping[str, Weights]
    judges: Mapping[str, Weights]


@dataclass(frozen=True)
class Compared:
    """How far two raters' weights are apart, on the units that both weighed."""

    rater_a: str
    rater_b: str
    distance: Estimate
    """Over the units for which it is defined."""
    distance_undefined_as_zero: float | None
    """The authors' choice: weights that are all equal have no order, and count as the same order."""
    items: int
    """Weightings that both gave, one for each set of aspects of an item."""
    undefined: int
    among_people: bool


@dataclass(frozen=True)
class Apart:
    """One unit, and how far two raters are apart in it; None where that is undefined."""

    unit: Unit
    distance: float | None


@dataclass(frozen=True)
class Average:
    """A rater's mean weight of an aspect in one category of tasks, in percent."""

    rater: str
    is_judge: bool
    scenario: str
    aspect: str
    weight: Estimate


def kendall(first: Weights, second: Weights) -> float | None:
    """(1 - tau_b) / 2 of the weights' order: 0 the same, 1 the opposite."""
    x, y = _aligned(first, second)
    return kendall_distance(np.array(x), np.array(y))


def top_k(k: int, p: float = 0.5) -> Measure:
    """K^(p) of the k heaviest aspects (Fagin et al. 2003): pairs of aspects in another order, ties counted p."""

    def distance(first: Weights, second: Weights) -> float:
        names = sorted({*first, *second})
        x, y = tops({n: first.get(n, 0.0) for n in names}, {n: second.get(n, 0.0) for n in names}, k)
        return partial_distance(np.array(x), np.array(y), p=p)

    return distance


def compared(units: Sequence[Unit], measure: Measure = kendall, *, resamples: int = 1000) -> list[Compared]:
    """Each two people, each judge with each person, and both with all people together where there are more than two."""
    people = sorted({name for unit in units for name in unit.people})
    judges = list(dict.fromkeys(name for unit in units for name in unit.judges))
    found = [_pair(units, a, b, True, measure, resamples) for a, b in combinations(people, 2)]
    found += [_pair(units, judge, person, False, measure, resamples) for judge in judges for person in people]
    if len(people) > 1:
        found += [_pair(units, rater, PEOPLE, rater == PEOPLE, measure, resamples) for rater in (PEOPLE, *judges)]
    return [one for one in found if one.items]


def behind(units: Sequence[Unit], a: str, b: str, among_people: bool, measure: Measure = kendall) -> list[Apart]:
    """The units behind a row of `compared`, the farthest apart first, then those whose distance is undefined."""
    found = [
        Apart(unit, _mean([one for one in distances if one is not None]))
        for unit in units
        if (distances := _distances(unit, a, b, among_people, measure))
    ]
    return sorted(found, key=lambda one: -1.0 if one.distance is None else one.distance, reverse=True)


def averages(units: Sequence[Unit], *, resamples: int = 1000) -> list[Average]:
    """The mean weight that each rater gives each aspect, overall and by category; only of aspects that items share."""
    shared, several = _shared(units), len({unit.scenario for unit in units}) > 1
    found: dict[tuple[str, bool, str, str], list[float]] = {}
    for unit in units:
        for rater, is_judge, weights in _everybody(unit):
            for aspect, weight in weights.items():
                if aspect in shared:
                    for scenario in (ALL, unit.scenario) if several else (ALL,):
                        found.setdefault((rater, is_judge, scenario, aspect), []).append(weight)
    return [Average(*key, mean(values, resamples=resamples)) for key, values in found.items()]


def _pair(units: Sequence[Unit], a: str, b: str, among_people: bool, measure: Measure, resamples: int) -> Compared:
    """One row; the mean over items resamples whole items."""
    rows = [(unit.item, distances) for unit in units if (distances := _distances(unit, a, b, among_people, measure))]
    values = [_mean([one for one in distances if one is not None]) for _, distances in rows]
    zeros = [_mean([one or 0.0 for one in distances]) for _, distances in rows]
    counted = {"raters": _raters(units, a, b), "pairs": sum(len(distances) for _, distances in rows)}
    estimate = mean(values, groups=[item for item, _ in rows], resamples=resamples, **counted)
    undefined = sum(value is None for value in values)
    return Compared(a, b, estimate, _mean([z for z in zeros if z is not None]), len(rows), undefined, among_people)


def _raters(units: Sequence[Unit], a: str, b: str) -> int:
    """How many people a row speaks of; one pair is two, of whom one may be a judge."""
    people = {name for unit in units for name in unit.people}
    return len(people) if PEOPLE in (a, b) else 1 + (a in people and b in people)


def _distances(unit: Unit, a: str, b: str, among_people: bool, measure: Measure) -> list[float | None]:
    """Every distance that the unit holds between two raters, of whom either may be "people"."""
    if a == PEOPLE and b == PEOPLE and among_people:
        return [measure(x, y) for x, y in combinations(unit.people.values(), 2)]
    first = unit.people.get(a) if among_people else unit.judges.get(a)
    others = list(unit.people.values()) if b == PEOPLE else [unit.people[b]] if b in unit.people else []
    return [measure(first, other) for other in others] if first is not None else []


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _aligned(first: Weights, second: Weights) -> tuple[list[float], list[float]]:
    """The weights of the aspects that either names; one that is not named has none."""
    names = sorted({*first, *second})
    return [first.get(name, 0.0) for name in names], [second.get(name, 0.0) for name in names]


def _shared(units: Sequence[Unit]) -> set[str]:
    """Aspects that more than one item has: the others have no average."""
    places: dict[str, set[str]] = {}
    for unit in units:
        for _, _, weights in _everybody(unit):
            for aspect in weights:
                places.setdefault(aspect, set()).add(unit.item)
    return {aspect for aspect, items in places.items() if len(items) > 1}


def _everybody(unit: Unit) -> Iterator[tuple[str, bool, Weights]]:
    for name, weights in unit.judges.items():
        yield name, True, weights
    for name, weights in unit.people.items():
        yield name, False, weights
