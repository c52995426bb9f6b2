"""Reads aspect weights of a table: a field for each aspect."""

from collections.abc import Iterator

from core.aspects import aspect_set_id, normalize_weights
from core.errors import FileFormatError
from core.formats.mapping.cells import is_empty, parse_name, parse_number
from core.formats.mapping.judges import JudgeReader
from core.formats.mapping.mapping import WeightsBlock
from core.formats.mapping.scope import Scope
from core.formats.records import LabelRecord, Record
from core.formats.validation_errors import quote_value
from core.labels import Label, Opinion, Target
from core.trace import Turn

KIND = "aspect_weights"


class WeightsReader:
    """Reads the weights of one annotator or judge in each row."""

    def __init__(self, block: WeightsBlock, judges: JudgeReader) -> None:
        self.block, self.judges = block, judges
        self.part = aspect_set_id([*block.aspects])
        self.labelled: set[tuple[str, str]] = set()

    def read(self, scope: Scope, item: str) -> Iterator[Record]:
        """Yield the label of a row; a judge's weights are collected. Weights that are all empty or 0 are none."""
        block = self.block
        weights = self._weights(scope)
        if weights is None:
            return
        source = block.annotator if block.judge is None else block.judge
        rater = parse_name(scope.resolve(source) if source else None, scope.line, str(source))
        if block.judge is not None:
            opinion = Opinion(kind=KIND, judge=rater, stage="verdict", value=weights, part=self.part)
            turn = Turn(speaker=rater, step="weights", round=0, model="", reply=str(weights), reading=weights)
            self.judges.add(rater, item, opinion, [turn], "dna_baselines", scope.line)
            return
        if (item, rater) in self.labelled:
            message = f"expected one set of weights, and {rater!r} already has one on item {item!r}"
            raise FileFormatError(message, line=scope.line)
        self.labelled.add((item, rater))
        target = Target(item=item, kind=KIND, part=self.part)
        yield LabelRecord(label=Label(target=target, annotator=rater, value=weights))

    def _weights(self, scope: Scope) -> dict[str, float] | None:
        raw = [self._weight(scope, path) for path in self.block.aspects.values()]
        if not any(raw):
            return None
        try:
            return dict(zip(self.block.aspects, normalize_weights(raw), strict=True))
        except ValueError as error:
            raise FileFormatError(f"expected weights: {error}", line=scope.line) from None

    def _weight(self, scope: Scope, path: str) -> float:
        cell = scope.get(path)
        if is_empty(cell):
            return 0.0
        text = cell.strip().removesuffix("%") if isinstance(cell, str) else cell
        number = parse_number(text, scope.line, path)
        if number is None:
            raise FileFormatError(f"expected a weight, not {quote_value(cell)}", line=scope.line, field=path)
        return float(number)
