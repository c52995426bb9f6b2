"""Points with their intervals, and the number of observations to the right of each interval."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pages.parts import chart_selection

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from core.statistics.data.estimate import Estimate

Interval = tuple[float | None, float | None, float | None]
"""A value and the ends of its interval; an end is None if there is no interval."""


def of_estimate(estimate: "Estimate") -> Interval:
    """Return the value and the ends of an estimate."""
    return estimate.value, estimate.low, estimate.high


def error_bars(intervals: Sequence[Interval], colour: str) -> dict[str, Any]:
    """Return plotly's description of the intervals around their values."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [_distance(value, high) for value, _, high in intervals],
        "arrayminus": [_distance(low, value) for value, low, _ in intervals],
        "color": colour,
        "thickness": 1.5,
        "width": 4,
    }


def _distance(lower: float | None, upper: float | None) -> float:
    return 0.0 if lower is None or upper is None else max(0.0, upper - lower)


def counts(ends: Sequence[float | None], places: Sequence[Any], numbers: Sequence[Sequence[int]]) -> "go.Scatter":
    """Return n to the right of the end of each interval; of several intervals in a row, each n that differs."""
    import plotly.graph_objects as go

    return go.Scatter(
        x=ends,
        y=places,
        mode="text",
        text=[f"\u00a0\u00a0\u00a0n {', '.join(f'{number:,}' for number in dict.fromkeys(row))}" for row in numbers],
        textposition="middle right",
        textfont={"size": 11},
        cliponaxis=False,
        hoverinfo="skip",
        selected=chart_selection.UNDIMMED,
        showlegend=False,
    )


def row_figure(
    intervals: Sequence[Interval],
    places: Sequence[Any],
    hover_texts: Sequence[str],
    numbers: Sequence[int],
    colour: str,
    selectable: Sequence[Any] | None = None,
) -> "go.Figure":
    """Return a figure with a row for each interval: its point, the interval and n.

    `places` are positions or names on the vertical axis, `hover_texts` HTML; `selectable` is the data of a click.
    """
    import plotly.graph_objects as go

    figure = go.Figure(
        go.Scatter(
            x=[value for value, _, _ in intervals],
            y=places,
            mode="markers",
            marker={"size": 11, "color": colour},
            error_x=error_bars(intervals, colour),
            hovertext=hover_texts,
            hoverinfo="text",
            customdata=selectable,
            unselected={"marker": {"opacity": 0.4}},
        )
    )
    ends = [value if high is None else high for value, _, high in intervals]
    return figure.add_trace(counts(ends, places, [(number,) for number in numbers]))
