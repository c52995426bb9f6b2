"""Charts that several pages share: points with intervals, legends and layout.

Every point shows its interval and n, and a click selects it. Plotly is imported when the first chart is drawn,
because the import takes about 0.1 s.
"""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from core.statistics.reports.agreement import AgreementRow
from pages.parts import axes, chart_files, colours, numbers
from pages.parts.axes import LINE_HEIGHT, place_rows, wrap_names
from pages.parts.chart_files import ChartData

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from core.statistics.data.arrays import Estimate


# Points with their intervals, and the number of observations to the right of each interval.

Interval = tuple[float | None, float | None, float | None]
"""A value and the ends of its interval; an end is None if there is no interval."""


def interval_of_estimate(estimate: "Estimate") -> Interval:
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


def interval_counts(
    ends: Sequence[float | None], places: Sequence[Any], numbers: Sequence[Sequence[int]]
) -> "go.Scatter":
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
        selected=chart_files.UNDIMMED,
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
    return figure.add_trace(interval_counts(ends, places, [(number,) for number in numbers]))


GREY = colours.RESPONSE[0]
ROW_HEIGHT = 34
"""Pixels for one row of points."""
MAX_ROWS = 18
"""A chart that is higher than so many rows has its axis on top."""
TOP_AXIS = 40
"""Pixels of an axis on top."""
COUNT_CHARACTER = 7
"""Pixels of a character of n to the right of an interval, which can end at the edge of the chart."""
CONFIG = {"displayModeBar": False}
CAMERA_CONFIG = {
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "svg", "filename": "chart"},
}
"""If the server has no browser: the visitor's own makes an SVG."""


@dataclass(frozen=True)
class Series:
    """Points of one colour, by their name on the axis."""

    name: str
    rows: Mapping[str, AgreementRow]
    hollow: bool = False
    details: Mapping[str, str] = field(default_factory=dict)
    """Name -> a further line that is shown on hover."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Name -> the text that stands for it on the axis and on hover, if it is another one."""
    lists_items: bool = True
    """Whether a click on a point lists its items."""


@dataclass(frozen=True)
class ReferenceLine:
    """A value to compare with, drawn as a dashed vertical line."""

    name: str
    value: float


def draw(
    figure: "go.Figure",
    key: str,
    alt: str,
    on_select: Callable[[], None] | Literal["rerun", "ignore"] = "ignore",
    data: ChartData | None = None,
    selected: Any = None,
) -> Any:
    """Draw a chart with the menu of its files, and return its selection.

    `on_select` is called after a click on a point; `selected` is the custom data of the point that is selected, if
    any. `alt` is read aloud by screen readers. `data` has the rows of the chart's CSV and LaTeX files; without it they
    are its points. The figure is not modified.
    """
    if callable(on_select):
        figure = chart_files.mark_selected(figure, key, selected)
        on_select = chart_files.recorded(key, on_select)
    else:
        figure = chart_files.with_selection(figure, selected)
    config = CONFIG if chart_files.has_browser() else CAMERA_CONFIG
    # A phone shows the upper part of the chart in a container with this key: see collapsible.js.
    with st.container(key=f"tall-{key}"):
        chart = st.plotly_chart(figure, key=key, on_select=on_select, selection_mode="points", config=config, alt=alt)
    chart_files.draw_menu(figure, key, data or ChartData())
    return chart


def clicked_point(key: str) -> Any:
    """Return the custom data of the clicked point; None if no point is clicked."""
    points = st.session_state[key].selection.points
    return points[0]["customdata"] if points else None


