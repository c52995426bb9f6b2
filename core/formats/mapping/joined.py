"""Joins the rows of a table with those of a second file in its folder."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from core.errors import FileFormatError
from core.formats.mapping.blocks import Join
from core.formats.mapping.cells import parse_name
from core.formats.mapping.fields import Row, get_value
from core.formats.mapping.rows import read_rows

FIELD = "joined"


def join_rows(rows: Iterator[tuple[int, Row]], path: Path, join: Join) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) with the second file's row as `joined`; raises FileFormatError if one of them has none."""
    other = path.parent / join.file
    if not other.is_file():
        raise FileFormatError(f"there is no file {join.file!r} next to {path.name}", field="join.file")
    yield from _by_key(rows, other, join) if join.key is not None else _by_number(rows, other)


def _by_number(rows: Iterator[tuple[int, Row]], other: Path) -> Iterator[tuple[int, Row]]:
    for number, (pair, second) in enumerate(zip_longest(rows, read_rows(other)), 1):
        if pair is None or second is None:
            longer = "the table" if second is None else other.name
            raise FileFormatError(f"expected as many records in both files; only {longer} has record {number}")
        line, row = pair
        yield line, {**row, FIELD: second[1]}


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
        if name not in by_key:
            raise FileFormatError(f"{other.name} has no record {name!r}", line=line, field=key)
        yield line, {**row, FIELD: by_key[name]}
