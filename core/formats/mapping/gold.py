"""Reads gold values of a table; they become adjudications, with the source that the mapping states."""

from collections.abc import Iterator, Sequence

from core.errors import FileFormatError
from core.formats.mapping.blocks import GoldBlock, Labels
from core.formats.mapping.cells import check_annotator, is_empty, parse_label, parse_name
from core.formats.mapping.labels import declarations
from core.formats.mapping.omissions import current_omissions
from core.formats.mapping.scope import Scope
from core.formats.mapping.sources import source_name
from core.formats.records import AdjudicationRecord, Record
from core.labels import Adjudication, Target, Value


class GoldReader:
    """Reads one block of gold; rows of one item must have the same value."""

    def __init__(self, block: GoldBlock, labels: Sequence[Labels]) -> None:
        self.block = block
        self.declared = {label.criterion for label in labels if label.kind == block.kind}
        """Criteria that labels declare, or that are declared here."""
        self.omissions = current_omissions()
        self.values: dict[tuple[str, str], Value] = {}
        """(item, criterion) -> value."""

    def read(self, scope: Scope, item: str) -> Iterator[Record]:
        """Yield the adjudications of a row; a criterion and its scale before the first one."""
        if self.block.criterion_field is None:
            yield from self._declare(self.block.criterion)
        for element in scope.elements(self.block.each):
            yield from self._read_value(element, item)

    def _declare(self, criterion: str) -> Iterator[Record]:
        if criterion not in self.declared:
            self.declared.add(criterion)
            yield from declarations(self.block, criterion)

    def _read_value(self, scope: Scope, item: str) -> Iterator[Record]:
        block, field = self.block, source_name(self.block.value)
        cell = scope.cell(block.value)
        value = parse_label(cell, block.scale, block.values, scope.line, field)
        if value is None:
            self.omissions.gold += not is_empty(cell)
            return
        criterion = block.criterion
        if block.criterion_field:
            criterion = parse_name(scope.resolve(block.criterion_field), scope.line, source_name(block.criterion_field))
        yield from self._declare(criterion)
        if (item, criterion) in self.values:
            if self.values[item, criterion] != value:
                message = f"expected the gold of item {item!r} to be the same in all its rows, and it differs"
                raise FileFormatError(message, line=scope.line, field=field)
            return
        self.values[item, criterion] = value
        adjudicator = (scope.resolve(block.adjudicator) or "").strip() or "imported gold"
        check_annotator(adjudicator, scope.line, source_name(block.adjudicator))
        yield AdjudicationRecord(
            ruling=Adjudication(
                target=Target(item=item, kind=block.kind, criterion=criterion),
                value=value,
                rule=block.source,
                reason=(scope.resolve(block.reason) if block.reason else None) or block.source,
                adjudicator=adjudicator,
            )
        )
