"""Heat maps of pairs of raters: cells with texts, or of many raters small cells with numbered columns."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from core.statistics.reports.agreement import AgreementRow
from pages.parts import chart_cache, chart_cells, chart_selection, charts, colours, numbers
from pages.parts.text import truncate

if TYPE_CHECKING:
    import plotly.graph_objects as go

CELL_SIZE = 74
"""Pixels for one cell."""
COMPACT_CELL, MAX_CELL_TEXTS, MANY = 20, 8, 16
"""Pixels for a cell without texts, raters up to which cells have texts, and up to which every column is numbered."""
COMPACT_NAME = 24
"""Characters of a name next to a row of cells without texts; the whole name is shown on hover."""
LINE_LENGTH, SHORT_LINE_LENGTH = 13, 9
"""Characters of a line under the heat map with two columns and with more."""
PairRows = Mapping[tuple[str, str], AgreementRow]
"""Pair of raters -> the agreement of the two."""
Places = Mapping[tuple[str, ...], tuple[int, int]]
"""Pair of raters -> column and row of its cell."""


@chart_cache.built_once
def heatmap_figure(rows: PairRows, previous: PairRows, *, title: str) -> "go.Figure":
    """Return a heat map of pairs of raters with the value and n in each cell, and the `previous` value if any.

    Of more than `MAX_CELL_TEXTS` raters it has small cells without texts, whose columns are numbered.
    """
    import plotly.graph_objects as go

    if len(rater_names(rows)) > MAX_CELL_TEXTS:
        return _compact_heatmap(rows, title=title)
    row_names = list(dict.fromkeys(b for _, b in rows))
    column_names = list(dict.fromkeys(a for a, _ in rows))
    places: Places = {(a, b): (column_names.index(a), row_names.index(b)) for a, b in rows}
    values = [[_cell_value(rows.get((a, b))) for a in column_names] for b in row_names]
    figure = go.Figure()
    figure.add_trace(_coloured_cells(values))
    figure.add_trace(_cell_texts(rows, previous, places))
    figure.add_trace(_cell_buttons(rows, places))
    figure.update_xaxes(
        tickvals=list(range(len(column_names))),
        ticktext=[wrap_label(name, len(column_names)) for name in column_names],
    )
    figure.update_yaxes(
        tickvals=list(range(len(row_names))),
        ticktext=[wrap_label(name, 1) for name in row_names],
    )
    chart_cells.set_ranges(figure, len(column_names), len(row_names))
    return charts.apply_layout(figure, title, 120 + CELL_SIZE * len(row_names), right_margin=False)


def rater_names(rows: PairRows) -> list[str]:
    """Return the raters of pairs in the order of their names, "annotator 2" before "annotator 10"."""

    def natural(name: str) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name) if part]

    return sorted({name for pair in rows for name in pair}, key=natural)


def _compact_heatmap(rows: PairRows, *, title: str) -> "go.Figure":
    import plotly.graph_objects as go

    names = rater_names(rows)
    order = {name: place for place, name in enumerate(names)}
    places: Places = {(a, b): (min(order[a], order[b]), max(order[a], order[b]) - 1) for a, b in rows}
    values: list[list[float | None]] = [[None] * (len(names) - 1) for _ in names[1:]]
    for pair, row in rows.items():
        values[places[pair][1]][places[pair][0]] = row.value
    figure = go.Figure(_coloured_cells(values))
    figure.update_traces(
        xgap=1, ygap=1, showscale=True,
        colorbar={"orientation": "h", "thickness": 8, "len": 0.6, "x": 1, "xanchor": "right", "y": 0, "yanchor": "top",
                  "tickvals": [0, 0.5, 1], "ticktext": ["0 or less", "0.5", "1"]},
    )  # fmt: skip
    figure.add_trace(_cell_buttons(rows, places))
    figure.update_xaxes(
        tickvals=list(range(len(names) - 1)),
        ticktext=column_numbers(len(names) - 1),
        tickfont={"size": 10}, tickangle=0, side="top",
    )  # fmt: skip
    labels = [f"{short_name(name)} <b>{number}</b>" for number, name in enumerate(names, start=1)]
    figure.update_yaxes(
        tickvals=list(range(len(names) - 1)), ticktext=labels[1:], tickfont={"size": 11},
    )  # fmt: skip
    chart_cells.set_ranges(figure, len(names) - 1, len(names) - 1)
    first = f"1 is {short_name(names[0])}"
    figure.update_xaxes(title={"text": first, "font": {"size": 11}, "standoff": 4})
    charts.apply_layout(figure, title, 120 + COMPACT_CELL * len(names), right_margin=False)
    return figure.update_layout(margin={"t": 84, "b": 40})


def column_numbers(count: int) -> list[str]:
    """Return the numbers of columns, only every fifth of many."""
    return [str(number) if count <= MANY or number % 5 == 0 or number == 1 else "" for number in range(1, count + 1)]


def short_name(name: str) -> str:
    """Return a name next to a row of cells without texts: their hover texts have the whole name."""
    return escape(truncate(name, COMPACT_NAME), quote=False)


def _coloured_cells(values: Sequence[Sequence[float | None]]) -> "go.Heatmap":
    import plotly.graph_objects as go

    scale = [[0, charts.PALE[charts.theme()]], [1, charts.accent_colour()]]
    return go.Heatmap(z=values, zmin=0, zmax=1, colorscale=scale, showscale=False, xgap=3, ygap=3, hoverinfo="skip")


def _cell_texts(rows: PairRows, previous: PairRows, places: Places) -> "go.Scatter":
    import plotly.graph_objects as go

    backgrounds = [
        charts.mix_colours(charts.PALE[charts.theme()], charts.accent_colour(), row.value) for row in rows.values()
    ]
    return go.Scatter(
        x=[places[pair][0] for pair in rows],
        y=[places[pair][1] for pair in rows],
        mode="text",
        text=[_cell_text(row, previous.get(pair)) for pair, row in rows.items()],
        textfont={"color": [colours.text_colour(background) for background in backgrounds], "size": 12},
        hoverinfo="skip",
        selected=chart_selection.UNDIMMED,
    )


def _cell_buttons(rows: PairRows, places: Places) -> "go.Bar":
    hover_texts = [charts.hover_text(" × ".join(pair), row.reason, row) for pair, row in rows.items()]
    return chart_cells.clickable([places[pair] for pair in rows], [list(pair) for pair in rows], hover_texts)


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
