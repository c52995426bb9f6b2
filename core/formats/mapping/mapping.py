"""A mapping assigns the fields of a table to items and labels. Users write it in YAML or on the Studies page.

docs/mappings documents every field, with an example of each layout.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from core.formats.mapping.blocks import (
    AspectFields,
    CritiqueFields,
    GoldBlock,
    Join,
    JudgeBlock,
    Labels,
    ListLabels,
    LongLabels,
    Ranking,
    RankingLabels,
    ResponseFields,
    WeightsBlock,
    WideLabels,
)
from core.formats.mapping.cells import format_value
from core.formats.mapping.fields import BLANK, is_template, parse_path, template_fields
from core.formats.mapping.sources import Constant, Excerpt, FieldPath, Source, ValueSource, source_paths, value_paths
from core.formats.text import read_text
from core.formats.validation_errors import to_file_format_error
from core.frozen import Frozen

Fields = Source | tuple[Source, ...]
"""One source of text, or several whose texts are joined with a blank line between them."""


class Mapping(Frozen):
    """The fields of a table's items, labels, verdicts and gold."""

    id: Source
    prompt: Fields | None = None
    responses: tuple[ResponseFields, ...] = ()
    image: FieldPath | None = None
    """An image that is part of the prompt."""
    context: Fields | None = None
    reference: Fields | None = None
    scenario: Source | None = None
    group: Source | tuple[FieldPath, ...] | None = None
    """The dialogue or document. Several fields: rows in which all of them are equal are one group."""
    explode: tuple[FieldPath, ...] = ()
    """A field with a list or an object: each element becomes an item, with access to the fields of its row. "*" is the
    record itself, and "*.*" the lists in it. Several: lists in the elements of lists, the outer one first."""
    where: dict[FieldPath, str | tuple[str, ...]] = Field(default_factory=dict)
    """Field -> its values in the rows to import; other rows are left out."""
    where_not: dict[FieldPath, str | tuple[str, ...]] = Field(default_factory=dict)
    """Field -> its values in the rows to leave out."""
    separator: str | None = Field(default=None, min_length=1, max_length=1)
    """The character between the cells of a .csv, .tsv or .tab file; by default it is detected."""
    quotes: bool | None = None
    """Whether quotation marks enclose cells of delimited text; by default it is detected."""
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

    @field_validator("where", "where_not", mode="before")
    @classmethod
    def _format_values(cls, where: Any) -> Any:
        if not isinstance(where, dict):
            return where
        listed = {field: value if isinstance(value, list | tuple) else [value] for field, value in where.items()}
        return {str(field): [format_value(value) for value in values] for field, values in listed.items()}

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
        blocks = (*self.labels, *self.judges, *self.gold)
        names = [join.name for join in self.join]
        if len(set(names)) < len(names):
            raise ValueError("two files of `join` have the same `name`")
        for path in (*field_paths(self), *(path for block in blocks for path in block_paths(block))):
            parse_path(path)
        if sorted(self.responses, key=lambda response: response.optional) != list(self.responses):
            raise ValueError("optional `responses` come last, or the others would change their numbers")
        templates = [*self._templates(), *(text for block in blocks if not block.each for text in _names(block))]
        if not self.explode and any(is_template(text) and "element" in BLANK.findall(text) for text in templates):
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

    def _templates(self) -> Iterator[str]:
        """Yield the sources in which {element} is replaced."""
        names = [name for response in self.responses for name in (response.system, response.name)]
        sources = (self.id, self.scenario, *as_tuple(self.group), *names)
        yield from (source for source in sources if isinstance(source, str))


def _names(block: Labels | JudgeBlock | GoldBlock) -> Iterator[str]:
    """Yield the sources of a block's names, in which {element} is replaced."""
    for field in ("annotator", "criterion_field", "judge", "model", "adjudicator"):
        if isinstance(source := getattr(block, field, None), str):
            yield source


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