def interval_figure(
    series: Sequence[Series],
    *,
    title: str,
    axis: str,
    order: Sequence[str],
    reference_line: ReferenceLine | None,
) -> "go.Figure":
    """Return a figure of values with intervals on a horizontal axis, one row per name in the given order."""
    import plotly.graph_objects as go

    rows = place_rows(order, row_height=ROW_HEIGHT)
    positions = rows.positions
    figure = go.Figure()
    for number, line in enumerate(series):
        add_intervals(figure, line, positions, shift=0.13 * (len(series) - 1 - 2 * number))
    _add_counts(figure, series, positions)
    names = list(positions)
    labels = {name: label for line in series for name, label in line.labels.items()}
    shown = wrap_names(labels.get(name, name) for name in names)
    figure.update_yaxes(
        tickvals=list(positions.values()),
        ticktext=[shown[labels.get(name, name)] for name in names],
        range=[-0.1, rows.end + 0.1],
    )
    drawn = [end for line in series for row in line.rows.values() for end in (row.low, row.value, row.high)]
    drawn += [] if reference_line is None else [reference_line.value]
    figure.update_xaxes(title=axis, **axes.fit_axis(axes.fit_range([end for end in drawn if end is not None])))
    height = 100 + 30 * (len(series) > 1) + rows.height
    if height > MAX_ROWS * ROW_HEIGHT:
        figure.update_xaxes(side="top")
        height += TOP_AXIS
    figure.update_xaxes(zeroline=True, zerolinecolor=GREY, showgrid=True)
    if reference_line is not None:
        figure.add_vline(
            reference_line.value,
            line={"dash": "dash", "color": GREY},
            annotation={"text": f"{reference_line.name} {reference_line.value:.2f}", "yanchor": "bottom", "y": 1},
        )
    apply_layout(figure, title, height, legend=len(series) > 1)
    if reference_line is not None and len(series) > 1:  # the legend is above the name of the line
        figure.update_layout(legend_y=1.02 + LINE_HEIGHT / rows.height, margin_t=figure.layout.margin.t + LINE_HEIGHT)
    longest = max((len(str(text).strip()) for text in figure.data[-1].text), default=0)
    return figure.update_layout(margin_r=max(figure.layout.margin.r, COUNT_CHARACTER * longest + 12))


shared_interval_figure = chart_files.built_once(interval_figure)
"""The same, for a figure that the caller does not modify."""


def add_intervals(figure: "go.Figure", series: Series, positions: Mapping[str, float], shift: float) -> None:
    """Add the points of a series with their intervals, `shift` above the rows that `positions` gives."""
    import plotly.graph_objects as go

    rows = {name: row for name, row in series.rows.items() if name in positions and row.value is not None}
    heights = [positions[name] + shift for name in rows]
    colour = GREY if series.hollow else accent_colour()
    figure.add_trace(
        go.Scatter(
            x=[row.value for row in rows.values()],
            y=heights,
            name=series.name,
            mode="markers",
            marker={"size": 11, "color": colour, "symbol": "circle-open" if series.hollow else "circle"},
            error_x=error_bars([(row.value, row.low, row.high) for row in rows.values()], colour),
            customdata=list(rows),
            hovertext=[
                hover_text(
                    series.labels.get(name, name),
                    series.name,
                    row,
                    series.details.get(name, ""),
                    lists_items=series.lists_items,
                )
                for name, row in rows.items()
            ],
            hoverinfo="text",
            unselected={"marker": {"opacity": 0.4}},
        )
    )


def _add_counts(figure: "go.Figure", series: Sequence[Series], positions: Mapping[str, float]) -> None:
    """Write n to the right of each interval."""
    rows_by_name = {name: [line.rows[name] for line in series if name in line.rows] for name in positions}
    ends = [max(_interval_end(row) for row in rows) for rows in rows_by_name.values()]
    items = [[row.items for row in rows] for rows in rows_by_name.values()]
    figure.add_trace(interval_counts(ends, list(positions.values()), items))


def _interval_end(row: AgreementRow) -> float:
    """Return the higher end of the interval; the value itself if there is no interval."""
    return (row.value or 0.0) if row.high is None else row.high


def hover_text(name: str, series: str, row: AgreementRow, details: str = "", *, lists_items: bool = True) -> str:
    """Return what is shown over a point or a cell; `details` replace the number of items."""
    lines = [f"<b>{escape(name, quote=False)}</b>"] + [series] * bool(series)
    lines += [
        numbers.format_estimate(row.value, row.low, row.high),
        escape(details, quote=False) or numbers.format_count(row.items, "item"),
    ]
    return "<br>".join(lines + ["Click to list the items"] * lists_items)


TITLE_LENGTH, TITLE_LINE = 40, 19
"""Characters of a line of a title, and pixels of a line after the first."""


