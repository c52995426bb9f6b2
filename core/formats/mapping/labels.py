"""Reads the labels of a table: one row per label, one column per annotator, or a list in a cell."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from core.errors import FileFormatError
from core.formats.mapping.fields import MISSING, Excerpt, Missing, SystemName, ValueSource, is_template, source_name
from core.formats.mapping.mapping import (
    Block,
    GoldBlock,
    Labels,
    ListLabels,
    LongLabels,
    Ranking,
    RankingLabels,
    WideLabels,
)
from core.formats.mapping.rows import (
    check_annotator,
    expect_number,
    format_value,
    is_empty,
    negated,
    parse_label,
    parse_list,
    parse_name,
)
from core.formats.mapping.scope import Omissions, Scope, current_omissions
from core.formats.records import (
    AdjudicationRecord,
    CriterionRecord,
    LabelRecord,
    Record,
    ScaleRecord,
)
from core.formats.validation_errors import quote_value
from core.items import Criterion, pair_part
from core.labels import PREFERENCE, Adjudication, Label, Scale, Target, Value
from core.transcripts import step_part

NO_VALUES: Mapping[str, Value | None] = {}
# A preference as a number.
NUMBERS = frozenset(map(str, PREFERENCE.categories))

# Rankings of an item's responses, which become a preference for each pair of them.


def ranked_pairs(scope: Scope, ranking: Ranking, values: Mapping[str, Value | None]) -> Iterator[tuple[str, int]]:
    """Yield (part, preference) of each pair of ranked responses: 1, 2, or 0 for equal ranks.

    The part of the only pair of two responses is "", otherwise "1-3". Responses without a rank are left out, as are
    those whose rank `values` turns into None; it can turn words into ranks. Raises FileFormatError if there are not as
    many ranks as responses, and for a rank below 0 that is no score: it can stand for none.
    """
    low, noun = -math.inf, "a rank"
    if not ranking.higher_is_better:
        low, noun = 0, "a rank from 0 on (if this stands for none, add it to `values` with null)"
    cells = [(_rank(cell, values), field) for cell, field in _cells(scope, ranking)]
    ranks = [expect_number(cell, scope.line, field, noun, low) for cell, field in cells]
    if isinstance(ranking.ranks, tuple) and len(ranks) == len(scope.numbers):
        # A response that the item lacks has no rank.
        ranks = [rank for rank, number in zip(ranks, scope.numbers, strict=True) if number or rank is not None]
    if len(ranks) != len(scope.systems):
        message = f"expected a rank for each of {len(scope.systems)} responses, not {len(ranks)}"
        raise FileFormatError(message, line=scope.line, field=str(ranking.of or ranking.ranks))
    for first, second in combinations(range(len(ranks)), 2):
        ours, theirs = ranks[first], ranks[second]
        if ours is not None and theirs is not None:
            is_first = (ours > theirs) == ranking.higher_is_better
            part = "" if len(ranks) == 2 else f"{first + 1}-{second + 1}"
            yield part, 0 if ours == theirs else 1 if is_first else 2


def _rank(cell: Any, values: Mapping[str, Value | None]) -> Any:
    """Return a rank as `values` states it: the number of a word, or None for what is no rank."""
    return values.get(format_value(cell), cell) if isinstance(cell, str | int | float) else cell


def _cells(scope: Scope, ranking: Ranking) -> list[tuple[Any, str]]:
    """Return the cell of each response's rank, and its field."""
    if isinstance(ranking.ranks, tuple):
        return [(scope.get(field), field) for field in ranking.ranks]
    field = ranking.ranks
    if ranking.of is not None:
        return [(element.get(field), field) for element in scope.elements(ranking.of)]
    return [(cell, field) for cell in parse_list(scope.get(field), scope.line, field)]


# Kinds and criteria that the records so far have declared; the readers of a mapping share it.
Declared = dict[tuple[str, str], Scale]
# The item, the criterion and the part of a label.
Place = tuple[str, str, str]
# The annotator of a label, its cell, and its field.
Cell = tuple[str, Any, str]


@dataclass(frozen=True, slots=True)
class Part:
    """One of several values that become one label, and its location."""

    cell: Any
    reason: str
    line: int
    field: str
    row: int
    """The number of the row, or of the element of an exploded list: several can be on one line of JSON."""


