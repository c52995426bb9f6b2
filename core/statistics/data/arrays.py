"""Array types of the statistics, division that yields nan if it is undefined, and quantiles."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int16]
Bools = npt.NDArray[np.bool_]

ZERO_TOLERANCE = 1e-12
"""A denominator below this is a rounding error of zero: counts and proportions are never so small."""


def ratio(numerator: npt.NDArray[Any], denominator: npt.NDArray[Any]) -> Floats:
    """Return numerator / denominator, elementwise, with nan if the denominator is zero."""
    numerator, denominator = np.broadcast_arrays(np.asarray(numerator, float), np.asarray(denominator, float))
    quotient = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=quotient, where=np.abs(denominator) > ZERO_TOLERANCE)
    return quotient


def clipped_correlation(product: npt.NDArray[Any], spread: npt.NDArray[Any]) -> Floats:
    """Return product / spread limited to [-1, 1]; nan if the spread is zero.

    The Cauchy-Schwarz inequality bounds every correlation, but rounding can exceed the bound by about 1e-16.
    """
    return np.clip(ratio(product, spread), -1.0, 1.0)


def rescale(values: Floats) -> Floats:
    """Return the values minus their mean, divided by the largest absolute deviation.

    Sums of squares of rescaled values lose no digits when the values are far from zero.
    """
    if not values.size:
        return values
    centred = values - values.mean()
    return np.asarray(centred / (np.abs(centred).max() or 1))


def chance_corrected(observed: Floats, expected: Floats) -> Floats:
    """Return (observed - expected) / (1 - expected), the form of every chance-corrected coefficient."""
    return ratio(observed - expected, 1.0 - expected)


def mean_of_defined(values: Floats) -> Floats:
    """Return the mean over the last axis of the values that are not nan; nan if there are none."""
    defined = ~np.isnan(values)
    return ratio(np.where(defined, values, 0).sum(axis=-1), defined.sum(axis=-1))


def quantiles(values: Floats, levels: Sequence[float] | Floats) -> Floats:
    """Return quantiles of one or more values without nan, interpolated linearly; equal to `np.quantile`.

    The first call of `np.quantile` in a process imports `numpy.ma`, which takes a command 10 ms.
    """
    ordered = np.sort(values)
    places = (ordered.size - 1) * np.asarray(levels, float)
    below = places.astype(int)
    share = places - below
    low, high = ordered[below], ordered[np.minimum(below + 1, ordered.size - 1)]
    # From the nearer end, as numpy does, so a quantile of equal values is that value.
    return np.asarray(np.where(share < 0.5, low + (high - low) * share, high - (high - low) * (1 - share)))
