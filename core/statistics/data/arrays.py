"""Array types of the statistics, division that yields nan if it is undefined, and distributions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import ndtr, ndtri, stdtr, stdtrit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int16]
Bools = npt.NDArray[np.bool_]

# A denominator below this is a rounding error of zero: counts and proportions are never so small.
ZERO_TOLERANCE = 1e-12


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


# Sparse matrices that count in which row and column each of N observations is.


def indicator_matrix(rows: Ints, columns: Ints, shape: tuple[int, int] | None = None) -> csr_array:
    """Return a matrix with 1 at (row, column) of each observation; repeated places are added up."""
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


# The normal distribution and Student's t.


def normal_cdf(z: float) -> float:
    """Return the probability of a standard normal value below z."""
    return float(ndtr(z))


def normal_quantile(probability: float) -> float:
    """Return the standard normal value below which values have this probability, 0 < probability < 1."""
    return float(ndtri(probability))


def students_t_cdf(degrees: float, t: float) -> float:
    """Return the probability of a value of Student's t below t, with these degrees of freedom."""
    return float(stdtr(degrees, t))


def students_t_quantile(degrees: float, probability: float) -> float:
    """Return the value below which values of Student's t with these degrees of freedom have this probability."""
    return float(stdtrit(degrees, probability))


# The form in which every statistic is reported.


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval, the data behind it, and the caveats of its interpretation."""

    value: float | None
    """None if the statistic is undefined; `reason` then states why."""
    low: float | None
    high: float | None
    """Ends of the 95 % interval; None if no interval can be given, and `reason` states why."""
    items: int
    """Items that the value uses."""
    items_total: int
    """Items available, used or not."""
    raters: int
    pairs: int
    """Pairs of labels on the same item that were compared."""
    dropped: int = 0
    """Resamples in which the statistic was undefined; the interval is computed from the others."""
    reason: str = ""
    effective: float | None = None
    """Kish's effective number of the labels if they count differently; None if each counts the same."""
