"""A mapping assigns the fields of a table to items and labels. Users write it in YAML or on the Studies page.

docs/mappings documents every field, with an example of each layout.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from core.formats.mapping.cells import format_value
from core.formats.mapping.fields import is_template, parse_path, template_fields
from core.formats.text import read_text
from core.formats.validation_errors import to_file_refused
from core.frozen import Frozen
from core.labels import PREFERENCE, Scale, Value

FieldPath = str
"""A dotted field path."""
Source = str
"""A field path, or a template such as "{dialogue}-{element}"."""
Fields = str | tuple[str, ...]
"""One field path, or several whose texts are joined with a blank line between them."""
TableKind = Literal["preference", "score", "aspect_quality", "likert", "answer"]
"""Kinds of labels with one value per cell. Weights and AIUs have parts, and readers of their own."""


class ResponseFields(Frozen):
    """One response of an item."""

    text: FieldPath
    system: FieldPath | None = None
    """The field that names the system."""
    name: str | None = None
    """The system's name, where it is the same in all rows."""
    image: FieldPath | None = None
    optional: bool = False
    """Whether rows may lack it; an empty text of a response that is not optional is an empty answer."""

    @model_validator(mode="after")
    def _check_system(self) -> Self:
        if self.system is not None and self.name is not None:
            raise ValueError("give `system` (a field) or `name` (the name itself), not both")
        return self


class _Labels(Frozen):
    """The targets of a block of labels, and their possible values."""

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


class LongLabels(_Labels):
    """One row per label."""

    layout: Literal["long"]
    annotator: FieldPath
    value: FieldPath
    criterion_field: FieldPath | None = None
    """The field that names the criterion, where it differs between rows."""
    reason: FieldPath | None = None
    seconds: FieldPath | None = None


class WideLabels(_Labels):
    """One column per annotator."""

    layout: Literal["wide"]
    annotators: dict[FieldPath, str] = Field(min_length=1)
    """Field -> annotator's name; in a list, each field is also the name."""

    @field_validator("annotators", mode="before")
    @classmethod
    def _from_list(cls, columns: Any) -> Any:
        return {str(column): str(column) for column in columns} if isinstance(columns, list) else columns


class ListLabels(_Labels):
    """A list in a cell: position i is the value of annotator i."""

    layout: Literal["list"]
    value: FieldPath
    annotators: tuple[str, ...] = ()
    annotators_field: FieldPath | None = None
    """The field with the list of names, where it differs between rows."""
    separator: str | None = None
    """Separates the values where the list is text; without it the text is parsed as JSON."""

    @model_validator(mode="after")
    def _check_annotators(self) -> Self:
        if bool(self.annotators) == (self.annotators_field is not None):
            raise ValueError("give either `annotators` (the names) or `annotators_field` (the field that holds them)")
        if len(set(self.annotators)) < len(self.annotators):
            raise ValueError("`annotators` contains a name twice")
        return self


Labels = Annotated[LongLabels | WideLabels | ListLabels, Field(discriminator="layout")]


class Mapping(Frozen):
    """The fields of a table's items and labels."""

    id: Source
    prompt: Fields
    responses: tuple[ResponseFields, ...] = Field(min_length=1)
    context: Fields | None = None
    reference: Fields | None = None
    scenario: Source | None = None
    group: Source | tuple[FieldPath, ...] | None = None
    """The dialogue or document. Several fields: rows in which all of them are equal are one group."""
    explode: FieldPath | None = None
    """A field with a list: each element becomes an item, with access to the fields of its row."""
    labels: tuple[Labels, ...] = ()

    @model_validator(mode="after")
    def _check_paths(self) -> Self:
        for path in field_paths(self):
            parse_path(path)
        if sorted(self.responses, key=lambda response: response.optional) != list(self.responses):
            raise ValueError("optional `responses` come last, or the others would change their numbers")
        return self


def field_paths(mapping: Mapping) -> Iterator[FieldPath]:
    """Yield every field path that the mapping reads, except the exploded list itself."""
    for source in (mapping.id, mapping.scenario, *as_tuple(mapping.group)):
        if source is not None:
            yield from template_fields(source) if is_template(source) else [source]
    for fields in (mapping.prompt, mapping.context, mapping.reference):
        yield from as_tuple(fields)
    for response in mapping.responses:
        yield from filter(None, (response.text, response.system, response.image))
    for labels in mapping.labels:
        yield from _label_sources(labels)


def as_tuple(fields: Fields | None) -> tuple[str, ...]:
    """Return one field or several as a tuple."""
    return (fields,) if isinstance(fields, str) else fields or ()


def load_mapping(path: Path) -> Mapping:
    """Return the mapping in a YAML or JSON file; raises FileRefused with the line or the field."""
    # Imported here and below: reading a table with an existing mapping does not need YAML.
    from core.formats.plain_yaml import parse_fields

    return build_mapping(parse_fields(read_text(path)))


def build_mapping(draft: Any) -> Mapping:
    """Return the mapping described by a draft, from a form or a file; raises FileRefused with the field."""
    try:
        return Mapping.model_validate(draft)
    except ValidationError as error:
        raise to_file_refused(error) from None


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
