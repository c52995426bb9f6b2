"""What a file does not state about its values: which response a number means, and the ends of a scale.

A suggested block leaves it open (`confirmed: false`), and the import refuses it until a person has stated it.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from core.errors import FileFormatError
from core.formats.mapping.fields import Comparison, SystemName, ValueSource, source_name, spell_path
from core.formats.mapping.mapping import (
    Block,
    GoldBlock,
    JudgeBlock,
    ListLabels,
    LongLabels,
    RankingLabels,
    WideLabels,
    as_tuple,
    build_mapping,
    draft_of,
)
from core.formats.mapping.mapping import Mapping as TableMapping
from core.formats.mapping.rows import format_value, is_empty, parse_list
from core.formats.mapping.scope import Scope
from core.formats.validation_errors import join_names, quote_value
from core.labels import Scale, Value

Place = tuple[Literal["labels", "judges", "gold"], int]
"""The list of a mapping, and the number of a block in it, from 0."""
EXAMPLES = 2
EXAMPLE_LENGTH = 60
MAX_VALUES = 30
"""Different values of which a question has counts and examples."""
BARE_NUMBER = re.compile(r"[+-]?[\d.]+")
"""A number of a preference can count from 0 or from 1, or be a tie; only the file's authors know."""


@dataclass(frozen=True)
class Found:
    """A value of the file, how often it occurs, and items that have it."""

    text: str
    count: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """What a person has to state before the import: the meaning of values, or that a scale is right."""

    places: tuple[Place, ...]
    """Blocks with the same question; one, if it is about the meaning of values."""
    fields: tuple[str, ...]
    scale: Scale | None
    """None: what is open is which response the values mean."""
    values: tuple[Found, ...]
    is_compared: bool = False
    """Whether the values are results of a comparison that the mapping states: then they need no meaning."""

    @property
    def needs_values(self) -> bool:
        """Whether each of the values needs a meaning, instead of a confirmation of all of them."""
        return self.scale is None and not self.is_compared

    def sentence(self) -> str:
        """Return what is open and what to do, on the command line."""
        names = join_names([spell_path(name) for name in self.fields])
        blocks = join_names([f"{name}, block {number + 1}" for name, number in self.places])
        if self.needs_values:
            texts = join_names([quote_value(found.text) for found in self.values])
            return (
                f"the file does not state what {texts} of {names} mean: add each to `values` ({blocks}) with 1 (the "
                "first response), 2 (the second), 0 (a tie) or null (no value)"
            )
        what = "which values are for the first response" if self.scale is None else "the scale"
        return f"the file does not state {what} of {names}: check {self.reading()}; set `confirmed: true` ({blocks})"

    def reading(self) -> str:
        """Return how the values are read if they are confirmed."""
        if self.scale is None:
            return "1 is the first response, 2 the second, 0 a tie"
        if self.scale.categories:
            return f"the scale is {join_names([format_value(category) for category in self.scale.categories])}"
        return f"the scale is {format_value(self.scale.low)} to {format_value(self.scale.high)}"

    def lines(self) -> list[str]:
        """Return the values with their counts and examples."""
        return [
            f"  {quote_value(found.text)}: {found.count:,} times, for example {'; '.join(found.examples)}"
            for found in self.values
        ]


@dataclass
class _Tally:
    """The values of one block so far."""

    fields: dict[str, None] = field(default_factory=dict)
    found: dict[str, Found] = field(default_factory=dict)

    def add(self, name: str, text: str, scope: Scope, mapping: TableMapping) -> None:
        self.fields[name] = None
        known = self.found.get(text, Found(text))
        if not known.count and len(self.found) >= MAX_VALUES:
            return
        more = (_example(scope, mapping),) if len(known.examples) < EXAMPLES else ()
        examples = tuple(dict.fromkeys((*known.examples, *more)))
        self.found[text] = replace(known, count=known.count + 1, examples=examples)


def has_open_blocks(mapping: TableMapping) -> bool:
    """Return whether a block of the mapping is not confirmed."""
    return any(not block.confirmed for _, block in _blocks(mapping))


def open_questions(scopes: Iterable[Scope], mapping: TableMapping) -> list[Question]:
    """Return what has to be stated about the blocks that are not confirmed, from all rows of a file.

    A preference whose numbers are all in `values` is stated by the mapping, and has no question.
    """
    open_blocks = [(place, block) for place, block in _blocks(mapping) if not block.confirmed]
    tallies = {place: _Tally() for place, _ in open_blocks}
    for scope in scopes:
        for place, block in open_blocks:
            for name, text in _cells(block, scope):
                tallies[place].add(name, text, scope, mapping)
    questions = [_question(place, block, tallies[place]) for place, block in open_blocks if tallies[place].found]
    return _merged(questions)


