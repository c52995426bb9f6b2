"""Gold labels as CSV, one target a row: for pandas, R and a spreadsheet alike.

UTF-8 and "\\n"; the file is opened with `newline=""`. The same gold in the same order is always the same bytes.
"""

import json
from collections.abc import Iterable, Sequence
from typing import TextIO

from core.labels import Gold, Value

COLUMNS = ("item", "criterion", "kind", "part", "gold", "source", "annotators", "distribution", "reason")
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet would run; an apostrophe before it keeps it text."""


def write(golds: Iterable[Gold], stream: TextIO) -> None:
    """One row as each gold comes, so that a large study is never held whole; the order is the caller's."""
    stream.write(_line(COLUMNS))
    for gold in golds:
        stream.write(_line(_cells(gold)))


def _line(cells: Sequence[str]) -> str:
    """Not the csv module: with these line ends it leaves a lone carriage return unquoted, and a reader ends the row."""
    return ",".join(_quoted(cell) for cell in cells) + "\n"


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',"\r\n') else cell


def _cells(gold: Gold) -> list[str]:
    target = gold.target
    return [
        _safe(target.item),
        _safe(target.criterion),
        target.kind,
        _safe(target.part),
        _value(gold.value),
        gold.source,
        str(gold.annotators),
        _safe(distribution(gold)),
        _safe(gold.reason),
    ]


def distribution(gold: Gold) -> str:
    """Such as "1:2;0:1": value and how many standing labels, most frequent first."""
    return ";".join(f"{_listed(value)}:{count}" for value, count in gold.distribution)


def _value(value: Value | None) -> str:
    """Nothing where nothing stands; a number is never touched, so that -1 stays one."""
    if value is None:
        return ""
    return _safe(value) if isinstance(value, str) else _written(value)


def _listed(value: Value) -> str:
    """Text in which the list's own marks occur is quoted, as JSON does."""
    quoted = isinstance(value, str) and any(mark in value for mark in ':;"')
    return json.dumps(value, ensure_ascii=False) if quoted else _written(value)


def _written(value: Value) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _safe(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA) else text
