"""Reads aspect weights of a table: a field for each aspect, or a list of aspects and one of weights in each row."""

from collections.abc import Iterator
from typing import Any

from core.aspects import aspect_set_id, normalize_weights
from core.errors import FileFormatError
from core.formats.mapping.blocks import WeightsBlock
from core.formats.mapping.cells import is_empty, parse_list, parse_name, parse_number
from core.formats.mapping.judges import JudgeReader
from core.formats.mapping.scope import Scope
from core.formats.mapping.sources import source_name
from core.formats.records import LabelRecord, Record
from core.formats.validation_errors import quote_value
from core.labels import Label, Opinion, Target
from core.trace import Turn

KIND = "aspect_weights"


class WeightsReader:
    """Reads the weights of one annotator or judge in each row."""

    def __init__(self, block: WeightsBlock, judges: JudgeReader) -> None:
        self.block, self.judges = block, judges
        self.labelled: set[tuple[str, str, str]] = set()

    def read(self, scope: Scope, item: str) -> Iterator[Record]:
        """Yield the label of a row; a judge's weights are collected. Weights that are all empty or 0 are none."""
        block = self.block
        weights = self._weights(scope)
        if weights is None:
            return
        source = block.annotator if block.judge is None else block.judge
        part = aspect_set_id([*weights])
        rater = parse_name(scope.resolve(source) if source else None, scope.line, source_name(source))
        if block.judge is not None:
            opinion = Opinion(kind=KIND, judge=rater, stage="verdict", value=weights, part=part)
            turn = Turn(speaker=rater, step="weights", round=0, model="", reply=str(weights), reading=weights)
            self.judges.add(rater, item, opinion, [turn], "dna_baselines", scope.line)
            return
        if (item, rater, part) in self.labelled:
            message = f"expected one set of weights, and {rater!r} already has one on item {item!r}"
            raise FileFormatError(message, line=scope.line)
        self.labelled.add((item, rater, part))
        target = Target(item=item, kind=KIND, part=part)
        yield LabelRecord(label=Label(target=target, annotator=rater, value=weights))

    def _weights(self, scope: Scope) -> dict[str, float] | None:
        raw = {aspect: self._weight(cell, scope.line, path) for aspect, (cell, path) in self._cells(scope).items()}
        if not any(raw.values()):
            return None
        try:
            return dict(zip(raw, normalize_weights([*raw.values()]), strict=True))
        except ValueError as error:
            raise FileFormatError(f"expected weights: {error}", line=scope.line) from None

    def _cells(self, scope: Scope) -> dict[str, tuple[Any, str]]:
        """Return aspect -> its cell, and the field that it is in."""
        block = self.block
        if block.value is None:
            return {aspect: (scope.get(path), path) for aspect, path in block.aspects.items()}
        weights = scope.get(block.value)
        if isinstance(weights, dict):
            return {str(aspect): (weight, block.value) for aspect, weight in weights.items()}
        if block.aspects_field is None:
            message = "expected an object aspect -> weight; add `aspects_field` if the weights are a list"
            raise FileFormatError(message, line=scope.line, field=block.value)
        aspects = parse_list(scope.get(block.aspects_field), scope.line, block.aspects_field, block.separator)
        values = parse_list(weights, scope.line, block.value, block.separator)
        if not values:
            return {}
        names = [str(parse_name(aspect, scope.line, block.aspects_field)) for aspect in aspects]
        if len(names) != len(values) or len(set(names)) < len(names):
            message = f"expected one weight for each of {len(names)} different aspects, and there are {len(values)}"
            raise FileFormatError(message, line=scope.line, field=block.value)
        return {name: (value, block.value) for name, value in zip(names, values, strict=True)}

    @staticmethod
    def _weight(cell: Any, line: int, path: str) -> float:
        if is_empty(cell):
            return 0.0
        text = cell.strip().removesuffix("%") if isinstance(cell, str) else cell
        number = parse_number(text, line, path)
        if number is None:
            raise FileFormatError(f"expected a weight, not {quote_value(cell)}", line=line, field=path)
        return float(number)
