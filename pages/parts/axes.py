"""The part of an axis that has the values: shares from 0 to 1, and coefficients from -1 to 1."""

import math
from collections.abc import Sequence
from typing import Any

MARGIN, OUTSIDE = 0.05, 0.02
"""The space beside the outermost value, and the part of it beyond -1, 0 and 1."""


def fit_range(values: Sequence[float]) -> tuple[float, float]:
    """Return the range of an axis: all values with a margin, of values without a negative one at most 0 to 1."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    return max((0.0 if low >= 0 else -1.0) - OUTSIDE, low - MARGIN), min(1.0 + OUTSIDE, high + MARGIN)


def fit_axis(ends: tuple[float, float]) -> dict[str, Any]:
    """Return the range of an axis with at most six ticks, none of them below -1 or above 1."""
    low, high = max(-1.0 if ends[0] < -OUTSIDE else 0.0, ends[0]), min(1.0, ends[1])
    step = next((step for step in (0.01, 0.02, 0.05, 0.1, 0.2) if high - low <= 5 * step), 0.5)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return {"range": ends, "tickvals": [round(place * step, 2) for place in range(first, last + 1)]}
