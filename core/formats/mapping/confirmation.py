"""What a file does not state about its values: which response a number means, and the ends of a scale.

A suggested block leaves it open (`confirmed: false`), and the import refuses it until a person has stated it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from core.answers.text import shorten
from core.errors import FileFormatError
from core.formats.mapping.fields import MISSING, Comparison, Excerpt, SystemName, ValueSource, source_name, spell_path
from core.formats.mapping.guess import SIDES, is_position
from core.formats.mapping.mapping import (
    Block,
    GoldBlock,
    ListLabels,
    RankingLabels,
    StepCount,
    as_tuple,
    build_mapping,
    draft_of,
)
from core.formats.mapping.mapping import Mapping as TableMapping
from core.formats.mapping.rows import format_value, is_empty, negated, parse_list, translated
from core.formats.mapping.scope import Scope
from core.formats.validation_errors import join_names, quote_value
from core.labels import Scale, Value

# The list of a mapping, and the number of a block in it, from 0.
Place = tuple[Literal["labels", "judges", "gold"], int]
EXAMPLES = 2
EXAMPLE_LENGTH = 60
# Different values of which a question has counts and examples.
MAX_VALUES = 30
# Numbers that are often written for no value.
CODES = frozenset(("0", "-1", "-9", "-99", "77", "88", "99", "999"))
# The fields of a block that have a line or a question of their own.
SHOWN = {
    *("layout", "kind", "criterion", "definition", "scale", "values", "confirmed", "proposed", "annotator"),
    *("annotators", "reason", "source", "columns", "steps", "response", "criterion_field"),
}
# The parts of a mapping that are stated in their own words.
AS_STATED = (
    *("scenario", "group", "where", "where_not", "category_of", "shuffle", "parallel", "fill", "critiques"),
    *("weights", "aspects"),
)
PREFERENCES: dict[str, str] = {"1": "response 1", "2": "response 2", "0": "a tie"}
POSITIONS: Mapping[str, str] = {"1": "the response shown first", "2": "the response shown second", "0": "a tie"}


@dataclass
class Found:
    """A value of the file, how often it occurs, and items that have it."""

    text: str
    count: int = 0
    examples: tuple[str, ...] = ()


@dataclass
class Question:
    """What a person has to state before the import: the meaning of values, or that a scale is right."""

    scale: Scale | None
    """None: what is open is which response the values mean."""
    steps: StepCount | None
    """What the numbers of steps count, if that is open."""
    comparison: Comparison | None
    """The comparison of which the values are results: then they need no meaning."""
    places: list[Place] = field(default_factory=list)
    """Blocks with the same question; one, if it is about the meaning of values."""
    fields: list[str] = field(default_factory=list)
    found: dict[str, Found] = field(default_factory=dict)
    meanings: Mapping[str, Value | None] = field(default_factory=dict)
    """What the mapping says that texts of a preference mean, which is not confirmed."""
    names: Mapping[str, str] = field(default_factory=lambda: PREFERENCES)
    """What a preference of 1, 2 and 0 is of: the responses of the item, or those that were shown first and second."""

    @property
    def values(self) -> list[Found]:
        """The values, the shortest first."""
        return sorted(self.found.values(), key=lambda found: (len(found.text), found.text))

    def add(self, place: Place, name: str, text: str, scope: Scope, mapping: TableMapping) -> None:
        """Count a value of a field."""
        self.places += [] if place in self.places else [place]
        self.fields += [] if name in self.fields else [name]
        if text in self.found or len(self.found) < MAX_VALUES:
            found = self.found.setdefault(text, Found(text))
            found.count += 1
            if len(found.examples) < EXAMPLES:
                found.examples = tuple(dict.fromkeys((*found.examples, _example(scope, mapping))))

    @property
    def needs_values(self) -> bool:
        """Whether each of the values needs a meaning, instead of a confirmation of all of them."""
        return self.scale is None and self.comparison is None and not self.found.keys() <= self.meanings.keys()

    def sentence(self) -> str:
        """Return what is open and what to do, on the command line."""
        names = join_names([spell_path(name) for name in self.fields])
        blocks = join_names([f"{name}, block {number + 1}" for name, number in self.places])
        if self.needs_values:
            texts = join_names([quote_value(found.text) for found in self.values])
            return (
                f"the file does not state what {texts} of {names} mean: add each to `values` ({blocks}) with 1 (the "
                "first response), 2 (the second), 0 (a tie) or null (no value), or with --value FIELD:TEXT=MEANING"
            )
        what = "what the numbers of steps count" if self.steps else "the scale"
        what = "which response is meant by values" if self.scale is None else what
        what = "the better number" if self.comparison else what
        return f"the file does not state {what} of {names}: check {self.reading()}; set `confirmed: true` ({blocks})"

    def reading(self) -> str:
        """Return how the values are read if they are confirmed."""
        if self.comparison:
            return f"the {'lower' if self.comparison.lower_is_better else 'higher'} number is better"
        if self.scale is None:
            own = {own.text: self.meanings.get(own.text) for own in self.values}
            meant = (self.literal_values() or {"1": 1, "2": 2, "0": 0}) if self.needs_values else own
            names = {text: self.names.get(format_value(value), "no value") for text, value in meant.items()}
            return join_names([f"{quote_value(text)} is {name}" for text, name in names.items()])
        known = [own.text for own in self.values if own.text in self.meanings]
        stated = [f"{quote_value(text)} is {format_value(self.meanings[text])}" for text in known]
        if self.steps:
            return "; ".join([describe_steps(self.steps), *stated])
        may_be_empty = self.scale.level != "nominal" and len(self.found) > 2  # as the end of a scale with more values
        codes = [own.text for own in self.values if own.text in CODES and may_be_empty]
        notes = [f"{text} is a value like the others, and not an empty cell" for text in codes]
        return "; ".join([f"the scale is {_describe_scale(self.scale)}", *notes, *stated])

    def literal_values(self) -> dict[str, Value | None] | None:
        """Return the values that a confirmation without `values` states, none for a scale; None if it cannot.

        1 and 2 can be read literally. 0 can count from 0 or be a tie, and 1 without 2 can follow a 0.
        """
        if not self.needs_values:
            return {}
        if all(text.lower() in SIDES for text in self.found):
            return {text: SIDES[text.lower()] for text in self.found}
        return {"1": 1, "2": 2} if self.found.keys() == {"1", "2"} else None

    def lines(self) -> list[str]:
        """Return the values with their counts and examples."""
        return [
            f"  {quote_value(found.text)}: {found.count:,} times, for example {'; '.join(found.examples)}"
            for found in self.values
        ]


@dataclass
class Statement:
    """How the values of a block are read, and how often each occurs."""

    place: Place
    block: Block
    fields: list[str] = field(default_factory=list)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Text of the file and its meaning -> how often; at most MAX_VALUES different ones."""
    others: int = 0
    """Values that are not in `counts`."""

    def title(self) -> str:
        """Return the block with its criterion, fields and scale."""
        kind, criterion = self.block.kind, self.block.criterion
        what = f"{kind}, {criterion}" if criterion else kind
        scale = "" if kind == "preference" else f", scale {_describe_scale(self.block.scale)}"
        scale += f"; {describe_steps(self.block.steps)}" if self.block.steps else ""
        names = join_names([spell_path(name) for name in self.fields])
        response = self.block.response
        of = "" if response is None else ", of each response" if response == "element" else f", of response {response}"
        return f"{self.place[0]}, block {self.place[1] + 1} ({what}{of}{scale}) from {names}"

    def lines(self) -> list[str]:
        """Return the meaning and the count of each value, the shortest first."""
        found = sorted(self.counts.items(), key=lambda own: (len(own[0][0]), own[0]))
        lines = [f"{quote_value(text)} -> {meaning}: {count:,} times" for (text, meaning), count in found]
        return [*lines, f"other values: {self.others:,} times"] if self.others else lines


