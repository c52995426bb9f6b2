"""The labels of a table: one row a label, one column an annotator, or a list in a cell."""

from collections.abc import Iterator
from typing import Any

from core.formats.mapping.cells import is_empty, items, name, number, on_scale
from core.formats.mapping.mapping import Labels, ListLabels, LongLabels, WideLabels
from core.formats.mapping.scope import Scope
from core.formats.records import CriterionRecord, LabelRecord, Record, ScaleRecord
from core.formats.validation_errors import shown
from core.items import Criterion
from core.labels import Label, Target, Value
from core.problems import FileRefused


class LabelReader:
    """Reads one block of labels; a criterion and its scale are told before the first label that needs them."""

    def __init__(self, block: Labels, given: set[tuple[str, str, str, str]]) -> None:
        """`given` is shared by the blocks of a mapping: who labelled which target."""
        self.block = block
        self.criteria: set[str] = set()
        self.given = given
        self.values: dict[tuple[type, Any], Value | None] = {}

    def read(self, scope: Scope, item: str) -> Iterator[Record]:
        """The records of one row. Labels from a file are taken as given blind: nobody here showed anything.

        A criterion that the mapping names is told with the first row, labelled or not: people may be about to.
        """
        if not isinstance(self.block, LongLabels) or self.block.criterion_field is None:
            yield from self._declared(self.block.criterion)
        for label in self._labels(scope, item):
            if label is not None:
                yield from self._declared(label.target.criterion)
                yield LabelRecord(label=label)

    def _declared(self, criterion: str) -> Iterator[Record]:
        if criterion in self.criteria:
            return
        self.criteria.add(criterion)
        block = self.block
        if criterion:
            scale = None if block.kind == "preference" else block.scale
            yield CriterionRecord(criterion=Criterion(name=criterion, definition=block.definition, scale=scale))
        yield ScaleRecord(kind=block.kind, criterion=criterion, scale=block.scale)

    def _labels(self, scope: Scope, item: str) -> Iterator[Label | None]:
        match self.block:
            case LongLabels():
                yield from self._long(self.block, scope, item)
            case WideLabels():
                yield from self._wide(self.block, scope, item)
            case ListLabels():
                yield from self._list(self.block, scope, item)

    def _long(self, block: LongLabels, scope: Scope, item: str) -> Iterator[Label | None]:
        cell = scope.get(block.value)
        if is_empty(cell):
            return
        annotator = name(scope.get(block.annotator), scope.line, block.annotator)
        criterion = block.criterion
        if block.criterion_field:
            criterion = name(scope.get(block.criterion_field), scope.line, block.criterion_field)
        reason = scope.text(block.reason) if block.reason else None
        seconds = _seconds(block.seconds, scope)
        label = self._label(scope, item, criterion, annotator, cell, block.value)
        if label is not None:
            yield label.model_copy(update={"reason": reason or "", "seconds": seconds})

    def _wide(self, block: WideLabels, scope: Scope, item: str) -> Iterator[Label | None]:
        for column, annotator in block.annotators.items():
            yield self._label(scope, item, block.criterion, annotator, scope.get(column), column)

    def _list(self, block: ListLabels, scope: Scope, item: str) -> Iterator[Label | None]:
        cells = items(scope.get(block.value), scope.line, block.value, block.separator)
        names = self._names(block, scope)
        if cells and len(cells) != len(names):
            sentence = f"expected as many labels as annotators, {len(names)}, not {len(cells)}"
            raise FileRefused(sentence, line=scope.line, field=block.value)
        for cell, annotator in zip(cells, names, strict=False):
            yield self._label(scope, item, block.criterion, annotator, cell, block.value)

    def _names(self, block: ListLabels, scope: Scope) -> list[str]:
        if block.annotators_field is None:
            return list(block.annotators)
        field = block.annotators_field
        listed = items(scope.get(field), scope.line, field, block.separator)
        return [name(cell, scope.line, field) for cell in listed]

    def _label(self, scope: Scope, item: str, criterion: str, annotator: str, cell: Any, field: str) -> Label | None:
        value = self._value(cell, scope.line, field)
        if value is None:
            return None
        key = (item, self.block.kind, criterion, annotator)
        if key in self.given:
            sentence = f"expected one label, and {annotator!r} already gave one for item {item!r}"
            raise FileRefused(sentence, line=scope.line, field=field)
        self.given.add(key)
        return Label(
            target=Target(item=item, kind=self.block.kind, criterion=criterion), annotator=annotator, value=value
        )

    def _value(self, cell: Any, line: int, field: str) -> Value | None:
        """A scale has few values, so what a spelling means is looked up once; 1 and True are different spellings."""
        block = self.block
        if not block.scale.categories or not isinstance(cell, str | int):
            return on_scale(cell, block.scale, block.values, line, field)
        key = (type(cell), cell)
        if key not in self.values:
            self.values[key] = on_scale(cell, block.scale, block.values, line, field)
        return self.values[key]


def _seconds(field: str | None, scope: Scope) -> float | None:
    cell = scope.get(field) if field else None
    if field is None or is_empty(cell):
        return None
    seconds = number(cell, scope.line, field)
    if seconds is None or seconds < 0:
        raise FileRefused(f"expected seconds, not {shown(cell)}", line=scope.line, field=field)
    return float(seconds)
