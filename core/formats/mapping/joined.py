"""Joins the rows of a table with those of other files in its folder."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from core.errors import FileFormatError
from core.formats.mapping.blocks import Join
from core.formats.mapping.cells import parse_name
from core.formats.mapping.fields import Row, get_value
from core.formats.mapping.rows import read_rows


def join_rows(rows: Iterator[tuple[int, Row]], path: Path, joins: Sequence[Join]) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) with the row of each other file under its name.

    Raises FileFormatError if a row has none, unless that is optional.
    """
    for join in joins:
        rows = _join(rows, path, join)
    return rows


def _join(rows: Iterator[tuple[int, Row]], path: Path, join: Join) -> Iterator[tuple[int, Row]]:
    other = path.parent / join.file
    if not other.is_file():
        raise FileFormatError(f"there is no file {join.file!r} next to {path.name}", field="join.file")
    yield from _by_key(rows, other, join) if join.key is not None else _by_number(rows, other, join)


def _by_number(rows: Iterator[tuple[int, Row]], other: Path, join: Join) -> Iterator[tuple[int, Row]]:
    for number, (pair, second) in enumerate(zip_longest(rows, read_rows(other)), 1):
        if pair is not None and second is None and join.optional:
            yield pair
            continue
        if pair is None or second is None:
            longer = "the table" if second is None else other.name
            raise FileFormatError(f"expected as many records in both files; only {longer} has record {number}")
        line, row = pair
        yield line, {**row, join.name: second[1]}


def _by_key(rows: Iterator[tuple[int, Row]], other: Path, join: Join) -> Iterator[tuple[int, Row]]:
    key, other_key = join.key or "", join.other_key or join.key or ""
    by_key: dict[str, Row] = {}
    for line, row in read_rows(other):
        name = parse_name(get_value(row, other_key), line, other_key)
        if name in by_key:
            raise FileFormatError(f"{other.name} has {name!r} twice", line=line, field=other_key)
        by_key[name] = row
    for line, row in rows:
        name = parse_name(get_value(row, key), line, key)
        if name not in by_key and join.optional:
            yield line, row
            continue
        if name not in by_key:
            raise FileFormatError(f"{other.name} has no record {name!r}", line=line, field=key)
        yield line, {**row, join.name: by_key[name]}
