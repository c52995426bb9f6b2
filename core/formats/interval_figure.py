"""A Plotly figure of values with their intervals, for notebooks."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from core.formats.interval_chart import Point

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW_HEIGHT = 34
"""Pixels."""


def interval_figure(
    points: Sequence[Point], title: str, axis: str, lines: Sequence[tuple[str, float]] = ()
) -> "go.Figure":
    """Return the figure: one row for each point, the first at the top, with n after its name."""
    import plotly.graph_objects as go

    rows = list(range(len(points)))
    figure = go.Figure(
        go.Scatter(
            x=[point.value for point in points],
            y=rows,
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
        )
    )
    for name, value in lines:
        annotation = {"text": f"{escape(name, quote=False)} {value:.2f}", "yanchor": "bottom", "y": 1}
        figure.add_vline(value, line={"dash": "dash", "color": "#8A8F98"}, annotation=annotation)
    names = [f"{escape(point.name, quote=False)}, n {point.n:,}" for point in points]
    figure.update_yaxes(tickvals=rows, ticktext=names, autorange="reversed", automargin=True, zeroline=False)
    figure.update_xaxes(title=axis, zeroline=False)
    height = 150 + ROW_HEIGHT * len(points)
    return figure.update_layout(title=title, template="plotly_white", height=height, showlegend=False)
