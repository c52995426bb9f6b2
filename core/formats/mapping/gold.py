"""Reads gold values of a table; they become adjudications, with the source that the mapping states."""

from collections.abc import Iterator, Sequence

from core.errors import FileFormatError
from core.formats.mapping.cells import check_annotator, parse_label
from core.formats.mapping.labels import declarations
from core.formats.mapping.mapping import GoldBlock, Labels
from core.formats.mapping.scope import Scope
from core.formats.records import AdjudicationRecord, Record
from core.labels import Adjudication, Target, Value


class GoldReader:
    """Reads one block of gold; rows of one item must have the same value."""

    def __init__(self, block: GoldBlock, labels: Sequence[Labels]) -> None:
        self.block = block
        by_labels = {(label.kind, label.criterion) for label in labels}
        self.is_declared = (block.kind, block.criterion) in by_labels
        self.values: dict[str, Value] = {}

    def read(self, scope: Scope, item: str) -> Iterator[Record]:
        """Yield the adjudication of a row; the criterion and its scale before the first one."""
        block = self.block
        if not self.is_declared:
            self.is_declared = True
            yield from declarations(block, block.criterion)
        value = parse_label(scope.get(block.value), block.scale, block.values, scope.line, block.value)
        if value is None:
            return
        if item in self.values:
            if self.values[item] != value:
                message = f"expected the gold of item {item!r} to be the same in all its rows, and it differs"
                raise FileFormatError(message, line=scope.line, field=block.value)
            return
        self.values[item] = value
        adjudicator = (scope.resolve(block.adjudicator) or "").strip() or "imported gold"
        check_annotator(adjudicator, scope.line, str(block.adjudicator))
        yield AdjudicationRecord(
            ruling=Adjudication(
                target=Target(item=item, kind=block.kind, criterion=block.criterion),
                value=value,
                rule=block.source,
                reason=(scope.resolve(block.reason) if block.reason else None) or block.source,
                adjudicator=adjudicator,
            )
        )
