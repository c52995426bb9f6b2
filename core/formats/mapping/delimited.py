"""Reads the rows of delimited text: commas, semicolons, tabs, or the separator that the file or the mapping names."""

import csv
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from core.errors import FileFormatError
from core.formats.gold import COLUMNS as GOLD_COLUMNS
from core.formats.mapping.cells import DecimalComma
from core.formats.mapping.fields import Row
from core.formats.spreadsheet import unescape_formula
from core.formats.text import data_suffix, limited_lines, open_text

SEPARATORS = (",", ";", "\t")
SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\r?\n?', re.IGNORECASE)
"""The first line by which Excel is informed of the separator."""
SEPARATOR_LENGTH = 16
"""More characters than such a line has."""
SAMPLE_LINES = 200
MAX_COLUMNS = 10_000
"""A table with more columns is a matrix, or was read with the wrong separator."""
MAX_CELL_LENGTH = 2**26
"""Characters of one CSV cell: the csv module's default of 131,072 is too small for long documents."""
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)


def read_delimited(path: Path, separator: str | None = None, quotes: bool | None = None) -> Iterator[tuple[int, Row]]:
    """Yield (line, row); every row has as many cells as the header. Rows without any text are skipped.

    Without `separator` it is that of a first line `sep=;`, a tab in .tsv and .tab files, or the one with which the
    first rows have the same number of cells. Without `quotes`, quotation marks enclose cells, unless the separator is a
    tab and the first rows are consistent only if they are text.
    """
    csv.field_size_limit(MAX_CELL_LENGTH)
    with open_text(path) as file:
        named = SEPARATOR_LINE.fullmatch(file.readline(SEPARATOR_LENGTH))
        file.seek(0)
        skipped = 1 if named else 0
        if named:
            file.readline()
        default = separator or (named[1] if named else None)
        used = default or ("\t" if data_suffix(path) != ".csv" else _detect(path))
        yield from _rows(file, used, skipped, _has_quotes(path, used) if quotes is None else quotes)


def _rows(file: TextIO, separator: str, skipped: int, quotes: bool) -> Iterator[tuple[int, Row]]:
    reader = _reader(limited_lines(file), separator, quotes)
    header: list[str] = []
    is_own = False
    line = skipped + 1
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                if header:
                    yield line, _row(header, map(unescape_formula, cells) if is_own else cells, line, separator)
                else:
                    is_own = tuple(cells[: len(GOLD_COLUMNS)]) == GOLD_COLUMNS  # texts of others stay as they are
                    header = _header([*map(unescape_formula, cells)] if is_own else cells, line)
            line = skipped + reader.line_num + 1
    except csv.Error as error:
        message = f"expected CSV: {error}; if quotation marks do not enclose cells, add `quotes: false` to the mapping"
        raise FileFormatError(message, line=line) from None


def _reader(lines: Iterable[str], separator: str, quotes: bool) -> Any:
    if quotes:
        return csv.reader(lines, delimiter=separator, strict=True)
    return csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE, strict=True)


def _header(cells: list[str], line: int) -> list[str]:
    names = [cell.strip() for cell in cells]
    if len(names) > MAX_COLUMNS:
        raise FileFormatError(f"expected at most {MAX_COLUMNS:,} columns, not {len(names):,}", line=line)
    seen: set[str] = set()
    for name in names:
        if name and name in seen:
            raise FileFormatError("two columns have this name", line=line, field=name)
        seen.add(name)
    return names


def _row(header: list[str], cells: Iterable[str], line: int, separator: str) -> Row:
    cells = list(cells)
    if len(cells) != len(header):
        raise FileFormatError(f"expected {len(header)} cells, as in the header, not {len(cells)}", line=line)
    if separator != ",":
        cells = [_with_decimal_comma(cell, separator) for cell in cells]
    return dict(zip(header, cells, strict=True))


def _with_decimal_comma(cell: str, separator: str) -> str:
    """Return a cell such as `3,5` as DecimalComma; with tabs, `1,234` can be a whole number and is unchanged."""
    is_number = "," in cell and DECIMAL_COMMA.fullmatch(cell.strip())
    return DecimalComma(cell) if is_number and (separator == ";" or not THOUSANDS.fullmatch(cell.strip())) else cell


def _detect(path: Path) -> str:
    """Return the separator with which the first rows have as many cells as the header, the most columns first."""
    lines = _sample(path)
    return max(SEPARATORS, key=lambda separator: _fit(lines, separator))  # the first one if several are equal


def _has_quotes(path: Path, separator: str) -> bool:
    """Return False for a table with tabs whose first rows are consistent only without quoting."""
    if separator != "\t":
        return True
    lines = [line for line in _sample(path) if not SEPARATOR_LINE.fullmatch(line)]
    return '"' not in "".join(lines) or _fit(lines, separator)[0] or not _fit(lines, separator, quotes=False)[0]


def _sample(path: Path) -> list[str]:
    with open_text(path) as file:
        return list(islice(limited_lines(file), SAMPLE_LINES))


def _fit(lines: list[str], separator: str, *, quotes: bool = True) -> tuple[bool, int]:
    """Return whether the rows are consistent in at least two columns, and the number of columns of the header."""
    lengths: list[int] = []
    is_valid = True
    try:
        for cells in _reader(lines, separator, quotes):
            if any(cell.strip() for cell in cells):
                lengths.append(len(cells))
    except csv.Error:  # in an incomplete sample it can be that the last row is not complete
        is_valid = len(lines) == SAMPLE_LINES and len(lengths) > 1
    columns = lengths[0] if lengths else 0
    return is_valid and columns > 1 and len(set(lengths)) == 1, columns