class LabelReader:
    """Reads one block of labels; a criterion and its scale are yielded before their first label."""

    def __init__(self, block: Labels, labelled: set[tuple[str, ...]], declared: Declared) -> None:
        """`labelled` is shared by the blocks of a mapping: (kind, item, criterion, part, annotator) of every label of
        items that can have further rows."""
        self.block, self.labelled, self.declared = block, labelled, declared
        self.omissions = current_omissions()
        self.row = 0
        self.parts: dict[tuple[Place, str], list[Part]] = {}
        """(place, annotator) -> the values to aggregate."""

    def read(self, scope: Scope, item: str) -> Iterator[Record]:
        """Yield the records of one row. Labels of a file count as blind: this app showed their annotators nothing.

        A criterion named by the mapping is declared with the first row, even an unlabelled one, so annotators
        can start to label it.
        """
        self.row += 1
        if not isinstance(self.block, LongLabels) or self.block.criterion_field is None:
            yield from declare(self.declared, self.block, self.block.criterion, self.block.scale)
        for element in scope.of_block(self.block):
            match self.block:
                case LongLabels():
                    yield from self._long_labels(self.block, element, item)
                case RankingLabels():
                    yield from self._ranking_labels(self.block, element, item)
                case WideLabels():
                    cells = ((name, element.get(column), column) for column, name in self.block.annotators.items())
                    yield from self._plain_labels(element, item, cells)
                case ListLabels():
                    yield from self._plain_labels(element, item, _list_cells(self.block, element))

    def _plain_labels(self, scope: Scope, item: str, cells: Iterator[Cell]) -> Iterator[Record]:
        part = part_of(scope, self.block, self.omissions)
        for annotator, cell, field in cells if part is not None else ():
            own = cell_of(scope, self.block, cell, field, self.omissions)
            value = self._parse(own, scope.line, field)
            yield from self._label(scope, (item, self.block.criterion, part or ""), annotator, value, field)

    def finish(self) -> Iterator[Record]:
        """Yield the labels that are sums or means of several rows; raises FileFormatError for one beyond the scale."""
        for (place, annotator), parts in self.parts.items():
            value, last = self._aggregate(parts), parts[-1]
            is_first = isinstance(self.block, LongLabels) and self.block.aggregate == "first"
            reasons = [part.reason for part in (parts[:1] if is_first else parts) if part.reason]
            reason = "\n".join(dict.fromkeys(reasons))
            yield from self._label(Scope({}, last.line, 0), place, annotator, value, last.field, reason=reason)

    def _aggregate(self, parts: Sequence[Part]) -> Value | None:
        """Return the value of a label from those of its parts: the first, the last, or their sum or mean."""
        values = [self._parse_value(part.cell, part.line, part.field) for part in parts]
        aggregate = self.block.aggregate if isinstance(self.block, LongLabels) else None
        if aggregate in ("first", "last"):
            value = values[0 if aggregate == "first" else -1]
            self.omissions.different += any(own != value for own in values)
            self.omissions.labels += value is None
            return value
        self.omissions.labels += values.count(None)
        numbers = [float(value) for value in values if isinstance(value, int | float)]
        if len(numbers) > 1:
            self.omissions.merged += 1
            self.omissions.merged_values += len(numbers)
            self.omissions.of_several_rows += bool(self.block.each) and len({part.row for part in parts}) > 1
        if not numbers:
            return None
        total = math.fsum(numbers) / (len(numbers) if aggregate == "mean" else 1)
        return parse_label(total, self.block.scale, NO_VALUES, parts[-1].line, parts[-1].field)

    def _long_labels(self, block: LongLabels, scope: Scope, item: str) -> Iterator[Record]:
        field = source_name(block.value)
        cell = cell_of(scope, block, scope.cell(block.value), field, self.omissions)
        part = part_of(scope, block, self.omissions)
        if (is_empty(cell) and (cell is MISSING or "" not in block.values)) or part is None:
            self.omissions.labels += lacks_mark(scope, block.value)
            return
        annotator, place = scope.name(block.annotator), (item, scope.criterion(block), part)
        reason = scope.reason(block.reason)
        if block.aggregate:
            own = self.parts.setdefault((place, annotator), [])
            self.omissions.further += bool(own) and block.aggregate in ("first", "last")
            own.append(Part(cell, reason, scope.line, field, self.row))
            return
        seconds = scope.amount(block.seconds, "seconds")
        value = self._parse(cell, scope.line, field)
        yield from self._label(scope, place, annotator, value, field, reason=reason, seconds=seconds)

    def _ranking_labels(self, block: RankingLabels, scope: Scope, item: str) -> Iterator[Record]:
        annotator, reason = scope.name(block.annotator), scope.reason(block.reason)
        field = str(block.ranking.of or block.ranking.ranks)
        for part, preference in ranked_pairs(scope, block.ranking, block.values):
            value = self._parse(preference, scope.line, field)
            yield from self._label(scope, (item, block.criterion, part), annotator, value, field, reason=reason)

    def _label(
        self, scope: Scope, place: Place, annotator: str, value: Value | None, field: str, **more: Any
    ) -> Iterator[Record]:
        """Yield a label, if it has a value, after what it refers to; `more` are its other fields."""
        if value is not None:
            self._add(place, annotator, scope.line, field)
            yield from declare(self.declared, self.block, place[1], self.block.scale)
            item, criterion, part = place
            target = Target(item=item, kind=self.block.kind, criterion=criterion, part=part)
            yield LabelRecord(label=Label(target=target, annotator=annotator, value=value, **more))

    def _parse(self, cell: Any, line: int, field: str) -> Value | None:
        """Return the value of a label; None, which is counted, if the cell has none."""
        value = self._parse_value(cell, line, field)
        self.omissions.labels += value is None and not is_empty(cell)
        return value

    def _add(self, place: Place, annotator: str, line: int, field: str) -> None:
        """Remember who labelled a target; raises FileFormatError for a second label."""
        check_annotator(annotator, line, self._annotator_field(field))
        key = (self.block.kind, *place, annotator)
        if key in self.labelled:
            message = f"expected one label, and {annotator!r} already gave one for item {place[0]!r}"
            raise FileFormatError(message, line=line, field=field)
        self.labelled.add(key)

    def _annotator_field(self, field: str) -> str:
        """Return the field with the annotators of the values in `field`."""
        match self.block:
            case LongLabels(annotator=annotator) | RankingLabels(annotator=annotator):
                return source_name(annotator)
            case ListLabels(annotators_field=str(names)):
                return names
        return field

    def _parse_value(self, cell: Any, line: int, field: str) -> Value | None:
        block = self.block
        values = NO_VALUES if isinstance(block, RankingLabels) else block.values  # of a ranking they are of its ranks
        return parse_label(cell, block.scale, values, line, field)


