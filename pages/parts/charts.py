"""Charts that several pages share: points with intervals, legends and layout, and the files of a chart for a paper.

Every point shows its interval and n, and a click selects it.
"""

import os
import pickle
import re
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial, wraps
from hashlib import blake2b
from html import escape, unescape
from typing import Any, ParamSpec

import plotly.graph_objects as go
import streamlit as st

from core.formats.charts import Interval, IntervalChart, error_bars, interval_figure
from core.formats.charts import apply_layout as apply_layout
from core.formats.latex_tables import latex_table
from core.formats.tables import cell, flatten, rows_csv
from core.provenance import INTERVALS, caption
from pages.parts import colours, downloads

# The point of a chart that is selected.
#
# Streamlit takes a figure for the identity of its chart, so a figure with another selected point is a new chart, which
# takes a browser some tenths of a second. So a clicked point, which the browser marks, leaves the figure as it is.


def mark_selected(figure: go.Figure, key: str, selected: Any) -> go.Figure:
    """Return a figure with the point selected that has the custom data `selected`, unless the browser marks it.

    A figure without a selection is returned itself; it is shared by all visitors.
    """
    name, state = f"_{key}_drawn", st.session_state.get(key)
    # The selection with which the chart was drawn, and its number: an equal figure would be the same chart, in which
    # the browser still marks the point that was clicked.
    drawn, number = st.session_state.get(name, (None, 0))
    marked = [as_json(point.get("customdata")) for point in state.selection.points] if state else []
    wanted = [] if selected is None else [as_json(selected)]
    if (marked or ([] if drawn is None else [as_json(drawn)])) != wanted:
        drawn, number = st.session_state[name] = selected, number + 1
    if not number:
        return figure
    copy = go.Figure(figure).update_layout(meta=number)
    select_points(copy, drawn)
    return copy


def select_points(figure: go.Figure, selected: Any) -> None:
    """Select the points of a figure that have the custom data `selected`, if any has: one of each series."""
    wanted = as_json(selected)
    places = {
        number: [place for place, data in enumerate(trace.customdata) if as_json(data) == wanted]
        for number, trace in enumerate(figure.data)
        if selected is not None and trace.customdata is not None and trace.unselected.marker.opacity is not None
    }
    if any(places.values()):
        for number, selected_places in places.items():
            figure.data[number].selectedpoints = selected_places


def clear_selection(figure: go.Figure) -> None:
    """Select no point of a figure."""
    for trace in figure.data:
        if "selectedpoints" in trace:
            trace.selectedpoints = None


def as_json(data: Any) -> Any:
    """Return custom data as the browser returns it: a list for a tuple or an array."""
    return data if isinstance(data, str | None) else list(data)


# The files of a chart: images, data, a LaTeX table and a caption.
#
# A file is made when it is requested (`pages.parts.downloads`). Images are drawn by a Chrome or Chromium on the server;
# without one, the chart has a button with which the visitor's browser makes an SVG.

BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge"),
    "chromium-headless-shell",  # which Kaleido does not find by itself
)
IMAGES = {"svg": "image/svg+xml", "pdf": "application/pdf", "png": "image/png"}
TABLES = {"csv": "text/csv", "tex": "text/x-tex"}
LABELS = {"svg": "SVG", "pdf": "PDF", "png": "PNG", "csv": "CSV", "tex": "LaTeX"}
# Width of an image in pixels, and how many pixels of a PNG stand for one.
WIDTH, SCALE = 800, 3
# Pixels between a name and its row in an image, whose template has none.
NAME_GAP = 6
# Columns that have the n of a row; the first that a row has is used.
COUNT_COLUMNS = ("items", "targets", "accuracy_items", "agreement_items", "labelled", "aius", "heard", "n")


@dataclass(frozen=True)
class ChartData:
    """What a chart shows, for its files."""

    rows: Sequence[Any] = ()
    """Dataclass instances or mappings."""
    method: str = INTERVALS
    unit: str = "items"


# Each image starts a browser.
_browser_lock = threading.Lock()


def _draw_menu(figure: go.Figure, key: str, data: ChartData) -> None:
    """Draw the menu under a chart: images, data, a LaTeX table and a caption."""
    title = unescape(re.sub(r"<[^>]*>", " ", figure.layout.title.text or key)).strip()
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "chart"
    stated, links = chart_caption(title, data), []
    for suffix, mime in {**(IMAGES if has_browser() else {}), **TABLES}.items():
        file = downloads.File(
            partial(make_file, figure, data, name, stated, suffix), f"{name}.{suffix}", mime, f"chart {name}.{suffix}"
        )
        links.append(f'<a href="{downloads.offer(file, f"{key}_{suffix}")}" download>{LABELS[suffix]}</a>')
    with st.popover("Download", icon=":material/download:", type="tertiary", key=f"{key}_files"):
        st.html(f'<div class="chart-files">{" ".join(links)}</div>')
        if not has_browser():
            st.caption("SVG: the camera above the chart. PDF and PNG need Chrome or Chromium on the server.")
        st.code(stated, language=None, wrap_lines=True)


