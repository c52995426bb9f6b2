"""Tables: CSV, TSV, JSON, JSON lines or Parquet, read with a mapping that a person made."""

from collections.abc import Iterator
from pathlib import Path

from core.formats.mapping.fields import MISSING, Row, find
from core.formats.mapping.items import Items
from core.formats.mapping.labels import LabelReader
from core.formats.mapping.mapping import Mapping, sources
from core.formats.mapping.rows import SUFFIXES, is_flat, rows
from core.formats.mapping.scope import Scope, scopes
from core.formats.records import Records
from core.formats.validation_errors import listed
from core.problems import FileRefused


def recognises(path: Path) -> bool:
    """Any file whose name ends as a table's does."""
    return path.is_file() and path.suffix.lower() in SUFFIXES


def read(path: Path, mapping: Mapping) -> Records:
    """Criteria and scales as they are first met, each item once, its labels after it.

    Raises FileRefused for the first row that is wrong, and at the end for a mapped field that no row had. Rows are
    taken one by one: what is remembered of them is a number for each item and each label.
    """
    given: set[tuple[str, str, str, str]] = set()
    items, labels = Items(mapping), [LabelReader(block, given) for block in mapping.labels]
    unseen = _needed(mapping)
    for scope in _scopes(path, mapping):
        unseen -= {field for field in unseen if scope.get(field) is not MISSING}
        item, record = items.read(scope)
        if record is not None:
            yield record
        for reader in labels:
            yield from reader.read(scope, item)
    if not items.lines:
        raise FileRefused("every list is empty, so there is no item", field=mapping.explode)
    for field in sorted(unseen):
        raise FileRefused("no record of the file has this field", field=field)


def _needed(mapping: Mapping) -> set[str]:
    """Fields that must occur at least once; a response that may be missing may always be."""
    optional = {path for r in mapping.responses if r.optional for path in (r.text, r.system, r.image)}
    return set(sources(mapping)) - optional


def _scopes(path: Path, mapping: Mapping) -> Iterator[Scope]:
    for number, (line, row) in enumerate(rows(path), 1):
        if number == 1 and is_flat(path):
            _check_header(row, mapping)
        yield from scopes(row, line, number, mapping.explode)


def _check_header(row: Row, mapping: Mapping) -> None:
    """A column that is not there is said at once, with those that are."""
    wanted = [mapping.explode] if mapping.explode else sources(mapping)
    for field in wanted:
        if find(row, field) is MISSING:
            raise FileRefused(f"there is no such column; there are {listed(list(row))}", line=1, field=field)
