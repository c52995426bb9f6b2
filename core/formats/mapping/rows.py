"""Reads the rows of a CSV, TSV, JSON, JSON lines or Parquet file, each with the line on which it begins."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from core.errors import FileFormatError
from core.formats.mapping.delimited import read_delimited
from core.formats.mapping.fields import Row
from core.formats.text import data_suffix, read_head, read_lines, read_text, record_read, refuse_read_errors
from core.formats.validation_errors import quote_value

SUFFIXES = (".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson", ".parquet")
WHITESPACE = re.compile(r"[ \t\r\n]*")


def read_rows(path: Path, separator: str | None = None, quotes: bool | None = None) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) for every record; in a Parquet file the line is the number of the row.

    `separator` and `quotes` are those of delimited text; None detects them.

    A record that is a list, such as a dialogue, is the field `value`. Raises FileFormatError, possibly after some rows:
    callers must not store any of them before the last.
    """
    suffix = data_suffix(path)
    if suffix not in SUFFIXES:
        raise FileFormatError(f"{path.name} is not a table; readable files end in {', '.join(SUFFIXES)}")
    is_empty = True
    for pair in _reader(path, suffix, separator, quotes):
        is_empty = False
        yield pair
    if is_empty:
        raise FileFormatError(f"{path.name} has no rows")


def has_header(path: Path) -> bool:
    """Return whether the file's first line names its columns."""
    return data_suffix(path) in (".csv", ".tsv", ".tab")


def _reader(path: Path, suffix: str, separator: str | None, quotes: bool | None) -> Iterator[tuple[int, Row]]:
    if suffix == ".parquet":
        return _parquet(path)
    if has_header(path):
        return read_delimited(path, separator, quotes)
    if read_head(path).startswith("["):
        return _array(path)
    return _json_lines(path) if _is_lines(path) else _object(path)


def _is_lines(path: Path) -> bool:
    """Return whether the first line is a complete JSON value; otherwise the file is one object over several lines."""
    try:
        json.loads(next((text for _, text in read_lines(path)), "null"))
    except (ValueError, RecursionError):
        return data_suffix(path) != ".json"
    return True


def _json_lines(path: Path) -> Iterator[tuple[int, Row]]:
    for number, text in read_lines(path):
        value, end = _value(text, WHITESPACE.match(text).end(), number)  # type: ignore[union-attr]
        if text[end:].strip():
            raise FileFormatError("expected one JSON value on this line", line=number)
        yield number, _fields(value, number)


def _object(path: Path) -> Iterator[tuple[int, Row]]:
    text = read_text(path)
    start = _skip(text, 0)
    value, end = _value(text, start, 1 + text.count("\n", 0, start))
    if _skip(text, end) != len(text):
        raise FileFormatError("expected nothing after the first JSON value", line=1 + text.count("\n", 0, end))
    yield 1, _fields(value, 1)


def _array(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield the elements of one JSON array, decoded one at a time to know the line of each."""
    text = read_text(path)
    position, line = _skip(text, 0) + 1, 1
    counted = 0  # line ends are counted once, from the previous element on
    while True:
        position = _skip(text, position)
        line, counted = line + text.count("\n", counted, position), position
        if text[position : position + 1] == "]":
            break
        value, position = _value(text, position, line)
        yield line, _fields(value, line)
        position = _skip_comma(text, _skip(text, position))
    _check_end(text, position + 1)


def _skip_comma(text: str, at: int) -> int:
    """Return the position of the next element or of the closing bracket."""
    if text[at : at + 1] == "]":
        return at
    following = _skip(text, at + 1)
    if text[at : at + 1] != "," or text[following : following + 1] in ("]", ""):
        raise FileFormatError("expected JSON: a comma and another record, or ]", line=1 + text.count("\n", 0, at))
    return following


def _check_end(text: str, at: int) -> None:
    if text[at:].strip():
        raise FileFormatError(
            "expected nothing after the list of records", line=1 + text.count("\n", 0, _skip(text, at))
        )


def _skip(text: str, at: int) -> int:
    match = WHITESPACE.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int, line: int) -> tuple[Any, int]:
    """Return the JSON value at position `at`, on `line` of the file, and the position after it."""
    try:
        return DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise FileFormatError(f"expected JSON: {error.msg}", line=line + text.count("\n", at, error.pos)) from None
    except RecursionError:
        raise FileFormatError("expected JSON that is not nested so deep", line=line) from None
    except DuplicateKey as error:
        raise FileFormatError(
            f"expected each key of an object once, and {quote_value(str(error))} is in it twice", line=line
        ) from None
    except NotANumber as error:
        raise FileFormatError(f"expected JSON: {error} is not a number in JSON", line=line) from None
    except ValueError:
        raise FileFormatError("expected a number of at most 15 digits", line=line) from None


def _refuse_constant(name: str) -> NoReturn:
    raise NotANumber(name)


class NotANumber(ValueError):
    """NaN or Infinity, which Python's json module accepts and JSON does not."""


class DuplicateKey(ValueError):
    """A key that an object has twice: Python's json module would drop all values but the last."""


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise DuplicateKey(key)
            seen.add(key)
    return fields


DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_object_of)


def _fields(value: Any, line: int) -> Row:
    if isinstance(value, list):
        return {"value": value}
    if not isinstance(value, dict):
        raise FileFormatError(f"expected a record with named fields, not {_describe(value)}", line=line)
    return value


def _describe(value: Any) -> str:
    return "a list" if isinstance(value, list) else "text" if isinstance(value, str) else json.dumps(value)[:40]


def _parquet(path: Path) -> Iterator[tuple[int, Row]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    record_read(path)
    number = 0
    try:
        with refuse_read_errors(path), pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=2048):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except pa.ArrowException as error:
        raise FileFormatError(f"expected a Parquet file: {str(error).splitlines()[0]}") from None
