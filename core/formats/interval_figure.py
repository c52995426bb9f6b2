"""A Plotly figure of values with their intervals, for notebooks and files of images."""

from collections.abc import Sequence
from html import escape
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from core.formats.interval_chart import (
    LINE_HEIGHT,
    PLOT_WIDTH,
    Point,
    fit_axis,
    width_of_names,
    width_of_sizes,
    wrap_name,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW_HEIGHT, TOP, BOTTOM = 28, 70, 60
"""Pixels of a row with a name of one line, above the names of lines, and below the rows."""
GREY = "#8A8F98"


def interval_figure(
    points: Sequence[Point], title: str, axis: str, lines: Sequence[tuple[str, float]] = ()
) -> "go.Figure":
    """Return the figure: one row for each point, the first at the top, with coverage and n to its right.

    `lines` are values to compare with, drawn as dashed lines. The width leaves the values the same room whatever
    the length of the names, in pixels.
    """
    import plotly.graph_objects as go

    names = [wrap_name(point) for point in points]
    ends = list(accumulate((max(ROW_HEIGHT, LINE_HEIGHT * len(name) + 8) for name in names), initial=0))
    middles = [(start + end) / 2 for start, end in pairwise(ends)]
    figure = go.Figure(_points(points, middles))
    start, stop, ticks = fit_axis(points, lines)
    margin = (stop - start) / 50
    figure.update_xaxes(title=axis, tickvals=ticks, range=[start - margin, stop + margin], zeroline=False)
    labels = ["<br>".join(escape(line, quote=False) for line in name) for name in names]
    figure.update_yaxes(tickvals=middles, ticktext=labels, range=[ends[-1], 0], showgrid=False, zeroline=False)
    figure.layout.shapes = [_line(value) for _, value in lines]
    figure.layout.annotations = [
        *(_line_name(place, *line) for place, line in enumerate(lines)),
        *(_size(point, middle) for point, middle in zip(points, middles, strict=True)),
    ]
    sides = {"l": width_of_names(names), "r": width_of_sizes(points)}
    above = TOP + LINE_HEIGHT * len(lines)
    return figure.update_layout(
        title={"text": escape(title, quote=False), "x": 0, "xref": "container", "pad": {"l": 12}},
        template="plotly_white",
        width=sum(sides.values()) + PLOT_WIDTH,
        height=above + ends[-1] + BOTTOM,
        margin=sides | {"t": above, "b": BOTTOM},
        showlegend=False,
    )


def _points(points: Sequence[Point], middles: Sequence[float]) -> "go.Scatter":
    import plotly.graph_objects as go

    return go.Scatter(
        x=[point.value for point in points],
        y=middles,
        mode="markers",
        marker={"size": 10},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [0 if point.high is None else max(0.0, point.high - point.value) for point in points],
            "arrayminus": [0 if point.low is None else max(0.0, point.value - point.low) for point in points],
            "thickness": 1.5,
        },
        customdata=[point.name for point in points],
        hovertext=[f"{escape(point.name, quote=False)}<br>{point.value:.2f}<br>{point.size}" for point in points],
        hoverinfo="text",
    )


def _line(value: float) -> dict[str, Any]:
    place = {"x0": value, "x1": value, "y0": 0, "y1": 1, "yref": "paper", "layer": "below"}
    return place | {"type": "line", "line": {"dash": "dash", "color": GREY}}


def _line_name(place: int, name: str, value: float) -> dict[str, Any]:
    """Return the name of a line above the rows, each in a line of its own: values may be near each other."""
    text = {"text": f"{escape(name, quote=False)} {value:.2f}", "showarrow": False}
    return text | {"x": value, "y": 1, "yref": "paper", "yanchor": "bottom", "yshift": LINE_HEIGHT * place}


def _size(point: Point, middle: float) -> dict[str, Any]:
    side = {"x": 1, "xref": "paper", "xanchor": "left", "xshift": 8, "showarrow": False, "font": {"size": 11}}
    return side | {"y": middle, "text": point.size}
