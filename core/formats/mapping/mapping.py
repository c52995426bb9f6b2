"""A mapping assigns the fields of a table to items and labels. Users write it in YAML or on the Studies page.

docs/mappings documents every field, with an example of each layout.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from core.critiques import CritiqueRole, CritiqueSource
from core.formats.mapping.cells import format_value
from core.formats.mapping.fields import is_template, parse_path, template_fields
from core.formats.mapping.scope import Constant, Source
from core.formats.text import read_text
from core.formats.validation_errors import to_file_format_error
from core.frozen import Frozen
from core.labels import PREFERENCE, Scale, Value

FieldPath = str
"""A dotted field path."""
Fields = Source | tuple[Source, ...]
"""One field path or constant, or several whose texts are joined with a blank line between them."""
TableKind = Literal["preference", "score", "aspect_quality", "likert", "answer"]
"""Kinds of labels with one value per cell. Weights and AIUs have parts, and their own readers."""


class ResponseFields(Frozen):
    """One response of an item."""

    text: FieldPath | None = None
    """Without it the response is only an image."""
    system: FieldPath | None = None
    """The field that names the system, or a template such as "{element}"."""
    name: str | None = None
    """The system's name, if it is the same in all rows, or a template."""
    image: FieldPath | None = None
    optional: bool = False
    """Whether rows may lack it; an empty text of a response that is not optional is an empty answer."""

    @model_validator(mode="after")
    def _check_system(self) -> Self:
        if self.text is None and self.image is None:
            raise ValueError("a response needs a `text`, or an `image` if it is only an image")
        if self.system is not None and self.name is not None:
            raise ValueError("give `system` (a field) or `name` (the name itself), not both")
        return self


class Block(Frozen):
    """The targets of a block of labels, verdicts or gold, and their possible values."""

    kind: TableKind
    criterion: str = ""
    definition: str = ""
    scale: Scale = PREFERENCE
    values: dict[str, Value | None] = Field(default_factory=dict)
    """Text in the file -> value on the scale; null means no label."""

    @field_validator("values", mode="before")
    @classmethod
    def _format_keys(cls, values: Any) -> Any:
        return {format_value(key): value for key, value in values.items()} if isinstance(values, dict) else values

    @model_validator(mode="after")
    def _check_values(self) -> Self:
        _check_scale(self.kind, self.scale, "scale" in self.model_fields_set)
        for text, value in self.values.items():
            if value is not None and not self.scale.contains(value):
                raise ValueError(f"`values` turns {text!r} into {value!r}, which is not on the scale")
        return self


class LongLabels(Block):
    """One row per label."""

    layout: Literal["long"]
    annotator: FieldPath
    value: FieldPath
    criterion_field: FieldPath | None = None
    """The field that names the criterion, if it differs between rows."""
    reason: FieldPath | None = None
    seconds: FieldPath | None = None


class WideLabels(Block):
    """One column per annotator."""

    layout: Literal["wide"]
    annotators: dict[FieldPath, str] = Field(min_length=1)
    """Field -> annotator's name; in a list, each field is also the name."""

    @field_validator("annotators", mode="before")
    @classmethod
    def _from_list(cls, columns: Any) -> Any:
        return {str(column): str(column) for column in columns} if isinstance(columns, list) else columns


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

    def annotator_at(self, position: int) -> str:
        """Return the name of the annotator at a position, from 1, by the template."""
        return str(self.annotators).replace("{n}", str(position))


Labels = Annotated[LongLabels | WideLabels | ListLabels, Field(discriminator="layout")]


