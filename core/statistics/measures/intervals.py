"""95 % intervals by resampling the items (or the documents they come in) with replacement."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from core.statistics.data.arrays import Floats
from core.statistics.data.patterns import Units
from core.statistics.measures.kernels import Family

ENDS = (0.025, 0.975)


@dataclass(frozen=True)
class Resampled:
    """A value with its interval; None where undefined."""

    value: float | None
    low: float | None
    high: float | None
    dropped: int


def resample(family: Family, units: Units, resamples: int, seed: int) -> list[Resampled]:
    """Value and interval of each statistic of the family; all see the same resamples."""
    if not units.number:
        nothing = family(np.zeros((1, units.times.size)))
        return [Resampled(None, None, None, 0) for _ in nothing]
    values = family(units.times[None])[:, 0]
    drawn = [family(weights) for weights in units.resamples(resamples, seed)]
    left_out, often = units.left_out()
    without = family(left_out)
    every = np.concatenate(drawn, axis=1) if drawn else np.empty((values.size, 0))
    return [
        interval(float(value), row, jackknife, often)
        for value, row, jackknife in zip(values, every, without, strict=True)
    ]


def interval(value: float, drawn: Floats, left_out: Floats, often: Floats) -> Resampled:
    """The bias-corrected and accelerated interval (Efron 1987): BCa.

    `drawn`: the statistic in each resample; `left_out`: with each block left out, `often`: how
    often each of those occurs. z0 corrects the median of the resamples, a their skew.
    """
    if np.isnan(value):
        return Resampled(None, None, None, 0)
    defined = drawn[~np.isnan(drawn)]
    dropped = drawn.size - defined.size
    if defined.size < 2 or np.ptp(defined) < 1e-12:
        return Resampled(value, None, None, dropped)
    low, high = np.quantile(defined, bca_levels(value, defined, left_out, often))
    return Resampled(value, float(low), float(high), dropped)


def percentile(value: float, drawn: Floats) -> Resampled:
    """The middle 95 % of the resamples, where there is no jackknife to correct with."""
    defined = drawn[~np.isnan(drawn)]
    dropped = drawn.size - defined.size
    if np.isnan(value) or defined.size < 2:
        return Resampled(None if np.isnan(value) else value, None, None, dropped)
    low, high = np.quantile(defined, ENDS)
    return Resampled(value, float(low), float(high), dropped)


def bca_levels(value: float, drawn: Floats, left_out: Floats, often: Floats) -> Floats:
    """The two quantiles of the resamples that bound the 95 % interval."""
    below = (drawn < value - 1e-12).mean() + (np.abs(drawn - value) <= 1e-12).mean() / 2
    z0 = ndtri(np.clip(below, 1 / drawn.size, 1 - 1 / drawn.size))
    a = acceleration(left_out, often)
    z = z0 + ndtri(np.array(ENDS))
    return np.asarray(ndtr(z0 + z / (1 - a * z)))


def acceleration(left_out: Floats, often: Floats) -> float:
    """sum d^3 / (6 (sum d^2)^1.5) for d the mean of the jackknife values minus each of them."""
    there = ~np.isnan(left_out)
    values, often = left_out[there], often[there]
    if not often.sum():
        return 0.0
    apart = (often * values).sum() / often.sum() - values
    spread = (often * apart**2).sum()
    return float((often * apart**3).sum() / (6 * spread**1.5)) if spread > 1e-24 else 0.0
