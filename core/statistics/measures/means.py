"""Means over items, with their intervals."""

from collections.abc import Sequence

import numpy as np

from core.statistics import notes
from core.statistics.data.arrays import Floats
from core.statistics.data.estimate import Estimate
from core.statistics.data.patterns import Units, group_indicator
from core.statistics.measures.intervals import bootstrap
from core.statistics.measures.statistic import stack_statistics, weighted_mean


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
    numbers = np.asarray(values, float)  # None becomes nan
    is_defined = ~np.isnan(numbers)
    defined = numbers[is_defined]
    units = Units(
        np.ones(defined.size), group_indicator(None if groups is None else np.array(groups, object)[is_defined])
    )
    mean = weighted_mean(defined, np.ones(defined.size, bool))
    (result,) = bootstrap(stack_statistics([mean]), units, resamples, seed)
    missing = numbers.size - defined.size
    caveats = [f"undefined for {missing} of {numbers.size} items, left out"] if missing else []
    caveats += notes.mean_caveats(result, defined.size, units.size)
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
