"""Rank distances of weights by pair of raters, and mean weights by category: DnA-Eval's Figure 5 and Tables 7 to 10.

A unit is one set of aspects of one item. Distances are computed within a unit, averaged over the pairs of annotators
if there are several, then over units; items are resampled whole, because their units are not independent.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from core.aspects import Weights, has_other_total, in_percent, truncate_rankings
from core.statistics.data.arrays import Estimate
from core.statistics.measures.means import mean_estimate
from core.statistics.measures.pairwise import kendall_distance, partial_ranking_distance
from core.wording import scenario_group

ALL = "all"
"""The name of all categories together."""
PEOPLE = "people"
"""The name of all annotators together, if there are several."""

DistanceMeasure = Callable[[Weights, Weights], float | None]
"""The distance of two weightings of the same aspects; None if it is undefined."""


@dataclass(frozen=True)
class WeightUnit:
    """All weights for one set of aspects of one item, by rater."""

    item: str
    part: str
    scenario: str
    annotators: Mapping[str, Weights]
    judges: Mapping[str, Weights]


@dataclass(frozen=True)
class RaterDistance:
    """The distance of two raters' weights, on the units that both weighed."""

    rater_a: str
    rater_b: str
    distance: Estimate
    """Over the units for which it is defined."""
    distance_undefined_as_zero: float | None
    """The authors' choice: weights that are all equal have no order, and count as the same order."""
    units: int
    """Units that both weighed."""
    undefined: int
    among_annotators: bool


@dataclass(frozen=True)
class UnitDistance:
    """One unit and the distance of two raters in it; None if it is undefined."""

    unit: WeightUnit
    distance: float | None


@dataclass(frozen=True)
class AverageWeight:
    """A rater's mean weight of an aspect in one category of tasks, in percent."""

    rater: str
    is_judge: bool
    scenario: str
    aspect: str
    weight: Estimate


@dataclass(frozen=True)
class OtherTotals:
    """How many of a judge's weightings do not sum to 100 as it states them."""

    judge: str
    other: int
    weightings: int


def rank_distance(first: Weights, second: Weights) -> float | None:
    """(1 - tau_b) / 2 of the weights' order: 0 for the same, 1 for the opposite."""
    x, y = _align(first, second)
    return kendall_distance(np.array(x), np.array(y))


def top_k_distance(k: int, p: float = 0.5) -> DistanceMeasure:
    """K^(p) of the k heaviest aspects (Fagin et al. 2003): the pairs in another order, pairs tied once counting p."""

    def distance(first: Weights, second: Weights) -> float:
        names = sorted({*first, *second})
        x, y = truncate_rankings(
            {name: first.get(name, 0.0) for name in names}, {name: second.get(name, 0.0) for name in names}, k
        )
        return partial_ranking_distance(np.array(x), np.array(y), p=p)

    return distance


def rater_distances(
    units: Sequence[WeightUnit], measure: DistanceMeasure = rank_distance, *, resamples: int = 1000
) -> list[RaterDistance]:
    """Return the distances of every two annotators and of each judge with each annotator.

    If there are several annotators, also those of all annotators among each other, and of each judge with all.
    """
    annotators = sorted({name for unit in units for name in unit.annotators})
    judges = list(dict.fromkeys(name for unit in units for name in unit.judges))
    pairs = [(a, b, True) for a, b in combinations(annotators, 2)]
    pairs += [(judge, annotator, False) for judge in judges for annotator in annotators]
    if len(annotators) > 1:
        pairs += [(PEOPLE, PEOPLE, True), *((judge, PEOPLE, False) for judge in judges)]
    rows = [_rater_distance(units, a, b, among_annotators, measure, resamples) for a, b, among_annotators in pairs]
    return [row for row in rows if row.units]


def unit_distances(
    units: Sequence[WeightUnit], a: str, b: str, among_annotators: bool, measure: DistanceMeasure = rank_distance
) -> list[UnitDistance]:
    """Return the units behind a row of `rater_distances`: largest distance first, undefined distances last."""
    rows = [
        UnitDistance(unit, _mean([distance for distance in distances if distance is not None]))
        for unit in units
        if (distances := _distances(unit, a, b, among_annotators, measure))
    ]
    return sorted(rows, key=lambda row: -1.0 if row.distance is None else row.distance, reverse=True)


