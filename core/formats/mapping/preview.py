"""The columns and first rows of a table, before it has a mapping."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from core.answers.text import shorten
from core.formats.mapping.fields import (
    MISSING,
    Row,
    get_value,
    parse_nested,
    parse_path,
    quote_key,
    spell_path,
)
from core.formats.mapping.joins import read_joined
from core.formats.mapping.mapping import Mapping, as_tuple, build_mapping, field_paths, source_paths
from core.formats.mapping.rows import format_value, has_header, read_rows
from core.formats.mapping.scope import EVERY_ELEMENT, EVERY_KEY, LEVEL, WHOLE_RECORD, iter_scopes
from core.formats.validation_errors import join_names

# Fields that are looked at: as many as delimited text can have columns. JSON can have any number.
MAX_FIELDS = 10_000
MANY_FIELDS = f"Only {MAX_FIELDS:,} fields are looked at; the file has more."
# Objects in a record from which on they can be the items.
MIN_OBJECTS = 2
# Objects in a record up to which they can be those of systems, of which each has a response.
MAX_SYSTEMS = 12


@dataclass(frozen=True)
class Preview:
    """The first rows of a table, with nested fields as separate columns."""

    columns: tuple[str, ...]
    """Field paths, as in a mapping."""
    rows: tuple[dict[str, str], ...]
    """Column -> text of the cell; a list is written as JSON; columns that a row lacks are left out."""
    has_more: bool
    """Whether the file has more fields than `columns` (see `MAX_FIELDS`)."""
    lists: tuple[str, ...]
    """What can be exploded: columns with lists of records, or the record itself if the file is one object of them."""


def preview_table(
    path: Path,
    rows_shown: int = 5,
    explode: str | Sequence[str] | None = None,
    *,
    join: Any = (),
    divider: str | None = None,
) -> Preview:
    """Return the first rows, or the first elements of their exploded lists; `join` is that of a mapping.

    Raises FileFormatError for an invalid one.
    """
    reading = {"explode": explode, "join": join, "divider": divider if explode else None}
    return preview_of(path, rows_shown, build_mapping({"id": "{row}", "prompt": {"constant": ""}, **reading}))


def preview_of(path: Path, rows_shown: int, mapping: Mapping) -> Preview:
    """Return the first rows as a mapping reads them."""
    columns: dict[str, None] = {}
    lists: dict[str, None] = dict.fromkeys(_whole_record(path, mapping.separator, mapping.quotes))
    rows, has_more = [], False
    keys = {f"{own.name}.{key}" for own in mapping.join for key in own.own_fields}  # known already
    for row in islice(_iter_rows(path, mapping), rows_shown):
        cells = dict(islice(((name, cell) for name, cell in flatten(row) if name not in keys), MAX_FIELDS + 1))
        columns.update(dict.fromkeys(cells))
        if len(columns) > MAX_FIELDS:
            has_more = True
            columns = dict.fromkeys(islice(columns, MAX_FIELDS))
            cells = {column: cell for column, cell in cells.items() if column in columns}
        lists.update({column: None for column, cell in cells.items() if _is_record_list(cell)})
        rows.append({column: _format_cell(cell) for column, cell in cells.items()})
    return Preview(columns=tuple(columns), rows=tuple(rows), has_more=has_more, lists=tuple(lists))


def _whole_record(path: Path, separator: str | None, quotes: bool | None) -> list[str]:
    """Return how the record of a file with only one can be exploded: its values are objects, or lists of them."""
    if has_header(path):
        return []
    rows = list(islice(read_rows(path, separator, quotes), 2))
    values = [*rows[0][1].values()] if len(rows) == 1 else []
    if len(values) >= MIN_OBJECTS and all(isinstance(value, dict) for value in values):
        return [EVERY_KEY]
    are_lists = all(isinstance(value, list) and _is_record_list(value) for value in values)
    return [EVERY_ELEMENT] if len(values) >= MIN_OBJECTS and are_lists else []


def every_key(path: Path) -> str | list[str] | None:
    """Return how the only record of a file is exploded if it has many objects with a common field, such as an object
    for each document, or for each document of each system; None for another file."""
    rows = [] if has_header(path) else [row for _, row in islice(read_rows(path), 2)]
    objects, levels = [dict(row) for row in rows[:1]], 0
    while objects and all(own and all(isinstance(value, dict) for value in own.values()) for own in objects):
        objects, levels = [value for own in objects for value in own.values()], levels + 1
    shared = Counter(key for own in objects for key in own).most_common(1)
    is_map = levels > 0 and len(rows) == 1 and len(objects) > MAX_SYSTEMS and 2 * shared[0][1] > len(objects)
    return None if not is_map else EVERY_KEY if levels == 1 else [EVERY_KEY] * levels


def _iter_rows(path: Path, mapping: Mapping) -> Iterator[Row]:
    explode = mapping.explode
    for number, (line, row) in enumerate(read_joined(path, mapping), 1):
        if not explode or (explode[0] not in WHOLE_RECORD and get_value(row, explode[0]) is MISSING):
            yield row
        else:
            for scope in iter_scopes(row, line, number, mapping):
                yield {key: value for key, value in scope.row.items() if key not in ("parent", *explode)}


def flatten(row: Row, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of each field, also of those in objects."""
    for key, value in row.items():
        path = prefix + quote_key(str(key))
        if isinstance(value, dict) and value:
            yield from flatten(value, f"{path}.")
        else:
            yield path, value


