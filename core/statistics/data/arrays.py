"""Names for the arrays that the statistics pass around, and division that knows when it is undefined."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int16]
Bools = npt.NDArray[np.bool_]

TINY = 1e-12
"""Below this a denominator is a rounding error of zero: counts and proportions are never so small."""


def ratio(top: npt.NDArray[Any], bottom: npt.NDArray[Any]) -> Floats:
    """top / bottom, elementwise, with nan where bottom is zero."""
    top, bottom = np.broadcast_arrays(np.asarray(top, float), np.asarray(bottom, float))
    out = np.full(top.shape, np.nan)
    np.divide(top, bottom, out=out, where=np.abs(bottom) > TINY)
    return out


def standard(values: Floats) -> Floats:
    """The values less their mean, in units of the largest, so that sums of squares lose nothing."""
    if not values.size:
        return values
    centred = values - values.mean()
    return np.asarray(centred / (np.abs(centred).max() or 1))


def beyond_chance(observed: Floats, expected: Floats) -> Floats:
    """(observed - expected) / (1 - expected): the shape of every chance-corrected coefficient."""
    return ratio(observed - expected, 1.0 - expected)
