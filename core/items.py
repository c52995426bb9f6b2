"""The subject of an evaluation: items with their responses, and the criteria."""

import re
from typing import Self

from pydantic import Field, field_validator, model_validator

from core.critiques import Critique, first_duplicate_id
from core.frozen import Frozen
from core.labels import PREFERENCE, Scale

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


MAX_ASPECTS = 20
_NUMBERED = re.compile(r"\s*[\"']?(-?\d+(?:\.\d+)?)[\"']?\s*(?:[:.)=–—]|\s-)\s+(?=\S)")
"""A line of a rubric that begins with the number of its level: `0: It does not use the fact.`"""


def aspect_name(aspect: str) -> str:
    """Return the name of an aspect without its definition."""
    return aspect.partition(": ")[0].strip()


def check_aspects(aspects: tuple[str, ...]) -> tuple[str, ...]:
    """Return aspects that an item can have; raises ValueError for too many, empty or equal ones."""
    names = [aspect_name(aspect).casefold() for aspect in aspects]
    if len(aspects) > MAX_ASPECTS or not all(names) or any("\n" in aspect for aspect in aspects):
        raise ValueError(f"expected at most {MAX_ASPECTS} aspects, each a name or `name: definition` on one line")
    if len(set(names)) < len(names):
        raise ValueError("an aspect is given twice")
    return aspects


class Response(Frozen):
    """One system's answer."""

    text: str
    system: str | None = None
    image: str | None = None
    """A path inside the study's media folder, or a URL."""


class Item(Frozen):
    """A prompt with one or more responses; `id` is the study's own name for it."""

    id: str
    prompt: str
    responses: tuple[Response, ...] = ()
    context: str | None = None
    reference: str | None = None
    scenario: str | None = None
    group: str | None = None
    """The document or dialogue the item is part of; items of one group are not statistically independent."""
    image: str | None = Field(default=None, exclude_if=lambda image: image is None)
    """An image that belongs to the prompt: a path inside the study's media folder, or a URL. Serialised only if
    present, so files and fingerprints of items without images are the same as before the field existed."""
    aspects: tuple[str, ...] = Field(default=(), exclude_if=lambda aspects: not aspects)
    """The aspects to judge this item by, each a name or `name: definition`. Serialised only if present, as `image`
    is."""
    critiques: tuple[Critique, ...] = Field(default=(), exclude_if=lambda critiques: not critiques)
    """Critiques of the responses, if critiques are evaluated. Serialised only if present, as `image` is."""

    @field_validator("aspects")
    @classmethod
    def _check_aspects(cls, aspects: tuple[str, ...]) -> tuple[str, ...]:
        return check_aspects(aspects)

    @model_validator(mode="after")
    def _require_unique_ids(self) -> Self:
        if self.critiques and (id := first_duplicate_id(self.critiques)):
            raise ValueError(f"two critiques, or two of their AIUs, have the id {id!r}")
        return self


class Criterion(Frozen):
    """A criterion of judgement: a definition, and rubric lines from the lowest level to the highest."""

    name: str
    definition: str = ""
    rubric: tuple[str, ...] = ()
    scale: Scale | None = None
    """The scale of a score on this criterion; a preference always has PREFERENCE."""

    @property
    def levels(self) -> tuple[tuple[str, str], ...]:
        """The name and the text of each line of the rubric.

        The name is the value of the scale, if it has one for each line; without a scale, the number that a line begins
        with, or its place from 1. Lines that are not the values of the scale are `level 1 of 3`, which no score is.
        """
        count = len(self.rubric)
        values = self.scale.categories if self.scale and self.scale != PREFERENCE else ()
        names = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
        numbered = [_NUMBERED.match(line) for line in self.rubric]
        own = [match[1] for match in numbered if match]
        if len(set(own)) == count and set(own) <= set(names or own):
            names = own
        elif len(names) != count:
            scaled = self.scale is not None and self.scale != PREFERENCE
            names = [f"level {place} of {count}" if scaled else str(place) for place in range(1, count + 1)]
        return tuple(
            (name, line[match.end() :] if match and match[1] == name else line)
            for name, line, match in zip(names, self.rubric, numbered, strict=True)
        )
