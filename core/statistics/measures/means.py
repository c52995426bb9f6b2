"""Means over items and shares of targets, each with one interval for all pages, commands and exports.

The interval of a share is Wilson's 95 % score interval (Wilson 1927). If targets are in clusters (documents,
dialogues), hits and targets are divided by the design effect first (Rao & Scott 1992): the variance of the share with
whole clusters as units over the binomial one, at least 1. That of another mean is by the bootstrap.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from core.statistics import notes
from core.statistics.data.arrays import Bools, Estimate, Floats, normal_quantile, ratio
from core.statistics.data.patterns import Units, group_indicator
from core.statistics.data.sample import Draw, Sample
from core.statistics.measures.designs import drawn_mean, effective_labels, unseen_variance
from core.statistics.measures.resampling import bootstrap, stack_statistics, weighted_mean

Z = normal_quantile(0.975)


def share_estimate(
    hits: Bools | Sequence[bool],
    groups: Sequence[str] | None = None,
    *,
    total: int | None = None,
    raters: int = 0,
    pairs: int = 0,
    reason: str = "no item has a value",
    sample: Sample | None = None,
) -> Estimate:
    """Estimate the share of hits (N,); `groups` are the clusters, `total` counts targets without a value too.

    `reason` is that of a share without targets; `sample` is how these targets were drawn.
    """
    hit = np.asarray(hits, bool)
    counts = total if total is not None else hit.size
    if not hit.size:
        return Estimate(None, None, None, 0, counts, raters, pairs, 0, reason)
    clusters = hit.size if groups is None else len(set(groups))
    counted, n = effective_counts(hit, groups, sample)
    if not n:
        return Estimate(None, None, None, 0, counts, raters, pairs, 0, reason)
    low, high = wilson_interval(counted, n)
    caveat = notes.few_groups(clusters) if clusters < min(hit.size, notes.FEW_GROUPS) else ""
    value = float(hit.mean()) if sample is None else counted / n
    return Estimate(value, low, high, hit.size, counts, raters, pairs, 0, caveat, kish(sample))


def kish(sample: Sample | None) -> float | None:
    """Return Kish's effective number of labels if labels count differently, otherwise None."""
    counted = np.empty(0) if sample is None else sample.weights[sample.weights > 0]
    return effective_labels(counted) if counted.size and np.ptp(counted) > 1e-9 * counted.max() else None


def selected_groups(groups: Sequence[str] | None, mask: Bools) -> list[str] | None:
    """Return the clusters (N,) of the observations in a mask; None if they are independent."""
    return None if groups is None else [groups[place] for place in np.flatnonzero(mask).tolist()]


def pattern_share(hit: Bools, used: Bools, units: Units) -> tuple[float | None, float | None, float | None, str]:
    """Return the share of hits (P,) among the used patterns, the ends of its interval, and its caveat."""
    weights = units.frequencies * used
    hits, n = float(weights @ hit), float(weights.sum())
    if not n:
        return None, None, None, ""
    if units.draw is not None:
        hits, n = _drawn_counts(hit, weights, units.draw, units.clusters)
        return (hits / n, *wilson_interval(hits, n), "") if n else (None, None, None, "")
    if units.clusters is None:
        return (hits / n, *wilson_interval(hits, n), "")
    cluster_hits, sizes = (np.asarray(units.clusters @ one.astype(float), float) for one in (hit & used, used))
    is_used = sizes > 0
    low, high = wilson_interval(*_effective(cluster_hits[is_used], sizes[is_used]))
    clusters = int(is_used.sum())
    return hits / n, low, high, notes.few_groups(clusters) if clusters < min(n, notes.FEW_GROUPS) else ""


def _drawn_counts(
    hit: Bools, frequencies: Floats, draw: Draw, clusters: csr_array | None = None
) -> tuple[float, float]:
    """Return the hits and observations of a simple random sample whose share is as certain as that of a design."""
    counted = frequencies * draw.weights
    if not counted.any():
        return 0.0, 0.0
    mean, variance, _ = drawn_mean(hit.astype(float), frequencies, draw, clusters)
    variance = max(variance, unseen_variance(hit.astype(float), frequencies, draw))
    n = float(counted.sum() ** 2 / (frequencies * draw.weights**2).sum())
    if 0 < mean < 1 and variance > 0:
        n = mean * (1 - mean) / variance
    return min(1.0, mean) * n, n


def effective_counts(hit: Bools, groups: Sequence[str] | None, sample: Sample | None = None) -> tuple[float, float]:
    """Return hits and observations (N,), divided by the design effect of clusters, strata and unequal weights."""
    if sample is not None and hit.size:
        clusters = group_indicator(None if groups is None else np.array(groups, object))
        return _drawn_counts(hit, np.ones(hit.size), sample, clusters)
    if groups is None or not hit.size:
        return float(hit.sum()), float(hit.size)
    _, cluster = np.unique(np.array(groups, str), return_inverse=True)
    sizes, cluster_hits = np.bincount(cluster), np.bincount(cluster, weights=hit.astype(float))
    return _effective(np.asarray(cluster_hits, float), np.asarray(sizes, float))


def _effective(cluster_hits: Floats, sizes: Floats) -> tuple[float, float]:
    hits, n, clusters = float(cluster_hits.sum()), float(sizes.sum()), sizes.size
    share = hits / n
    if clusters == n:
        return hits, n
    if clusters == 1 or share in (0, 1):
        return share * clusters, float(clusters)
    residuals = cluster_hits - share * sizes
    variance = clusters / (clusters - 1) * float(residuals @ residuals) / n**2
    design_effect = max(1.0, variance / (share * (1 - share) / n))
    return hits / design_effect, n / design_effect


def wilson_proportion(hits: int, n: int) -> tuple[float | None, float | None, float | None]:
    """Return hits / n with the ends of its interval for independent observations; three None for n = 0."""
    return (hits / n, *wilson_interval(hits, n)) if n else (None, None, None)


def wilson_interval(hits: float, n: float) -> tuple[float, float]:
    """Return Wilson's interval of hits / n; counts may be fractions. It is valid at 0 and 1 too.

    (p + z^2/2n +- z sqrt(p (1 - p)/n + z^2/4n^2)) / (1 + z^2/n), z = 1.96.
    """
    share, spread = hits / n, Z**2 / n
    centre = (share + spread / 2) / (1 + spread)
    half = Z / (1 + spread) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    low, high = float(max(0.0, centre - half)), float(min(1.0, centre + half))
    return low if hits else 0.0, high if hits < n else 1.0  # exact at the ends, where the sum is rounded


# The range of a figure if some replies are unreadable.

# The lowest and the highest value.
Range = tuple[float, float]


def possible_range(statistic: Callable[[bool], float | None]) -> Range | None:
    """Return the lowest and the highest value that a figure can take; None if it is undefined.

    `statistic(value)` returns the figure with every unreadable reply counted as `value`: right or wrong, true or false,
    a win or a loss. If the figure never falls when a single reply is changed from False to True, as a share, a mean
    of shares and the F1 of shares do, no other reading of the unreadable replies gives a value outside of the range:
    Manski's worst-case bounds for missing values (Partial Identification of Probability Distributions, 2003, ch. 1). It
    is not an interval: it says nothing about the sample, and assumes nothing about why replies are unreadable.
    """
    values = [statistic(value) for value in (False, True)]
    defined = [value for value in values if value is not None]
    return (min(defined), max(defined)) if len(defined) == len(values) else None


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


def count_aius(critique: Sequence[str] | npt.NDArray[np.object_], recall: Bools, true: Bools) -> AiuCounts:
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
