"""A look at a table before there is a mapping: its columns and first rows."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from core.formats.mapping.cells import items, word
from core.formats.mapping.fields import MISSING, Row, find, quoted
from core.formats.mapping.rows import rows
from core.formats.mapping.scope import scopes
from core.problems import FileRefused


@dataclass(frozen=True)
class Preview:
    """The first rows of a table, flat."""

    columns: tuple[str, ...]
    """Dotted field paths, as a mapping writes them."""
    rows: tuple[dict[str, str], ...]
    """Column -> what the cell says; a list is written as JSON; a column that a row lacks is left out."""
    lists: tuple[str, ...]
    """Columns that hold lists of named fields: those that could be exploded."""


def preview(path: Path, rows_shown: int = 5, explode: str | None = None) -> Preview:
    """The first rows, or the first elements of their exploded lists; raises FileRefused for what it meets."""
    seen: dict[str, None] = {}
    lists: dict[str, None] = {}
    shown = []
    for row in islice(_rows(path, explode), rows_shown):
        cells = dict(_flat(row, ""))
        seen.update(dict.fromkeys(cells))
        lists.update({column: None for column, cell in cells.items() if _is_records(cell)})
        shown.append({column: _said(cell) for column, cell in cells.items()})
    return Preview(columns=tuple(seen), rows=tuple(shown), lists=tuple(lists))


def _rows(path: Path, explode: str | None) -> Iterator[Row]:
    for number, (line, row) in enumerate(rows(path), 1):
        if explode is None or find(row, explode) is MISSING:
            yield row
        else:
            for scope in scopes(row, line, number, explode):
                yield {key: value for key, value in scope.row.items() if key not in ("parent", explode)}


def _flat(row: Row, before: str) -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        path = before + quoted(str(key))
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{path}.")
        else:
            yield path, value


def _is_records(cell: Any) -> bool:
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        cell = next((found for found in [_parsed(cell)] if found), cell)
    return isinstance(cell, list) and bool(cell) and all(isinstance(element, dict) for element in cell)


def _parsed(cell: str) -> Any:
    try:
        return items(cell, 0, "")
    except FileRefused:
        return None


def _said(cell: Any) -> str:
    if isinstance(cell, list | dict):
        return json.dumps(cell, ensure_ascii=False, default=str)
    return "" if cell is None else word(cell) if isinstance(cell, bool | int | float) else str(cell)
