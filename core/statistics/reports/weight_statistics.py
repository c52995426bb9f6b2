"""Agreement of aspect weights between annotators, and distance of a judge's weights from theirs.

A value is a mapping from aspect to weight. Distances are computed within an item, between every two annotators or
between the judge and each annotator, averaged over those pairs, then over items.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from core.statistics.data import frames
from core.statistics.data.arrays import Estimate, Floats, Ints
from core.statistics.data.label_table import LabelTable, as_table, target_codes
from core.statistics.measures.means import mean_estimate
from core.statistics.measures.pairwise import kendall_distance, kendall_w, normalize_weights, total_variation

if TYPE_CHECKING:
    import pandas as pd

DISTANCE_NAMES = ("weights_distance", "rank_distance", "rank_distance_undefined_as_0")
Weights = Mapping[str, float]


def annotator_weight_statistics(
    labels: "LabelTable | pd.DataFrame", *, resamples: int = 1000, seed: int = 0
) -> dict[str, Estimate]:
    """Estimate the distances between every two annotators, and Kendall's W of all, averaged over items."""
    table = as_table(labels)
    by_target = weights_by_target(target_codes(table), table["rater"].tolist(), table["value"].tolist())
    shared = [by_rater for by_rater in by_target.values() if len(by_rater) > 1]
    matrices = [weight_matrix(list(by_rater.values())) for by_rater in shared]
    columns = distance_columns([pair_distances(list(combinations(matrix, 2))) for matrix in matrices])
    columns["kendall_w"] = [kendall_w(matrix) for matrix in matrices]
    raters = len({rater for by_rater in shared for rater in by_rater})
    pairs = sum(len(by_rater) * (len(by_rater) - 1) // 2 for by_rater in shared)
    return mean_estimates(columns, raters, pairs, len(by_target), resamples, seed)


def judge_weight_statistics(
    labels: "pd.DataFrame", opinions: "pd.DataFrame", *, resamples: int = 1000, seed: int = 0
) -> dict[str, Estimate]:
    """Estimate the distances between the judge, named in the column `judge`, and each annotator, over items."""
    targets = frames.target_codes(labels, opinions)
    annotators = weights_by_target(targets[: len(labels)], labels["rater"], labels["value"])
    judge = weights_by_target(targets[len(labels) :], opinions["judge"], opinions["value"])
    shared = [(annotators[target], next(iter(judge[target].values()))) for target in annotators if target in judge]
    matrices = [weight_matrix([weights, *by_rater.values()]) for by_rater, weights in shared]
    columns = distance_columns([pair_distances([(matrix[0], row) for row in matrix[1:]]) for matrix in matrices])
    raters = len({rater for by_rater, _ in shared for rater in by_rater})
    pairs = sum(len(by_rater) for by_rater, _ in shared)
    return mean_estimates(columns, raters, pairs, len(opinions), resamples, seed)


def weights_by_target(targets: Ints, raters: Iterable[Any], values: Iterable[Any]) -> dict[int, dict[str, Weights]]:
    """Return the weights that each rater gave to each target, from the columns of L labels."""
    by_target: dict[int, dict[str, Weights]] = {}
    for target, rater, value in zip(targets.tolist(), raters, values, strict=True):
        if isinstance(value, Mapping):
            by_target.setdefault(target, {})[str(rater)] = value
    return by_target


def weight_matrix(weights: Sequence[Weights]) -> Floats:
    """Return the weights of m raters on the n aspects that any of them named, as shares, (m, n)."""
    aspects = sorted({aspect for rater_weights in weights for aspect in rater_weights})
    return normalize_weights(
        np.array([[float(rater_weights.get(aspect, 0)) for aspect in aspects] for rater_weights in weights])
    )


def pair_distances(pairs: Sequence[tuple[Floats, Floats]]) -> tuple[float, float | None, float]:
    """Return the mean over pairs of the weight distance, the rank distance, and the same with undefined as 0.

    The last is DnA-Eval's published choice: weights that are all equal have no order, and its code takes that for the
    same order.
    """
    rank_distances = [kendall_distance(x, y) for x, y in pairs]
    defined = [distance for distance in rank_distances if distance is not None]
    return (
        float(np.mean([total_variation(x, y) for x, y in pairs])),
        float(np.mean(defined)) if defined else None,
        float(np.mean([distance or 0.0 for distance in rank_distances])),
    )


def distance_columns(distances: Sequence[tuple[float | None, ...]]) -> dict[str, list[float | None]]:
    """Return the distances of each item, by name."""
    return {name: [row[number] for row in distances] for number, name in enumerate(DISTANCE_NAMES)}


def mean_estimates(
    columns: Mapping[str, list[float | None]],
    raters: int,
    pairs: int,
    total: int,
    resamples: int,
    seed: int,
) -> dict[str, Estimate]:
    """Estimate the mean over items of each column."""
    return {
        name: mean_estimate(values, total=total, raters=raters, pairs=pairs, resamples=resamples, seed=seed)
        for name, values in columns.items()
    }