def _element_fields(preview: Preview, each: str) -> list[str]:
    """Return the fields of the objects in the list at `each`; those that are no objects are called like the list."""
    cells = [parse_cell(row.get(each, "")) for row in preview.rows]
    elements = [element for cell in cells if isinstance(cell, list) for element in cell]
    objects = [own if isinstance(own, dict) else {parse_path(each)[-1]: own} for own in elements]
    return list(dict.fromkeys(path for own in objects for path, _ in flatten(own)))


def _is_record_list(cell: Any) -> bool:
    parsed = parse_cell(cell.lstrip()) if isinstance(cell, str) else cell
    return isinstance(parsed, list) and bool(parsed) and all(isinstance(element, dict) for element in parsed)


def parse_cell(cell: str) -> Any:
    """Return the list or object that a preview's cell shows, otherwise its text."""
    nested = parse_nested(cell) if cell[:1] in ("[", "{") else None
    return cell if nested is None else nested


def _format_cell(cell: Any) -> str:
    if isinstance(cell, list | dict):
        return json.dumps(cell, ensure_ascii=False, default=str)
    return "" if cell is None else format_value(cell) if isinstance(cell, bool | int | float) else str(cell)


# The fields of a table that a mapping does not use.

# Rows that are searched for fields.
ROWS = 50

Keys = tuple[str, ...]


# Names of what somebody stated about a message.
VALUE = re.compile(r"scor|rat(e|ing)|rank|label|chosen|prefer|vote|feedback|thumb|correct", re.IGNORECASE)


def unused_fields(path: Path, mapping: Mapping) -> list[str]:
    """Return the fields of the first rows, or of their exploded elements, that the mapping does not refer to.

    A list of objects is one field, which is used if any part of its elements is. Of a list of texts or numbers of which
    the mapping uses the first, the others are a field too.
    """
    preview = preview_of(path, ROWS, mapping)
    columns, used = preview.columns, set(used_paths(mapping))
    unused = []
    read = {block.each for block in (*mapping.labels, *mapping.judges, *mapping.gold)}  # their fields are in the block
    for column in (name for name in columns if not LEVEL.fullmatch(name)):
        own = parse_path(column)
        # A column is used if its path is one of the mapping's, is inside it, or contains it.
        if not any(own[: len(keys)] == keys[: len(own)] for keys in used):
            unused.append(column)
        elif {keys for keys in used if keys[: len(own)] == own} == {(*own, "0")}:
            lists = [parse_cell(row.get(column, "")) for row in preview.rows]
            more = [cell[1:] for cell in lists if isinstance(cell, list)]
            unused += [f"{column}.1:"] if any(own and isinstance(own[0], str | int | float) for own in more) else []
        elif own in used and column not in read:
            cells = (parse_cell(row.get(column, "")) for row in preview.rows)
            unused += [f"{column}.{key}" for key in _values_of_messages(cells)]
    return [*unused, *_unused_in_elements(preview, mapping, used)]


def _unused_in_elements(preview: Preview, mapping: Mapping, used: set[Keys]) -> Iterator[str]:
    """Yield the fields of elements of lists, such as `reviews[].rank`, to which neither the lists' blocks nor paths of
    single elements, of `used`, refer."""
    blocks = (*mapping.labels, *mapping.judges, *mapping.gold)
    for column in preview.lists:
        list_keys = parse_path(column)
        size = len(list_keys)
        numbered = {
            keys[size + 1 :] for keys in used if keys[:size] == list_keys and keys[size:] and keys[size].isdecimal()
        }
        own_blocks = [block for block in blocks if block.each == column]
        in_elements = numbered | {parse_path(path) for block in own_blocks for path in source_paths(block)}
        if in_elements:
            joins = (join for join in mapping.join if join.name == column)
            in_elements |= {parse_path(key) for join in joins for key in join.own_fields}
        for name in _element_fields(preview, column) if in_elements else ():
            own = parse_path(name)
            if not any(own[: len(keys)] == keys[: len(own)] for keys in in_elements):
                yield f"{column}[].{name}"


