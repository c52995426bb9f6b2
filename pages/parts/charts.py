"""Charts that several pages share: points with intervals and a heat map of pairs of raters.

Every point shows its interval and n, and a click selects it. Plotly is imported when the first chart is drawn,
because the import takes about 0.1 s.
"""

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.statistics.reports.agreement import AgreementRow
from pages.parts import chart_files, colours, intervals, numbers
from pages.parts.chart_files import ChartData
from pages.parts.name_rows import place_rows, wrap_name
from pages.parts.text import truncate

if TYPE_CHECKING:
    import plotly.graph_objects as go

GREY = colours.RESPONSE[0]
ROW_HEIGHT, CELL_SIZE = 34, 74
"""Pixels for one row of points, and for one cell of the heat map."""
COMPACT_CELL, MAX_CELL_TEXTS, MANY = 20, 8, 16
"""Pixels for a cell without texts, raters up to which cells have texts, and up to which every column is numbered."""
MAX_ROWS = 18
"""A chart with more rows scrolls, with its axis on top."""
LINE_LENGTH, SHORT_LINE_LENGTH = 13, 9
"""Characters of a line under the heat map with two columns and with more."""
PALE = {"light": "#E3EAF8", "dark": "#26303F"}
"""The low end of the colour scale in each theme."""
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


@dataclass(frozen=True)
class ReferenceLine:
    """A value to compare with, drawn as a dashed vertical line."""

    name: str
    value: float


def draw(figure: "go.Figure", key: str, alt: str, on_select: Any = "ignore", data: ChartData | None = None) -> Any:
    """Draw a chart with the menu of its files, and return its selection.

    `on_select` is called after a click on a point. `alt` is read aloud by screen readers. `data` has the rows of the
    chart's CSV and LaTeX files; without it they are its points.
    """
    config = CONFIG if chart_files.has_browser() else CAMERA_CONFIG
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
    selected: str | None,
    reference_line: ReferenceLine | None,
) -> "go.Figure":
    """Return a figure of values with intervals on a horizontal axis, one row per name in the given order."""
    import plotly.graph_objects as go

    rows = place_rows(order, row_height=ROW_HEIGHT)
    positions = rows.positions
    figure = go.Figure()
    for number, line in enumerate(series):
        add_intervals(figure, line, positions, selected, shift=0.13 * (2 * number - len(series) + 1))
    _add_counts(figure, series, positions)
    names = list(positions)
    figure.update_yaxes(
        tickvals=list(positions.values()),
        ticktext=[wrap_name(name) for name in names],
        range=[-0.1, rows.end + 0.1],
    )
    figure.update_xaxes(title=axis, range=[_axis_start(series), 1.03], tickvals=[-1, -0.5, 0, 0.5, 1])
    if len(names) > MAX_ROWS:
        figure.update_xaxes(side="top")
    figure.update_xaxes(zeroline=True, zerolinecolor=GREY, showgrid=True)
    if reference_line is not None:
        figure.add_vline(
            reference_line.value,
            line={"dash": "dash", "color": GREY},
            annotation={"text": f"{reference_line.name} {reference_line.value:.2f}", "yanchor": "bottom", "y": 1},
        )
    return apply_layout(figure, title, 100 + 30 * (len(series) > 1) + rows.height, legend=len(series) > 1)


def add_intervals(
    figure: "go.Figure", series: Series, positions: Mapping[str, float], selected: str | None, shift: float
) -> None:
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
            error_x=intervals.error_bars([(row.value, row.low, row.high) for row in rows.values()], colour),
            customdata=list(rows),
            hovertext=[_hover_text(name, series.name, row) for name, row in rows.items()],
            hoverinfo="text",
            selectedpoints=[list(rows).index(selected)] if selected in rows else None,
            unselected={"marker": {"opacity": 0.4}},
        )
    )


def _add_counts(figure: "go.Figure", series: Sequence[Series], positions: Mapping[str, float]) -> None:
    """Write n to the right of each interval."""
    rows_by_name = {name: [line.rows[name] for line in series if name in line.rows] for name in positions}
    ends = [max(_interval_end(row) for row in rows) for rows in rows_by_name.values()]
    figure.add_trace(
        intervals.counts(ends, list(positions.values()), [rows[-1].items for rows in rows_by_name.values()])
    )


def _interval_end(row: AgreementRow) -> float:
    """Return the higher end of the interval; the value itself if there is no interval."""
    return (row.value or 0.0) if row.high is None else row.high


