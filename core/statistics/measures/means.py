"""Means and shares over items, with their intervals."""

from collections.abc import Sequence

import numpy as np

from core.statistics import notes
from core.statistics.data.arrays import Floats
from core.statistics.data.distributions import normal_quantile
from core.statistics.data.estimate import Estimate
from core.statistics.data.patterns import Units, group_indicator
from core.statistics.measures.intervals import bootstrap
from core.statistics.measures.statistic import stack_statistics, weighted_mean

Z = normal_quantile(0.975)


def mean_estimate(
    values: Sequence[float | None] | Floats,
    *,
    groups: Sequence[str] | None = None,
    total: int | None = None,
    raters: int = 0,
    pairs: int = 0,
    resamples: int = 1000,
    seed: int = 0,
) -> Estimate:
    """Estimate the mean over items of the defined values, with its BCa interval; None and nan are left out.

    `total`: the number of items, if some have no value here at all.
    """
    numbers = np.array([np.nan if value is None else value for value in values], float)
    is_defined = ~np.isnan(numbers)
    defined = numbers[is_defined]
    units = Units(
        np.ones(defined.size), group_indicator(None if groups is None else np.array(groups, object)[is_defined])
    )
    mean = weighted_mean(defined, np.ones(defined.size, bool))
    (result,) = bootstrap(stack_statistics([mean]), units, resamples, seed)
    missing = numbers.size - defined.size
    caveats = [f"undefined for {missing} of {numbers.size} items, left out"] if missing else []
    caveats += notes.mean_caveats(result, defined.size)
    return Estimate(
        result.value,
        result.low,
        result.high,
        defined.size,
        total or numbers.size,
        raters,
        pairs,
        result.dropped,
        "; ".join(caveats),
    )


def wilson_proportion(hits: int, n: int) -> tuple[float | None, float | None, float | None]:
    """Return hits / n with the ends of Wilson's 95 % score interval (Wilson 1927); three None for n = 0.

    (p + z^2/2n +- z sqrt(p (1 - p)/n + z^2/4n^2)) / (1 + z^2/n), z = 1.96. It is valid at 0 and 1 too.
    """
    if not n:
        return None, None, None
    p, z2 = hits / n, Z**2 / n
    centre = (p + z2 / 2) / (1 + z2)
    half = Z / (1 + z2) * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    low, high = float(max(0.0, centre - half)), float(min(1.0, centre + half))
    return p, low if hits else 0.0, high if hits < n else 1.0  # exact at the ends, where the sum is rounded
