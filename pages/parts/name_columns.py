"""Columns of a table with full names: wide enough, and with rows high enough for the longest one."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

CHARACTER, WIDE_CHARACTER, PADDING = 7.8, 7.8, 18
"""Pixels of a character in several lines and in one, and of the space around the text of a cell."""
ONE_LINE, LINE = 35, 18
"""Pixels of a row of one line, and of each further line."""
LOWEST_WRAPPED = 65
"""Pixels of the lowest row in which Streamlit wraps texts: above 4 rem."""


def fit(lines: Sequence[Mapping[str, Any]], widths: Mapping[str, int]) -> tuple[int | None, dict[str, Any]]:
    """Return the height of the rows, None for one line, and the configuration of the columns.

    `widths` has the largest width of each column of names, in pixels; a name that is longer has several lines.
    """
    most, columns = 1, {}
    for name, largest in widths.items():
        texts = [str(line.get(name, "")) for line in lines]
        needed = round(WIDE_CHARACTER * max([len(name), *map(len, texts)]) + PADDING)
        width = min(largest, needed)
        characters = max(1, int((width - PADDING) / CHARACTER))
        most = max([most, *(_lines(text, characters) for text in texts)])
        columns[name] = st.column_config.TextColumn(width=width)
    return (max(LOWEST_WRAPPED, ONE_LINE + LINE * (most - 1)) if most > 1 else None), columns


def _lines(text: str, characters: int) -> int:
    """Return the number of lines of a text in a cell: a word that is longer than a line starts a new one."""
    lines, used = 1, 0
    for word in text.split():
        if used and used + 1 + len(word) > characters:
            lines, used = lines + 1, 0
        broken, last = divmod(max(0, len(word) - 1), characters)
        lines, used = lines + broken, last + 1 if broken else used + bool(used) + len(word)
    return lines
