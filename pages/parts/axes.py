"""The part of an axis that has the values: shares from 0 to 1, and coefficients from -1 to 1."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from core.wording import NameWrapper
from pages.parts.text import shorten_names

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


# Names on the vertical axis of a chart: in several lines, in rows that are as high as their names.
#
# Of more than MAX_FULL names the long ones are shortened in their middle. The full name is shown on hover.

ROW_HEIGHT, LINE_HEIGHT, GAP = 28, 16, 8
"""Pixels of a row, of a line of a name, and between names of several lines."""
LINE_LENGTH, LONG_LINE_LENGTH = 24, 44
"""Characters of a line: a phone has room for the shorter one."""
MAX_FULL, SHORT = 14, 40
"""Names up to which all are shown in full, and characters of a shortened one, which has about two lines."""


@dataclass(frozen=True)
class Rows:
    """Rows of a chart, the first on top."""

    positions: Mapping[str, float]
    """Name -> the middle of its row, in rows of ordinary height from the lower end of the chart."""
    end: float
    """The upper end of the first row."""
    labels: Mapping[str, str]
    """Name -> its lines."""
    row_height: int = ROW_HEIGHT

    @property
    def height(self) -> int:
        """Pixels of all rows."""
        return round(self.row_height * self.end)


def place_rows(names: Iterable[str], *, row_height: int = ROW_HEIGHT, length: int = LINE_LENGTH) -> Rows:
    """Return the rows of names, the first on top; a name of several lines has a higher row."""
    positions, end = {}, 0.0
    labels = wrap_names(names, length)
    for name in reversed(labels):
        lines = count_lines(labels[name])
        height = max(1.0, (LINE_HEIGHT * lines + GAP) / row_height if lines > 1 else 1.0)
        positions[name] = end + height / 2
        end += height
    return Rows(positions, end, labels, row_height)


def count_lines(wrapped: str) -> int:
    """Return the number of lines of a wrapped name."""
    return wrapped.count("<br>") + 1


def wrap_names(names: Iterable[str], length: int = LINE_LENGTH) -> dict[str, str]:
    """Return each name in lines of at most `length` characters; of more than `MAX_FULL`, long ones are shortened."""
    full = list(dict.fromkeys(names))
    shown = shorten_names(full, SHORT) if len(full) > MAX_FULL else dict(zip(full, full, strict=True))
    return {name: wrap_name(shown[name], length) for name in full}


def wrap_name(name: str, length: int = LINE_LENGTH) -> str:
    """Return the full name in lines of at most `length` characters."""
    return "<br>".join(escape(line, quote=False) for line in NameWrapper(length).wrap(name)) or "–"
