"""Rows of a CSV, TSV, JSON, JSON lines or Parquet file, one by one, each with the line that it begins on."""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from core.formats.mapping.fields import Row
from core.formats.text import first, lines, opened, reading, whole
from core.problems import FileRefused

SUFFIXES = (".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson", ".parquet")
BLANKS = re.compile(r"[ \t\r\n]*")
WIDEST = 2**26
"""Characters in one CSV cell: the csv module's own limit of 131,072 is too small for a long document."""


def rows(path: Path) -> Iterator[tuple[int, Row]]:
    """(line, row) of every record; in a Parquet file the line is the row's number.

    Raises FileRefused, also half-way: whoever takes the rows keeps none of them until the last has come.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise FileRefused(f"{path.name} is none of the tables that can be read: {', '.join(SUFFIXES)}")
    found = False
    for pair in _reader(path, suffix):
        found = True
        yield pair
    if not found:
        raise FileRefused(f"{path.name} has no rows")


def is_flat(path: Path) -> bool:
    """Whether the file names its columns once, in its first line."""
    return path.suffix.lower() in (".csv", ".tsv", ".tab")


def _reader(path: Path, suffix: str) -> Iterator[tuple[int, Row]]:
    if suffix == ".parquet":
        return _parquet(path)
    if is_flat(path):
        return _separated(path, suffix)
    if first(path).startswith("["):
        return _array(path)
    return _json_lines(path) if _is_lines(path) else _object(path)


def _separated(path: Path, suffix: str) -> Iterator[tuple[int, Row]]:
    """The header says how many cells a row has; a blank line is no row."""
    csv.field_size_limit(WIDEST)
    with opened(path) as file:
        reader = csv.reader(file, delimiter=_delimiter(path, suffix), strict=True)
        header: list[str] = []
        line = 1
        try:
            for cells in reader:
                if cells and not header:
                    header = _header(cells)
                elif cells:
                    yield line, _row(header, cells, line)
                line = reader.line_num + 1
        except csv.Error as error:
            raise FileRefused(f"expected CSV: {error}", line=line) from None


def _header(cells: list[str]) -> list[str]:
    names = [cell.strip() for cell in cells]
    for name in names:
        if name and names.count(name) > 1:
            raise FileRefused("two columns have this name", line=1, field=name)
    return names


def _row(header: list[str], cells: list[str], line: int) -> Row:
    if len(cells) != len(header):
        raise FileRefused(f"expected {len(header)} cells, as in the header, not {len(cells)}", line=line)
    return dict(zip(header, cells, strict=True))


def _delimiter(path: Path, suffix: str) -> str:
    """A spreadsheet in a country with decimal commas saves "CSV" with semicolons."""
    if suffix != ".csv":
        return "\t"
    header = first(path).partition("\n")[0]
    return next((mark for mark in ",;\t" if mark in header), ",")


def _is_lines(path: Path) -> bool:
    """A file whose first line is a JSON value of its own; one object over many lines is one record."""
    try:
        json.loads(next((text for _, text in lines(path)), "null"))
    except (ValueError, RecursionError):
        return path.suffix.lower() != ".json"
    return True


def _json_lines(path: Path) -> Iterator[tuple[int, Row]]:
    for number, text in lines(path):
        value, end = _value(text, BLANKS.match(text).end(), number)  # type: ignore[union-attr]
        if text[end:].strip():
            raise FileRefused("expected one JSON value on this line", line=number)
        yield number, _fields(value, number)


def _object(path: Path) -> Iterator[tuple[int, Row]]:
    text = whole(path)
    start = _skip(text, 0)
    value, end = _value(text, start, 1 + text.count("\n", 0, start))
    if _skip(text, end) != len(text):
        raise FileRefused("expected nothing after the first JSON value", line=1 + text.count("\n", 0, end))
    yield 1, _fields(value, 1)


def _array(path: Path) -> Iterator[tuple[int, Row]]:
    """The elements of one JSON array, decoded one at a time so that each is known by its line."""
    text = whole(path)
    at, line = _skip(text, 0) + 1, 1
    last = 0
    while True:
        at = _skip(text, at)
        line, last = line + text.count("\n", last, at), at
        if text[at : at + 1] == "]":
            break
        value, at = _value(text, at, line)
        yield line, _fields(value, line)
        at = _after_comma(text, _skip(text, at))
    _end(text, at + 1)


def _after_comma(text: str, at: int) -> int:
    """Where the next element begins, or the closing bracket."""
    if text[at : at + 1] == "]":
        return at
    following = _skip(text, at + 1)
    if text[at : at + 1] != "," or text[following : following + 1] in ("]", ""):
        raise FileRefused("expected JSON: a comma and another record, or ]", line=1 + text.count("\n", 0, at))
    return following


def _end(text: str, at: int) -> None:
    if text[at:].strip():
        raise FileRefused("expected nothing after the list of records", line=1 + text.count("\n", 0, _skip(text, at)))


def _skip(text: str, at: int) -> int:
    found = BLANKS.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, line: int) -> tuple[Any, int]:
    """(value, where it ends) of the JSON that begins at `at`, on `line` of the file."""
    try:
        return DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise FileRefused(f"expected JSON: {error.msg}", line=line + text.count("\n", at, error.pos)) from None
    except RecursionError:
        raise FileRefused("expected JSON that is not nested so deep", line=line) from None
    except NotANumber as error:
        raise FileRefused(f"expected JSON: {error} is not a number in JSON", line=line) from None
    except ValueError:
        raise FileRefused("expected a number of at most 15 digits", line=line) from None


def _no_constant(name: str) -> NoReturn:
    raise NotANumber(name)


class NotANumber(ValueError):
    """NaN and Infinity, which Python's json would let through."""


DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _fields(value: Any, line: int) -> Row:
    if not isinstance(value, dict):
        raise FileRefused(f"expected a record with named fields, not {_kind(value)}", line=line)
    return value


def _kind(value: Any) -> str:
    return "a list" if isinstance(value, list) else "text" if isinstance(value, str) else json.dumps(value)[:40]


def _parquet(path: Path) -> Iterator[tuple[int, Row]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with reading(path), pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=2048):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except pa.ArrowException as error:
        raise FileRefused(f"expected a Parquet file: {str(error).splitlines()[0]}") from None