@dataclass
class Level:
    """What the rows of a file are: which of them are one item, and which items are a group."""

    rows: int = 0
    items: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)

    def count(self, scopes: Iterable[Scope], mapping: TableMapping) -> Iterator[Scope]:
        """Yield the scopes, and count their items and groups."""
        for scope in scopes:
            self.rows += 1
            self.items.add(scope.resolve(mapping.id) or "")
            if isinstance(mapping.group, str) and (group := scope.resolve(mapping.group)):
                self.groups.add(group)
            yield scope

    def lines(self) -> list[str]:
        """Return a sentence if rows are not simply items; items of a group are not independent."""
        if len(self.items) == self.rows and not 0 < len(self.groups) < self.rows:
            return []
        groups = f" in {len(self.groups):,} groups" if self.groups else ""
        return [f"{self.rows:,} rows are {len(self.items):,} items{groups}"]


def describe_steps(steps: StepCount) -> str:
    """Return what names a step, such as the number of a message from 0."""
    noun, _, first = steps.partition(" from ")
    kind = "id of a span" if noun == "span" else f"number of a {noun} of the transcript, from {first or 1}"
    return f"a step is the {kind}"


def state_values(scopes: Iterable[Scope], mapping: TableMapping) -> list[Statement]:
    """Return how the values of each block are read, from all rows of a file; blocks without values are left out."""
    statements = [Statement(place, block) for place, block in _blocks(mapping)]
    for scope in scopes:
        for own in statements:
            for source, text in _values(own.block, scope):
                name, value = source_name(source), (text, _meaning(own.block, source, text))
                own.fields += [] if name in own.fields else [name]
                is_stated = translated(text, own.block.values) is not None  # also among many numbers
                if value in own.counts or is_stated or len(own.counts) < MAX_VALUES:
                    own.counts[value] += 1
                else:
                    own.others += 1
    return [own for own in statements if own.counts]


