"""What a mapping can refer to: a field, a template, a constant, a part of a text, or a comparison of two numbers."""

from collections.abc import Iterator
from typing import Self

from pydantic import Field, model_validator

from core.formats.mapping.fields import is_template, template_fields
from core.frozen import Frozen

FieldPath = str
"""A dotted field path."""


class Constant(Frozen):
    """A text that is the same in all rows, written as `{constant: text}`."""

    constant: str


class Excerpt(Frozen):
    """A part of a field's text, written as `{field: output, after_last: "[RESULT]"}`."""

    field: FieldPath
    after_last: str | None = Field(default=None, min_length=1)
    """Only the text after the last occurrence; a text without it is empty."""
    before_last: str | None = Field(default=None, min_length=1)
    """Only the text before the last occurrence (in what `after_last` leaves); a text without it is empty."""
    remove: tuple[str, ...] = ()
    """Texts that are removed wherever they occur, such as marks."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.after_last is None and self.before_last is None and not any(self.remove):
            raise ValueError("a part of a field needs `after_last`, `before_last` or `remove`")
        return self

    def cut(self, text: str) -> str:
        """Return the part of a text, without surrounding blanks if it was cut."""
        if self.after_last is not None:
            text = text.rpartition(self.after_last)[2].strip() if self.after_last in text else ""
        if self.before_last is not None:
            text = text.rpartition(self.before_last)[0].strip()
        for part in filter(None, self.remove):
            text = text.replace(part, "")
        return text


class Comparison(Frozen):
    """A preference from two numbers, written as `{compare: [score_a, score_b]}`: the higher one is preferred."""

    compare: tuple["FieldPath | Constant", "FieldPath | Constant"]
    margin: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Numbers that differ by no more are a tie."""
    lower_is_better: bool = False


class SystemName(Frozen):
    """A preference for the response of a system, written as `{system: winner}`: the field has the system's name."""

    system: FieldPath


Source = FieldPath | Constant | Excerpt
"""A field path, a template such as "{dialogue}-{element}", a constant, or a part of a field."""
ValueSource = FieldPath | Constant | Excerpt | Comparison | SystemName
"""Where a value is: a field path, a part of a field, a comparison, a system's name, or a constant of all rows."""


def source_paths(source: ValueSource | None) -> Iterator[FieldPath]:
    """Yield the field paths of a source that can be a template."""
    if isinstance(source, str) and is_template(source):
        yield from template_fields(source)
    else:
        yield from value_paths(source)


def value_paths(source: ValueSource | None) -> Iterator[FieldPath]:
    """Yield the field paths of a source that cannot be a template: a field in braces is part of the path."""
    match source:
        case str():
            yield source
        case Excerpt():
            yield source.field
        case SystemName():
            yield source.system
        case Comparison():
            yield from (side for side in source.compare if isinstance(side, str))


def source_name(source: ValueSource | None) -> str:
    """Return the name of a source in messages."""
    match source:
        case Constant(constant=text):
            return text
        case Excerpt(field=path) | SystemName(system=path):
            return path
        case Comparison(compare=sides):
            return " and ".join(source_name(side) for side in sides)
    return source or ""
