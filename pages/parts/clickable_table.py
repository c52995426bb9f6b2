"""A table whose rows open with a click on any of their cells, or with the arrow keys."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

MAX_HEIGHT = 460
"""Pixels; a longer table is scrolled."""
HEADER, ROW = 38, 35
"""Pixels of the header with the frame, and of a row of one line."""
Click = Callable[[int, str], None]
"""Called with the number of the row and the name of the column."""


def draw(
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