class JudgeBlock(Block):
    """Verdicts of judges, which are stored as recorded runs."""

    judge: Source | None = None
    """The judge's name, with `value`: one verdict per row."""
    value: FieldPath | None = None
    columns: dict[FieldPath, str] = Field(default_factory=dict)
    """Field -> judge's name; in a list, each field is also the name."""
    criterion_field: FieldPath | None = None
    run: str = ""
    """The run that the verdicts belong to. Default: one run per judge."""
    model: Source | None = None
    reason: FieldPath | None = None
    cost: FieldPath | None = None
    """Dollars."""
    order: FieldPath | None = None
    """The order in which the responses were shown, see `order_values`."""
    order_values: dict[str, tuple[int, ...]] = Field(default={"12": (1, 2), "21": (2, 1)})
    as_shown: bool = False
    """Whether a preference is the position in the order shown, instead of the response's own number."""
    swapped: FieldPath | None = None
    """The choice by position when the responses were shown in the other order; a choice that changes is no verdict."""
    stage: Literal["first", "last", "verdict"] = "verdict"

    @field_validator("columns", mode="before")
    @classmethod
    def _from_list(cls, columns: Any) -> Any:
        return {str(column): str(column) for column in columns} if isinstance(columns, list) else columns

    @field_validator("order_values", mode="before")
    @classmethod
    def _format_orders(cls, orders: Any) -> Any:
        return {format_value(key): order for key, order in orders.items()} if isinstance(orders, dict) else orders

    @model_validator(mode="after")
    def _check_judges(self) -> Self:
        if bool(self.columns) == (self.value is not None) or (self.value is None) != (self.judge is None):
            raise ValueError("give either `judge` and `value`, or `columns` (field: judge)")
        if self.kind != "preference" and (self.order or self.as_shown or self.swapped):
            raise ValueError("`order`, `as_shown` and `swapped` are for preferences")
        if any(sorted(order) != [1, 2] for order in self.order_values.values()):
            raise ValueError("`order_values` are [1, 2] or [2, 1]")
        if self.as_shown and self.order is None:
            raise ValueError("`as_shown` needs `order`: the field with the order of the responses")
        if self.swapped and self.columns:
            raise ValueError("`swapped` needs `judge` and `value`: write a block for each judge")
        return self


class GoldBlock(Block):
    """Gold values of the file, which are stored as adjudications."""

    value: FieldPath
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
    """A second file whose fields are available as `joined.<name>`."""

    file: str
    """Its name, in the folder of the table."""
    key: FieldPath | None = None
    """The field of the table that names the second file's row; without it rows are joined by their number."""
    other_key: FieldPath | None = None
    """The field of the second file; by default the same."""

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
        return self


