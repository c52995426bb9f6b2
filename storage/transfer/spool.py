"""Records of an import, sorted by type before its transaction begins.

Items, labels and traces, of which there may be hundreds of thousands, are written to temporary files as the columns of
their rows; the others, and what identifies items, traces and targets, stay in memory.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar, cast

from core.errors import TiebreakError
from core.formats.records import ItemRecord, LabelRecord, PlainLabels, Record, TraceRecord
from core.formats.text import current_line
from core.items import Item
from core.labels import Kind, Label, Target, Value
from storage.fingerprints import Row, label_columns
from storage.items import ItemColumns, content_digest
from storage.json_columns import to_json
from storage.labelling import critique_targets
from storage.targets import TargetKey, key_of
from storage.transfer.distinct_values import MAX_DISTINCT, DistinctValues
from storage.transfer.entries import BATCH, Spool
from storage.transfer.spooled_traces import SpooledTraces

RecordType = TypeVar("RecordType")
MAX_SHARED_LENGTH = 100
"""Characters of a value that labels share."""


SpooledLabel = tuple[int, str, Row, int | None]
"""The place of its target in `SortedRecords.targets`, its annotator, its columns without ids, and its line if the file
is read by lines. Labels with equal columns share them, so do not modify. A plain tuple is pickled in a fraction of the
time of one with names."""


class SortedRecords:
    """The content of records by type, in the order of the file."""

    def __init__(self, records: Iterable[Record | PlainLabels]) -> None:
        """Read the records to their end; raises TiebreakError for two different items with one id."""
        self.items, self.labels = Spool[ItemColumns](BATCH), Spool[SpooledLabel](BATCH)
        self.traces = SpooledTraces()
        self.item_digests: dict[str, bytes] = {}
        """Name of each item in the file -> digest of its content."""
        self.repeated_items = 0
        """Items that are in the file again."""
        self.targets: dict[TargetKey, int] = {}
        """The targets of labels and critiques, with their places from 0."""
        self._last_target: Target | None = None
        """The target of the last label."""
        self._last_place = 0
        self.annotators: set[str] = set()
        """The annotators of labels."""
        self._values = DistinctValues[tuple[str, str]]()
        """Values of labels by kind and criterion."""
        self._shared_columns: dict[tuple[Any, ...], Row] = {}
        self._by_type: dict[type[Any], list[Any]] = defaultdict(list)
        try:
            for record in records:
                self._add(record)
        except BaseException:
            self.close()
            raise

    def of(self, record_type: type[RecordType]) -> list[RecordType]:
        """Return all records of one type, which is not that of items, labels or traces."""
        return self._by_type[record_type]

    def add_targets(self, targets: Iterable[Target]) -> None:
        """Add the targets of other records."""
        for target in targets:
            self._distinct(key_of(target))

    def add_targets_of_traces(self) -> None:
        """Add the targets of the opinions in traces."""
        for key in self.traces.targets:
            self._distinct(key)

    def distinct_values(self) -> Iterator[tuple[Kind, str, Value | None]]:
        """Yield kind, criterion and value of the labels; all of them, or numbers and texts only once each."""
        if self._values.are_all:
            for (kind, criterion), value in self._values:
                yield cast(Kind, kind), criterion, value
            return
        keys = list(self.targets)
        for batch in self.labels.batches():
            for target, _, columns, _ in batch:
                _, kind, criterion, _ = keys[target]
                yield cast(Kind, kind), criterion, columns["value"]

    def find_label(self, kind: Kind, criterion: str, value: Value | None) -> tuple[str, str, int | None]:
        """Return item, annotator and line of the first label with a value of `distinct_values`."""
        keys = list(self.targets)
        for batch in self.labels.batches():
            for target, annotator, columns, line in batch:
                item, *subject = keys[target][:3]
                found = columns["value"]
                if subject == [kind, criterion] and type(found) is type(value) and found == value:
                    return item, annotator, line
        raise LookupError(value)

    def close(self) -> None:
        """Delete the temporary files."""
        self.items.close()
        self.labels.close()
        self.traces.close()

    def _add(self, record: Record | PlainLabels) -> None:
        match record:
            case PlainLabels():
                self._add_plain_labels(record)
            case LabelRecord(label=label):
                self._add_label(label)
            case ItemRecord(item=item):
                self._add_item(item)
            case TraceRecord():
                self.traces.add(record)
            case _:
                self._by_type[type(record)].append(record)

    def _add_item(self, item: Item) -> None:
        body = to_json(item)
        digest = content_digest(body)
        if self.item_digests.setdefault(item.id, digest) != digest:
            raise TiebreakError(f"Item {item.id!r} is in the file twice, with different content.")
        if len(self.item_digests) == self.items.size:  # nothing was added
            self.repeated_items += 1
            return
        self.items.add((item.id, item.scenario, item.group, body), len(body))
        if item.critiques:
            self.add_targets(critique_targets.of_item(item.id, item.critiques))

    def _add_label(self, label: Label) -> None:
        if label.target is not self._last_target:  # the labels of a row often share theirs
            self._last_target, self._last_place = label.target, self._distinct(key_of(label.target))
        self.annotators.add(label.annotator)
        self.labels.add((self._last_place, label.annotator, self._columns(label), current_line()))

    def _add_plain_labels(self, labels: PlainLabels) -> None:
        target, line = labels.target, current_line()
        place, subject = self._distinct(key_of(target)), (target.kind, target.criterion)
        for annotator, value in labels.values:
            self.annotators.add(annotator)
            columns = None if isinstance(value, dict) else self._shared_columns.get(_plain_key(subject, value))
            if columns is None:
                columns = self._columns(Label(target=target, annotator=annotator, value=value))
            self.labels.add((place, annotator, columns, line))

    def _columns(self, label: Label) -> Row:
        """Return the columns of a label; those of labels with only a value are shared."""
        value, subject = label.value, (label.target.kind, label.target.criterion)
        is_plain = type(value) is int or type(value) is bool or (type(value) is str and len(value) <= MAX_SHARED_LENGTH)
        if not is_plain or label.reason or label.at or label.seconds is not None or label.evidence or label.shown:
            self._values.add(subject, value)
            return label_columns(label)
        key = _plain_key(subject, value, label.blind, label.surplus, label.guidelines)
        columns = self._shared_columns.get(key)
        if columns is None:
            self._values.add(subject, value)
            columns = label_columns(label)
            if len(self._shared_columns) < MAX_DISTINCT:
                self._shared_columns[key] = columns
        return columns

    def _distinct(self, key: TargetKey) -> int:
        return self.targets.setdefault(key, len(self.targets))


def _plain_key(
    subject: tuple[str, str],
    value: Value | None,
    blind: bool = True,
    surplus: bool = False,
    guidelines: int | None = None,
) -> tuple[Any, ...]:
    """Return what the columns of a label without a reason, a time and evidence follow from."""
    return subject, type(value), value, blind, surplus, guidelines  # 1 and True are equal as keys
