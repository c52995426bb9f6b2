"""A mapping assigns the fields of a table to items and labels. Users write it in YAML or on the Studies page.

docs/mappings documents every field, with an example of each layout.
"""

import math
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, StringConstraints, field_validator, model_validator

from core.critiques import CritiqueRole, CritiqueSource
from core.errors import FileFormatError
from core.formats.mapping.fields import (
    BLANK,
    Comparison,
    Constant,
    Excerpt,
    FieldName,
    FieldOrTemplate,
    FieldPath,
    Source,
    SystemName,
    TemplatePath,
    ValueSource,
    is_template,
    parse_path,
    template_fields,
)
from core.formats.mapping.rows import format_value
from core.formats.text import read_text
from core.formats.validation_errors import validated
from core.frozen import Frozen
from core.labels import PREFERENCE, Scale, Value

# The blocks of a mapping: responses, labels, judges, gold, critiques, weights, aspects, and a second file.


def _columns(columns: Any) -> Any:
    return {str(column): str(column) for column in columns} if isinstance(columns, list) else columns


def _by_text(values: Any) -> Any:
    return {format_value(key): value for key, value in values.items()} if isinstance(values, dict) else values


def _as_texts(where: Any) -> Any:
    if not isinstance(where, dict):
        return where
    listed = {field: value if isinstance(value, list | tuple) else [value] for field, value in where.items()}
    return {
        str(field): ["" if value is None else format_value(value) for value in values]
        for field, values in listed.items()
    }


# Kinds of labels with one value per cell. Weights and AIUs have parts, and their own readers.
TableKind = Literal["preference", "score", "aspect_quality", "likert", "answer"]
# The name of an annotator or a judge, without surrounding blanks.
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
# What the number of a step counts, from 1 unless it says so, or what else names a step.
StepCount = Literal["part", "part from 0", "message", "message from 0", "span"]
# Field -> the name of its annotator or judge; in a list, each field is also the name.
Columns = Annotated[dict[FieldPath, Name], BeforeValidator(_columns)]
# Field -> its values in the rows that are meant.
Where = Annotated[dict[FieldPath, str | tuple[str, ...]], BeforeValidator(_as_texts)]


class ResponseFields(Frozen):
    """One response of an item."""

    text: "Fields | None" = None
    """Without it the response is only an image; a constant stands for texts that the file does not have. Several fields
    are one text, with blank lines between them."""
    system: Source | None = None
    """The field that names the system, a part of it, or a template such as "{element}"."""
    name: str | None = None
    """The system's name, if it is the same in all rows, or a template."""
    image: FieldPath | None = None
    transcript: FieldPath | None = None
    """A list of messages, with tool calls and results: without `text`, the final answer is the text."""
    optional: bool = False
    """Whether rows may lack it; an empty text of a response that is not optional is an empty answer."""
    each: FieldPath | None = None
    """A list or an object in the row: each of its elements, whose fields are named here, is a response."""

    @model_validator(mode="after")
    def _check_system(self) -> Self:
        if self.text is None and self.image is None and self.transcript is None:
            raise ValueError("a response needs a `text`, a `transcript`, or an `image` if it is only an image")
        if self.each is not None and self.optional:
            raise ValueError("responses of `each` are as many as the list has, and not `optional`")
        if self.system is not None and self.name is not None:
            raise ValueError("give `system` (a field) or `name` (the name itself), not both")
        return self


