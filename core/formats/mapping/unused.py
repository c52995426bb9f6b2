"""The fields of a table that a mapping does not use."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from core.formats.mapping.fields import parse_path, spell_path
from core.formats.mapping.mapping import Mapping, field_paths
from core.formats.mapping.preview import preview_table
from core.formats.mapping.scope import WHOLE_RECORD
from core.formats.validation_errors import join_names

ROWS = 50
"""Rows that are searched for fields."""

Keys = tuple[str, ...]


def unused_fields(path: Path, mapping: Mapping) -> list[str]:
    """Return the fields of the first rows, or of their exploded elements, that the mapping does not refer to.

    A list is one field, which is used if any part of its elements is.
    """
    columns = preview_table(path, ROWS, mapping.explode, mapping.separator).columns
    used = set(_used_paths(mapping))
    return [column for column in columns if not any(_overlap(parse_path(column), keys) for keys in used)]


def format_unused(fields: Sequence[str]) -> str:
    """Return "Not used: " and the first names on one line, as a mapping in YAML has them; empty if there are none."""
    return f"Not used: {join_names([spell_path(field) for field in fields])}" if fields else ""


def _used_paths(mapping: Mapping) -> Iterator[Keys]:
    keys = [join.key for join in mapping.join if join.key is not None]
    exploded = [path for path in mapping.explode if path not in WHOLE_RECORD]
    for path in (*field_paths(mapping), *keys, *exploded):
        own = parse_path(path)
        yield own
        yield tuple(map(str.strip, own))  # names of columns in delimited text have no surrounding blanks
        yield (path.strip(),)
        yield (path,)  # a column of delimited text whose name has a dot needs no quotes
        if own[0] == "parent" and len(own) > 1:
            yield own[1:]


def _overlap(column: Keys, used: Keys) -> bool:
    """Return whether one path is the other, or inside it."""
    shared = min(len(column), len(used))
    return column[:shared] == used[:shared]
