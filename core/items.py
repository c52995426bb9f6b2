"""The subject of an evaluation: items with their responses, and the criteria."""

import re
from collections.abc import Mapping
from itertools import combinations
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_serializer, model_validator

from core.critiques import Critique, first_duplicate_id
from core.errors import TiebreakError
from core.frozen import Frozen
from core.labels import PREFERENCE, Scale, Target

MAX_ASPECTS = 20
# A line of a rubric that begins with the number of its level: `0: It does not use the fact.`
_NUMBERED = re.compile(r"\s*[\"']?(-?\d+(?:\.\d+)?)[\"']?\s*(?:[:.)=–—]|\s-)\s+(?=\S)")


def check_aspects(aspects: tuple[str, ...]) -> tuple[str, ...]:
    """Return aspects that an item can have; raises ValueError for too many, empty or equal ones."""
    names = [aspect.partition(": ")[0].strip().casefold() for aspect in aspects]
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
    transcript: str | None = Field(default=None, exclude_if=lambda digest: digest is None)
    """The digest of the transcript (`core.transcripts`) whose final answer `text` is. Serialised only if present."""


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
    transcript: str | None = Field(default=None, exclude_if=lambda digest: digest is None)
    """The digest of the transcript that `prompt` renders as text. Serialised only if present, as `image` is."""
    critiques: tuple[Critique, ...] = Field(default=(), exclude_if=lambda critiques: not critiques)
    """Critiques of the responses, if critiques are evaluated. Serialised only if present, as `image` is."""

    @property
    def transcripts(self) -> tuple[str, ...]:
        """The digests of its transcripts: the prompt's, then those of the responses."""
        digests = (self.transcript, *(response.transcript for response in self.responses))
        return tuple(digest for digest in digests if digest)

    @field_validator("aspects")
    @classmethod
    def _check_aspects(cls, aspects: tuple[str, ...]) -> tuple[str, ...]:
        return check_aspects(aspects)

    @model_validator(mode="after")
    def _require_unique_ids(self) -> Self:
        if self.critiques and (id := first_duplicate_id(self.critiques)):
            raise ValueError(f"two critiques, or two of their AIUs, have the id {id!r}")
        return self


# How a criterion is written in prompts (ScaleEval, Table 7).
CriterionFormat = Literal["general", "shortened", "gibberish", "shuffled", "flipped", "masked"]


class Criterion(Frozen):
    """A criterion of judgement: a definition, and rubric lines from the lowest level to the highest."""

    name: str
    definition: str = ""
    rubric: tuple[str, ...] = ()
    scale: Scale | None = None
    """The scale of a score on this criterion; a preference always has PREFERENCE."""
    formats: Mapping[CriterionFormat, str] = Field(default_factory=dict, exclude_if=lambda texts: not texts)
    """Format -> the text in prompts, such as the fixed ones of ScaleEval's Table 7; any other format is derived from
    definition and rubric. Serialised only if present."""

    def __hash__(self) -> int:
        """Hash every field except `formats`, a mapping; equal criteria still have equal hashes."""
        return hash(tuple(value for name, value in self if name != "formats"))

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


# Pairs of responses: an item with more than two is judged pair by pair, and each pair is a target of its own.
#
# The part of such a target is "1-3": the numbers of two responses of the item, the lower one first. Within a pair the
# responses are numbered 1 and 2: in prompts, values and on the screens. The only pair of an item with two responses
# has the part "", as the item itself.

_PART = re.compile(r"([1-9]\d{0,3})-([1-9]\d{0,3})")
_BASELINE = "baseline "


class Pairs(Frozen):
    """Which pairs of an item's responses are compared; in settings files "all" or "baseline NAME"."""

    baseline: str | None = None
    """The system that every other response is compared with; None for all pairs."""

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        name = value.strip()
        if name == "all":
            return {}
        if name.startswith(_BASELINE) and name.removeprefix(_BASELINE).strip():
            return {"baseline": name.removeprefix(_BASELINE).strip()}
        raise ValueError('pairs are "all", or "baseline" and the name of a system')

    @model_serializer
    def __str__(self) -> str:
        return "all" if self.baseline is None else f"{_BASELINE}{self.baseline}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the pairs that a stored text names; None for the empty text."""
        return cls.model_validate(text) if text else None

    def parts(self, item: Item) -> list[str]:
        """Return the part of each pair of an item.

        Raises TiebreakError if the baseline has no response of the item, or all of them.
        """
        if self.baseline is None:
            return pair_parts(len(item.responses)) or [""]
        numbers = range(1, len(item.responses) + 1)
        own = {number for number in numbers if item.responses[number - 1].system == self.baseline}
        pairs = [pair for pair in combinations(numbers, 2) if len(own & set(pair)) == 1]
        if not pairs:
            count = "only responses" if own else "no response"
            raise TiebreakError(f"Item {item.id} has {count} of the baseline, the system {self.baseline!r}.")
        return [pair_part(*pair, len(item.responses)) for pair in pairs]


def pair_parts(responses: int) -> list[str]:
    """Return the part of each pair of an item with this number of responses; none for fewer than two."""
    return [pair_part(*pair, responses) for pair in combinations(range(1, responses + 1), 2)]


def pair_part(first: int, second: int, responses: int) -> str:
    """Return the part of two responses, the lower number first, of an item with this number of responses."""
    return f"{first}-{second}" if responses > 2 else ""


def pair_item(item: Item, part: str) -> Item:
    """Return the item with only the two responses of a pair; the item itself for a part that names no pair of it.

    Its critiques are left out, since they name responses by their numbers in the whole item.
    """
    numbers = pair_numbers(part)
    if numbers is None or numbers[1] > len(item.responses):
        return item
    responses = tuple(item.responses[number - 1] for number in numbers)
    return item.model_copy(update={"responses": responses, "critiques": ()})


def target_item(item: Item, target: Target) -> Item:
    """Return the item as its target is judged: with two responses if it is a preference between them."""
    return pair_item(item, target.part) if target.kind == "preference" else item


def item_name(item: str, part: str = "") -> str:
    """Return the name of an item as lists show it, with the numbers of the pair: "q1, responses 1 and 3"."""
    numbers = pair_numbers(part)
    return f"{item}, responses {numbers[0]} and {numbers[1]}" if numbers else item


def target_name(target: Target) -> str:
    """Return the name of a target's item as lists show it, with the numbers of the pair or the step that it is on."""
    from core.transcripts import step_of  # protocols load the items, and no transcripts

    if step := step_of(target.part):
        return f"{target.item}, step {step[1]}"
    return item_name(target.item, target.part if target.kind == "preference" else "")


def pair_numbers(part: str) -> tuple[int, int] | None:
    """Return the numbers of the two responses that a part names, the lower one first; None if it names no pair."""
    match = _PART.fullmatch(part)
    if match is None:
        return None
    first, second = int(match[1]), int(match[2])
    return (first, second) if first < second else None