class Block(Frozen):
    """The targets of a block of labels, verdicts or gold, and their possible values."""

    kind: TableKind
    criterion: str = ""
    definition: str = ""
    scale: Scale = PREFERENCE
    values: Annotated[dict[str, Value | None], BeforeValidator(_by_text)] = Field(default_factory=dict)
    """Text in the file -> value on the scale; null means no label."""
    each: FieldPath | None = None
    """A list or an object in the row: the block is read once for each of its elements, whose fields it names."""
    divider: str | None = Field(default=None, min_length=1)
    """What divides a text into the elements of `each`, such as the "#" of `4#2#5`."""
    where: Where = Field(default_factory=dict)
    """Field -> its values in the rows, or in the elements of `each`, that the block is read from."""
    steps: StepCount | None = None
    """How steps of the transcript are named, in `step` or, without it, by the value."""
    step: TemplatePath | None = None
    """The field with the step that the value is about, instead of the whole response; "{element}": the key of the
    element of `each`."""
    response: int | Literal["element"] | None = None
    """The number of the response that a value is about, if an item has several; "element": that of the element of
    `each`. Otherwise it is about all of them."""
    pair: tuple[int, int] | None = None
    """The numbers of the two responses that a preference is between, the lower first, if an item has more than two."""
    negative: bool = False
    """Whether the numbers of the file, of which fewer are better, are stored with the other sign."""
    confirmed: bool = True
    """Whether a person has stated what the file does not: a suggestion leaves it open (see `confirmation`)."""
    proposed: bool = False
    """Whether a model wrote the block: then `values` is not confirmed either."""

    @model_validator(mode="before")
    @classmethod
    def _leave_open(cls, fields: Any) -> Any:
        is_proposed = isinstance(fields, dict) and fields.get("proposed")
        return {"confirmed": False, **fields} if is_proposed else fields

    @model_validator(mode="after")
    def _check_values(self) -> Self:
        _check_scale(self.kind, self.scale, "scale" in self.model_fields_set)
        if self.negative and (self.scale.categories or self.scale.low is None or self.scale.low >= 0):
            raise ValueError("`negative` is for a scale with `low` and `high`, such as low -50 and high 0")
        if (self.step and not self.steps) or (self.steps and self.kind != "answer"):
            raise ValueError("labels of a `step` have `steps`, which says how it is named, and the kind answer")
        if self.response is not None and (self.kind == "preference" or self.response == 0):
            raise ValueError("a `response` is a number from 1 on, for values of another kind than preference")
        if self.pair and (self.kind != "preference" or not 0 < self.pair[0] < self.pair[1]):
            raise ValueError("a `pair` is two numbers of responses, the lower first, for values of the kind preference")
        if self.response == "element" and self.each is None:
            raise ValueError("the `response` element needs `each`: the list with an element for each response")
        self._check_meanings()
        if self.kind != "preference" and isinstance(getattr(self, "value", None), Comparison | SystemName):
            raise ValueError(f"`compare` and `system` give a preference, not a {self.kind}")
        return self

    def _check_meanings(self) -> None:
        is_ranking = getattr(self, "ranking", None) is not None
        if is_ranking and not all(isinstance(value, int | float | None) for value in self.values.values()):
            raise ValueError("`values` of a `ranking` names the ranks of words, and with null what is no rank")
        for text, value in self.values.items():
            if value is not None and not is_ranking and not self.scale.contains(value):
                raise ValueError(f"`values` turns {text!r} into {value!r}, which is not on the scale")

    def value_sources(self) -> list[ValueSource]:
        """Return where its values are."""
        value: ValueSource | None = getattr(self, "value", None)
        return [] if value is None else [value]


class LongLabels(Block):
    """One row per label."""

    layout: Literal["long"]
    annotator: Source
    value: ValueSource
    criterion_field: Source | None = None
    """The field, or the template, that names the criterion, if it differs between rows."""
    reason: FieldPath | None = None
    seconds: FieldPath | None = None
    aggregate: Literal["sum", "mean", "first", "last"] | None = None
    """How several values of one annotator for one item become one label, such as the penalties of its errors."""

    @model_validator(mode="after")
    def _check_aggregate(self) -> Self:
        if self.aggregate in ("sum", "mean") and (self.kind == "preference" or self.scale.categories):
            raise ValueError("a sum or mean needs a scale with `low` and `high`, and is no preference")
        if self.aggregate and self.seconds:
            raise ValueError("labels with `aggregate` have no `seconds`")
        return self


class WideLabels(Block):
    """One column per annotator."""

    layout: Literal["wide"]
    annotators: Columns = Field(min_length=1)

    def value_sources(self) -> list[ValueSource]:
        """Return the columns."""
        return [*self.annotators]


class ListLabels(Block):
    """A list in a cell: position i is the value of annotator i."""

    layout: Literal["list"]
    value: FieldPath
    annotators: tuple[str, ...] | str = "annotator {n}"
    """The names by position; or a template for lists of any length, in which {n} is the position from 1."""
    annotators_field: FieldPath | None = None
    """The field with the list of names, if it differs between rows."""
    separator: str | None = None
    """Separates the values if the list is text; without it the text is parsed as JSON."""

    @model_validator(mode="after")
    def _check_annotators(self) -> Self:
        if "annotators" in self.model_fields_set and self.annotators_field is not None:
            raise ValueError("give either `annotators` (the names) or `annotators_field` (the field that holds them)")
        if isinstance(self.annotators, str):
            if "{n}" not in self.annotators:
                raise ValueError("`annotators` needs a list of names, or a template with {n} such as 'r{n}'")
            return self
        if not self.annotators:
            raise ValueError("`annotators` needs at least one name")
        if len(set(self.annotators)) < len(self.annotators):
            raise ValueError("`annotators` contains a name twice")
        return self


