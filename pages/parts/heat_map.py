"""Heat maps of pairs of raters: cells with texts, or of many raters small cells with numbered columns."""

import re
from collections.abc import Mapping, Sequence
from html import escape, unescape
from typing import TYPE_CHECKING, Any

from core.statistics.reports.agreement import AgreementRow
from pages.parts import chart_files, charts, colours, numbers
from pages.parts.axes import LINE_HEIGHT, wrap_names
from pages.parts.text import natural_order, truncate

if TYPE_CHECKING:
    import plotly.graph_objects as go


# The cells of a heat map that can be clicked: Plotly selects points and bars, but no cells.

CELL_WIDTH, HEIGHT = 0.94, 0.9
"""Of the frame of a cell; cells are 1 apart."""


def clickable_cells(places: Sequence[tuple[int, int]], names: Sequence[Any], hover_texts: Sequence[str]) -> "go.Bar":
    """Return an invisible bar over each cell, at its column and row, which has a frame while it is selected.

    `names` are the custom data of the cells, `hover_texts` HTML.
    """
    import plotly.graph_objects as go

    return go.Bar(
        orientation="h",
        base=[column - CELL_WIDTH / 2 for column, _ in places],
        x=[CELL_WIDTH] * len(places),
        y=[row for _, row in places],
        width=HEIGHT,
        marker={"color": "rgba(0,0,0,0)", "line": {"color": colours.UNDECIDED, "width": 3}, "opacity": 0},
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 0}},
        customdata=names,
        hovertext=hover_texts,
        hoverinfo="text",
        textposition="none",
        showlegend=False,
    )


def set_ranges(figure: "go.Figure", columns: int, rows: int) -> None:
    """Show exactly the cells, the first row on top; by themselves, axes of bars begin at 0."""
    figure.update_xaxes(range=[-0.5, columns - 0.5], showgrid=False, zeroline=False)
    figure.update_yaxes(range=[rows - 0.5, -0.5], showgrid=False, zeroline=False)


CELL_SIZE = 74
"""Pixels for one cell."""
COMPACT_CELL, MAX_CELL_TEXTS, MANY = 20, 8, 16
"""Pixels for a cell without texts, raters up to which cells have texts, and up to which every column is numbered."""
NAME_LENGTH, COMPACT_NAME_LENGTH = 18, 32
"""Characters of a line of a name at the left: next to cells with texts, of which a phone shows all, and without."""
LINE_LENGTH, SHORT_LINE_LENGTH = 13, 9
"""Characters of a line under the heat map with two columns and with more."""
ALL_COLUMNS_LENGTH, MAX_LABEL_LINES = 36, 3
"""Characters that fit next to each other under all columns on a phone, and the most lines of a column's name."""
COLOUR_BAR = {
    "orientation": "h", "thickness": 8, "len": 0.6, "x": 1, "xanchor": "right", "y": 0, "yanchor": "top",
    "tickvals": [0, 0.5, 1], "ticktext": ["0 or less", "0.5", "1"],
}  # fmt: skip
"""The legend of cells without texts, below them."""
PairRows = Mapping[tuple[str, str], AgreementRow]
"""Pair of raters -> the agreement of the two."""
Places = Mapping[tuple[str, ...], tuple[int, int]]
"""Pair of raters -> column and row of its cell."""


@chart_files.built_once
def heatmap_figure(rows: PairRows, previous: PairRows, *, title: str) -> "go.Figure":
    """Return a heat map of pairs of raters with the value and n in each cell, and the `previous` value if any.

    Of more than `MAX_CELL_TEXTS` raters it has small cells without texts. The columns are numbered if their names do
    not fit; the names at the left are complete, so that files show them too, or of many raters shortened to two lines.
    """
    import plotly.graph_objects as go

    names = rater_names(rows)
    is_compact = len(names) > MAX_CELL_TEXTS
    labels = [wrap_label(name, len(names) - 1) for name in names[:-1]]
    is_numbered = is_compact or not _fit_columns(labels)
    row_names = names if is_numbered else names[1:]
    places = _places(rows, names, row_names)
    values: list[list[float | None]] = [[None] * len(labels) for _ in row_names]
    for pair, row in rows.items():
        column, line = places[pair]
        values[line][column] = _cell_value(row, is_compact)
    figure = go.Figure(_coloured_cells(values))
    if is_compact:
        figure.update_traces(xgap=1, ygap=1, showscale=True, colorbar=COLOUR_BAR)
    else:
        figure.add_trace(_cell_texts(rows, previous, places))
    figure.add_trace(_cell_buttons(rows, places))
    figure.update_xaxes(
        tickvals=list(range(len(labels))),
        ticktext=column_numbers(len(labels)) if is_numbered else labels,
        tickfont={"size": 10 if is_compact else 12},
        side="top" if is_numbered else "bottom",
    )
    row_height = _name_rows(figure, row_names, is_compact, is_numbered)
    set_ranges(figure, len(labels), len(row_names))
    charts.apply_layout(figure, title, 120 + row_height * len(row_names), right_margin=False)
    return _place_numbers(figure) if is_numbered else figure


