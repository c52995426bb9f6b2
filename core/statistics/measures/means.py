"""Means and shares over items, with their intervals."""

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from core.statistics import remarks
from core.statistics.data.arrays import Floats, ratio
from core.statistics.data.estimate import Estimate
from core.statistics.data.patterns import Units, grouped
from core.statistics.measures.intervals import resample

Z = float(ndtri(0.975))


def mean(
    values: Sequence[float | None] | Floats,
    *,
    groups: Sequence[str] | None = None,
    there: int | None = None,
    raters: int = 0,
    pairs: int = 0,
    resamples: int = 1000,
    seed: int = 0,
) -> Estimate:
    """The mean over items of what is defined, with its BCa interval; None and nan are left out.

    `there`: how many items there are, where more than have a value here.
    """
    numbers = np.array([np.nan if value is None else value for value in values], float)
    defined = ~np.isnan(numbers)
    found = numbers[defined]
    units = Units(np.ones(found.size), grouped(None if groups is None else np.array(groups, object)[defined]))
    features = np.column_stack([found, np.ones(found.size)])

    def family(weights: Floats) -> Floats:
        sums = weights @ features
        return ratio(sums[:, 0], sums[:, 1])[None]

    (one,) = resample(family, units, resamples, seed)
    missing = numbers.size - found.size
    notes = [f"undefined for {missing} of {numbers.size} items, left out"] if missing else []
    notes += remarks.of_a_mean(one, found.size)
    return Estimate(
        one.value,
        one.low,
        one.high,
        found.size,
        there or numbers.size,
        raters,
        pairs,
        one.dropped,
        "; ".join(notes),
    )


def share(hits: int, of: int) -> tuple[float | None, float | None, float | None]:
    """hits / of with Wilson's score interval (Wilson 1927), which holds at 0 and 1 too."""
    if not of:
        return None, None, None
    p, z2 = hits / of, Z**2 / of
    middle = (p + z2 / 2) / (1 + z2)
    half = Z / (1 + z2) * np.sqrt(p * (1 - p) / of + Z**2 / (4 * of**2))
    return p, float(max(0.0, middle - half)), float(min(1.0, middle + half))
