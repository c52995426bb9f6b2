"""Aspect weights in long form: how alike people's are, and how far a judge's are from theirs.

A value is a mapping from aspect to weight. Distances are made within an item, between each two
people or between the judge and each person, averaged over those, then over items.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from core.statistics.data.arrays import Floats, Ints
from core.statistics.data.estimate import Estimate
from core.statistics.data.frames import targets
from core.statistics.measures import means
from core.statistics.measures.compositions import kendall_w, shares, total_variation
from core.statistics.measures.rankings import kendall_distance

Weights = Mapping[str, float]


def by_target(frame: pd.DataFrame, who: str, number: Ints) -> dict[int, dict[str, Weights]]:
    """What each rater, named in the column `who`, gave to each target; `number` tells which it is."""
    found: dict[int, dict[str, Weights]] = {}
    for target, rater, value in zip(number.tolist(), frame[who], frame["value"], strict=True):
        if isinstance(value, Mapping):
            found.setdefault(target, {})[str(rater)] = value
    return found


def matrix(given: Sequence[Weights]) -> Floats:
    """(m, n): the weights of m raters on the n aspects that any of them named, in shares."""
    aspects = sorted({aspect for weights in given for aspect in weights})
    return shares(np.array([[float(w.get(aspect, 0)) for aspect in aspects] for w in given]))


def distances(pairs: Sequence[tuple[Floats, Floats]]) -> tuple[float, float | None, float]:
    """Mean over pairs of the weights' distance, the rank distance, and the same with undefined as 0.

    The last is DnA-Eval's published choice: two aspects' weights that are all equal have no order,
    and its code takes that for the same order.
    """
    ranked = [kendall_distance(x, y) for x, y in pairs]
    defined = [distance for distance in ranked if distance is not None]
    return (
        float(np.mean([total_variation(x, y) for x, y in pairs])),
        float(np.mean(defined)) if defined else None,
        float(np.mean([distance or 0.0 for distance in ranked])),
    )


NAMES = ("weights_distance", "rank_distance", "rank_distance_undefined_as_0")


def among_people(labels: pd.DataFrame, *, resamples: int = 1000, seed: int = 0) -> dict[str, Estimate]:
    """The distances between each two people, and Kendall's W of all, averaged over items."""
    each = by_target(labels, "rater", targets(labels))
    shared = [given for given in each.values() if len(given) > 1]
    rows = [matrix(list(given.values())) for given in shared]
    columns = named([distances(list(combinations(of_item, 2))) for of_item in rows])
    columns["kendall_w"] = [kendall_w(of_item) for of_item in rows]
    raters = len({rater for given in shared for rater in given})
    pairs = sum(len(given) * (len(given) - 1) // 2 for given in shared)
    return averaged(columns, raters, pairs, len(each), resamples, seed)


def with_people(
    labels: pd.DataFrame, said: pd.DataFrame, *, resamples: int = 1000, seed: int = 0
) -> dict[str, Estimate]:
    """The distances between one judge, named in the column `judge`, and each person, averaged over items."""
    number = targets(pd.concat([labels, said], ignore_index=True))
    people = by_target(labels, "rater", number[: len(labels)])
    judged = by_target(said, "judge", number[len(labels) :])
    shared = [(people[target], next(iter(judged[target].values()))) for target in people if target in judged]
    rows = [matrix([weights, *given.values()]) for given, weights in shared]
    columns = named([distances([(row[0], other) for other in row[1:]]) for row in rows])
    raters = len({rater for given, _ in shared for rater in given})
    return averaged(columns, raters, sum(len(given) for given, _ in shared), len(said), resamples, seed)


def named(found: Sequence[tuple[float | None, ...]]) -> dict[str, list[float | None]]:
    """The distances of each item, by name."""
    return {name: [row[at] for row in found] for at, name in enumerate(NAMES)}


def averaged(
    columns: Mapping[str, list[float | None]],
    raters: int,
    pairs: int,
    there: int,
    resamples: int,
    seed: int,
) -> dict[str, Estimate]:
    """The mean over items of each column."""
    return {
        name: means.mean(values, there=there, raters=raters, pairs=pairs, resamples=resamples, seed=seed)
        for name, values in columns.items()
    }
