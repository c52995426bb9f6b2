"""Reads the rows of a CSV, TSV, JSON, JSON lines or Parquet file, each with the line on which it begins."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from core.errors import FileFormatError
from core.formats import text as text_limits
from core.formats.mapping.delimited import read_delimited
from core.formats.mapping.fields import Row
from core.formats.mapping.parquet import read_parquet
from core.formats.text import (
    CHUNK,
    data_suffix,
    read_chunks,
    read_head,
    read_lines,
    read_text,
    refuse_large_json,
)
from core.formats.validation_errors import quote_value

SUFFIXES = (".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson", ".parquet")
LONGEST_TOKEN = 16
"""More characters than a number's end, a word or an escape needs, which the end of a text can cut."""
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
        return read_parquet(path)
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
    """Yield the elements of one JSON array, decoded one at a time: the text of the others is not in memory."""
    with read_chunks(path) as chunks:
        yield from _ArrayText(chunks).elements()


class _ArrayText:
    """The text of an array from the next element on, with its line."""

    def __init__(self, chunks: Iterator[str]) -> None:
        self.chunks = chunks
        self.text, self.at = "", 0
        """What was read and not yet dropped, and the position of the next element."""
        self.line, self.counted = 1, 0
        """The line at the position `counted`: line ends are counted once."""

    def elements(self) -> Iterator[tuple[int, Row]]:
        """Yield (line, row); raises FileFormatError for what is no array of records."""
        self._skip_blanks()
        self.at += 1  # the bracket that begins the array
        while self._skip_blanks() != "]":
            line = self._current_line()
            value = self._value(line)
            yield line, _fields(value, line)
            self._drop()
            if (mark := self._skip_blanks()) != "]":
                self._skip_comma(mark)
        self.at += 1
        if self._skip_blanks():
            raise FileFormatError("expected nothing after the list of records", line=self._current_line())

    def _value(self, line: int) -> Any:
        """Return the element at the position; one that ends where the text does may be incomplete."""
        while True:
            try:
                value, end = DECODER.raw_decode(self.text, self.at)
            except (ValueError, RecursionError) as error:
                if not (self._may_be_cut(error) and self._read_more()):
                    return _value(self.text, self.at, line)  # for its error
                continue
            if end < len(self.text) or not self._read_more():
                self.at = end
                return value

    def _may_be_cut(self, error: Exception) -> bool:
        """Return whether JSON may be invalid only because it is not yet complete."""
        if not isinstance(error, json.JSONDecodeError):
            return False
        return error.pos >= len(self.text) - LONGEST_TOKEN or error.msg.startswith("Unterminated string")

    def _read_more(self) -> bool:
        """Append as much as there is, so that a long element is not decoded again for each part of it."""
        self._drop()
        parts, wanted = [self.text], max(len(self.text), 1)
        while wanted > 0 and (chunk := next(self.chunks, "")):
            parts.append(chunk)
            wanted -= len(chunk)
        if len(parts) == 1:
            return False
        self.text = "".join(parts)
        if len(self.text) > text_limits.MAX_LINE:
            message = f"expected a record of at most {text_limits.MAX_LINE // 2**20} MB"
            raise FileFormatError(message, line=self._current_line())
        if len(self.text) > 2 * CHUNK:
            refuse_large_json(self.text, self._current_line())
        return True

    def _skip_blanks(self) -> str:
        """Move to the next character that is not blank, and return it; "" at the end."""
        self.at = _skip(self.text, self.at)
        while self.at == len(self.text) and self._read_more():
            self.at = _skip(self.text, self.at)
        return self.text[self.at : self.at + 1]

    def _skip_comma(self, mark: str) -> None:
        line = self._current_line()
        self.at += 1
        if mark != "," or self._skip_blanks() in ("]", ""):
            raise FileFormatError("expected JSON: a comma and another record, or ]", line=line)

    def _current_line(self) -> int:
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.line

    def _drop(self) -> None:
        """Forget the text before the position, once it is long."""
        if self.at > CHUNK or self.at == len(self.text):
            self._current_line()
            self.text, self.at, self.counted = self.text[self.at :], 0, 0


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