def _describe_scale(scale: Scale) -> str:
    categories = [" ".join(format_value(category).split()) for category in scale.categories]  # on one line
    if categories:
        best = f" ({categories[-1]} is the best)" if scale.level == "ordinal" else ""
        return join_names(categories) + best
    best = "" if scale.level == "nominal" else f" ({format_value(scale.high)} is the best)"
    return f"{format_value(scale.low)} to {format_value(scale.high)}{best}"


def _meaning(block: Block, source: ValueSource, text: str) -> str:
    known = translated(text, block.values)
    signed = negated(text, block.values, 0, "") if block.negative else text
    value = signed if known is None else block.values[known]
    if value is None:
        return "no value"
    if isinstance(source, SystemName) and text not in block.values:
        return f"the response of {text}"
    if not block.confirmed and _is_open(block, source, text):
        return f"{format_value(value)}, not confirmed" if text in block.values else "not confirmed"
    if block.kind != "preference":
        return format_value(value)
    unknown = "the response of a system of this name, and otherwise not on the scale"
    return _preferences(block).get(format_value(value), unknown)


def _preferences(block: Block) -> Mapping[str, str]:
    if block.pair:
        return PREFERENCES | {str(place): f"response {number}" for place, number in enumerate(block.pair, 1)}
    return POSITIONS if getattr(block, "as_shown", False) else PREFERENCES


def open_questions(scopes: Iterable[Scope], mapping: TableMapping) -> list[Question]:
    """Return what has to be stated about the blocks that are not confirmed, from all rows of a file.

    A preference whose numbers are all in `values` has no question, unless a model wrote the mapping.
    """
    questions: dict[Any, Question] = {}
    open_blocks = []
    for place, block in _blocks(mapping):
        if not block.confirmed:
            is_preference = block.kind == "preference"
            comparison = next((own for own in block.value_sources() if isinstance(own, Comparison)), None)
            # Columns of several criteria or annotators often share their scale, which is one question.
            key = place if is_preference or block.proposed else (block.scale.model_dump_json(), block.steps)
            scale = None if is_preference else block.scale
            stated = block.values if is_preference or block.proposed else {}
            question = Question(scale, block.steps, comparison, meanings=stated, names=_preferences(block))
            own = questions.setdefault(key, question)
            open_blocks.append((place, block, own))
    for scope in scopes:
        for place, block, own in open_blocks:
            for name, text in _cells(block, scope):
                own.add(place, name, text, scope, mapping)
    return [question for question in questions.values() if question.found]


