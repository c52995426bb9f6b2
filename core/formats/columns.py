"""Rows as a table of plain text, for a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any


def columns(rows: Sequence[Mapping[str, Any]], empty: str) -> str:
    """Rows in columns, numbers with three decimals, an undefined one as a dash; `empty` where there are none."""
    if not rows:
        return empty
    cells = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