def apply_layout(
    figure: "go.Figure", title: str, height: int, *, right_margin: bool = True, legend: bool = False
) -> "go.Figure":
    """Set the title, size, margins and legend that all charts share; returns the same figure."""
    title = _wrap(title)
    figure.update_layout(
        title={
            "text": title,
            "x": 0,
            "xanchor": "left",
            "xref": "container",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"l": 6, "t": 8 + 11 * title.count("<br>")},  # a second line moves both up by half a line
            "font": {"size": 15},
        },
        height=height,
        margin={
            "l": 8,
            "r": 44 if right_margin else 8,
            "t": 48 + TITLE_LINE * title.count("<br>") + 26 * legend + TOP_AXIS * (height > MAX_ROWS * ROW_HEIGHT),
            "b": 40,
        },
        showlegend=legend,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        hovermode="closest",
        overwrite=True,  # a fourth of the time of merging with properties that no caller has set
    )
    # Without "allow" the browser measures every label, to hide those that leave the chart: labels have room in it.
    figure.update_xaxes(fixedrange=True, tickangle=0, automargin=True, ticklabeloverflow="allow")
    figure.update_yaxes(fixedrange=True, automargin=True, ticklabeloverflow="allow")
    figure.for_each_xaxis(lambda axis: axis.update(title_text=_wrap(axis.title.text or "")))
    return figure


LEGEND_LINE = 20
"""Pixels of an entry of a legend above the rows."""
LEGEND_WIDTH = 520
"""Pixels of an entry: more than half of a chart on a wide screen, so each has its own line. A share of the
width of the rows would cut its text on a phone, where long names leave little of it."""


def place_legend(figure: "go.Figure", entries: int, *, right: int) -> "go.Figure":
    """Put the legend below the title, one entry a line, and the axis of a chart with many rows on top.

    So the first rows can be read without the others. `right` is the margin in pixels; returns the same figure.
    """
    top = 40 + TITLE_LINE * str(figure.layout.title.text).count("<br>")
    above = top + LEGEND_LINE * entries + 8
    height = figure.layout.height + LEGEND_LINE * entries
    if height > MAX_ROWS * ROW_HEIGHT:
        figure.update_xaxes(side="top")
        above += 52 + 16 * str(figure.layout.xaxis.title.text).count("<br>")
    legend = {
        "orientation": "h",
        # A vertical legend would move the rows to its right.
        "entrywidth": LEGEND_WIDTH,
        "entrywidthmode": "pixels",
        "x": 0,
        "xref": "container",
        "xanchor": "left",
        "y": 1 - top / height,
        "yref": "container",
        "yanchor": "top",
        "traceorder": "normal",
    }
    bottom = 12 if height > MAX_ROWS * ROW_HEIGHT else 40
    margin = {"l": figure.layout.margin.l, "t": above, "r": right, "b": bottom}
    return figure.update_layout(height=height, legend=legend, margin=margin, overwrite=True)


def add_margin_texts(figure: "go.Figure", texts: Sequence[str], places: Sequence[float]) -> None:
    """Write texts into the margin to the right of rows."""
    style = {"x": 1.0, "xref": "paper", "xanchor": "left", "showarrow": False, "font": {"size": 11}}
    added = [{"text": f" {text}", "y": place} | style for text, place in zip(texts, places, strict=True)]
    # All at once: each call of `add_annotation` validates those that were added before.
    figure.layout.annotations = [*figure.layout.annotations, *added]


def _wrap(title: str) -> str:
    """Return a title in lines that a phone has room for."""
    return "<br>".join(textwrap.wrap(title, TITLE_LENGTH, break_long_words=False))


def step_colour(index: int, count: int) -> str:
    """Return the colour of a step on a scale of `count` steps, from pale to the accent, the same in both themes."""
    return colours.mix_colours("#C7D5F2", colours.ACCENT, index / max(count - 1, 1))


def theme() -> str:
    """Return "light" or "dark", as the visitor's browser has it."""
    return st.context.theme.type or "light"


def accent_colour() -> str:
    """Return the accent colour of the visitor's theme."""
    return str(st.get_option(f"theme.{theme()}.primaryColor") or colours.ACCENT)
