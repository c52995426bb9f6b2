"""Charts of weights: how far each judge is from people, with the human line (Figure 5)."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.statistics.reports.weight_distances import PEOPLE, Compared
from pages.parts import charts, colours, numbers
from pages.parts.text import short

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW = 40
"""Pixels for a rater."""


def distances(rows: Sequence[Compared], human: Compared | None, axis: str, key: str) -> int | None:
    """A point with its whiskers for each judge, in the order given, and a dashed line where people are.

    Returns the place in `rows` of the point that is clicked.
    """
    import plotly.graph_objects as go

    there = [row for row in rows if row.distance.value is not None]
    names = [escape(short(row.rater_a, 30), quote=False) for row in there]
    values = [row.distance.value or 0.0 for row in there]
    figure = go.Figure(
        go.Scatter(
            x=values,
            y=names,
            mode="markers",
            marker={"size": 12, "color": charts.accent()},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [(row.distance.high or value) - value for row, value in zip(there, values, strict=True)],
                "arrayminus": [value - (row.distance.low or value) for row, value in zip(there, values, strict=True)],
                "color": charts.accent(),
                "thickness": 1.5,
                "width": 4,
            },
            hovertext=[_hover(row) for row in there],
            hoverinfo="text",
            customdata=[rows.index(row) for row in there],
        )
    )
    ends = [row.distance.high or row.distance.value or 0.0 for row in there]
    figure.add_trace(
        go.Scatter(
            x=ends,
            y=names,
            mode="text",
            text=[f"  n {row.items - row.undefined:,}" for row in there],
            textposition="middle right",
            textfont={"size": 11},
            hoverinfo="skip",
        )
    )
    if human is not None and human.distance.value is not None:
        _human(figure, human)
        ends.append(human.distance.high or human.distance.value)
    figure.update_yaxes(autorange="reversed", fixedrange=True, automargin=True)
    figure.update_xaxes(title=axis, range=[0, max(ends, default=1) * 1.15], fixedrange=True, zeroline=True)
    figure.update_layout(
        title={"text": "Distance of each judge's weights from people's", "x": 0, "xref": "paper", "font": {"size": 16}},
        height=130 + ROW * len(there),
        margin={"l": 8, "r": 8, "t": 72, "b": 40},
        showlegend=False,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
    )
    told = [f"{row.rater_a} {row.distance.value:.2f}" for row in there]
    alt = f"{axis}: {', '.join(told)}"
    picked: Any = st.plotly_chart(
        figure, key=key, config=charts.CONFIG, on_select="rerun", selection_mode="points", alt=alt
    )
    points = picked.selection.points
    return int(points[0]["customdata"]) if points else None


def _human(figure: "go.Figure", human: Compared) -> None:
    """The dashed line, and its interval as a band."""
    value, low, high = human.distance.value, human.distance.low, human.distance.high
    if low is not None and high is not None:
        figure.add_vrect(x0=low, x1=high, fillcolor=colours.RESPONSE[0], opacity=0.15, line_width=0)
    figure.add_vline(
        value,
        line={"dash": "dash", "color": colours.RESPONSE[0]},
        annotation={"text": f"{PEOPLE} {value:.2f}", "yanchor": "bottom", "y": 1},
    )


def _hover(row: Compared) -> str:
    estimate = numbers.estimate(row.distance.value, row.distance.low, row.distance.high)
    undefined = f", {row.undefined} undefined" if row.undefined else ""
    return f"<b>{escape(row.rater_a)}</b><br>{estimate}<br>{numbers.count(row.items, 'weighting')}{undefined}"
