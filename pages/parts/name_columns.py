"""Columns of a table with names: one line each, long names cut in their middle, and a list of the full ones."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.parts.text import escape_markdown, shorten_names

CHARACTER, PADDING = 8.4, 18
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
    return math.ceil(CHARACTER * max(map(len, texts)) + PADDING)


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
    return int((width - PADDING) / CHARACTER)
