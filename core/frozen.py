"""The base of all domain values: immutable, so a stored judgement, request or reply cannot change later."""

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


# The help texts of settings: the docstrings below their fields.
#
# Pydantic can read them when a class is created, which takes a run 0.03 s; only forms show them.


def help_text(settings: type[Frozen], name: str) -> str:
    """Return the description of a field or the docstring below it, in one line; empty if it has neither."""
    text = settings.model_fields[name].description or _docstrings(settings).get(name, "")
    return " ".join(text.split())


@cache
def _docstrings(settings: type[Frozen]) -> dict[str, str]:
    """Return the docstrings of the fields of a class and of its parents; empty if its source is not available."""
    texts: dict[str, str] = {}
    for parent in reversed(settings.__mro__[: settings.__mro__.index(Frozen)]):
        try:
            source = textwrap.dedent(inspect.getsource(parent))
        except (OSError, TypeError):
            continue
        for definition in ast.parse(source).body:
            assert isinstance(definition, ast.ClassDef)
            texts |= {
                field.target.id: text.value.value
                for field, text in pairwise(definition.body)
                if isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
                and isinstance(text.value.value, str)
            }
    return texts