def average_weights(units: Sequence[WeightUnit], *, resamples: int = 1000) -> list[AverageWeight]:
    """Return each rater's mean weight of each aspect, overall and by category; only of aspects that items share."""
    shared = _shared_aspects(units)
    has_categories = len({unit.scenario for unit in units}) > 1
    values: dict[tuple[str, bool, str, str], list[float]] = {}
    for unit in units:
        for rater, is_judge, weights in _unit_weights(unit):
            for aspect, weight in in_percent(weights).items():
                if aspect in shared:
                    for scenario in (ALL, scenario_group(unit.scenario)) if has_categories else (ALL,):
                        values.setdefault((rater, is_judge, scenario, aspect), []).append(weight)
    return [AverageWeight(*key, mean_estimate(weights, resamples=resamples)) for key, weights in values.items()]


def largest_set(units: Sequence[WeightUnit]) -> int:
    """Return the number of aspects in the largest set that was weighed; 0 if there is none."""
    return max(
        (len(given) for unit in units for given in (*unit.annotators.values(), *unit.judges.values())), default=0
    )


def other_totals(units: Sequence[WeightUnit]) -> list[OtherTotals]:
    """Return the judges with weightings that do not sum to 100."""
    stated: dict[str, list[bool]] = {}
    for unit in units:
        for judge, weights in unit.judges.items():
            stated.setdefault(judge, []).append(has_other_total(weights))
    return [OtherTotals(judge, sum(others), len(others)) for judge, others in stated.items() if any(others)]


def _rater_distance(
    units: Sequence[WeightUnit], a: str, b: str, among_annotators: bool, measure: DistanceMeasure, resamples: int
) -> RaterDistance:
    """Return one row; the mean over units resamples whole items."""
    by_unit = [
        (unit.item, distances) for unit in units if (distances := _distances(unit, a, b, among_annotators, measure))
    ]
    values = [_mean([distance for distance in distances if distance is not None]) for _, distances in by_unit]
    with_zeros = [mean for _, distances in by_unit if (mean := _mean([d or 0.0 for d in distances])) is not None]
    estimate = mean_estimate(
        values,
        groups=[item for item, _ in by_unit],
        raters=_count_raters(units, a, b),
        pairs=sum(len(distances) for _, distances in by_unit),
        resamples=resamples,
    )
    undefined = sum(value is None for value in values)
    return RaterDistance(a, b, estimate, _mean(with_zeros), len(by_unit), undefined, among_annotators)


def _count_raters(units: Sequence[WeightUnit], a: str, b: str) -> int:
    """Return the number of annotators of a row; a judge with one annotator counts as one."""
    annotators = {name for unit in units for name in unit.annotators}
    return len(annotators) if PEOPLE in (a, b) else 1 + (a in annotators and b in annotators)


def _distances(
    unit: WeightUnit, a: str, b: str, among_annotators: bool, measure: DistanceMeasure
) -> list[float | None]:
    """Return every distance of the unit between two raters, either of whom may be "people"."""
    if a == PEOPLE and b == PEOPLE and among_annotators:
        return [measure(x, y) for x, y in combinations(unit.annotators.values(), 2)]
    first = unit.annotators.get(a) if among_annotators else unit.judges.get(a)
    others = unit.annotators.values() if b == PEOPLE else [unit.annotators[b]] if b in unit.annotators else []
    return [measure(first, other) for other in others] if first is not None else []


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _align(first: Weights, second: Weights) -> tuple[list[float], list[float]]:
    """Return both weights of the aspects that either names; a missing aspect has weight 0."""
    names = sorted({*first, *second})
    return [first.get(name, 0.0) for name in names], [second.get(name, 0.0) for name in names]


def _shared_aspects(units: Sequence[WeightUnit]) -> set[str]:
    """Return the aspects that more than one item has: the others have no average."""
    items_by_aspect: dict[str, set[str]] = {}
    for unit in units:
        for _, _, weights in _unit_weights(unit):
            for aspect in weights:
                items_by_aspect.setdefault(aspect, set()).add(unit.item)
    return {aspect for aspect, items in items_by_aspect.items() if len(items) > 1}


def _unit_weights(unit: WeightUnit) -> Iterator[tuple[str, bool, Weights]]:
    """Yield (rater, is_judge, weights), without weights that are all 0: they have no shares."""
    for name, weights in unit.judges.items():
        if any(weights.values()):
            yield name, True, weights
    for name, weights in unit.annotators.items():
        yield name, False, weights
