"""A table whose rows open with a click on any of their cells, or with the arrow keys."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from core.formats.tables import Column, Table, records, rows_csv
from core.texts import _
from pages.parts import downloads

# Pixels; a longer table is scrolled.
MAX_HEIGHT = 460
# Pixels of the header with the frame, and of a row of one line.
HEADER, ROW = 38, 35
# Called with the number of the row and the name of the column.
Click = Callable[[int, str], None]


def draw_clickable(
    lines: Sequence[Mapping[str, Any]],
    key: str,
    on_click: Click | None = None,
    *,
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
        height=min(HEADER + ROW * len(lines), max_height),
        column_config=column_config,
        placeholder="–",
    )
    cells = table.selection.cells
    return cells[0][0] if cells and cells[0][0] < len(lines) else None


def _call(on_click: Click, key: str) -> None:
    cells: Any = st.session_state[key].selection.cells
    if cells:
        on_click(*cells[0])


# Pixels of a column of intervals: Streamlit measures a sample of cells, and would cut the sign of a longer one.
INTERVAL_WIDTH = 170


def draw(
    table: Table,
    on_click: Click | None = None,
    key: str = "",
    *,
    opens: bool = False,
    max_height: int = MAX_HEIGHT,
) -> int | None:
    """Draw a table without its empty columns, what the columns mean, and the link to its CSV file.

    `on_click` is called as by `draw_clickable`; with it, or if rows open, the number of the selected row is returned.
    `key` is that of the table in the session, if it is not made of its name.
    """
    titled = [column for column in table.columns if column.title]
    texts = {column.title: [column.text(row) for row in table.rows] for column in titled}
    shown = [column for column in titled if any(texts[column.title])]
    config = {
        column.title: st.column_config.NumberColumn(help=column.help or None, format="localized")
        if column.form == "count"
        else st.column_config.TextColumn(
            alignment="left" if column.form in ("text", "yes") else "right",
            help=column.help or None,
            width=INTERVAL_WIDTH if _has_intervals(column, texts[column.title]) else None,
        )
        for column in shown
    }
    # Counts stay numbers, so that a click on the heading sorts them as such.
    cells = {
        column.title: [column.values(row)[0] for row in table.rows] if column.form == "count" else texts[column.title]
        for column in shown
    }
    lines = [{title: cells[title][number] for title in config} for number in range(len(table.rows))]
    key, clicked = key or f"{table.name}_table", None
    if opens or on_click is not None:
        clicked = draw_clickable(lines, key, on_click, max_height=max_height, column_config=config)
    else:
        st.dataframe(lines, key=key, hide_index=True, column_config=config, placeholder="–")
    draw_notes(config)
    in_file = table.file_rows
    if in_file is None or in_file:
        make = lambda: rows_csv(records(table.rows, table.columns) if in_file is None else in_file)  # noqa: E731
        downloads.draw_csv_download(make, f"{table.name}.csv", key=f"{table.name}_download")
    return clicked


def _has_intervals(column: Column, texts: Sequence[str]) -> bool:
    """Return whether a column has intervals or ranges, as values or as texts."""
    is_figure = column.form not in ("text", "yes")
    return is_figure and any("[" in text or " to " in text for text in texts)


# The help texts of a table's columns as text: a header shows them to a mouse only.


def draw_notes(column_config: Mapping[str, Any]) -> None:
    """Draw, under a table, the name and the help text of each column that has one."""
    notes = {name: config["help"] for name, config in column_config.items() if config and config.get("help")}
    if notes:
        with st.expander(_("What the columns mean"), icon=":material/help:"):
            st.markdown("\n".join(f"- **{name}**: {text}" for name, text in notes.items()))


def pair_numbers(pair: tuple[str, str], names: Sequence[str]) -> str:
    """Return `1 × 3`: the places of two names in the order of a matrix, which numbers its columns so."""
    return " × ".join(str(names.index(name) + 1) for name in pair)