def _values_of_messages(cells: Iterable[Any]) -> list[str]:
    """Return the keys under which the messages of transcripts have numbers or truth values: no part holds these."""
    messages = (message for cell in cells if isinstance(cell, list) for message in cell if isinstance(message, dict))
    pairs = ((str(key), value) for message in messages for key, value in message.items())
    found = (key for key, value in pairs if isinstance(value, bool | int | float) and VALUE.search(key))
    return list(dict.fromkeys(found))


def format_unused(fields: Sequence[str]) -> str:
    """Return "Not used: " and the first names on one line, as a mapping in YAML has them; empty if there are none."""
    return f"Not used: {join_names([spell_path(field) for field in fields])}" if fields else ""


def used_paths(mapping: Mapping) -> Iterator[Keys]:
    """Yield the keys of each path that a mapping reads, in the spellings that a file can have."""
    keys = [path for join in mapping.join for key in join.keys for path in source_paths(key)]
    exploded = [path for path in mapping.explode if path not in WHOLE_RECORD]
    blocks = (*mapping.labels, *mapping.judges, *mapping.gold)
    in_elements = [path for block in blocks if block.each for path in source_paths(block)]  # or of the row around them
    for path in (*field_paths(mapping), *keys, *exploded, *in_elements):
        yield from _spellings(path)


def _spellings(path: str) -> Iterator[Keys]:
    """Yield the keys of a path in the spellings that a file can have."""
    own = parse_path(path)
    yield own
    yield tuple(map(str.strip, own))  # names of columns in delimited text have no surrounding blanks
    yield (path.strip(),)
    yield (path,)  # a column of delimited text whose name has a dot needs no quotes
    if own[0] == "parent" and len(own) > 1:
        yield own[1:]


# The fields of a table with what a mapping makes of each, for a person to check.

# Rows that are searched for fields and their first values; characters of a value.
DESCRIBED_ROWS, EXAMPLE_LENGTH = 200, 200


@dataclass(frozen=True)
class FieldRow:
    """A field, its first value, and its role in a mapping."""

    field: str
    example: str
    role: str
    """That of `--role`, "none" for a field that is not used, or "other"."""


@dataclass(frozen=True)
class FileFields:
    """The fields of a file as a mapping reads it."""

    rows: tuple[FieldRow, ...]
    lists: tuple[str, ...]
    """What can be exploded."""
    has_more: bool


def describe_fields(path: Path, mapping: Mapping) -> FileFields:
    """Return the fields of the first rows with their roles."""
    preview, unused = preview_of(path, DESCRIBED_ROWS, mapping), set(unused_fields(path, mapping))
    roles = [(keys, role) for source, role in _roles(mapping) for keys in _spellings(source)]
    rows = []
    for column in (name for name in preview.columns if not LEVEL.fullmatch(name)):
        own = parse_path(column)
        found = (role for keys, role in roles if own[: len(keys)] == keys[: len(own)])
        example = next(filter(None, (row.get(column, "").strip() for row in preview.rows)), "")
        role = "none" if column in unused else next(found, "other")
        rows.append(FieldRow(column, shorten(example, EXAMPLE_LENGTH), role))
    return FileFields(tuple(rows), preview.lists, preview.has_more)


def _roles(mapping: Mapping) -> Iterator[tuple[str, str]]:
    """Yield the paths of fields and their roles, those of texts first."""
    sources: list[tuple[Any, str]] = [
        *((own, "prompt") for own in as_tuple(mapping.prompt)),
        *((own, "context") for own in as_tuple(mapping.context)),
        *((own, "reference") for own in as_tuple(mapping.reference)),
        *((own.transcript, "transcript") for own in mapping.responses),
        *((text, "response") for own in mapping.responses for text in as_tuple(own.text)),
        *((own.system, "system") for own in mapping.responses),
    ]
    blocks = [
        *((own, "label") for own in (*mapping.labels, *mapping.gold)),
        *((own, "judge") for own in mapping.judges),
    ]
    for block, role in blocks:
        named = ("annotator", "criterion_field", "step")
        sources += [] if block.each else [(getattr(block, name, None), name.removesuffix("_field")) for name in named]
        sources += [(own, role) for own in ([block.each] if block.each else block.value_sources())]
        ranking = getattr(block, "ranking", None)
        sources += [] if ranking is None else [(own, role) for own in as_tuple(ranking.of or ranking.ranks)]
    for source, role in sources:
        yield from ((path, role) for path in source_paths(source))
