"""95 % intervals by resampling items, or the documents they belong to, with replacement."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.statistics.data.arrays import Floats, quantiles
from core.statistics.data.distributions import normal_cdf, normal_quantile
from core.statistics.data.patterns import Units, merge_equal_rows
from core.statistics.measures.statistic import Family, SumStatistic

LEVELS = (0.025, 0.975)
NO_SPREAD = "every resample gives the same value: no interval"
FEW_RESAMPLES = "fewer than two resamples have a value: no interval"
VALUE_OUTSIDE = "no interval: the resampled one excludes the value, because repeated items bias this statistic"
"""Rank statistics of continuous scores: a resample has ties that the data does not have."""
SAME = 1e-12
"""Resampled values closer than this are equal up to rounding."""
CLOSE = 1e-9
"""A value this close to the end of its interval is not outside: closed forms agree to this many digits."""


@dataclass(frozen=True)
class Resampled:
    """A value with its interval; None if undefined."""

    value: float | None
    low: float | None
    high: float | None
    dropped: int
    """Resamples in which the statistic is undefined."""
    problem: str = ""
    """Why a defined value has no interval."""


def bootstrap(
    family: Family, units: Units, resamples: int, seed: int, wanted: Sequence[int] | None = None
) -> list[Resampled]:
    """Return value and interval of each statistic of the family, all from the same resamples; 0 for values alone.

    `wanted` are the statistics to return, by their places in the family; the resamples are those of the whole family.
    """
    if not units.size:
        undefined = family(np.zeros((1, units.frequencies.size)))
        return [Resampled(None, None, None, 0) for _ in (undefined if wanted is None else wanted)]
    if isinstance(family, SumStatistic):
        features, units = merge_equal_rows(family.features, units)
        family = SumStatistic(features, family.combine).of_counts(units.largest_resample)
    values = family(units.frequencies[None])[:, 0]
    places = range(len(values)) if wanted is None else wanted
    if not resamples:
        return [percentile_interval(float(values[place]), np.empty(0)) for place in places]
    chunks = [family(weights) for weights in units.resample_weights(resamples, seed)]
    weights, block_frequencies = units.jackknife_weights()
    jackknife = family(weights)
    resampled = np.concatenate(chunks, axis=1)
    return [
        bca_interval(float(values[place]), resampled[place], jackknife[place], block_frequencies) for place in places
    ]


def bca_interval(value: float, resampled: Floats, jackknife: Floats, block_frequencies: Floats) -> Resampled:
    """Return the bias-corrected and accelerated interval, BCa (Efron 1987).

    `resampled`: the statistic in each resample; `jackknife`: without each block of items; `block_frequencies`: how
    often each block occurs. z0 corrects the median of the resamples, the acceleration their skewness.
    """
    if np.isnan(value):
        return Resampled(None, None, None, 0)
    defined = resampled[~np.isnan(resampled)]
    dropped = resampled.size - defined.size
    if defined.size < 2:
        return Resampled(value, None, None, dropped, FEW_RESAMPLES)
    if np.ptp(defined) < SAME:
        return Resampled(value, None, None, dropped, NO_SPREAD)
    low, high = quantiles(defined, bca_levels(value, defined, jackknife, block_frequencies))
    return checked_interval(value, float(low), float(high), dropped)


def percentile_interval(value: float, resampled: Floats) -> Resampled:
    """Return the middle 95 % of the resamples, if there is no jackknife for a correction."""
    defined = resampled[~np.isnan(resampled)]
    dropped = resampled.size - defined.size
    if np.isnan(value):
        return Resampled(None, None, None, dropped)
    if defined.size < 2:
        return Resampled(value, None, None, dropped, FEW_RESAMPLES)
    low, high = quantiles(defined, LEVELS)
    return checked_interval(value, float(low), float(high), dropped)


def checked_interval(value: float, low: float, high: float, dropped: int) -> Resampled:
    """Return the interval, or none if it excludes its own value."""
    if value < low - CLOSE or value > high + CLOSE:
        return Resampled(value, None, None, dropped, VALUE_OUTSIDE)
    return Resampled(value, low, high, dropped)


def bca_levels(value: float, resampled: Floats, jackknife: Floats, block_frequencies: Floats) -> Floats:
    """Return the two quantiles of the resamples that bound the 95 % interval."""
    # Resamples equal to the value count half: statistics of few items repeat, and z0 would be biased either way.
    below = (resampled < value - SAME).mean() + (np.abs(resampled - value) <= SAME).mean() / 2
    z0 = normal_quantile(np.clip(below, 1 / resampled.size, 1 - 1 / resampled.size))
    a = acceleration(jackknife, block_frequencies)
    z = z0 + np.array([normal_quantile(level) for level in LEVELS])
    return np.array([normal_cdf(shifted) for shifted in z0 + z / (1 - a * z)])


def acceleration(jackknife: Floats, block_frequencies: Floats) -> float:
    """sum d^3 / (6 (sum d^2)^1.5) with d the mean of the jackknife values minus each of them."""
    defined = ~np.isnan(jackknife)
    values, frequencies = jackknife[defined], block_frequencies[defined]
    if not frequencies.sum():
        return 0.0
    deviations = (frequencies * values).sum() / frequencies.sum() - values
    spread = (frequencies * deviations**2).sum()
    return float((frequencies * deviations**3).sum() / (6 * spread**1.5)) if spread > 1e-24 else 0.0
