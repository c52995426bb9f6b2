"""Statistics as functions of pattern weights, and ways to combine them.

A statistic maps weights (B, P), how often each of P patterns occurs in each of B samples, to B values, nan if it is
undefined. One row of weights gives the value itself, the others its resamples, so each formula is written once.
"""

from collections.abc import Callable, Sequence

import numpy as np

from core.statistics.data.arrays import Bools, Codes, Floats, mean_of_defined, ratio

Statistic = Callable[[Floats], Floats]
"""(B, P) weights -> (B,) values."""
Family = Callable[[Floats], Floats]
"""(B, P) weights -> (S, B) values of S statistics."""


def stack_statistics(statistics: Sequence[Statistic]) -> Family:
    """Return several statistics as one family, in their order."""

    def family(weights: Floats) -> Floats:
        return np.stack([statistic(weights) for statistic in statistics])

    return family


def mean_statistic(statistics: Sequence[Statistic]) -> Statistic:
    """Return the mean of those statistics that are defined."""

    def statistic(weights: Floats) -> Floats:
        if not statistics:
            return np.full(weights.shape[0], np.nan)
        return mean_of_defined(np.stack([part(weights) for part in statistics], axis=-1))

    return statistic


def difference(minuend: Statistic, subtrahend: Statistic) -> Statistic:
    """Return the difference of two statistics of the same resamples."""

    def statistic(weights: Floats) -> Floats:
        return minuend(weights) - subtrahend(weights)

    return statistic


def weighted_mean(values: Floats, used: Bools) -> Statistic:
    """Return the mean of values (P,) over the patterns used (P,)."""
    features = np.column_stack([np.where(used, values, 0), used]).astype(float)

    def statistic(weights: Floats) -> Floats:
        sums = weights @ features
        return ratio(sums[:, 0], sums[:, 1])

    return statistic


def match_rate(codes: Codes, reference: Codes, used: Bools) -> Statistic:
    """Return the share of the used items on which two codes (P,) are equal."""
    return weighted_mean((codes == reference).astype(float), used)


def on_subset(statistic: Statistic, mask: Bools) -> Statistic:
    """Return a statistic of some of the patterns as a statistic of all."""

    def subset_statistic(weights: Floats) -> Floats:
        return statistic(weights[:, mask])

    return subset_statistic