def _list_cells(block: ListLabels, scope: Scope) -> Iterator[Cell]:
    cells = parse_list(scope.get(block.value), scope.line, block.value, block.separator)
    annotators = block.annotators if isinstance(block.annotators, tuple) else ()
    if block.annotators_field is not None:
        names = parse_list(scope.get(block.annotators_field), scope.line, block.annotators_field, block.separator)
        annotators = tuple(parse_name(name, scope.line, block.annotators_field) for name in names)
    template = str(block.annotators)
    annotators = annotators or tuple(template.replace("{n}", str(place)) for place in range(1, len(cells) + 1))
    if cells and len(cells) != len(annotators):
        message = f"expected as many labels as annotators, {len(annotators)}, not {len(cells)}"
        raise FileFormatError(message, line=scope.line, field=block.value)
    for cell, annotator in zip(cells, annotators, strict=False):
        yield annotator, cell, block.value


def cell_of(scope: Scope, block: Block, cell: Any, field: str, omissions: Omissions) -> Any:
    """Return the cell of a value; None for an empty one, and MISSING for a step that the transcript does not have.

    Of one that names a step it is its number in the transcript, of a preference that is the name of a response's system
    the number of the response, and of numbers of which fewer are better the negative one.
    """
    if block.kind == "preference" and isinstance(cell, str) and scope.systems.count(cell.strip()) == 1:
        # Systems can be called 1 and 2 as well: such a cell is the number of a response, or a place.
        is_other = cell in block.values or cell.strip() in NUMBERS or getattr(block, "as_shown", False)
        return cell if is_other else _place_in_pair(scope, block, scope.systems.index(cell.strip()) + 1, cell)
    if isinstance(getattr(block, "value", None), SystemName) and isinstance(cell, int):
        return _place_in_pair(scope, block, cell, scope.systems[cell - 1])
    if is_empty(cell):
        return MISSING if isinstance(cell, Missing) else None
    if block.negative:
        return negated(cell, block.values, scope.line, field)
    if not block.steps or block.step:
        return cell
    if (step := scope.named_step(cell, block.steps, field)) is None:
        omissions.count_step(scope.line)
        return MISSING
    return step


def _place_in_pair(scope: Scope, block: Block, number: int, name: str | None) -> Any:
    """Return 1 or 2 for a response of the block's pair, and the name of another one, which is no value; without a pair
    the number of the response."""
    if block.pair is None:
        return number
    pair = [_number_in_item(scope, own) for own in block.pair]
    return pair.index(number) + 1 if number in pair else name


def lacks_mark(scope: Scope, source: ValueSource | None) -> bool:
    """Return whether a field has a text without the part in it that is the value."""
    return isinstance(source, Excerpt) and not is_empty(scope.get(source.field)) and is_empty(scope.cell(source))


