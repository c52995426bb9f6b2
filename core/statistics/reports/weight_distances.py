"""Rank distances of weights by pair of raters, and mean weights by category: DnA-Eval's Figure 5 and Tables 7 to 10.

A unit is one set of aspects of one item. Distances are computed within a unit, averaged over the pairs of annotators
if there are several, then over units; items are resampled whole, because their units are not independent.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from core.aspects import Weights, has_other_total, in_percent, truncate_rankings
from core.statistics.data import frames
from core.statistics.data.arrays import Estimate, Floats, Ints
from core.statistics.measures.means import mean_estimate
from core.statistics.measures.pairwise import (
    kendall_distance,
    kendall_w,
    normalize_weights,
    partial_ranking_distance,
    total_variation,
)
from core.wording import scenario_group

if TYPE_CHECKING:
    import pandas as pd


# The name of all categories together.
ALL = "all"
# The name of all annotators together, if there are several.
PEOPLE = "people"

# The distance of two weightings of the same aspects; None if it is undefined.
DistanceMeasure = Callable[[Weights, Weights], float | None]


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
    items: int
    """Items of these units."""
    units: int
    """Units that both weighed."""
    undefined: int
    among_annotators: bool


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
    x, y = weight_rows([first, second])
    return kendall_distance(x, y)


def top_k_distance(k: int, p: float = 0.5) -> DistanceMeasure:
    """K^(p) of the k heaviest aspects (Fagin et al. 2003): the pairs in another order, pairs tied once counting p."""

    def distance(first: Weights, second: Weights) -> float:
        named = dict.fromkeys(sorted({*first, *second}), 0.0)
        x, y = truncate_rankings({**named, **first}, {**named, **second}, k)
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
) -> list[tuple[WeightUnit, float | None]]:
    """Return the units behind a row of `rater_distances` with the distance: the largest first, undefined ones last."""
    rows = [
        (unit, _mean([distance for distance in distances if distance is not None]))
        for unit in units
        if (distances := _distances(unit, a, b, among_annotators, measure))
    ]
    return sorted(rows, key=lambda row: -1.0 if row[1] is None else row[1], reverse=True)


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
    items = len({item for item, _ in by_unit})
    return RaterDistance(a, b, estimate, _mean(with_zeros), items, len(by_unit), undefined, among_annotators)


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


# Agreement of aspect weights between annotators, and distance of a judge's weights from theirs.
#
# A value is a mapping from aspect to weight. Distances are computed within an item, between every two annotators or
# between the judge and each annotator, averaged over those pairs, then over items.


DISTANCE_NAMES = ("weights_distance", "rank_distance", "rank_distance_undefined_as_0")


def annotator_weight_statistics(labels: "pd.DataFrame", *, resamples: int = 1000) -> dict[str, Estimate]:
    """Estimate the distances between every two annotators, and Kendall's W of all, averaged over items."""
    by_target = weights_by_target(frames.target_codes(labels), labels["rater"], labels["value"])
    shared = [by_rater for by_rater in by_target.values() if len(by_rater) > 1]
    matrices = [normalize_weights(weight_rows(list(by_rater.values()))) for by_rater in shared]
    distances = [
        pair_distances(list(combinations(matrix, 2))) | {"kendall_w": kendall_w(matrix)} for matrix in matrices
    ]
    raters = len({rater for by_rater in shared for rater in by_rater})
    pairs = sum(len(by_rater) * (len(by_rater) - 1) // 2 for by_rater in shared)
    estimate = partial(mean_estimate, total=len(by_target), raters=raters, pairs=pairs, resamples=resamples)
    return {name: estimate([row[name] for row in distances]) for name in (*DISTANCE_NAMES, "kendall_w")}


def judge_weight_statistics(
    labels: "pd.DataFrame", opinions: "pd.DataFrame", *, resamples: int = 1000
) -> dict[str, Estimate]:
    """Estimate the distances between the judge, named in the column `judge`, and each annotator, over items."""
    targets = frames.target_codes(labels, opinions)
    annotators = weights_by_target(targets[: len(labels)], labels["rater"], labels["value"])
    judge = weights_by_target(targets[len(labels) :], opinions["judge"], opinions["value"])
    shared = [(annotators[target], next(iter(judge[target].values()))) for target in annotators if target in judge]
    matrices = [normalize_weights(weight_rows([weights, *by_rater.values()])) for by_rater, weights in shared]
    distances = [pair_distances([(matrix[0], row) for row in matrix[1:]]) for matrix in matrices]
    raters = len({rater for by_rater, _ in shared for rater in by_rater})
    pairs = sum(len(by_rater) for by_rater, _ in shared)
    estimate = partial(mean_estimate, total=len(opinions), raters=raters, pairs=pairs, resamples=resamples)
    return {name: estimate([row[name] for row in distances]) for name in DISTANCE_NAMES}


def weights_by_target(targets: Ints, raters: Iterable[Any], values: Iterable[Any]) -> dict[int, dict[str, Weights]]:
    """Return the weights that each rater gave to each target, from the columns of L labels."""
    by_target: dict[int, dict[str, Weights]] = {}
    for target, rater, value in zip(targets.tolist(), raters, values, strict=True):
        if isinstance(value, Mapping):
            by_target.setdefault(target, {})[str(rater)] = value
    return by_target


def weight_rows(weights: Sequence[Weights]) -> Floats:
    """Return the weights of m raters on the n aspects that any of them named, (m, n); a missing aspect has weight 0."""
    aspects = sorted({aspect for rater_weights in weights for aspect in rater_weights})
    return np.array([[float(rater_weights.get(aspect, 0)) for aspect in aspects] for rater_weights in weights])


def pair_distances(pairs: Sequence[tuple[Floats, Floats]]) -> dict[str, float | None]:
    """Return the mean over pairs of the weight distance, the rank distance, and the same with undefined as 0.

    The last is DnA-Eval's published choice: weights that are all equal have no order, and its code takes that for the
    same order.
    """
    rank_distances = [kendall_distance(x, y) for x, y in pairs]
    defined = [distance for distance in rank_distances if distance is not None]
    return {
        "weights_distance": float(np.mean([total_variation(x, y) for x, y in pairs])),
        "rank_distance": float(np.mean(defined)) if defined else None,
        "rank_distance_undefined_as_0": float(np.mean([distance or 0.0 for distance in rank_distances])),
    }
