"""Tables: CSV, TSV, JSON, JSON lines or Parquet, read with a user's mapping."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from core.errors import FileFormatError
from core.formats.mapping.fields import MISSING, Row, get_value
from core.formats.mapping.gold import GoldReader
from core.formats.mapping.items import ItemReader
from core.formats.mapping.joined import join_rows
from core.formats.mapping.judges import JudgeReader
from core.formats.mapping.labels import LabelReader
from core.formats.mapping.mapping import LongLabels, Mapping, field_paths, response_paths
from core.formats.mapping.rows import SUFFIXES, has_header, read_rows
from core.formats.mapping.scope import WHOLE_RECORD, Scope, iter_scopes
from core.formats.mapping.weights import WeightsReader
from core.formats.records import Record, Records
from core.formats.validation_errors import join_names
from core.labels import Scale


class BlockReader(Protocol):
    """Reads one block of a mapping."""

    def read(self, scope: Scope, item: str) -> Iterator[Record]:
        """Yield the records of one row."""


def recognises(path: Path) -> bool:
    """Return whether the file has the suffix of a table."""
    return path.is_file() and path.suffix.lower() in SUFFIXES


def read(path: Path, mapping: Mapping) -> Records:
    """Yield criteria and scales before their first use, and each item once, before its labels.

    Raises FileFormatError for the first invalid row, and at the end for a mapped field that no row has. Rows are read
    one at a time; only a few numbers for each item and label stay in memory.
    """
    labelled: set[tuple[str, str, str, str]] = set()
    items, label_readers = ItemReader(mapping), [LabelReader(block, labelled) for block in mapping.labels]
    labels_scales: dict[tuple[str, str], Scale] = {}
    for block in (*mapping.gold, *mapping.labels):
        labels_scales[block.kind, block.criterion] = block.scale
    is_long = any(isinstance(block, LongLabels) for block in mapping.labels)
    judges = JudgeReader(mapping.judges, labels_scales, repeats=is_long)
    gold_blocks = [GoldReader(block, mapping.labels) for block in mapping.gold]
    weight_blocks = [WeightsReader(block, judges) for block in mapping.weights]
    others: tuple[BlockReader, ...] = (*gold_blocks, *weight_blocks, judges)
    unseen = _required_fields(mapping)
    names: set[str] = set()
    for scope in _iter_file(path, mapping):
        if unseen:
            names.update(map(str, scope.row))
        unseen -= {field for field in unseen if scope.get(field) is not MISSING}
        item, record = items.read(scope)
        if record is not None:
            yield record
        for reader in (*label_readers, *others):
            yield from reader.read(scope, item)
    yield from judges.runs()
    if not items.first_seen:
        raise FileFormatError("every list is empty, so there is no item", field=mapping.explode)
    if unseen:
        message = f"no record of the file has this field; there are {join_names(sorted(names))}"
        raise FileFormatError(message, field=min(unseen))


def _required_fields(mapping: Mapping) -> set[str]:
    """Return the fields that must occur at least once; those of optional responses may be missing from every row."""
    optional = {path for response in mapping.responses if response.optional for path in response_paths(response)}
    return set(field_paths(mapping)) - optional


def _iter_file(path: Path, mapping: Mapping) -> Iterator[Scope]:
    rows = read_rows(path, mapping.separator)
    for number, (line, row) in enumerate(join_rows(rows, path, mapping.join) if mapping.join else rows, 1):
        if number == 1 and has_header(path):
            _check_header(row, mapping)
        yield from iter_scopes(row, line, number, mapping.explode)


def _check_header(row: Row, mapping: Mapping) -> None:
    """Raise FileFormatError for a missing column, with the names of the existing ones."""
    required = [mapping.explode] if mapping.explode and mapping.explode not in WHOLE_RECORD else field_paths(mapping)
    for field in required:
        if get_value(row, field) is MISSING:
            raise FileFormatError(f"there is no such column; there are {join_names(list(row))}", line=1, field=field)
