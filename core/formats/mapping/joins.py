"""Joins the rows of a table with those of other files in its folder, and finds the fields that pair them up."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from core.errors import FileFormatError
from core.formats.mapping.fields import (
    MISSING,
    FieldPath,
    Row,
    Source,
    get_value,
    join_keys,
    key_of,
    quote_key,
    source_name,
)
from core.formats.mapping.guess import IDS, normalize
from core.formats.mapping.mapping import Join, build_mapping, source_paths
from core.formats.mapping.mapping import Mapping as TableMapping
from core.formats.mapping.rows import format_value, is_empty, parse_name, read_beside, read_rows
from core.formats.mapping.scope import Scope, current_omissions
from core.formats.validation_errors import join_names, quote_value

# The list of the columns of `numbered`.
NUMBERED_LIST = "numbered"
# Rows of a table whose keys are looked up to find the field that names them.
SAMPLE = 200
# The share of them that another file has to have.
PAIRED = 0.5


def read_joined(path: Path, mapping: TableMapping) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) of a table, with the row of each other file under its name.

    Raises FileFormatError for keys that another file has twice or lacks, unless it is optional, with their number.
    """
    rows = read_rows(path, mapping.separator, mapping.quotes, mapping.header)
    if mapping.fill:
        rows = _with_filled(rows, mapping.fill)
    for join in mapping.join:
        other = path.parent / join.file
        if not other.is_file():
            raise FileFormatError(f"there is no file {join.file!r} next to {path.name}", field="join.file")
        if not join.keys:
            rows = _by_number(rows, other, join)
        elif not join.exploded:
            rows = ((own.line, own.row) for own in with_records(_scopes(rows), other, join))
    for file in {join.file for join in mapping.join}:
        _count_unselected(path.parent / file, [join for join in mapping.join if join.file == file])
    return _with_numbered(rows, mapping.numbered) if mapping.numbered else rows


def _with_filled(rows: Iterator[tuple[int, Row]], fields: Sequence[FieldPath]) -> Iterator[tuple[int, Row]]:
    """Yield rows in which empty cells of some columns have the value of the nearest filled one above."""
    above: dict[str, Any] = {}
    for line, row in rows:
        columns = {next((own for own in (name, name.strip(), key_of(name)) if own in row), name) for name in fields}
        if nested := [name for name in columns - row.keys() if get_value(row, name) is not MISSING]:
            raise FileFormatError("only columns are filled, and no nested fields", line=line, field=nested[0])
        above |= {name: row[name] for name in columns if not is_empty(row.get(name))}
        yield line, {**row, **above}


def _with_numbered(rows: Iterator[tuple[int, Row]], patterns: Mapping[str, str]) -> Iterator[tuple[int, Row]]:
    """Yield rows in which columns with a number in their names are the list NUMBERED_LIST of objects.

    `patterns`: field of an object -> the columns that have it, such as "answer_{n}".
    """
    found = {name: re.compile(r"(\d+)".join(map(re.escape, own.split("{n}")))) for name, own in patterns.items()}
    for line, row in rows:
        elements: dict[int, dict[str, Any]] = {}
        used = set[str]()
        for name, pattern in found.items():
            matches = {column: match for column in row if (match := pattern.fullmatch(column))}
            if not matches:
                raise FileFormatError(f"no column is called {patterns[name]}", line=line, field=f"numbered.{name}")
            used |= matches.keys()
            for column, match in matches.items():
                element = elements.setdefault(int(match[1]), {})
                if name in element:
                    raise FileFormatError(f"several columns have the number {match[1]}", line=line, field=column)
                element[name] = row[column]
        others = {column: cell for column, cell in row.items() if column not in used}
        yield line, {**others, NUMBERED_LIST: [elements[number] for number in sorted(elements)]}


