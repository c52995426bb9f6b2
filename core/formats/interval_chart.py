"""A chart of values with their intervals as SVG: static, without scripts, in the colours of the text around it."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

PLOT_WIDTH, COUNT_WIDTH = 440, 70
"""Pixels of the values, and of n at their right."""
LINE_HEIGHT, NAME_LENGTH, CHARACTER, GAP = 16, 46, 8.2, 12
"""Pixels of a line of a name; its characters, of 13 pixels in a wide font; pixels of a character, and beside a name."""
TOP, BOTTOM = 28, 44


@dataclass(frozen=True)
class Point:
    """A value with its 95 % interval, if it has one, and its n."""

    name: str
    value: float
    low: float | None
    high: float | None
    n: int


def interval_chart(points: Sequence[Point], axis: str, lines: Sequence[tuple[str, float]] = ()) -> str:
    """Return the chart: one row for each point, in the given order; `lines` are values to compare with."""
    names = [textwrap.wrap(point.name, NAME_LENGTH) or ["–"] for point in points]
    name_width = max(80, round(CHARACTER * max((len(line) for name in names for line in name), default=0)) + 2 * GAP)
    width = name_width + PLOT_WIDTH + COUNT_WIDTH
    heights = [max(28, LINE_HEIGHT * len(name) + 8) for name in names]
    end = TOP + sum(heights)
    start, stop, ticks = _axis([end for one in points for end in (one.low, one.value, one.high)], lines)

    def x(value: float) -> float:
        return round(name_width + (value - start) / (stop - start) * PLOT_WIDTH, 1)

    parts = [_tick(x(tick), tick, end) for tick in ticks]
    parts += [_line(x(value), name, value, end) for name, value in lines]
    middle = float(TOP)
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


def _axis(ends: list[float | None], lines: Sequence[tuple[str, float]]) -> tuple[float, float, list[float]]:
    """Return both ends of the axis, on ticks around the data, and the ticks."""
    values = [end for end in ends if end is not None] + [value for _, value in lines] or [0.0, 1.0]
    low, high = min(values), max(values)
    span = max(high - low, 0.1)
    step = next(step * 10**power for power in range(-2, 12) for step in (1, 2, 5) if span / (step * 10**power) <= 5)
    first, last = int(low // step), int(-(-high // step))
    last = max(last, first + 1)
    return first * step, last * step, [round(number * step, 6) for number in range(first, last + 1)]


def _tick(x: float, tick: float, end: float) -> str:
    return (
        f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP}" y2="{end}"/>'
        f'<text class="small" x="{x}" y="{end + 16}" text-anchor="middle">{tick:g}</text>'
    )


def _line(x: float, name: str, value: float, end: float) -> str:
    return (
        f'<line class="reference" x1="{x}" x2="{x}" y1="{TOP - 6}" y2="{end}"/>'
        f'<text class="small" x="{x}" y="{TOP - 12}" text-anchor="middle">{escape(name)} {value:.2f}</text>'
    )


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
    count = f'<text class="small" x="{name_width + PLOT_WIDTH + 14}" y="{y + 4}">n {point.n:,}</text>'
    return text + interval + dot + count
