"""A table whose rows open with a click on any of their cells, or with the arrow keys."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.formats.tables import Table, records, rows_csv
from pages.parts import downloads
from pages.parts.text import escape_markdown, shorten_names

MAX_HEIGHT = 460
"""Pixels; a longer table is scrolled."""
HEADER, ROW = 38, 35
"""Pixels of the header with the frame, and of a row of one line."""
Click = Callable[[int, str], None]
"""Called with the number of the row and the name of the column."""


def draw_clickable(
    lines: Sequence[Mapping[str, Any]],
    key: str,
    on_click: Click | None = None,
    *,
    row_height: int | None = None,
    max_height: int = MAX_HEIGHT,
    column_config: Mapping[str, Any] | None = None,
) -> int | None:
    """Draw the lines; returns the number of the row of the selected cell, None for none.

    With `on_click`, a click calls it before the page is drawn again.
    """
    table: Any = st.dataframe(
        lines,
        key=key,
        on_select="rerun" if on_click is None else lambda: _call(on_click, key),
        selection_mode="single-cell",
        hide_index=True,
        height=min(HEADER + (row_height or ROW) * len(lines), max_height),
        row_height=row_height,
        column_config=column_config,
    )
    cells = table.selection.cells
    return cells[0][0] if cells and cells[0][0] < len(lines) else None


def _call(on_click: Click, key: str) -> None:
    cells: Any = st.session_state[key].selection.cells
    if cells:
        on_click(*cells[0])


INTERVAL_WIDTH = 170
"""Pixels of a column of intervals: Streamlit measures a sample of cells, and would cut the sign of a longer one."""


def draw(table: Table, on_click: Click | None = None, key: str = "") -> None:
    """Draw a table without its empty columns, what the columns mean, and the link to its CSV file.

    `on_click` is called as by `draw_clickable`. `key` is that of the table in the session, if it is not made of its
    name.
    """
    titled = [column for column in table.columns if column.title]
    texts = {column.title: [column.text(row) for row in table.rows] for column in titled}
    shown = [column for column in titled if any(texts[column.title])]
    config = {
        column.title: st.column_config.TextColumn(
            alignment="left" if column.form in ("text", "yes") else "right",
            help=column.help or None,
            width=INTERVAL_WIDTH if column.form in ("estimate", "difference") else None,
        )
        for column in shown
    }
    lines = [{title: texts[title][number] for title in config} for number in range(len(table.rows))]
    key = key or f"{table.name}_table"
    if on_click is None:
        st.dataframe(lines, key=key, hide_index=True, column_config=config)
    else:
        draw_clickable(lines, key, on_click, column_config=config)
    draw_notes(config)
    in_file = table.file_rows
    if in_file is None or in_file:
        make = lambda: rows_csv(records(table.rows, table.columns) if in_file is None else in_file)  # noqa: E731
        downloads.draw_csv_download(make, f"{table.name}.csv", key=f"{table.name}_download")


# The help texts of a table's columns as text: a header shows them to a mouse only.


def draw_notes(column_config: Mapping[str, Any]) -> None:
    """Draw, under a table, the name and the help text of each column that has one."""
    notes = {name: config["help"] for name, config in column_config.items() if config and config.get("help")}
    if notes:
        with st.expander("What the columns mean", icon=":material/help:"):
            st.markdown("\n".join(f"- **{name}**: {text}" for name, text in notes.items()))


# Columns of a table with names: one line each, long names cut in their middle, and a list of the full ones.

CHARACTER, NAME_PADDING = 8.4, 18
"""Pixels of a character, an ellipsis among them, and of the space around the text of a cell."""
HEADING_WIDTH = 190
"""Pixels of a column that has a name as its heading."""
NUMBERS_WIDTH, DENSE_ROW = 76, 28
"""Pixels of the column of `pair_numbers`, and of a row of a list of many pairs."""


@dataclass(frozen=True)
class ShortenedTable:
    """The lines of a table with short names, the configuration of the columns of names, short name -> full name."""

    lines: list[dict[str, Any]]
    columns: dict[str, Any]
    full_names: dict[str, str]

    def draw_full_names(self) -> None:
        """Draw, under a table, the full name of each name that is shortened."""
        if self.full_names:
            with st.expander("Full names", icon=":material/short_text:"):
                pairs = self.full_names.items()
                st.markdown("\n".join(f"- **{escape_markdown(a)}**: {escape_markdown(b)}" for a, b in pairs))


def shorten(lines: Sequence[Mapping[str, Any]], widths: Mapping[str, int]) -> ShortenedTable:
    """Return a table whose names fit into their columns and stay different; the rows have one line.

    `widths` has the largest width of each column of names, in pixels.
    """
    shown = [dict(line) for line in lines]
    columns: dict[str, Any] = {}
    full_names: dict[str, str] = {}
    # The names of all columns together, so a name is shortened in the same way in columns of the same width.
    names = {str(line[name]) for line in lines for name in widths if name in line}
    for column, width in widths.items():
        short = shorten_names(sorted(names), _characters(width))
        for line in shown:
            if column in line:
                line[column] = short[str(line[column])]
        texts = [str(line.get(column, "")) for line in shown]
        full_names |= {short[name]: name for name in sorted(names) if short[name] != name and short[name] in texts}
        columns[column] = st.column_config.TextColumn(width=min(width, needed_width([column, *texts])))
    return ShortenedTable(shown, columns, full_names)


def needed_width(texts: Iterable[str]) -> int:
    """Return the pixels of a column in which none of the names is shortened."""
    return math.ceil(CHARACTER * max(map(len, texts)) + NAME_PADDING)


def headings(names: Iterable[str], width: int = HEADING_WIDTH) -> dict[str, Any]:
    """Return the configuration of columns that have names as headings of at most `width` pixels.

    A shortened one has the full one as its help.
    """
    short = shorten_names(names, _characters(width))
    return {
        name: st.column_config.TextColumn(text, help=escape_markdown(name) if text != name else None)
        for name, text in short.items()
    }


def pair_numbers(pair: tuple[str, str], names: Sequence[str]) -> str:
    """Return `1 × 3`: the places of two names in the order of a matrix, which numbers its columns so."""
    return " × ".join(str(names.index(name) + 1) for name in pair)


def _characters(width: int) -> int:
    return int((width - NAME_PADDING) / CHARACTER)


# Widths of columns by their longest text.
#
# A table without widths leaves out its few longest texts when it measures them, so the beginning of a right-aligned
# figure such as `-0.63 [-0.81, -0.50]` would be cut.

Lines = Sequence[Mapping[str, Any]]
TABLE_WIDTH = 976
"""Pixels of a table on a screen of 1440 pixels."""
NARROW, WIDE, PADDING = 5, 8.9, 18
"""Pixels of a character in the widest font, and of the space around the text of a cell."""
NARROW_CHARACTERS = " .,:'[]()-fijlrt"
LEAST = 96
"""Pixels of the narrowest column of names."""


def text_width(texts: Iterable[str]) -> int:
    """Return the pixels of a column with these texts."""
    widths = (sum(NARROW if sign in NARROW_CHARACTERS else WIDE for sign in text) for text in texts)
    return round(max(widths, default=0)) + PADDING


def fit_figures(lines: Lines, names: Collection[str] = (), columns: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the configuration of all columns except those of `names`: right-aligned, as wide as their longest text.

    `columns` has the configuration of columns that have one, such as a help text.
    """
    titles = dict.fromkeys(title for line in lines for title in line if title not in names)
    right_aligned = st.column_config.TextColumn(alignment="right")
    return {
        title: (columns or {}).get(title, right_aligned) | {"width": text_width(_texts(lines, title))}
        for title in titles
    }


def fit_names(lines: Lines, widths: Mapping[str, int], figures: Mapping[str, Any]) -> dict[str, int]:
    """Return the widths of columns of names that leave room for the figures: at most `widths`, in pixels."""
    wanted = {name: min(width, needed_width(_texts(lines, name))) for name, width in widths.items()}
    rest = TABLE_WIDTH - sum(column["width"] for column in figures.values())
    share = min(1.0, rest / max(1, sum(wanted.values())))
    return {name: max(min(LEAST, width), int(share * width)) for name, width in wanted.items()}


def _texts(lines: Lines, title: str) -> list[str]:
    """Return the heading and the texts of a column."""
    return [title, *(str(line.get(title, "")) for line in lines)]