class Ranking(Frozen):
    """Ranks of an item's responses in the order of the responses: a preference for each pair of them."""

    ranks: FieldPath | tuple[FieldPath, ...]
    """A field for each response, or the field with the list of ranks, or the field of each element of `of`."""
    of: FieldPath | None = None
    """A list with an object for each response."""
    higher_is_better: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if isinstance(self.ranks, tuple) and (self.of is not None or len(self.ranks) < 2):
            raise ValueError("`ranks` is a field for each of two or more responses, or one field")
        return self


class RankingLabels(Block):
    """A ranking of all responses by one annotator."""

    layout: Literal["ranking"]
    kind: Literal["preference"] = "preference"
    annotator: Source
    ranking: Ranking
    reason: FieldPath | None = None


Labels = Annotated[LongLabels | WideLabels | ListLabels | RankingLabels, Field(discriminator="layout")]


class JudgeBlock(Block):
    """Verdicts of judges, which are stored as recorded runs."""

    judge: Source | None = None
    """The judge's name, with `value`: one verdict per row."""
    value: ValueSource | None = None
    confidence: FieldPath | dict[FieldPath, FieldPath] | None = None
    """The field with a number that is larger the surer the judge is of `value`, or of each column; see docs/policy."""
    columns: Columns = Field(default_factory=dict)
    ranking: Ranking | None = None
    """Ranks of the responses, instead of `value`."""
    criterion_field: Source | None = None
    run: str = ""
    """The run that the verdicts belong to. Default: one run per judge."""
    model: Source | None = None
    reason: FieldPath | None = None
    cost: FieldPath | None = None
    """Dollars."""
    order: FieldPath | None = None
    """The order in which the responses were shown, see `order_values`."""
    order_values: Annotated[dict[str, tuple[int, ...]], BeforeValidator(_by_text)] = Field(
        default={"12": (1, 2), "21": (2, 1)}
    )
    as_shown: bool = False
    """Whether a preference is the position in the order shown, instead of the response's own number."""
    swapped: FieldPath | None = None
    """The choice by position in the other order of the responses; `orders` says what counts if it changes."""
    orders: Literal["consistent", "JudgeBench"] = "consistent"
    """The verdict of two orders: see `core.verdicts.choice_of_orders`."""
    stage: Literal["first", "last", "verdict"] = "verdict"

    def value_sources(self) -> list[ValueSource]:
        """Return the columns, or the only source."""
        return [*self.columns] or super().value_sources()

    @model_validator(mode="after")
    def _check_judges(self) -> Self:
        values = sum((bool(self.columns), self.value is not None, self.ranking is not None))
        if values != 1 or bool(self.columns) == (self.judge is not None):
            raise ValueError("give either `judge` and `value` or `ranking`, or `columns` (field: judge)")
        if self.ranking and (self.kind != "preference" or self.as_shown or self.swapped or self.pair):
            raise ValueError("a `ranking` gives preferences between the responses' own numbers")
        if (self.kind != "preference" or self.pair) and (self.order or self.as_shown or self.swapped):
            raise ValueError("`order`, `as_shown` and `swapped` are for preferences between two responses")
        if any(sorted(order) != [1, 2] for order in self.order_values.values()):
            raise ValueError("`order_values` are [1, 2] or [2, 1]")
        if self.as_shown and self.order is None:
            raise ValueError("`as_shown` needs `order`: the field with the order of the responses")
        if self.orders != "consistent" and not self.swapped:
            raise ValueError("`orders` needs `swapped`: the field with the choice in the other order")
        return self

    @model_validator(mode="after")
    def _check_fields_of_one_value(self) -> Self:
        if self.swapped and self.value is None:
            raise ValueError("`swapped` needs `judge` and `value`: write a block for each judge")
        if isinstance(self.confidence, str) and self.value is None:
            raise ValueError("`confidence` is a field beside `value`, and with `columns` one of each: column: field")
        if isinstance(self.confidence, dict) and not set(self.confidence) <= set(self.columns):
            raise ValueError("`confidence` names a column that is not among `columns`")
        return self


