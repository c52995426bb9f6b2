"""The base of all domain values: immutable, so a stored judgement, request or reply cannot change later.

Also their texts, without what databases, servers and files refuse.
"""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, BeforeValidator, ConfigDict


class Frozen(BaseModel):
    """An immutable value: equal when its fields are equal; an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def accept_former_values(values: Mapping[str, str]) -> BeforeValidator:
    """Return a validator that replaces former values of a field: {former value: value}."""

    def replace(value: Any) -> Any:
        return values.get(value, value) if isinstance(value, str) else value

    return BeforeValidator(replace)


# Text without NUL and without half of a surrogate pair. Models and people can send both; such characters are replaced
# where a text is decoded, so that what is stored, shown, hashed and sent is one text.

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def valid_text(text: str) -> str:
    """Return the text with the replacement character for each NUL and each half of a surrogate pair."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", REPLACEMENT)


def valid_texts(value: Any) -> Any:
    """Return JSON-like data with valid texts, those in names too."""
    match value:
        case str():
            return valid_text(value)
        case dict():
            return {valid_texts(name): valid_texts(inner) for name, inner in value.items()}
        case list() | tuple():
            return [valid_texts(inner) for inner in value]
    return value


# The help texts of settings: the docstrings below their fields, which pydantic would read for every command.


def help_text(settings: type[Frozen], name: str) -> str:
    """Return the description of a field or the docstring below it, in one line; empty if it has neither."""
    text = settings.model_fields[name].description or _docstrings(settings).get(name, "")
    return " ".join(text.split())


@cache
def _docstrings(settings: type[Frozen]) -> dict[str, str]:
    """Return the docstrings of the fields of a class and of its parents."""
    texts: dict[str, str] = {}
    for parent in reversed(settings.__mro__[: settings.__mro__.index(Frozen)]):
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(parent))).body
        assert isinstance(definition, ast.ClassDef)
        for pair in pairwise(definition.body):
            match pair:
                case ast.AnnAssign(target=ast.Name(id=field)), ast.Expr(value=ast.Constant(value=str() as text)):
                    texts[field] = text
    return texts
