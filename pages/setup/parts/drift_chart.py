"""Draws how an annotator's agreement with the majority of the others changes from week to week."""

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from pages.parts import charts, intervals, numbers
from storage.reports.annotators import Share

if TYPE_CHECKING:
    import plotly.graph_objects as go

HEIGHT = 300


def rows(drift: Sequence[tuple[date, Share]]) -> list[dict[str, object]]:
    """Return the rows of the chart's files."""
    return [
        {"week": f"{monday:%Y-%m-%d}", "n": share.n, **dict(zip(("value", "low", "high"), share.interval, strict=True))}
        for monday, share in drift
    ]


def figure(drift: Sequence[tuple[date, Share]]) -> "go.Figure":
    """Return the shares by week with their intervals, n at each point."""
    import plotly.graph_objects as go

    shares = [share.interval for _, share in drift]
    colour = charts.accent_colour()
    weeks = [f"{monday:%Y-%m-%d}" for monday, _ in drift]
    chart = go.Figure(
        go.Scatter(
            x=weeks,
            y=[value for value, _, _ in shares],
            mode="lines+markers+text",
            text=[f"  n {share.n:,}" for _, share in drift],
            textposition="middle right",
            cliponaxis=False,
            line={"color": colour, "width": 1.5},
            marker={"size": 9, "color": colour},
            error_y=intervals.error_bars(shares, colour),
            hovertext=[
                f"Week of {week}<br>{numbers.format_estimate(*interval)}"
                for week, interval in zip(weeks, shares, strict=True)
            ],
            hoverinfo="text",
        )
    )
    chart.update_yaxes(title="agreement with the majority", range=[-0.03, 1.12], tickvals=[0, 0.5, 1])
    chart.update_xaxes(title="week, from its Monday", type="category")
    return charts.apply_layout(chart, "Drift", HEIGHT)