class GoldBlock(Block):
    """Gold values of the file, which are stored as adjudications."""

    value: ValueSource
    criterion_field: Source | None = None
    source: str = "gold of the imported file"
    """Where the values come from; the rule of the adjudications."""
    adjudicator: Source = Constant(constant="imported gold")
    reason: Source | None = None


class CritiqueFields(Frozen):
    """One critique of each item."""

    text: FieldPath
    author: Source
    source: CritiqueSource = "llm"
    role: CritiqueRole = "hypothesis"
    of: int = Field(default=1, ge=1)
    """The number of the response that it is about."""
    aius: FieldPath | None = None
    """A list of texts."""
    separator: str | None = None


class WeightsBlock(Frozen):
    """Aspect weights of annotators or judges: a field for each aspect, or aspects that differ from row to row."""

    annotator: Source | None = None
    judge: Source | None = None
    aspects: dict[str, FieldPath] = Field(default_factory=dict)
    """Aspect -> the field with its weight. Weights that do not sum to 100 are scaled."""
    aspects_field: FieldPath | None = None
    """Instead of `aspects`: the field with the list of the row's aspects."""
    value: FieldPath | None = None
    """The field with the row's weights: a list in the order of `aspects_field`, or an object aspect -> weight."""
    separator: str | None = Field(default=None, min_length=1)
    """Between aspects and between weights, if they are text."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.annotator is None) == (self.judge is None):
            raise ValueError("give either `annotator` or `judge`")
        if bool(self.aspects) == (self.value is not None):
            raise ValueError("give either `aspects`, or `value` with the weights of each row")
        if self.aspects and (self.aspects_field or len(self.aspects) < 2):
            raise ValueError("give at least two `aspects`, and no `aspects_field`")
        return self


class AspectFields(Frozen):
    """The field with an item's own aspects."""

    field: FieldPath
    separator: str | None = None
    """What separates the aspects in text, such as ";"; otherwise a text is one aspect per line, or a JSON list."""


class Join(Frozen):
    """Another file whose fields are available as `joined.<name>`."""

    name: str = Field(default="joined", pattern=r"^[A-Za-z_]\w*$")
    """What its fields are referred to by, instead of `joined`."""
    optional: bool = False
    """Whether rows without a record in it are imported, without its fields."""

    file: str
    """Its name, in the folder of the table."""
    key: Source | tuple[Source, ...] | None = None
    """The field of the table that names the second file's row, or several; without it rows are joined by number."""
    other_key: Source | tuple[Source, ...] | None = None
    """The field or fields of the second file; by default the same."""
    where: Where = Field(default_factory=dict)
    """Field of the second file -> its values in the records that are joined; its other records are not looked at."""
    exploded: bool = False
    """Whether `key` is of the elements of `explode`, and not of the record."""
    many: bool = False
    """Whether a key can have several records: `joined` is the list of them, in the order of the file."""

    @property
    def keys(self) -> tuple[Source, ...]:
        """The fields of the table; none if rows are joined by their number."""
        return as_tuple(self.key)

    @property
    def other_keys(self) -> tuple[Source, ...]:
        """The fields of the second file."""
        return as_tuple(self.other_key) or self.keys

    @property
    def own_fields(self) -> set[FieldPath]:
        """The fields of the second file that select its records."""
        return {path for key in self.other_keys for path in source_paths(key)} | {*self.where}

    @field_validator("file")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not name or "/" in name or "\\" in name or name in (".", "..") or "\x00" in name:
            raise ValueError("`file` is the name of a file in the folder of the table, without a path")
        return name

    @model_validator(mode="after")
    def _check_key(self) -> Self:
        if self.other_key is not None and self.key is None:
            raise ValueError("`other_key` needs a `key`")
        if self.key is None and (self.where or self.many or self.exploded):
            raise ValueError("`where`, `many` and `exploded` of a joined file need a `key`")
        if len(self.keys) != len(self.other_keys):
            raise ValueError("`other_key` has as many fields as `key`")
        return self