def leave_open(scopes: Iterable[Scope], mapping: TableMapping) -> TableMapping:
    """Return the mapping with those preferences not confirmed of which the file has 0 and 1 only, without a meaning.

    Their 0 can be the first response or a tie. Blocks with `values` or `confirmed` state it.
    """
    waiting = [(place, block, set[str]()) for place, block in _blocks(mapping) if _may_count_from_0(block)]
    for scope in scopes if waiting else ():
        for _, block, found in waiting:
            found.update(text for _, text in _cells(block, scope))
    open_ones = [place for place, _, found in waiting if "0" in found and found <= {"0", "1"}]
    draft = draft_of(mapping)
    for name, number in open_ones:
        draft[name][number]["confirmed"] = False
    return build_mapping(draft) if open_ones else mapping


def _may_count_from_0(block: Block) -> bool:
    is_stated = block.values or not block.confirmed or "confirmed" in block.model_fields_set
    is_cell = not any(isinstance(source, Comparison | SystemName) for source in block.value_sources())
    return block.kind == "preference" and is_cell and not is_stated and not getattr(block, "swapped", None)


GUESSED = (
    "which fields are the texts, systems and annotators was guessed from their values: check them, and set "
    "`confirmed: true` in the mapping, or add --confirm; `--role ROLE=FIELD` states another choice, "
    "`--role response=A+B` one response of two fields"
)


def role_lines(mapping: TableMapping, scope: Scope | None, unused: Sequence[str]) -> list[str]:
    """Return what each field is, with the value of one row; a field that has no text there is shown without one."""

    def example(*sources: Any) -> str:
        text = "" if scope is None else " ".join(_shown(scope, sources).split())
        names = [own.describe() if isinstance(own, Excerpt) else spell_path(source_name(own)) for own in sources]
        return join_names(names) + (f", such as {quote_value(text[:EXAMPLE_LENGTH])}" if text else "")

    exploded = join_names([spell_path(path) for path in mapping.explode])
    lines = [f"items are the elements of {exploded}"] if exploded else []
    if mapping.divider:
        what = f"each part of {spell_path(mapping.explode[-1])} between {mapping.divider!r} is an item of its own"
        lines.append(f"{what}, so the labels of such a row count once for each part")
    lines.append(f"item: {'a number of the row' if str(mapping.id).startswith('{row}') else example(mapping.id)}")
    texts = {"prompt": mapping.prompt, "context": mapping.context, "reference": mapping.reference}
    lines += [f"{name}: {example(*as_tuple(own))}" for name, own in texts.items() if own is not None]
    for number, own in enumerate(mapping.responses, 1):
        system = own.name or (f"the value of {example(own.system)}" if own.system else "unknown")
        image = f"; image: {example(own.image)}" if own.image and (own.text or own.transcript) else ""
        name = f"responses, the elements of {spell_path(own.each)}" if own.each else f"response {number}"
        lines.append(
            f"{name}: {example(*as_tuple(own.text or own.transcript or own.image))}; its system: {system}{image}"
        )
    lines += [*_mapping_lines(mapping), *(_block_line(place[0], block) for place, block in _blocks(mapping))]
    more = [f"not used: {len(unused) - MAX_VALUES:,} more fields"] if len(unused) > MAX_VALUES else []
    return [*lines, *(f"not used: {example(field)}" for field in unused[:MAX_VALUES]), *more]


def _block_line(name: str, block: Block) -> str:
    """Return whose the values of a block are, of which criterion, and what else it says that is shown nowhere else."""
    field = getattr(block, "criterion_field", None)
    what = f"{block.kind}, criterion of {source_name(field)}" if field else f"{block.kind} {block.criterion!r}"
    what += f" ({block.definition})" if block.definition else ""
    if isinstance(block, RankingLabels):
        best = "highest" if block.ranking.higher_is_better else "lowest"
        what = f"people's ranks in {join_names(as_tuple(block.ranking.ranks))}, the {best} is the best"
    elif name == "labels":
        what += ": people's labels"
    if name == "labels":
        people = getattr(block, "annotator", None) or getattr(block, "annotators", None) or "unnamed"
        who = join_names([*dict.fromkeys(people.values())]) if isinstance(people, Mapping) else source_name(people)
        what += f", annotators: {who}"
    else:
        what += ": values of judges" if name == "judges" else ": values gold, without annotators"
    reason = getattr(block, "reason", None)
    others = block.model_dump(mode="json", exclude_defaults=True, exclude=SHOWN)
    further = [f"{own}: {value}" for own, value in others.items() if own != "value" or isinstance(value, dict)]
    source = [f"source: {block.source}"] if isinstance(block, GoldBlock) else []
    return "; ".join([what, *([f"reasons: {source_name(reason)}"] if reason else []), *further, *source])


