"""A mapping: in whose fields a table's items and labels stand. Written by a person, in YAML or on the page.

See docs/mappings for the words, with an example of each layout.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from core.formats.mapping.cells import word
from core.formats.mapping.fields import blanks, is_template, steps
from core.formats.text import whole
from core.formats.validation_errors import refused
from core.frozen import Frozen
from core.labels import PREFERENCE, Scale, Value

FieldPath = str
"""A dotted field path."""
Source = str
"""A field path, or a template such as "{dialogue}-{element}"."""
Fields = str | tuple[str, ...]
"""One field path, or several whose texts are joined by a blank line."""
TableKind = Literal["preference", "score", "aspect_quality", "likert", "answer"]
"""What one cell can say. Weights and AIUs have parts and come with readers of their own."""


class ResponseFields(Frozen):
    """One response of an item."""

    text: FieldPath
    system: FieldPath | None = None
    """The field that names the system."""
    name: str | None = None
    """The system's name, where it is the same in every row."""
    image: FieldPath | None = None
    optional: bool = False
    """Whether a row may lack it; without this an empty text is a system that answered nothing."""

    @model_validator(mode="after")
    def _one_name(self) -> Self:
        if self.system is not None and self.name is not None:
            raise ValueError("give `system` (a field) or `name` (the name itself), not both")
        return self


class _Labels(Frozen):
    """What the labels of a block are about, and the values that may occur."""

    kind: TableKind
    criterion: str = ""
    definition: str = ""
    scale: Scale = PREFERENCE
    values: dict[str, Value | None] = Field(default_factory=dict)
    """What is written -> the value on the scale; null means that it is no label."""

    @field_validator("values", mode="before")
    @classmethod
    def _spelled(cls, values: Any) -> Any:
        return {word(key): value for key, value in values.items()} if isinstance(values, dict) else values

    @model_validator(mode="after")
    def _declared(self) -> Self:
        _check_scale(self.kind, self.scale, "scale" in self.model_fields_set)
        for written, value in self.values.items():
            if value is not None and not self.scale.holds(value):
                raise ValueError(f"`values` turns {written!r} into {value!r}, which is not on the scale")
        return self


class LongLabels(_Labels):
    """One row a label."""

    layout: Literal["long"]
    annotator: FieldPath
    value: FieldPath
    criterion_field: FieldPath | None = None
    """The field that names the criterion, where it is not the same in every row."""
    reason: FieldPath | None = None
    seconds: FieldPath | None = None


class WideLabels(_Labels):
    """One column an annotator."""

    layout: Literal["wide"]
    annotators: dict[FieldPath, str] = Field(min_length=1)
    """Field -> the annotator's name; as a list, each field is the name."""

    @field_validator("annotators", mode="before")
    @classmethod
    def _named(cls, columns: Any) -> Any:
        return {str(column): str(column) for column in columns} if isinstance(columns, list) else columns


class ListLabels(_Labels):
    """A list in a cell: the value at position i is annotator i's."""

    layout: Literal["list"]
    value: FieldPath
    annotators: tuple[str, ...] = ()
    annotators_field: FieldPath | None = None
    """The field that holds the list of names, where it is not the same in every row."""
    separator: str | None = None
    """What stands between the values where the list is text; without it the text is read as JSON."""

    @model_validator(mode="after")
    def _who(self) -> Self:
        if bool(self.annotators) == (self.annotators_field is not None):
            raise ValueError("give either `annotators` (the names) or `annotators_field` (the field that holds them)")
        if len(set(self.annotators)) < len(self.annotators):
            raise ValueError("`annotators` names somebody twice")
        return self


Labels = Annotated[LongLabels | WideLabels | ListLabels, Field(discriminator="layout")]


class Mapping(Frozen):
    """In whose fields items and labels stand."""

    id: Source
    prompt: Fields
    responses: tuple[ResponseFields, ...] = Field(min_length=1)
    context: Fields | None = None
    reference: Fields | None = None
    scenario: Source | None = None
    group: Source | tuple[FieldPath, ...] | None = None
    """The dialogue or document; several fields make one group of all rows in which they are the same."""
    explode: FieldPath | None = None
    """A field that holds a list: each element becomes an item, and the row's own fields stay in reach."""
    labels: tuple[Labels, ...] = ()

    @model_validator(mode="after")
    def _paths(self) -> Self:
        for path in sources(self):
            steps(path)
        if sorted(self.responses, key=lambda response: response.optional) != list(self.responses):
            raise ValueError("`responses` that are optional stand last, or the others would change places")
        return self


def sources(mapping: Mapping) -> Iterator[FieldPath]:
    """Every field path that the mapping reads, except the exploded list itself."""
    for source in (mapping.id, mapping.scenario, *several(mapping.group)):
        if source is not None:
            yield from blanks(source) if is_template(source) else [source]
    for fields in (mapping.prompt, mapping.context, mapping.reference):
        yield from several(fields)
    for response in mapping.responses:
        yield from filter(None, (response.text, response.system, response.image))
    for labels in mapping.labels:
        yield from _label_sources(labels)


def several(fields: Fields | None) -> tuple[str, ...]:
    """One field or several, as several."""
    return (fields,) if isinstance(fields, str) else fields or ()


def load(path: Path) -> Mapping:
    """The mapping in a YAML or JSON file; raises FileRefused with the line or the field."""
    from core.formats.plain_yaml import fields_of

    return build(fields_of(whole(path)))


def build(draft: Any) -> Mapping:
    """The mapping that a draft describes: the page's choices, or a file's; raises FileRefused with the field."""
    try:
        return Mapping.model_validate(draft)
    except ValidationError as error:
        raise refused(error) from None


def dump(mapping: Mapping) -> str:
    """YAML that `load` reads back equal, for a person to keep and for the command line."""
    import yaml

    fields = mapping.model_dump(mode="json", exclude_defaults=True)
    return yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=100)


def _label_sources(labels: LongLabels | WideLabels | ListLabels) -> Iterator[FieldPath]:
    chosen: tuple[FieldPath | None, ...]
    match labels:
        case LongLabels():
            chosen = (labels.annotator, labels.value, labels.criterion_field, labels.reason, labels.seconds)
        case WideLabels():
            chosen = tuple(labels.annotators)
        case ListLabels():
            chosen = (labels.value, labels.annotators_field)
    yield from filter(None, chosen)


def _check_scale(kind: str, scale: Scale, declared: bool) -> None:
    if kind == "preference" and not set(scale.categories) <= set(PREFERENCE.categories):
        raise ValueError("a preference is 1, 2 or 0 for a tie: translate what the file says with `values`")
    if kind != "preference" and not declared:
        raise ValueError(f"a {kind} needs a `scale`: a level, and categories or low and high")
    if not scale.categories and (scale.low is None or scale.high is None):
        raise ValueError("a `scale` needs categories, lowest first, or low and high")