def _by_number(rows: Iterator[tuple[int, Row]], other: Path, join: Join) -> Iterator[tuple[int, Row]]:
    for number, (pair, second) in enumerate(zip_longest(rows, read_beside(other)), 1):
        if pair is not None and second is None and join.optional:
            current_omissions().rows_without_record += 1
            yield pair
            continue
        if pair is None or second is None:
            longer = "the table" if second is None else other.name
            raise FileFormatError(f"expected as many records in both files; only {longer} has record {number}")
        yield pair[0], {**pair[1], join.name: second[1]}


def with_records(scopes: Iterator[Scope], other: Path, join: Join) -> Iterator[Scope]:
    """Yield rows, or elements of exploded lists, with the records of another file that have their key.

    Raises FileFormatError for keys that the file has twice or lacks, unless it is optional, with their number.
    """
    key, by_key = " and ".join(map(source_name, join.keys)), _records_by_key(other, join)
    used, omissions, is_known = set[str](), current_omissions(), False
    for scope in scopes:
        is_known = is_known or not _missing_fields(scope, join.keys)
        is_named = not join.optional or all(map(scope.resolve, join.keys))
        name = _name(scope, join.keys) if is_named else ""
        used.add(name)
        if name in by_key:
            yield replace(scope, row={**scope.row, join.name: by_key[name] if join.many else by_key[name][0]})
        elif join.optional:
            omissions.rows_without_record += 1
            yield replace(scope, row={**scope.row, join.name: []}) if join.many else scope
        else:
            missing = {name: None} | {_name(own, join.keys): None for own in scopes}
            names = [name for name in missing if name not in by_key]
            has = f"; its first is {quote_value(next(iter(by_key)))}"
            raise FileFormatError(f"{other.name} has no record {_listed(names)}{has}", line=scope.line, field=key)
    if not is_known:
        raise FileFormatError("no row has this field, by which records are joined", field=key)
    omissions.records_without_row += sum(len(records) for name, records in by_key.items() if name not in used)


def _records_by_key(other: Path, join: Join) -> dict[str, list[Row]]:
    """Return the records of a joined file that are selected, by their key.

    Raises FileFormatError, which names the file, for one that cannot be read or joined.
    """
    by_key: dict[str, list[Row]] = {}
    try:
        for scope in _scopes(read_beside(other)):
            if all(scope.have(join.where)):
                by_key.setdefault(_name(scope, join.other_keys), []).append(scope.row)
    except FileFormatError as error:
        raise FileFormatError(f"{other.name}: {error}", field="join") from None
    if not by_key:
        raise FileFormatError(f"no record of {other.name} has these values", field="join.where")
    doubled = [name for name, records in by_key.items() if len(records) > 1]
    if doubled and not join.many:
        many = "; if these are several records of a row, write `many: true`"
        field = " and ".join(map(source_name, join.other_keys))
        raise FileFormatError(f"{other.name} has {_listed(doubled)} more than once{many}", field=field)
    return by_key


def _count_unselected(other: Path, joins: Sequence[Join]) -> None:
    """Count the records of a joined file that none of its joins selects."""
    if all(join.where for join in joins):
        unselected = (not any(all(own.have(join.where)) for join in joins) for own in _scopes(read_beside(other)))
        current_omissions().records_without_row += sum(unselected)


def _scopes(rows: Iterator[tuple[int, Row]]) -> Iterator[Scope]:
    return (Scope(row, line, number) for number, (line, row) in enumerate(rows, 1))


def _missing_fields(scope: Scope, keys: Sequence[Source]) -> list[FieldPath]:
    return [path for key in keys for path in source_paths(key) if scope.get(path) is MISSING]


def _name(scope: Scope, keys: Sequence[Source]) -> str:
    """Return what the fields of a key have together; raises FileFormatError if one is missing or empty."""
    if missing := _missing_fields(scope, keys):
        message = f"there is no such field, by which records are joined; there are {join_keys(scope.row)}"
        raise FileFormatError(message, line=scope.line, field=missing[0])
    return " · ".join(parse_name(scope.resolve(key), scope.line, source_name(key)) for key in keys)