def _hover_text(name: str, series: str, row: AgreementRow) -> str:
    lines = [f"<b>{escape(name, quote=False)}</b>"] + [series] * bool(series)
    lines += [
        numbers.format_estimate(row.value, row.low, row.high),
        numbers.format_count(row.items, "item"),
        "Click to list the items",
    ]
    return "<br>".join(lines)


def _axis_start(series: Sequence[Series]) -> float:
    """Return where the axis begins: below zero only if a value or an interval is."""
    ends = [end for line in series for row in line.rows.values() for end in (row.low, row.value) if end is not None]
    return max(-1.02, min([-0.04, *(end - 0.05 for end in ends)]))


PairRows = Mapping[tuple[str, str], AgreementRow]
"""Pair of raters -> the agreement of the two."""
Places = Mapping[tuple[str, ...], tuple[int, int]]
"""Pair of raters -> column and row of its cell."""


def heatmap_figure(
    rows: PairRows,
    previous: PairRows,
    *,
    title: str,
    selected: tuple[str, ...],
) -> "go.Figure":
    """Return a heat map of pairs of raters with the value and n in each cell, and the `previous` value if any.

    Of more than `MAX_CELL_TEXTS` raters it has small cells without texts, whose columns are numbered.
    """
    import plotly.graph_objects as go

    if len(rater_names(rows)) > MAX_CELL_TEXTS:
        return _compact_heatmap(rows, title=title, selected=selected)
    row_names = list(dict.fromkeys(b for _, b in rows))
    column_names = list(dict.fromkeys(a for a, _ in rows))
    places: Places = {(a, b): (column_names.index(a), row_names.index(b)) for a, b in rows}
    values = [[_cell_value(rows.get((a, b))) for a in column_names] for b in row_names]
    figure = go.Figure()
    figure.add_trace(_coloured_cells(values))
    figure.add_trace(_cell_texts(rows, previous, places))
    figure.add_trace(_cell_buttons(rows, places))
    if selected in places:
        _outline_cell(figure, *places[selected])
    figure.update_xaxes(
        tickvals=list(range(len(column_names))),
        ticktext=[wrap_label(name, len(column_names)) for name in column_names],
        showgrid=False,
        zeroline=False,
    )
    figure.update_yaxes(
        tickvals=list(range(len(row_names))),
        ticktext=[wrap_label(name, 1) for name in row_names],
        showgrid=False,
        zeroline=False,
        autorange="reversed",
    )
    return apply_layout(figure, title, 120 + CELL_SIZE * len(row_names), right_margin=False)


def rater_names(rows: PairRows) -> list[str]:
    """Return the raters of pairs in the order of their names, "annotator 2" before "annotator 10"."""

    def natural(name: str) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name) if part]

    return sorted({name for pair in rows for name in pair}, key=natural)


def _compact_heatmap(rows: PairRows, *, title: str, selected: tuple[str, ...]) -> "go.Figure":
    import plotly.graph_objects as go

    names = rater_names(rows)
    order = {name: place for place, name in enumerate(names)}
    places: Places = {(a, b): (min(order[a], order[b]), max(order[a], order[b]) - 1) for a, b in rows}
    values: list[list[float | None]] = [[None] * (len(names) - 1) for _ in names[1:]]
    for pair, row in rows.items():
        values[places[pair][1]][places[pair][0]] = row.value
    figure = go.Figure(_coloured_cells(values))
    figure.update_traces(
        xgap=1, ygap=1, showscale=True, colorbar={"thickness": 10, "len": 0.5, "y": 1, "yanchor": "top"}
    )
    figure.add_trace(_cell_buttons(rows, places, COMPACT_CELL - 4))
    if selected in places:
        _outline_cell(figure, *places[selected])
    numbered = range(1, len(names))
    figure.update_xaxes(
        tickvals=list(range(len(names) - 1)),
        ticktext=[str(number) if len(names) <= MANY or number % 5 == 0 or number == 1 else "" for number in numbered],
        tickfont={"size": 10}, tickangle=0, side="top", showgrid=False, zeroline=False,
    )  # fmt: skip
    labels = [f"{escape(name, quote=False)} <b>{number}</b>" for number, name in enumerate(names, start=1)]
    figure.update_yaxes(
        tickvals=list(range(len(names) - 1)), ticktext=labels[1:], tickfont={"size": 11}, showgrid=False,
        zeroline=False, autorange="reversed",
    )  # fmt: skip
    first = f"1 is {escape(names[0], quote=False)}"
    figure.update_xaxes(title={"text": first, "font": {"size": 11}, "standoff": 4})
    apply_layout(figure, title, 120 + COMPACT_CELL * len(names), right_margin=False)
    return figure.update_layout(margin={"t": 84, "b": 12})


