"""Gold labels as CSV, one target per row, for pandas, R and spreadsheets.

UTF-8 with "\\n" line ends; open the file with `newline=""`. The same gold in the same order gives the same bytes.
"""

import json
from collections.abc import Iterable, Sequence
from typing import TextIO

from core.labels import Gold, Value

COLUMNS = ("item", "criterion", "kind", "part", "gold", "source", "annotators", "distribution", "reason")
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""Text that begins so would be executed by a spreadsheet as a formula; an apostrophe before it prevents that."""


def write_csv(golds: Iterable[Gold], stream: TextIO) -> None:
    """Write a header and one row for each gold label, in the given order, without holding them all in memory."""
    stream.write(_format_row(COLUMNS))
    for gold in golds:
        stream.write(_format_row(_cells(gold)))


def _format_row(cells: Sequence[str]) -> str:
    """Return one line of CSV.

    The csv module does not quote a lone carriage return with these line ends, and readers would end the row there.
    """
    return ",".join(_quote(cell) for cell in cells) + "\n"


def _quote(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(character in cell for character in ',"\r\n') else cell


def _cells(gold: Gold) -> list[str]:
    target = gold.target
    return [
        _escape_formula(target.item),
        _escape_formula(target.criterion),
        target.kind,
        _escape_formula(target.part),
        _format_gold(gold.value),
        gold.source,
        str(gold.annotators),
        _escape_formula(format_distribution(gold)),
        _escape_formula(gold.reason),
    ]


def format_distribution(gold: Gold) -> str:
    """Return value and number of labels, most frequent first, such as "1:2;0:1"."""
    return ";".join(f"{_format_element(value)}:{count}" for value, count in gold.distribution)


def _format_gold(value: Value | None) -> str:
    """Return the cell of a gold value, empty where unresolved. Numbers are not escaped, so -1 stays a number."""
    if value is None:
        return ""
    return _escape_formula(value) if isinstance(value, str) else _format_value(value)


def _format_element(value: Value) -> str:
    """Return a value in a distribution; text that contains its separators is quoted as in JSON."""
    quoted = isinstance(value, str) and any(character in value for character in ':;"')
    return json.dumps(value, ensure_ascii=False) if quoted else _format_value(value)


def _format_value(value: Value) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _escape_formula(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