def _check_scale(kind: str, scale: Scale, declared: bool) -> None:
    if kind == "preference" and not set(scale.categories) <= set(PREFERENCE.categories):
        raise ValueError("a preference is 1, 2 or 0 for a tie: translate the file's values with `values`")
    if kind != "preference" and not declared:
        raise ValueError(f"a {kind} needs a `scale`: a level, and categories or low and high")
    if not scale.categories and (scale.low is None or scale.high is None):
        raise ValueError("a `scale` needs categories, lowest first, or low and high")
    if not all(math.isfinite(end) for end in (scale.low, scale.high) if end is not None):
        raise ValueError("the `low` and `high` of a scale are finite numbers")
    if scale.low is not None and scale.high is not None and scale.low > scale.high:
        raise ValueError(
            "the `low` of a scale is not above its `high`; if fewer is better, write `negative: true`, with low -50 "
            "and high 0 for 50 to 0"
        )


# One source of text, or several whose texts are joined with a blank line between them.
Fields = Source | tuple[Source, ...]


class Mapping(Frozen):
    """The fields of a table's items, labels, verdicts and gold."""

    confirmed: bool = True
    """Whether a person has stated which fields are the texts, systems and annotators; a suggestion that takes them from
    the values of the fields leaves it open."""
    id: Source
    prompt: Fields | None = None
    responses: tuple[ResponseFields, ...] = ()
    image: FieldPath | None = None
    """An image that is part of the prompt."""
    context: Fields | None = None
    reference: Fields | None = None
    scenario: Source | None = None
    category_of: FieldPath | None = None
    """The field with a question of FairEval or MT-Bench, whose published category is the scenario."""
    group: Source | tuple[FieldPath, ...] | None = None
    """The dialogue or document. Several fields: rows in which all of them are equal are one group."""
    explode: tuple[FieldPath, ...] = ()
    """A field with a list or an object: each element becomes an item, with access to the fields of its row. "*" is the
    record itself, and "*.*" the lists in it. Several: lists in the elements of lists, the outer one first."""
    divider: str | None = Field(default=None, min_length=1)
    """What divides a text into the elements of the last field of `explode`, such as the "|" of two systems."""
    numbered: dict[str, Annotated[str, StringConstraints(pattern=r"^[^{}]*\{n\}[^{}]*$")]] = Field(default_factory=dict)
    """Field -> the name with {n} of numbered columns, which become the list `numbered` of objects with these fields."""
    parallel: tuple[FieldPath, ...] = ()
    """Other lists of the record with a value for each element of the exploded one: in an element, that value."""
    where: Where = Field(default_factory=dict)
    """Field -> its values in the rows to import; other rows are left out."""
    where_not: Where = Field(default_factory=dict)
    """Field -> its values in the rows to leave out."""
    fill: tuple[FieldPath, ...] = ()
    """Columns whose empty cells have the value of the nearest filled one above, as merged cells of a spreadsheet."""
    separator: str | None = Field(default=None, min_length=1, max_length=1)
    """The character between the cells of a .csv, .tsv or .tab file; by default it is detected."""
    quotes: bool | None = None
    """Whether quotation marks enclose cells of delimited text; by default it is detected."""
    header: bool | None = None
    """Whether the first row of delimited text names its columns; by default it is detected."""
    join: tuple[Join, ...] = ()
    """Other files in the folder of the table; one may be written without a list."""
    shuffle: bool = False
    """Whether the two responses of an item are in random order, the same in each import: for files in which the first
    is always the preferred one."""
    aspects: FieldPath | AspectFields | None = None
    """The field with the aspects to judge an item by: a list, or text."""
    critiques: tuple[CritiqueFields, ...] = ()
    labels: tuple[Labels, ...] = ()
    judges: tuple[JudgeBlock, ...] = ()
    gold: tuple[GoldBlock, ...] = ()
    weights: tuple[WeightsBlock, ...] = ()

    @field_validator("join", "explode", mode="before")
    @classmethod
    def _as_list(cls, value: Any) -> Any:
        return () if value is None else value if isinstance(value, list | tuple) else (value,)

    @model_validator(mode="before")
    @classmethod
    def _expand_criteria(cls, draft: Any) -> Any:
        if not isinstance(draft, dict):
            return draft
        lists = {name: draft[name] for name in ("labels", "judges", "gold") if isinstance(draft.get(name), list)}
        expanded = {name: [part for block in blocks for part in _by_criterion(block)] for name, blocks in lists.items()}
        return draft | _with_definitions(expanded)

    @model_validator(mode="after")
    def _check_parallel(self) -> Self:
        if self.divider and not self.explode:
            raise ValueError("`divider` is between the elements of a text to `explode`")
        if self.parallel and (not self.explode or self.explode[-1].startswith("*")):
            raise ValueError("`parallel` needs a list to `explode`, whose elements the other lists have values for")
        return self

    @model_validator(mode="after")
    def _check_paths(self) -> Self:
        blocks = (*self.labels, *self.judges, *self.gold)
        if len({join.name for join in self.join}) < len(self.join):
            raise ValueError("two files of `join` have the same `name`")
        for path in (*field_paths(self), *source_paths(blocks)):
            parse_path(path)
        is_numbered = any(block.kind == "preference" for block in blocks)
        if is_numbered and sorted(self.responses, key=lambda response: response.optional) != list(self.responses):
            raise ValueError("optional `responses` come last, or a preference would mean another one")
        names: list[Any] = [self.id, self.scenario, *as_tuple(self.group)]
        names += [name for response in self.responses for name in (response.system, response.name)]
        texts = _sources([block for block in blocks if not block.each])
        names += [text for text in texts if isinstance(text, FieldOrTemplate)]
        templates = [name for name in names if isinstance(name, str) and is_template(name)]
        if not self.explode and any("element" in BLANK.findall(template) for template in templates):
            raise ValueError(
                "`{element}` is the number or the key of an exploded element: add `explode`, or `each` to its block"
            )
        if self.separator is not None and self.separator in '"\r\n ':
            raise ValueError("`separator` is a character such as ; and no blank, quote or line end")
        if self.shuffle and (len(self.responses) != 2 or any(part.optional or part.each for part in self.responses)):
            raise ValueError("`shuffle` is for items with two responses")
        if self.prompt is None and not self.responses:
            raise ValueError("an item needs a `prompt` or `responses`")
        return self


