"""A chart of values with their intervals as SVG: static, without scripts, in the colours of the text around it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from core.wording import NameWrapper

PLOT_WIDTH = 440
"""Pixels of the values."""
LINE_HEIGHT, NAME_LENGTH, CHARACTER, GAP = 16, 46, 8.2, 12
"""Pixels of a line of a name; its characters, of 13 pixels in a wide font; pixels of a character, and beside a name."""
SMALL_CHARACTER, LEAST_MARGIN = 6.8, 70
"""Pixels of a character of the texts to the right of the values, and the least width of these texts."""
TOP, BOTTOM = 28, 44


@dataclass(frozen=True)
class Point:
    """A value with its 95 % interval, if it has one, and its n."""

    name: str
    value: float
    low: float | None
    high: float | None
    n: int
    coverage: float | None = None
    """Share of the targets with a verdict, if the value is a judge's."""

    @property
    def size(self) -> str:
        """`n 85`, or `coverage 97 % · n 85`."""
        coverage = "" if self.coverage is None else f"coverage {100 * self.coverage:.0f} % · "
        return f"{coverage}n {self.n:,}"


def interval_chart(points: Sequence[Point], axis: str, lines: Sequence[tuple[str, float]] = ()) -> str:
    """Return the chart: one row for each point, in the given order; `lines` are values to compare with."""
    names = [wrap_name(point) for point in points]
    name_width = width_of_names(names)
    width = name_width + PLOT_WIDTH + width_of_sizes(points)
    heights = [max(28, LINE_HEIGHT * len(name) + 8) for name in names]
    top = TOP + LINE_HEIGHT * max(len(lines) - 1, 0)
    end = top + sum(heights)
    start, stop, ticks = fit_axis(points, lines)

    def x(value: float) -> float:
        return round(name_width + (value - start) / (stop - start) * PLOT_WIDTH, 1)

    parts = [_tick(x(tick), tick, top, end) for tick in ticks]
    parts += [
        _line(x(value), top, end) + _line_name(x(value), f"{name} {value:.2f}", top - LINE_HEIGHT * place)
        for place, (name, value) in enumerate(lines)
    ]
    middle = float(top)
    for point, name, height in zip(points, names, heights, strict=True):
        parts.append(_row(point, name, middle + height / 2, x, name_width))
        middle += height
    centre = name_width + PLOT_WIDTH / 2
    parts.append(f'<text x="{centre}" y="{end + 36}" text-anchor="middle">{escape(axis)}</text>')
    described = "; ".join(f"{point.name} {point.value:.2f}" for point in points)
    return (
        f'<svg viewBox="0 0 {width} {end + BOTTOM}" width="{width}" role="img" '
        f'aria-label="{escape(f"{axis}: {described}")}">{"".join(parts)}</svg>'
    )


def wrap_name(point: Point) -> list[str]:
    """Return the lines of the name of a point."""
    return NameWrapper(NAME_LENGTH).wrap(point.name) or ["–"]


def width_of_names(names: Sequence[Sequence[str]]) -> int:
    """Return the pixels beside the values that names, in lines, need."""
    return max(80, round(CHARACTER * max((len(line) for name in names for line in name), default=0)) + 2 * GAP)


def width_of_sizes(points: Sequence[Point]) -> int:
    """Return the pixels to the right of the values that coverage and n need."""
    longest = max((len(point.size) for point in points), default=0)
    return max(LEAST_MARGIN, round(SMALL_CHARACTER * longest) + 2 * GAP)


def fit_axis(points: Sequence[Point], lines: Sequence[tuple[str, float]]) -> tuple[float, float, list[float]]:
    """Return both ends of the axis, on ticks around the data, and the ticks."""
    ends = [end for point in points for end in (point.low, point.value, point.high)]
    values = [end for end in ends if end is not None] + [value for _, value in lines] or [0.0, 1.0]
    low, high = min(values), max(values)
    span = max(high - low, 0.1)
    step = next(step * 10**power for power in range(-2, 12) for step in (1, 2, 5) if span / (step * 10**power) <= 5)
    first, last = int(low // step), int(-(-high // step))
    last = max(last, first + 1)
    return first * step, last * step, [round(number * step, 6) for number in range(first, last + 1)]


def _tick(x: float, tick: float, top: float, end: float) -> str:
    return (
        f'<line class="grid" x1="{x}" x2="{x}" y1="{top}" y2="{end}"/>'
        f'<text class="small" x="{x}" y="{end + 16}" text-anchor="middle">{tick:g}</text>'
    )


def _line(x: float, top: float, end: float) -> str:
    return f'<line class="reference" x1="{x}" x2="{x}" y1="{top - 6}" y2="{end}"/>'


def _line_name(x: float, text: str, top: float) -> str:
    return f'<text class="small" x="{x}" y="{top - 12}" text-anchor="middle">{escape(text)}</text>'


def _row(point: Point, name: list[str], y: float, place: Callable[[float], float], name_width: int) -> str:
    first = y - LINE_HEIGHT * (len(name) - 1) / 2 + 4
    text = "".join(
        f'<text x="{name_width - GAP}" y="{first + LINE_HEIGHT * number}" text-anchor="end">{escape(line)}</text>'
        for number, line in enumerate(name)
    )
    interval = ""
    if point.low is not None and point.high is not None:
        left, right = place(point.low), place(point.high)
        ends = "".join(
            f'<line class="interval" x1="{end}" x2="{end}" y1="{y - 4}" y2="{y + 4}"/>' for end in (left, right)
        )
        interval = f'<line class="interval" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>{ends}'
    dot = f'<circle class="value" cx="{place(point.value)}" cy="{y}" r="5"/>'
    count = f'<text class="small" x="{name_width + PLOT_WIDTH + 14}" y="{y + 4}">{point.size}</text>'
    return text + interval + dot + count