def _name_rows(figure: "go.Figure", names: Sequence[str], is_compact: bool, is_numbered: bool) -> int:
    """Write the names at the left, with their numbers if columns have them; returns the pixels of a row."""
    labels = list(wrap_names(names, COMPACT_NAME_LENGTH if is_compact else NAME_LENGTH).values())
    height = max([COMPACT_CELL if is_compact else CELL_SIZE, *(LINE_HEIGHT * _count_lines(label) for label in labels)])
    if is_numbered:
        labels = [f"{label} <b>{number}</b>" for number, label in enumerate(labels, start=1)]
    figure.update_yaxes(tickvals=list(range(len(labels))), ticktext=labels, tickfont={"size": 11 if is_compact else 12})
    return height


def _fit_columns(labels: Sequence[str]) -> bool:
    """Return whether wrapped names fit under the columns of a heat map that is as narrow as on a phone."""
    longest = max((len(unescape(line)) for label in labels for line in label.split("<br>")), default=0)
    return longest * len(labels) <= ALL_COLUMNS_LENGTH and max(map(_count_lines, labels), default=0) <= MAX_LABEL_LINES


def _count_lines(label: str) -> int:
    return label.count("<br>") + 1


def _places(rows: PairRows, names: Sequence[str], row_names: Sequence[str]) -> Places:
    """Return the cells of the pairs under the diagonal: the column of the first name, the row of the second."""
    order = {name: place for place, name in enumerate(names)}
    first_row = len(names) - len(row_names)
    return {(a, b): (min(order[a], order[b]), max(order[a], order[b]) - first_row) for a, b in rows}


def _place_numbers(figure: "go.Figure") -> "go.Figure":
    """Give the numbers above the columns room under the title, and the legend of colours below the cells."""
    title_lines = _count_lines(figure.layout.title.text)
    return figure.update_layout(margin={"t": 84 + charts.TITLE_LINE * (title_lines - 1), "b": 40})


def rater_names(rows: PairRows) -> list[str]:
    """Return the raters of pairs in the order of their names, "annotator 2" before "annotator 10"."""
    return sorted({name for pair in rows for name in pair}, key=natural_order)


def column_numbers(count: int) -> list[str]:
    """Return the numbers of columns, only every fifth of many."""
    return [str(number) if count <= MANY or number % 5 == 0 or number == 1 else "" for number in range(1, count + 1)]


def _coloured_cells(values: Sequence[Sequence[float | None]]) -> "go.Heatmap":
    import plotly.graph_objects as go

    scale = [[0, colours.PALE[charts.theme()]], [1, charts.accent_colour()]]
    return go.Heatmap(z=values, zmin=0, zmax=1, colorscale=scale, showscale=False, xgap=3, ygap=3, hoverinfo="skip")


def _cell_texts(rows: PairRows, previous: PairRows, places: Places) -> "go.Scatter":
    import plotly.graph_objects as go

    backgrounds = [
        colours.mix_colours(colours.PALE[charts.theme()], charts.accent_colour(), row.value) for row in rows.values()
    ]
    return go.Scatter(
        x=[places[pair][0] for pair in rows],
        y=[places[pair][1] for pair in rows],
        mode="text",
        text=[_cell_text(row, previous.get(pair)) for pair, row in rows.items()],
        textfont={"color": [colours.text_colour(background) for background in backgrounds], "size": 12},
        hoverinfo="skip",
        selected=chart_files.UNDIMMED,
    )


def _cell_buttons(rows: PairRows, places: Places) -> "go.Bar":
    hover_texts = [charts.hover_text(" × ".join(pair), row.reason, row) for pair, row in rows.items()]
    return clickable_cells([places[pair] for pair in rows], [list(pair) for pair in rows], hover_texts)


def _cell_value(row: AgreementRow, is_compact: bool) -> float | None:
    """Return the value; an undefined one is "–" on the palest colour, and a cell without texts stays empty."""
    return 0.0 if row.value is None and not is_compact else row.value


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