def response_paths(response: ResponseFields) -> Iterator[FieldPath]:
    """Yield the field paths of a response; its system and name can be templates."""
    if response.each is not None:
        yield response.each
        return
    for source in (response.text, response.image):
        yield from value_paths(source)
    yield from source_paths(response.system)
    if response.name is not None and is_template(response.name):
        yield from template_fields(response.name)


def field_paths(mapping: Mapping) -> Iterator[FieldPath]:
    """Yield every field path of a row that the mapping reads, except the exploded list itself."""
    yield from _name_paths(mapping)
    for source in chain.from_iterable(map(as_tuple, (mapping.prompt, mapping.context, mapping.reference))):
        yield from value_paths(source)
    yield from filter(None, (mapping.image,))
    for response in mapping.responses:
        yield from response_paths(response)
    yield from (*mapping.where, *mapping.where_not)
    if mapping.aspects is not None:
        yield mapping.aspects.field if isinstance(mapping.aspects, AspectFields) else mapping.aspects
    for critique in mapping.critiques:
        yield from filter(None, (critique.text, critique.aius, *source_paths(critique.author)))
    for weights in mapping.weights:
        yield from (*weights.aspects.values(), *source_paths(weights.annotator), *source_paths(weights.judge))
        yield from filter(None, (weights.aspects_field, weights.value))
    for block in (*mapping.labels, *mapping.judges, *mapping.gold):
        yield from [block.each] if block.each else block_paths(block)


def _name_paths(mapping: Mapping) -> Iterator[FieldPath]:
    yield from source_paths(mapping.id)
    yield from source_paths(mapping.scenario)
    yield from mapping.group if isinstance(mapping.group, tuple) else source_paths(mapping.group)


def block_paths(block: Labels | JudgeBlock | GoldBlock) -> Iterator[FieldPath]:
    """Yield the field paths that a block reads in each row, or in each element of its `each`."""
    names, values = _block_sources(block)
    for name in names:
        yield from source_paths(name)
    for value in values:
        yield from value_paths(value)


def _block_sources(
    block: Labels | JudgeBlock | GoldBlock,
) -> tuple[tuple[Source | None, ...], tuple[ValueSource | None, ...]]:
    """Return the sources that can be templates, and the others."""
    match block:
        case LongLabels():
            return (block.annotator, block.criterion_field), (block.value, block.reason, block.seconds)
        case WideLabels():
            return (), tuple(block.annotators)
        case ListLabels():
            return (), (block.value, block.annotators_field)
        case RankingLabels():
            return (block.annotator,), (block.reason, *ranking_paths(block.ranking))
        case JudgeBlock():
            values = (*block.columns, block.value, block.reason, block.cost, block.order, block.swapped)
            return (block.criterion_field, block.judge, block.model), (*values, *ranking_paths(block.ranking))
        case GoldBlock():
            return (block.criterion_field, block.adjudicator, block.reason), (block.value,)


def ranking_paths(ranking: Ranking | None) -> tuple[FieldPath, ...]:
    """Return the field paths of a ranking, without those of the elements of its list."""
    if ranking is None:
        return ()
    if ranking.of is not None:
        return (ranking.of,)
    return ranking.ranks if isinstance(ranking.ranks, tuple) else (ranking.ranks,)


def as_tuple(fields: Fields | None) -> tuple[Source, ...]:
    """Return one field or several as a tuple."""
    return (fields,) if isinstance(fields, str | Constant | Excerpt) else fields or ()


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
    from core.formats.plain_yaml import dump_fields

    return dump_fields(draft_of(mapping))


def draft_of(mapping: Mapping) -> dict[str, Any]:
    """Return the fields of a mapping that differ from the defaults; `build_mapping` reads them back equal."""
    draft = mapping.model_dump(mode="json", exclude_defaults=True)
    for name in ("join", "explode"):
        if len(draft.get(name, ())) == 1:
            draft[name] = draft[name][0]
    return draft
