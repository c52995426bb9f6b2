"""Means over items, with their intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.statistics import notes
from core.statistics.data.arrays import Bools, Estimate, Floats, ratio
from core.statistics.data.patterns import Units, group_indicator
from core.statistics.data.ratings import Column
from core.statistics.data.sample import Sample
from core.statistics.measures.resampling import bootstrap, stack_statistics, weighted_mean
from core.statistics.measures.shares import kish


def mean_estimate(
    values: Sequence[float | None] | Floats,
    *,
    groups: Sequence[str] | None = None,
    total: int | None = None,
    raters: int = 0,
    pairs: int = 0,
    resamples: int = 1000,
    sample: Sample | None = None,
) -> Estimate:
    """Estimate the mean over items of the defined values, with its BCa interval; None and nan are left out.

    `total`: the number of items, if some have no value here at all; `sample`: how the items were drawn.
    """
    numbers = np.asarray(values, float)  # None becomes nan
    is_defined = ~np.isnan(numbers)
    defined = numbers[is_defined]
    drawn = None if sample is None else sample.select(is_defined)
    clusters = group_indicator(None if groups is None else np.array(groups, object)[is_defined])
    units = Units(np.ones(defined.size), clusters, draw=drawn)
    mean = weighted_mean(defined, np.ones(defined.size, bool))
    (result,) = bootstrap(stack_statistics([mean]), units, resamples)
    missing = numbers.size - defined.size
    caveats = [f"undefined for {missing} of {numbers.size} items, left out"] if missing else []
    caveats += notes.mean_caveats(result, defined.size, units.size)
    counts = (defined.size, total or numbers.size, raters, pairs, result.dropped)
    return Estimate(result.value, result.low, result.high, *counts, "; ".join(caveats), kish(drawn))


# MetaCritique's scores of critiques, from true and false atomic information units (AIUs).
#
# Sun et al. 2024. Precision: the share of a critique's AIUs that are factual. Recall: the share of the reference
# critique's AIUs that the critique covers. F1 is their harmonic mean. Micro: over all AIUs. Macro: over critiques with
# equal weights; macro F1 is the mean of the critiques' F1, as in the authors' code, not the F1 of the means.

SCORE_NAMES = [f"{score}_{level}" for level in ("micro", "macro") for score in ("precision", "recall", "f1")]


@dataclass(frozen=True)
class AiuCounts:
    """The AIUs of each of C critiques: their number, and the number of true ones."""

    precision_counts: Floats
    """(C, 2): true AIUs of the critique, all AIUs of the critique."""
    recall_counts: Floats
    """(C, 2): covered AIUs of the reference critique, all of its AIUs."""

    @property
    def precision(self) -> Floats:
        """(C,): nan for a critique without an AIU."""
        return ratio(self.precision_counts[:, 0], self.precision_counts[:, 1])

    @property
    def recall(self) -> Floats:
        """(C,): nan for a critique whose reference has no AIU."""
        return ratio(self.recall_counts[:, 0], self.recall_counts[:, 1])

    @property
    def f1(self) -> Floats:
        """(C,): 0 if precision or recall is 0, nan if either is undefined."""
        return harmonic_mean(self.precision, self.recall)


def count_aius(critique: Column, recall: Bools, true: Bools) -> AiuCounts:
    """Count AIU labels (N,) by critique; `recall`: whether an AIU counts for recall, otherwise precision."""
    names, codes = np.unique(np.array(critique, object).astype(str), return_inverse=True)
    precision_counts, recall_counts = (
        np.column_stack([np.bincount(codes, mask, minlength=names.size) for mask in (task & true, task)])
        for task in (~recall, recall)
    )
    return AiuCounts(precision_counts.astype(float), recall_counts.astype(float))


def critique_scores(
    counts: AiuCounts, *, groups: Sequence[str] | None = None, resamples: int = 1000
) -> dict[str, Estimate]:
    """Estimate the six `SCORE_NAMES`; critiques, or groups (C,) of them, are resampled."""
    scores = np.column_stack([counts.precision, counts.recall, counts.f1])
    defined = ~np.isnan(scores)
    features = np.column_stack([counts.precision_counts, counts.recall_counts, np.nan_to_num(scores), defined])
    size = len(defined)
    units = Units(np.ones(size), group_indicator(None if groups is None else np.array(groups, object)))

    def family(weights: Floats) -> Floats:
        sums = (weights @ features).T
        precision, recall = ratio(sums[0], sums[1]), ratio(sums[2], sums[3])
        macro = ratio(sums[4:7], sums[7:10])
        return np.stack([precision, recall, harmonic_mean(precision, recall), *macro])

    results = bootstrap(family, units, resamples)
    used = [*defined.sum(axis=0).tolist()] * 2
    return {
        name: notes.critique_estimate(result, n_used, size)
        for name, result, n_used in zip(SCORE_NAMES, results, used, strict=True)
    }


def harmonic_mean(precision: Floats, recall: Floats) -> Floats:
    """2 p r / (p + r); 0 if either is 0, nan if either is nan."""
    total = precision + recall
    return np.where(total == 0, 0.0, ratio(2 * precision * recall, np.where(total == 0, 1, total)))