def _coloured_cells(values: Sequence[Sequence[float | None]]) -> "go.Heatmap":
    import plotly.graph_objects as go

    scale = [[0, PALE[theme()]], [1, accent_colour()]]
    return go.Heatmap(z=values, zmin=0, zmax=1, colorscale=scale, showscale=False, xgap=3, ygap=3, hoverinfo="skip")


def _cell_texts(rows: PairRows, previous: PairRows, places: Places) -> "go.Scatter":
    import plotly.graph_objects as go

    backgrounds = [mix_colours(PALE[theme()], accent_colour(), row.value) for row in rows.values()]
    return go.Scatter(
        x=[places[pair][0] for pair in rows],
        y=[places[pair][1] for pair in rows],
        mode="text",
        text=[_cell_text(row, previous.get(pair)) for pair, row in rows.items()],
        textfont={"color": [colours.text_colour(background) for background in backgrounds], "size": 12},
        hoverinfo="skip",
    )


def _cell_buttons(rows: PairRows, places: Places, size: int = CELL_SIZE - 20) -> "go.Scatter":
    """Return invisible markers over the cells: Plotly reports no clicks on the cells of a heat map."""
    import plotly.graph_objects as go

    return go.Scatter(
        x=[places[pair][0] for pair in rows],
        y=[places[pair][1] for pair in rows],
        mode="markers",
        marker={"size": size, "symbol": "square", "color": "rgba(0,0,0,0)"},
        customdata=[list(pair) for pair in rows],
        hovertext=[_hover_text(" × ".join(pair), row.reason, row) for pair, row in rows.items()],
        hoverinfo="text",
    )


def _outline_cell(figure: "go.Figure", x: int, y: int) -> None:
    line = {"color": colours.UNDECIDED, "width": 3}
    figure.add_shape(type="rect", x0=x - 0.47, x1=x + 0.47, y0=y - 0.45, y1=y + 0.45, line=line)


def _cell_value(row: AgreementRow | None) -> float | None:
    return None if row is None else 0.0 if row.value is None else row.value


def _cell_text(row: AgreementRow, previous: AgreementRow | None) -> str:
    previous_text = [f"first {numbers.format_estimate(previous.value, None, None)}"] if previous is not None else []
    return "<br>".join([f"<b>{numbers.format_estimate(row.value, None, None)}</b>", *previous_text, f"n {row.items:,}"])


def wrap_label(name: str, count: int) -> str:
    """Split a rater's name into short lines, so Plotly does not rotate it; `count` is the number of columns."""
    lines = [""]
    for word in re.findall(r"[^\s-]*-|[^\s-]+\s?", truncate(name, 40)):
        if lines[-1] and len(lines[-1] + word) > (LINE_LENGTH if count < 3 else SHORT_LINE_LENGTH):
            lines.append("")
        lines[-1] += word
    return "<br>".join(escape(line.strip(), quote=False) for line in lines)


def mix_colours(pale: str, dark: str, share: float | None) -> str:
    """Return the colour between `pale` and `dark` at `share` (0 to 1), as Plotly's linear colour scale has it."""
    weight = min(1.0, max(0.0, share or 0.0))
    channels = [(int(pale[i : i + 2], 16), int(dark[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(low + weight * (high - low)):02X}" for low, high in channels)


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
            "pad": {"l": 6, "t": 8},
            "font": {"size": 15},
        },
        height=height,
        margin={
            "l": 8,
            "r": 44 if right_margin else 8,
            "t": 48 + TITLE_LINE * title.count("<br>") + 26 * legend + 40 * (height > MAX_ROWS * ROW_HEIGHT),
            "b": 40,
        },
        showlegend=legend,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        hovermode="closest",
    )
    figure.update_xaxes(fixedrange=True, tickangle=0, automargin=True)
    figure.update_yaxes(fixedrange=True, automargin=True)
    figure.for_each_xaxis(lambda axis: axis.update(title_text=_wrap(axis.title.text or "")))
    return figure


def _wrap(title: str) -> str:
    """Return a title in lines that a phone has room for."""
    return "<br>".join(textwrap.wrap(title, TITLE_LENGTH, break_long_words=False))


def step_colour(index: int, count: int) -> str:
    """Return the colour of a step on a scale of `count` steps, from pale to the accent, the same in both themes."""
    return mix_colours("#C7D5F2", colours.ACCENT, index / max(count - 1, 1))


def theme() -> str:
    """Return "light" or "dark", as the visitor's browser has it."""
    return st.context.theme.type or "light"


def accent_colour() -> str:
    """Return the accent colour of the visitor's theme."""
    return str(st.get_option(f"theme.{theme()}.primaryColor") or colours.ACCENT)