def refusal(questions: Collection[Question]) -> FileFormatError:
    """Return the error of an import with open questions, in one sentence."""
    first = next(iter(questions))
    more = f"; {len(questions) - 1} more to confirm" if len(questions) > 1 else ""
    return FileFormatError(first.sentence() + more)


def answer(mapping: TableMapping, question: Question, values: Mapping[str, Value | None]) -> TableMapping:
    """Return the mapping with a question answered: the meaning of its values, none for a scale."""
    draft = draft_of(mapping)
    for name, number in question.places:
        block = {key: value for key, value in draft[name][number].items() if key != "confirmed"}
        draft[name][number] = block | ({"values": dict(block.get("values", {})) | dict(values)} if values else {})
    return build_mapping(draft)


def _blocks(mapping: TableMapping) -> Iterator[tuple[Place, Block | RankingLabels]]:
    for name, blocks in (("labels", mapping.labels), ("judges", mapping.judges), ("gold", mapping.gold)):
        for number, block in enumerate(blocks):
            yield (name, number), block  # type: ignore[misc]


def _cells(block: Block, scope: Scope) -> Iterator[tuple[str, str]]:
    """Yield the field and the text of each value of a block whose meaning is open."""
    for element in scope.elements(block.each):
        for source in _sources(block):
            cell, name = element.cell(source), source_name(source)
            cells = parse_list(cell, scope.line, name, block.separator) if isinstance(block, ListLabels) else [cell]
            yield from ((name, text) for cell in cells if (text := _text(cell)) and _is_open(block, source, text))


def _sources(block: Block) -> list[ValueSource]:
    match block:
        case WideLabels():
            return list(block.annotators)
        case JudgeBlock(columns=columns) if columns:
            return list(columns)
        case LongLabels(value=source) | ListLabels(value=source) | JudgeBlock(value=source) | GoldBlock(value=source):
            return [] if source is None or isinstance(source, SystemName) else [source]
    return []


def _text(cell: Any) -> str:
    return "" if is_empty(cell) or not isinstance(cell, str | bool | int | float) else format_value(cell)


def _is_open(block: Block, source: ValueSource, text: str) -> bool:
    if block.kind != "preference":
        return text not in block.values or block.values[text] is not None
    return isinstance(source, Comparison) or (text not in block.values and BARE_NUMBER.fullmatch(text) is not None)


def _question(place: Place, block: Block, tally: _Tally) -> Question:
    is_preference = block.kind == "preference"
    is_compared = any(isinstance(source, Comparison) for source in _sources(block))
    found = sorted(tally.found.values(), key=lambda own: (len(own.text), own.text))
    return Question((place,), tuple(tally.fields), None if is_preference else block.scale, tuple(found), is_compared)


def _merged(questions: Iterable[Question]) -> list[Question]:
    """Return the questions with one for each scale: columns of several criteria or annotators often share theirs."""
    merged: dict[Any, Question] = {}
    for question in questions:
        key = question.places if question.scale is None else question.scale.model_dump_json()
        known = merged.get(key)
        merged[key] = question if known is None else _joined(known, question)
    return list(merged.values())


def _joined(one: Question, other: Question) -> Question:
    values = {found.text: found for found in one.values}
    for found in other.values:
        known = values.get(found.text, Found(found.text))
        examples = tuple(dict.fromkeys((*known.examples, *found.examples)))[:EXAMPLES]
        values[found.text] = Found(found.text, known.count + found.count, examples)
    fields = tuple(dict.fromkeys((*one.fields, *other.fields)))
    return replace(one, places=(*one.places, *other.places), fields=fields, values=tuple(values.values()))


def _example(scope: Scope, mapping: TableMapping) -> str:
    """Return the name of the item and the beginning of its prompt or of its first response."""
    try:
        name = scope.resolve(mapping.id) or f"row {scope.number}"
        texts = [response.text for response in mapping.responses if response.text is not None]
        text = scope.join_texts(as_tuple(mapping.prompt)) or next((scope.text(own) for own in texts), None)
    except FileFormatError:  # an error of the row, which the import reports
        return f"row {scope.number}"
    words = " ".join((text or "").split())
    return f"{name} ({words[:EXAMPLE_LENGTH]}{'…' if len(words) > EXAMPLE_LENGTH else ''})" if words else name
