"""Charts that several pages share: points with intervals, legends and layout.

Every point shows its interval and n, and a click selects it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from core.formats.charts import Interval, IntervalChart, error_bars, interval_figure
from core.formats.charts import apply_layout as apply_layout
from pages.parts import chart_files, colours


@chart_files.built_once
def shared_interval_figure(chart: IntervalChart) -> go.Figure:
    """Return the chart in the visitor's colours; the figure is shared, so do not modify it."""
    return interval_figure(chart, accent_colour())


GREY = colours.RESPONSE[0]
NO_DATA = chart_files.ChartData()
CONFIG = {"displayModeBar": False}
# If the server has no browser: the visitor's own makes an SVG.
CAMERA_CONFIG = {
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "svg", "filename": "chart"},
}


def draw(
    figure: go.Figure,
    key: str,
    alt: str,
    on_select: Callable[[], None] | None = None,
    data: chart_files.ChartData | None = NO_DATA,
    selected: Any = None,
) -> None:
    """Draw a chart with the menu of its files, unless `data` is None.

    `on_select` is called after a click on a point; `selected` is the custom data of the point that is selected, if
    any. `alt` is read aloud by screen readers. `data` has the rows of its CSV and LaTeX files. The figure is not
    modified.
    """
    options: dict[str, Any] = {"config": CONFIG if chart_files.has_browser() else CAMERA_CONFIG, "alt": alt}
    if on_select is None:
        figure = chart_files.with_selection(figure, selected)
    else:
        figure = chart_files.mark_selected(figure, key, selected)
        options |= {"on_select": chart_files.recorded(key, on_select), "selection_mode": "points"}
    # A phone shows the upper part of the chart in a container with this key: see collapsible.js.
    with st.container(key=f"tall-{key}"):
        st.plotly_chart(figure, key=key, **options)
    if data is not None:
        chart_files.draw_menu(figure, key, data)


@dataclass(frozen=True)
class Point:
    """A point of a chart with two axes."""

    x: Any
    y: float | None
    hover: Sequence[str]
    """Lines, the first of which is bold."""
    interval: Interval = (None, None, None)
    """The value with the ends of a vertical interval; the ends can be None."""
    text: str = ""
    opens: Any = None
    """What a click on the point selects."""


def scatter(
    points: Sequence[Point], colour: str, mode: str = "markers", *, symbol: Any = "circle", **options: Any
) -> go.Scatter:
    """Return points with their intervals, joined by a line if the mode says so; `options` are those of Plotly."""
    has_intervals = any(point.interval[1] is not None for point in points)
    return go.Scatter(
        x=[point.x for point in points],
        y=[point.y for point in points],
        mode=mode,
        marker={"size": 10, "color": colour, "symbol": symbol},
        error_y=error_bars([point.interval for point in points], colour) if has_intervals else None,
        text=[point.text for point in points],
        customdata=[point.opens for point in points] if any(point.opens is not None for point in points) else None,
        hovertext=[hover_text(*point.hover) for point in points],
        hoverinfo="text",
        cliponaxis=False,
        **{"line": {"color": colour, "width": 1.5}, **options},
    )


def hover_text(title: str, *lines: str) -> str:
    """Return a bold title with lines below it as the HTML of a chart."""
    return "<br>".join([f"<b>{escape(title, quote=False)}</b>", *(escape(line, quote=False) for line in lines)])


def clicked_point(key: str) -> Any:
    """Return the custom data of the clicked point; None if no point is clicked."""
    points = st.session_state[key].selection.points
    return points[0]["customdata"] if points else None


def theme() -> str:
    """Return "light" or "dark", as the visitor's browser has it."""
    return st.context.theme.type or "light"


def accent_colour() -> str:
    """Return the accent colour of the visitor's theme."""
    return str(st.get_option(f"theme.{theme()}.primaryColor") or colours.ACCENT)