def part_of(scope: Scope, block: Block, omissions: Omissions) -> str | None:
    """Return the part of a block's target: the response, the pair or the step that it is about, or "" for the whole.

    None for a step that the transcript does not have, and for a response that the item does not have.
    """
    numbers = [_number_in_item(scope, number) for number in _responses_of(scope, block)]
    if 0 in numbers:
        omissions.labels += not all(is_empty(scope.cell(source)) for source in block.value_sources())
        return None
    response = ""
    if block.pair:
        response = pair_part(numbers[0], numbers[1], len(scope.systems))
    elif block.response is not None and len(scope.systems) > 1:
        response = str(numbers[0])
    if not block.steps or not block.step:
        return response
    cell = scope.resolve(block.step) if is_template(block.step) else scope.get(block.step)
    if step := scope.named_step(cell, block.steps, block.step):
        return step_part(step, response)
    if not is_empty(cell):
        omissions.count_step(scope.line)
    return None


def _responses_of(scope: Scope, block: Block) -> Sequence[int]:
    """Return the numbers in the mapping of the responses that a block's values are about; none if it is all of them."""
    if block.kind == "preference":
        return block.pair or ((1, 2) if scope.numbers[1:] else ())
    number = scope.element if block.response == "element" else block.response
    return () if number is None else (number,) if isinstance(number, int) else (0,)


def _number_in_item(scope: Scope, number: int) -> int:
    """Return the number of a response of the mapping in the item; 0 if the item lacks it."""
    number = scope.numbers[number - 1] if 1 <= number <= len(scope.numbers) else number
    return number if 1 <= number <= len(scope.systems) else 0


def declare(declared: Declared, block: Block, criterion: str, scale: Scale) -> Iterator[Record]:
    """Yield the criterion of a block, once for all kinds, and its scale, once for all blocks.

    Raises FileFormatError for values of one criterion on two scales.
    """
    known = declared.get((block.kind, criterion))
    if known is not None:
        if known != scale and block.kind != "preference":
            message = f"values of {criterion!r} are on two scales: give those of one of them another criterion"
            raise FileFormatError(message, field=criterion or block.kind)
        return
    is_new = all(name != criterion for _, name in declared)
    declared[block.kind, criterion] = scale
    if criterion and is_new:
        own = None if block.kind in ("preference", "answer") else scale
        yield CriterionRecord(criterion=Criterion(name=criterion, definition=block.definition, scale=own))
    yield ScaleRecord(kind=block.kind, criterion=criterion, scale=scale)


# Reads gold values of a table; they become adjudications, with the source that the mapping states.


class GoldReader:
    """Reads one block of gold; all rows and blocks must state the same value of a target."""

    def __init__(self, block: GoldBlock, declared: Declared, values: dict[Target, Value]) -> None:
        """`values` is shared by the blocks of a mapping: target -> its gold."""
        self.block, self.declared, self.values = block, declared, values
        self.omissions = current_omissions()

    def read(self, scope: Scope, item: str) -> Iterator[Record]:
        """Yield the adjudications of a row; a criterion and its scale before the first one."""
        if self.block.criterion_field is None:
            yield from declare(self.declared, self.block, self.block.criterion, self.block.scale)
        for element in scope.of_block(self.block):
            yield from self._read_value(element, item)

    def _read_value(self, scope: Scope, item: str) -> Iterator[Record]:
        block, field = self.block, source_name(self.block.value)
        cell = cell_of(scope, block, scope.cell(block.value), field, self.omissions)
        part = part_of(scope, block, self.omissions)
        value = None if part is None else parse_label(cell, block.scale, block.values, scope.line, field)
        if value is None or part is None:
            self.omissions.gold += part is not None and (not is_empty(cell) or lacks_mark(scope, block.value))
            return
        target = Target(item=item, kind=block.kind, criterion=scope.criterion(block), part=part)
        yield from declare(self.declared, block, target.criterion, block.scale)
        if target in self.values:
            if (first := self.values[target]) != value:
                of = f"item {item!r}" + (f", criterion {target.criterion!r}" if target.criterion else "")
                message = f"the gold of {of} is stated twice: {quote_value(first)} and {quote_value(value)}"
                raise FileFormatError(message, line=scope.line, field=field)
            return
        self.values[target] = value
        adjudicator = (scope.resolve(block.adjudicator) or "").strip() or "imported gold"
        check_annotator(adjudicator, scope.line, source_name(block.adjudicator))
        yield AdjudicationRecord(
            ruling=Adjudication(
                target=target,
                value=value,
                rule=block.source,
                reason=(scope.resolve(block.reason) if block.reason else None) or block.source,
                adjudicator=adjudicator,
            )
        )