def _mapping_lines(mapping: TableMapping) -> Iterator[str]:
    """Yield what a mapping says of the rows and the items, in its own words."""
    for join in mapping.join:
        keys, other_keys = (join_names([*map(source_name, own)]) for own in (join.keys, join.other_keys))
        how = f"{keys} is {other_keys}" if join.keys else "by the number of the row"
        where = f", where {join.where}" if join.where else ""
        yield f"joined: {join.file}, {how}{where}{', a list of records' if join.many else ''}"
    stated = draft_of(mapping)
    yield from (f"{name}: {stated[name]}" for name in AS_STATED if name in stated)


def _shown(scope: Scope, sources: Iterable[Any]) -> str:
    try:
        return " ".join(filter(None, map(scope.resolve, sources)))
    except FileFormatError:  # a list or an object
        return ""


def refusal(questions: Collection[Question]) -> FileFormatError:
    """Return the error of an import with open questions, in one sentence."""
    first = next(iter(questions))
    more = f"; {len(questions) - 1} more to confirm" if len(questions) > 1 else ""
    return FileFormatError(first.sentence() + more)


def answer(mapping: TableMapping, question: Question, values: Mapping[str, Value | None]) -> TableMapping:
    """Return the mapping with a question answered: the meaning of its values, none for a scale."""
    draft = draft_of(mapping)
    for name, number in question.places:
        block = {key: value for key, value in draft[name][number].items() if key not in ("confirmed", "proposed")}
        draft[name][number] = block | ({"values": dict(block.get("values", {})) | dict(values)} if values else {})
    return build_mapping(draft)


def _blocks(mapping: TableMapping) -> Iterator[tuple[Place, Block]]:
    for name, blocks in (("labels", mapping.labels), ("judges", mapping.judges), ("gold", mapping.gold)):
        for number, block in enumerate(blocks):
            yield (name, number), block  # type: ignore[misc]


def _cells(block: Block, scope: Scope) -> Iterator[tuple[str, str]]:
    """Yield the field and the text of each value of a block whose meaning is open."""
    for source, text in _values(block, scope):
        if _is_open(block, source, text):
            yield source_name(source), text


def _values(block: Block, scope: Scope) -> Iterator[tuple[ValueSource, str]]:
    """Yield the source and the text of each value of a block."""
    for element in scope.of_block(block):
        for source in block.value_sources():
            cell, name = element.cell(source), source_name(source)
            cells = parse_list(cell, scope.line, name, block.separator) if isinstance(block, ListLabels) else [cell]
            empty = "" in block.values
            yield from ((source, _text(own)) for own in cells if _text(own) or (empty and own is not MISSING))


def _text(cell: Any) -> str:
    return "" if is_empty(cell) or not isinstance(cell, str | bool | int | float) else format_value(cell)


def _is_open(block: Block, source: ValueSource, text: str) -> bool:
    if isinstance(source, SystemName):
        return False
    if block.kind != "preference":
        known = translated(text, block.values)
        return known is None or block.values[known] is not None
    if block.proposed:  # words too: the model says which response they mean
        return text not in block.values or block.values[text] is not None
    return isinstance(source, Comparison) or (is_position(text) and text not in block.values)


def _example(scope: Scope, mapping: TableMapping) -> str:
    """Return the name of the item and the beginning of its prompt or of its first response."""
    try:
        name = scope.resolve(mapping.id) or f"row {scope.number}"
        texts = [response.text for response in mapping.responses if response.text is not None]
        text = scope.join_texts(as_tuple(mapping.prompt)) or next(map(scope.join_texts, map(as_tuple, texts)), None)
    except FileFormatError:  # an error of the row, which the import reports
        return f"row {scope.number}"
    name, words = (shorten(own, EXAMPLE_LENGTH) for own in (name, text or ""))
    return f"{name} ({words})" if words else name
