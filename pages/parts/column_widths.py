"""Widths of columns by their longest text.

A table without widths leaves out its few longest texts when it measures them, so the beginning of a right-aligned
figure such as `-0.63 [-0.81, -0.50]` would be cut.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import streamlit as st

from pages.parts import name_columns

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
    wanted = {name: min(width, name_columns.needed_width(_texts(lines, name))) for name, width in widths.items()}
    rest = TABLE_WIDTH - sum(column["width"] for column in figures.values())
    share = min(1.0, rest / max(1, sum(wanted.values())))
    return {name: max(min(LEAST, width), int(share * width)) for name, width in wanted.items()}


def _texts(lines: Lines, title: str) -> list[str]:
    """Return the heading and the texts of a column."""
    return [title, *(str(line.get(title, "")) for line in lines)]