def make_file(figure: go.Figure, data: ChartData, name: str, stated: str, suffix: str) -> bytes:
    """Return the content of a file of a chart with its caption; an image takes some seconds."""
    if suffix in IMAGES:
        with _browser_lock:
            return draw_image(figure, suffix)
    text = rows_csv(data.rows) if suffix == "csv" else latex_table(data.rows, stated, name)
    return text.encode()


@cache
def browser_path() -> str | None:
    """Return the path of a browser that can draw images; None if the server has none."""
    return os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, BROWSERS)), None)


def has_browser() -> bool:
    """Return whether the server can draw images."""
    return browser_path() is not None


def chart_caption(title: str, data: ChartData) -> str:
    """Return the caption: title, n, method with its seed, versions."""
    rows = data.rows
    column = next((name for name in COUNT_COLUMNS if rows and name in flatten(rows[0])), None)
    counts = [] if column is None else [count for row in rows if isinstance(count := cell(row, column), int)]
    return caption(title, counts, data.unit, data.method)


# Colour of the dark theme -> that of the light one with the same meaning: an image is white.
LIGHT = {colours.DARK_ACCENT: colours.ACCENT, colours.PALE["dark"]: colours.PALE["light"]}


def in_light_colours(value: Any) -> Any:
    """Return the nested values of a figure with the colours of the light theme."""
    if isinstance(value, dict):
        return {name: in_light_colours(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [in_light_colours(part) for part in value]
    return LIGHT.get(value, value) if isinstance(value, str) else value


def draw_image(figure: go.Figure, format: str) -> bytes:
    """Return the figure without a selection as an image on white, with black texts. This takes some seconds."""
    import kaleido

    font = {"color": "#111418", "family": "Arial"}
    white = {"paper_bgcolor": "white", "plot_bgcolor": "white"}
    paper = go.Figure(in_light_colours(figure.to_dict())).update_layout(template="plotly_white", font=font, **white)
    paper.update_yaxes(ticks="outside", ticklen=NAME_GAP, tickcolor="rgba(0,0,0,0)")
    clear_selection(paper)
    size = {"width": WIDTH, "height": int(figure.layout.height or 450), "scale": SCALE if format == "png" else 1}
    # MathJax would be loaded from another host.
    browser = {"path": browser_path(), "mathjax": False}
    image: bytes = kaleido.calc_fig_sync(paper.to_dict(), opts={"format": format, **size}, kopts=browser)
    return image


# Figures of charts that are built once for all visitors: Plotly validates every property, which takes 10 to 50 ms.

Inputs = ParamSpec("Inputs")
MAX_FIGURES = 64


def built_once(build: Callable[Inputs, go.Figure]) -> Callable[Inputs, go.Figure]:
    """Return a function that builds the figure of equal inputs and an equal theme only once.

    The inputs can be pickled. The figure is shared by all visitors, so do not modify it.
    """
    name = f"{build.__module__}.{build.__qualname__}"

    @wraps(build)
    def load(*args: Inputs.args, **kwargs: Inputs.kwargs) -> go.Figure:
        content = pickle.dumps((name, st.context.theme.type, args, kwargs), pickle.HIGHEST_PROTOCOL)
        return _load(blake2b(content).digest(), lambda: build(*args, **kwargs))

    return load


@st.cache_resource(max_entries=MAX_FIGURES, show_spinner=False)
def _load(digest: bytes, _build: Callable[[], go.Figure]) -> go.Figure:
    return _build()


@built_once
def shared_interval_figure(chart: IntervalChart) -> go.Figure:
    """Return the chart in the visitor's colours; the figure is shared, so do not modify it."""
    return interval_figure(chart, accent_colour())


GREY = colours.RESPONSE[0]
NO_DATA = ChartData()
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
    data: ChartData | None = NO_DATA,
    selected: Any = None,
) -> None:
    """Draw a chart with the menu of its files, unless `data` is None.

    `on_select` is called after a click on a point; `selected` is the custom data of the point that is selected, if
    any. `alt` is read aloud by screen readers. `data` has the rows of its CSV and LaTeX files. The figure is not
    modified.
    """
    options: dict[str, Any] = {"config": CONFIG if has_browser() else CAMERA_CONFIG, "alt": alt}
    figure = mark_selected(figure, key, selected)
    if on_select is not None:
        options |= {"on_select": on_select, "selection_mode": "points"}
    # A phone shows the upper part of the chart in a container with this key: see collapsible.js.
    with st.container(key=f"tall-{key}"):
        st.plotly_chart(figure, key=key, **options)
    if data is not None:
        _draw_menu(figure, key, data)


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
