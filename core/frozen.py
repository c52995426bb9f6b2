"""The base of all domain values: immutable, so that a stored judgement, request or reply cannot change later."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """An immutable value: equal when its fields are equal; an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