def _listed(names: Sequence[str]) -> str:
    return join_names([quote_value(name) for name in names]) + (f" ({len(names):,} keys)" if len(names) > 1 else "")


def find_joins(paths: Sequence[Path]) -> tuple[Path, list[dict[str, Any]]]:
    """Return the file whose rows are read, the first if possible, and the `join` of a mapping with the others.

    A file is joined by the only fields that pair up, or those with a usual name of an id: in it, each value is there
    once. Raises FileFormatError if there are none.
    """
    if len({path.parent.resolve() for path in paths}) > 1:
        raise FileFormatError("files that are joined are in one folder")
    refusals: list[FileFormatError] = []
    for table in paths:
        joins: list[dict[str, Any]] = []
        waiting = [path for path in paths if path != table]
        while own := _next_join(table, joins, waiting, refusals):
            name = {} if len(paths) == 2 else {"name": normalize(quote_key(Path(own["file"]).stem))}
            joins.append(own | name)
            waiting = [path for path in waiting if path.name != own["file"]]
        if not waiting:
            return table, joins
    raise refusals[0]


def _next_join(
    table: Path, joins: Sequence[Any], waiting: Sequence[Path], refusals: list[FileFormatError]
) -> dict[str, Any] | None:
    """Return the join of the first file that pairs up with the rows so far; None and a refusal if there is none."""
    mapping = build_mapping({"id": "{row}", "prompt": {"constant": ""}, "join": joins})
    for other in waiting:
        try:
            ours = _values(islice(read_joined(table, mapping), SAMPLE))
            key, to = _pair(table, ours, other)
        except FileFormatError as error:
            refusals.append(error)
            continue
        return {"file": other.name, "key": key} | ({} if key == to else {"other_key": to})
    return None


def _pair(table: Path, ours: Mapping[str, list[str]], other: Path) -> tuple[str, str]:
    """Return the field of a table that names the rows of another file, and that of the file."""
    theirs = _values(read_beside(other))
    unique = {name: {*cells} for name, cells in theirs.items() if len({*cells}) == len(cells)}
    found = [(key, to) for key in ours for to in unique if _are_paired(key, ours[key], to, unique[to])]
    same = [pair for pair in found if normalize(pair[0]) == normalize(pair[1])]
    usual = [pair for name in IDS for pair in same if normalize(pair[0]) == name]
    if len(chosen := usual[:1] or same or found) != 1:
        what = join_names([f"{key} and {to}" for key, to in chosen]) or "no field"
        repeated = [name for name in theirs if name in ours and name not in unique]
        why = f"; its values of {join_names(repeated)} are there more than once" if repeated and not chosen else ""
        verb = "pair" if len(chosen) > 1 else "pairs"
        message = f"{what} of {table.name} and {other.name} {verb} up{why}: write `join` with a `key`"
        raise FileFormatError(message)
    return chosen[0]


def _values(rows: Iterator[tuple[int, Row]]) -> dict[str, list[str]]:
    """Return field -> the texts of its values, for fields with a short text or a number."""
    found: dict[str, list[str]] = {}
    for _, row in rows:
        inner = {
            f"{name}.{quote_key(key)}": cell
            for name, own in row.items()
            if isinstance(own, dict)
            for key, cell in own.items()
        }
        for name, cell in ({quote_key(str(name)): cell for name, cell in row.items()} | inner).items():
            if isinstance(cell, str | int) and not isinstance(cell, bool) and (text := format_value(cell)):
                found.setdefault(name, []).append(text)
    return found


def _are_paired(key: str, cells: Collection[str], to: str, names: Collection[str]) -> bool:
    """Return whether most values of a field are in another; numbers only if the fields have a word in common."""
    words = {*normalize(key).split("_")} & {*normalize(to).split("_")}
    is_named = bool(words) or not all(text.isdecimal() for text in cells)
    return is_named and sum(text in names for text in cells) > PAIRED * len(cells)
