"""The fields of a workbench action, and the sentence about a field that is not valid."""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from core.frozen import Frozen
from storage.labelling.evidence import Passage

LONGEST_TEXT = 20_000
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Name = Annotated[str, Field(max_length=64)]


class Action(Frozen):
    """One action; which fields it has depends on its type."""

    seq: int = Field(ge=1, lt=2**31)
    type: Literal["label", "draft", "skip", "flag", "note", "undo", "redo", "edit", "read"]
    task: Name = ""
    target: Name = ""
    base: Name = ""
    value: Any = None
    reason: Text = ""
    evidence: tuple[Passage, ...] = Field(default=(), max_length=100)
    seconds: float | None = Field(default=None, ge=0, le=1e6)
    shown: tuple[Annotated[int, Field(ge=1, strict=True)], ...] = Field(default=(), max_length=1_000)
    """The order of the texts under which the value was entered; empty from a page that does not state it."""
    guidelines: int = Field(default=0, ge=0, lt=2**31)
    on: bool = True
    text: Text = ""
    entry: Name = ""
    change: dict[str, Any] = Field(default_factory=dict)


def problem(error: ValidationError) -> str:
    """Return one sentence about the first field that is not valid."""
    first = error.errors()[0]
    field = str(first["loc"][0]) if first["loc"] else ""
    if first["type"] == "string_too_long" and field in ("reason", "text"):
        return f"The {field} is longer than {LONGEST_TEXT:,} characters."
    return f"This action is not valid: {first['msg']}."
