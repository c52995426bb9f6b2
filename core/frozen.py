"""The base of all domain values: immutable, so a stored judgement, request or reply cannot change later."""

from collections.abc import Mapping
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
