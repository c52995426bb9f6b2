"""What is evaluated: items with their responses, and the criteria they are judged by."""

from typing import Self

from pydantic import Field, model_validator

from core.critiques import Critique, twice
from core.frozen import Frozen
from core.labels import Scale

SCENARIOS = (
    "brainstorming",
    "coding",
    "dialog",
    "judgement",
    "math",
    "open-domain general",
    "open-domain science",
    "writing",
)
"""ScaleEval's eight scenarios (Table 2); a study may use any others."""


class Response(Frozen):
    """One system's answer."""

    text: str
    system: str | None = None
    image: str | None = None
    """Path inside the study's media folder, or a URL."""


class Item(Frozen):
    """A prompt with one or more responses; `id` is the study's own name for it."""

    id: str
    prompt: str
    responses: tuple[Response, ...] = ()
    context: str | None = None
    reference: str | None = None
    scenario: str | None = None
    group: str | None = None
    """The document or dialogue that the item is part of: such items are not independent."""
    image: str | None = Field(default=None, exclude_if=lambda there: there is None)
    """Belongs to the prompt: a path inside the study's media folder, or a URL; left out of files where none is."""
    critiques: tuple[Critique, ...] = Field(default=(), exclude_if=lambda there: not there)
    """What was said of the responses, where critiques are judged; left out of files and the database where none is."""

    @model_validator(mode="after")
    def _ids_differ(self) -> Self:
        if self.critiques and (name := twice(self.critiques)):
            raise ValueError(f"two critiques, or two of their AIUs, have the id {name!r}")
        return self


class Criterion(Frozen):
    """What a judgement looks at: a definition, and rubric lines from the lowest level to the highest."""

    name: str
    definition: str = ""
    rubric: tuple[str, ...] = ()
    scale: Scale | None = None
    """The scale of a score on this criterion; a preference always has its own."""