class Mapping(Frozen):
    """The fields of a table's items, labels, verdicts and gold."""

    id: Source
    prompt: Fields | None = None
    responses: tuple[ResponseFields, ...] = ()
    context: Fields | None = None
    reference: Fields | None = None
    scenario: Source | None = None
    group: Source | tuple[FieldPath, ...] | None = None
    """The dialogue or document. Several fields: rows in which all of them are equal are one group."""
    explode: FieldPath | None = None
    """A field with a list or an object: each element becomes an item, with access to the fields of its row. "*" is the
    record itself, and "*.*" the lists in it."""
    separator: str | None = Field(default=None, min_length=1, max_length=1)
    """The character between the cells of a .csv, .tsv or .tab file; by default it is detected."""
    join: Join | None = None
    aspects: FieldPath | AspectFields | None = None
    """The field with the aspects to judge an item by: a list, or text."""
    critiques: tuple[CritiqueFields, ...] = ()
    labels: tuple[Labels, ...] = ()
    judges: tuple[JudgeBlock, ...] = ()
    gold: tuple[GoldBlock, ...] = ()
    weights: tuple[WeightsBlock, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _expand_criteria(cls, draft: Any) -> Any:
        if not isinstance(draft, dict):
            return draft
        lists = {name: draft[name] for name in ("labels", "judges", "gold") if isinstance(draft.get(name), list)}
        expanded = {name: [part for block in blocks for part in _by_criterion(block)] for name, blocks in lists.items()}
        return draft | expanded

    @model_validator(mode="after")
    def _check_paths(self) -> Self:
        for path in field_paths(self):
            parse_path(path)
        if sorted(self.responses, key=lambda response: response.optional) != list(self.responses):
            raise ValueError("optional `responses` come last, or the others would change their numbers")
        if self.explode is None and any("{element}" in template for template in self._templates()):
            raise ValueError("`{element}` is the number or the key of an exploded element: add `explode`")
        if self.separator is not None and self.separator in '"\r\n ':
            raise ValueError("`separator` is a character such as ; and no blank, quote or line end")
        if self.prompt is None and not self.responses:
            raise ValueError("an item needs a `prompt` or `responses`")
        return self

    def _templates(self) -> Iterator[str]:
        """Yield the sources in which {element} is replaced."""
        names = [name for response in self.responses for name in (response.system, response.name)]
        sources = (self.id, self.scenario, *as_tuple(self.group), *names)
        yield from (source for source in sources if isinstance(source, str))


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


def _replace_criterion(value: Any, text: str) -> Any:
    match value:
        case str():
            return value.replace("{criterion}", text)
        case dict():
            return {_replace_criterion(key, text): _replace_criterion(inner, text) for key, inner in value.items()}
        case list():
            return [_replace_criterion(inner, text) for inner in value]
    return value


def source_paths(source: Source | None) -> Iterator[FieldPath]:
    """Yield the field paths of a source."""
    if isinstance(source, str):
        yield from template_fields(source) if is_template(source) else [source]


def response_paths(response: ResponseFields) -> Iterator[FieldPath]:
    """Yield the field paths of a response; its system and name can be templates."""
    yield from filter(None, (response.text, response.image))
    yield from source_paths(response.system)
    if response.name is not None and is_template(response.name):
        yield from template_fields(response.name)


def field_paths(mapping: Mapping) -> Iterator[FieldPath]:
    """Yield every field path that the mapping reads, except the exploded list itself."""
    for source in (mapping.id, mapping.scenario, *as_tuple(mapping.group)):
        yield from source_paths(source)
    for fields in (mapping.prompt, mapping.context, mapping.reference):
        yield from (field for field in as_tuple(fields) if isinstance(field, str))
    for response in mapping.responses:
        yield from response_paths(response)
    for labels in mapping.labels:
        yield from _label_sources(labels)
    yield from _other_sources(mapping)


def _other_sources(mapping: Mapping) -> Iterator[FieldPath]:
    if mapping.aspects is not None:
        yield mapping.aspects.field if isinstance(mapping.aspects, AspectFields) else mapping.aspects
    for critique in mapping.critiques:
        yield from filter(None, (critique.text, critique.aius, *source_paths(critique.author)))
    for block in mapping.judges:
        yield from block.columns
        fields = (block.value, block.criterion_field, block.reason, block.cost, block.order, block.swapped)
        yield from filter(None, (*fields, *source_paths(block.judge), *source_paths(block.model)))
    for gold in mapping.gold:
        yield from (gold.value, *source_paths(gold.adjudicator), *source_paths(gold.reason))
    for weights in mapping.weights:
        yield from (*weights.aspects.values(), *source_paths(weights.annotator), *source_paths(weights.judge))
        yield from filter(None, (weights.aspects_field, weights.value))


def as_tuple(fields: Fields | None) -> tuple[Source, ...]:
    """Return one field or several as a tuple."""
    return (fields,) if isinstance(fields, str | Constant) else fields or ()


def load_mapping(path: Path) -> Mapping:
    """Return the mapping in a YAML or JSON file; raises FileFormatError with the line or the field."""
    # Imported here and below: reading a table with an existing mapping does not need YAML.
    from core.formats.plain_yaml import parse_fields

    return build_mapping(parse_fields(read_text(path)))


def build_mapping(draft: Any) -> Mapping:
    """Return the mapping described by a draft, from a form or a file; raises FileFormatError with the field."""
    try:
        return Mapping.model_validate(draft)
    except ValidationError as error:
        raise to_file_format_error(error) from None


def dump_mapping(mapping: Mapping) -> str:
    """Return the mapping as YAML; `load_mapping` reads it back equal."""
    import yaml

    fields = mapping.model_dump(mode="json", exclude_defaults=True)
    return yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=100)


def _label_sources(labels: LongLabels | WideLabels | ListLabels) -> Iterator[FieldPath]:
    paths: tuple[FieldPath | None, ...]
    match labels:
        case LongLabels():
            paths = (labels.annotator, labels.value, labels.criterion_field, labels.reason, labels.seconds)
        case WideLabels():
            paths = tuple(labels.annotators)
        case ListLabels():
            paths = (labels.value, labels.annotators_field)
    yield from filter(None, paths)


def _check_scale(kind: str, scale: Scale, declared: bool) -> None:
    if kind == "preference" and not set(scale.categories) <= set(PREFERENCE.categories):
        raise ValueError("a preference is 1, 2 or 0 for a tie: translate the file's values with `values`")
    if kind != "preference" and not declared:
        raise ValueError(f"a {kind} needs a `scale`: a level, and categories or low and high")
    if not scale.categories and (scale.low is None or scale.high is None):
        raise ValueError("a `scale` needs categories, lowest first, or low and high")