def _by_criterion(block: Any) -> Iterator[Any]:
    """Yield a block for each of its `criteria`, with "{criterion}" replaced in its fields.

    `criteria` is a list of names, or an object: name -> text that replaces "{criterion}".
    """
    if not isinstance(block, dict) or not isinstance(block.get("criteria"), list | dict):
        yield block
        return
    criteria = block["criteria"]
    others = {key: value for key, value in block.items() if key != "criteria"}
    for name in criteria:
        text = criteria[name] if isinstance(criteria, dict) else name
        yield _replace_criterion(others, str(text)) | {"criterion": str(name)}


def _with_definitions(lists: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the blocks with the definition of their criterion, which one of them may have for all.

    Raises ValueError for two definitions of a criterion.
    """
    definitions: dict[str, Any] = {}
    for block in chain.from_iterable(lists.values()):
        name = _criterion(block)
        text = block.get("definition") if name else None
        if text and definitions.setdefault(name, text) != text:
            raise ValueError(f"criterion {name!r} has two definitions")
    return {
        kind: [
            block | {"definition": definitions[name]} if (name := _criterion(block)) in definitions else block
            for block in blocks
        ]
        for kind, blocks in lists.items()
    }


def _criterion(block: Any) -> str:
    """Return the criterion that a block of a draft names; empty if it names none."""
    name = block.get("criterion") if isinstance(block, dict) else None
    return name if isinstance(name, str) else ""


def _replace_criterion(value: Any, text: str) -> Any:
    match value:
        case str():
            return value.replace("{criterion}", text)
        case dict():
            return {_replace_criterion(key, text): _replace_criterion(inner, text) for key, inner in value.items()}
        case list():
            return [_replace_criterion(inner, text) for inner in value]
    return value


def _sources(value: Any) -> Iterator[FieldName | FieldOrTemplate]:
    """Yield the fields and templates in a part of a mapping, apart from the lists of `each`."""
    match value:
        case FieldName() | FieldOrTemplate():
            yield value
        case Ranking(of=FieldName() as path):  # the ranks are fields of its elements
            yield path
        case Frozen():
            yield from _sources([getattr(value, name) for name in type(value).model_fields if name != "each"])
        case dict():
            yield from _sources([*value, *value.values()])
        case list() | tuple():
            for part in value:
                yield from _sources(part)


def source_paths(value: Any) -> Iterator[FieldPath]:
    """Yield the field paths of a source, a block or another part of a mapping, also those in templates."""
    for source in _sources(value):
        is_plain = isinstance(source, FieldName) or not is_template(source)
        yield from [str(source)] if is_plain else template_fields(source)


def response_paths(response: ResponseFields) -> Iterator[FieldPath]:
    """Yield the field paths of a response; its system and name can be templates."""
    if response.each is not None:
        yield response.each
        return
    yield from source_paths(response)
    if response.name is not None and is_template(response.name):
        yield from template_fields(response.name)


# Fields of a mapping that say how rows become items, or that have blocks of their own.
NOT_OF_ROWS = ("explode", "parallel", "join", "responses", "labels", "judges", "gold")


def field_paths(mapping: Mapping) -> Iterator[FieldPath]:
    """Yield every field path of a row that the mapping reads, except the exploded list itself."""
    yield from source_paths([getattr(mapping, name) for name in Mapping.model_fields if name not in NOT_OF_ROWS])
    for response in mapping.responses:
        yield from response_paths(response)
    for block in (*mapping.labels, *mapping.judges, *mapping.gold):
        yield from [block.each] if block.each else source_paths(block)


def uses_field(mapping: Mapping, name: str) -> bool:
    """Return whether the mapping reads a field of a row, or a part of it."""
    return any(parse_path(path)[0] == name for path in field_paths(mapping))


def as_tuple(fields: Fields | None) -> tuple[Source, ...]:
    """Return one field or several as a tuple."""
    return (fields,) if isinstance(fields, str | Constant | Excerpt) else fields or ()


# Between the mappings of a file with values at several levels.
MAPPINGS_DIVIDER = re.compile(r"^---[ \t]*$", re.MULTILINE)


def load_mappings(path: Path) -> list[Mapping]:
    """Return the mappings in a YAML or JSON file; raises FileFormatError with the line or the field."""
    return parse_mappings(read_text(path))


def parse_mappings(text: str) -> list[Mapping]:
    """Return the mappings in a text, between lines of `---`; one in a block of code is the reply of a model, and not
    confirmed.

    Raises FileFormatError with the line or the field.
    """
    # Imported here and below: reading a table with an existing mapping does not need YAML.
    from core.answers.text import without_reasoning
    from core.formats.plain_yaml import unfenced

    own = unfenced(without_reasoning(text) if "```" in text else text)
    found, lines = [], 0
    parts = [part for part in MAPPINGS_DIVIDER.split(own) if part.strip()] or [own]
    for number, part in enumerate(parts, 1):
        try:
            found.append(_parse_mapping("\n" * lines + part))  # errors have the line of the whole text
        except FileFormatError as error:
            if len(parts) == 1:
                raise
            raise FileFormatError(f"mapping {number}: {error}") from None
        lines += part.count("\n")
    return found if own == text else [with_proposed(mapping, is_proposed=True) for mapping in found]


def _parse_mapping(text: str) -> Mapping:
    """Return the mapping in a text; raises FileFormatError with the line and the field."""
    from core.formats.plain_yaml import line_of, parse_fields

    fields = parse_fields(text)
    try:
        return build_mapping(fields)
    except FileFormatError as error:
        line = line_of(text, error.field) if error.field else None
        raise FileFormatError(error.expected, line=line, field=error.field) from None


def build_mapping(draft: Any) -> Mapping:
    """Return the mapping described by a draft, from a form or a file; raises FileFormatError with the field."""
    mapping: Mapping = validated(Mapping, draft)
    return mapping


def with_proposed(mapping: Mapping, *, is_proposed: bool) -> Mapping:
    """Return a mapping that a model wrote and nobody has confirmed, or one that is confirmed as a whole."""
    draft, state = draft_of(mapping), {"proposed": is_proposed, "confirmed": not is_proposed}
    for name in ("labels", "judges", "gold"):
        draft |= {name: [block | state for block in draft[name]]} if name in draft else {}
    return build_mapping(draft | {"confirmed": not is_proposed})


def dump_mapping(mapping: Mapping) -> str:
    """Return the mapping as YAML; `load_mappings` reads it back equal."""
    from core.formats.plain_yaml import dump_fields

    return dump_fields(draft_of(mapping))


def draft_of(mapping: Mapping) -> dict[str, Any]:
    """Return the fields of a mapping that differ from the defaults; `build_mapping` reads them back equal."""
    draft = mapping.model_dump(mode="json", exclude_defaults=True)
    for name in ("join", "explode"):
        if len(draft.get(name, ())) == 1:
            draft[name] = draft[name][0]
    return draft
