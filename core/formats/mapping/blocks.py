"""The blocks of a mapping: responses, labels, judges, gold, critiques, weights, aspects, and a second file."""

import math
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from core.critiques import CritiqueRole, CritiqueSource
from core.formats.mapping.cells import format_value
from core.formats.mapping.sources import Comparison, Constant, Excerpt, FieldPath, Source, SystemName, ValueSource
from core.frozen import Frozen
from core.labels import PREFERENCE, Scale, Value

TableKind = Literal["preference", "score", "aspect_quality", "likert", "answer"]
"""Kinds of labels with one value per cell. Weights and AIUs have parts, and their own readers."""
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""The name of an annotator or a judge, without surrounding blanks."""


class ResponseFields(Frozen):
    """One response of an item."""

    text: FieldPath | Excerpt | None = None
    """Without it the response is only an image."""
    system: FieldPath | None = None
    """The field that names the system, or a template such as "{element}"."""
    name: str | None = None
    """The system's name, if it is the same in all rows, or a template."""
    image: FieldPath | None = None
    optional: bool = False
    """Whether rows may lack it; an empty text of a response that is not optional is an empty answer."""
    each: FieldPath | None = None
    """A list or an object in the row: each of its elements, whose fields are named here, is a response."""

    @model_validator(mode="after")
    def _check_system(self) -> Self:
        if self.text is None and self.image is None:
            raise ValueError("a response needs a `text`, or an `image` if it is only an image")
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
    values: dict[str, Value | None] = Field(default_factory=dict)
    """Text in the file -> value on the scale; null means no label."""
    each: FieldPath | None = None
    """A list or an object in the row: the block is read once for each of its elements, whose fields it names."""
    confirmed: bool = True
    """Whether a person has stated what the file does not: a suggestion leaves it open (see `confirmation`)."""

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
        if self.kind != "preference" and isinstance(getattr(self, "value", None), Comparison | SystemName):
            raise ValueError(f"`compare` and `system` give a preference, not a {self.kind}")
        return self


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
    annotators: dict[FieldPath, Name] = Field(min_length=1)
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
    columns: dict[FieldPath, Name] = Field(default_factory=dict)
    """Field -> judge's name; in a list, each field is also the name."""
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
        values = sum((bool(self.columns), self.value is not None, self.ranking is not None))
        if values != 1 or bool(self.columns) == (self.judge is not None):
            raise ValueError("give either `judge` and `value` or `ranking`, or `columns` (field: judge)")
        if self.ranking and (self.kind != "preference" or self.as_shown or self.swapped):
            raise ValueError("a `ranking` gives preferences between the responses' own numbers")
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


def _check_scale(kind: str, scale: Scale, declared: bool) -> None:
    if kind == "preference" and not set(scale.categories) <= set(PREFERENCE.categories):
        raise ValueError("a preference is 1, 2 or 0 for a tie: translate the file's values with `values`")
    if kind != "preference" and not declared:
        raise ValueError(f"a {kind} needs a `scale`: a level, and categories or low and high")
    if not scale.categories and (scale.low is None or scale.high is None):
        raise ValueError("a `scale` needs categories, lowest first, or low and high")
    if not all(math.isfinite(end) for end in (scale.low, scale.high) if end is not None):
        raise ValueError("the `low` and `high` of a scale are finite numbers")
