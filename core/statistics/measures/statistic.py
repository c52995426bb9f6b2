"""Statistics as functions of pattern weights, and ways to combine them.

A statistic maps weights (B, P), how often each of P patterns occurs in each of B samples, to B values, nan if it is
undefined. One row of weights gives the value itself, the others its resamples, so each formula is written once.

Most statistics are functions of weighted sums over patterns: these are `SumStatistic`s. They are combined into one
product of weights and features, and `bootstrap` resamples the features of large data instead of its patterns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from core.statistics.data.arrays import Bools, Codes, Floats, Ints, ratio

Statistic = Callable[[Floats], Floats]
"""(B, P) weights -> (B,) values."""
Family = Callable[[Floats], Floats]
"""(B, P) weights -> (S, B) values of S statistics."""

EXACT_SUMS = 2**24
"""Whole numbers below this are exact in single precision."""
MAX_FEATURES = 20_000_000
"""Numbers in the features of combined statistics: 160 MB."""


@dataclass(frozen=True)
class SumStatistic:
    """A statistic, or a family of them, that is a function of weighted sums of features."""

    features: Floats | Bools
    """(P, F)"""
    combine: Callable[[Floats], Floats]
    """(B, F) sums -> (B,) values of one statistic, or (S, B) of a family."""

    def __call__(self, weights: Floats) -> Floats:
        return self.combine(weights @ self.features)

    def of_counts(self, largest_sum: float) -> "Family":
        """Return the same function of weights that are whole numbers with sums up to `largest_sum`.

        Sums of whole numbers below 2^24 are exact in single precision too, which takes half the time.
        """
        largest = np.abs(self.features).max(initial=0) * largest_sum
        if not largest < EXACT_SUMS or (self.features != np.rint(self.features)).any():
            return self
        features = self.features.astype(np.float32)
        return lambda weights: self.combine((weights.astype(np.float32) @ features).astype(float))


def stack_statistics(statistics: Sequence[Statistic]) -> Family:
    """Return several statistics as one family, in their order."""
    return _combined(statistics, np.stack)


def mean_by_items(statistics: Sequence[Statistic], items: Sequence[Bools]) -> Statistic:
    """Return the mean of those statistics that are defined, weighted by their numbers of items.

    `items` has the patterns (P,) that each statistic uses.
    """
    if not statistics:
        return lambda weights: np.full(weights.shape[0], np.nan)
    counts = SumStatistic(np.column_stack(items).astype(float), lambda sums: sums)

    def mean(values: list[Floats]) -> Floats:
        *found, n = values
        stacked = np.stack(found, axis=-1)
        defined = ~np.isnan(stacked)
        return ratio(np.where(defined, stacked * n, 0).sum(axis=-1), np.where(defined, n, 0).sum(axis=-1))

    return _combined([*statistics, counts], mean)


def difference(minuend: Statistic, subtrahend: Statistic) -> Statistic:
    """Return the difference of two statistics of the same resamples."""
    return _combined([minuend, subtrahend], lambda values: values[0] - values[1])


def _combined(statistics: Sequence[Statistic], merge: Callable[[list[Floats]], Floats]) -> Statistic:
    """Return a function of the values of several statistics; of sums too, if all of them are."""
    sums = [statistic for statistic in statistics if isinstance(statistic, SumStatistic)]
    if len(sums) < len(statistics) or not sums or sum(one.features.size for one in sums) > MAX_FEATURES:
        return lambda weights: merge([statistic(weights) for statistic in statistics])
    ends = np.cumsum([statistic.features.shape[1] for statistic in sums])[:-1]

    def combine(totals: Floats) -> Floats:
        parts = np.split(totals, ends, axis=1)
        return merge([statistic.combine(part) for statistic, part in zip(sums, parts, strict=True)])

    features = sums[0].features if len(sums) == 1 else np.concatenate([one.features for one in sums], axis=1)
    return SumStatistic(features, combine)


def weighted_mean(values: Floats, used: Bools) -> Statistic:
    """Return the mean of values (P,) over the patterns used (P,)."""
    features = np.column_stack([np.where(used, values, 0), used]).astype(float)
    return SumStatistic(features, lambda sums: ratio(sums[:, 0], sums[:, 1]))


def match_rate(codes: Codes, reference: Codes, used: Bools) -> Statistic:
    """Return the share of the used items on which two codes (P,) are equal."""
    return weighted_mean((codes == reference).astype(float), used)


def pooled_match_rate(equal: Bools, patterns: Ints, number: int) -> Statistic:
    """Return the share of M labels that equal their reference; `patterns` (M,) are their patterns, of `number`."""
    matches = np.bincount(patterns[equal], minlength=number)
    features = np.column_stack([matches, np.bincount(patterns, minlength=number)]).astype(float)
    return SumStatistic(features, lambda sums: ratio(sums[:, 0], sums[:, 1]))


def on_subset(statistic: Statistic, mask: Bools) -> Statistic:
    """Return a statistic of some of the patterns as a statistic of all."""

    def subset_statistic(weights: Floats) -> Floats:
        return statistic(weights[:, mask])

    return subset_statistic
