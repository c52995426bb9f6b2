"""Critiques of a response and their atomic information units (AIUs), after MetaCritique (Sun et al. 2024, Section 2).

Hypothesis critiques are evaluated; they are compared with the reference critique. An AIU is the smallest piece
of information that is understandable without its context.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from core.frozen import Frozen
from core.labels import Target

CritiqueSource = Literal["people", "llm"]
CritiqueRole = Literal["hypothesis", "reference"]
# A component of `Target.part`: letters, digits, "_", ".", "-" and spaces, so never RECALL_SEPARATOR.
PartName = Annotated[str, Field(max_length=120, pattern=r"^[\w.\- ]*$")]
# Joins an AIU of the reference critique and a hypothesis critique in the part of a recall target.
RECALL_SEPARATOR = "@"


class Aiu(Frozen):
    """One atomic information unit. Its id is unique in the item and does not change when other AIUs are edited."""

    id: PartName = Field(min_length=1)
    text: str = Field(min_length=1)
    at: tuple[int, int] | None = None
    """Its span in the critique's text as character offsets, the end excluded; None if it was not marked."""


class Critique(Frozen):
    """A critique of one response, written by a person or a model."""

    id: PartName = ""
    """Unique in the item; by default derived from the author."""
    author: str
    """The person's or the model's name."""
    source: CritiqueSource = "llm"
    role: CritiqueRole = "hypothesis"
    text: str
    aius: tuple[Aiu, ...] | None = None
    """None if they have not been extracted yet; () if the critique has none."""
    of: int = Field(default=1, ge=1)
    """The number of the response it is about, from 1."""

    @model_validator(mode="before")
    @classmethod
    def _default_id(cls, data: object) -> object:
        if isinstance(data, dict) and not data.get("id"):
            return data | {"id": critique_id_from_author(str(data.get("author", "")))}
        return data

    @model_validator(mode="after")
    def _require_id(self) -> Self:
        if not self.id:
            raise ValueError("a critique needs an id or an author")
        return self


def critique_id_from_author(author: str) -> str:
    """Return an author's name with every character that ids do not allow replaced."""
    return re.sub(r"[^\w.\- ]+", "-", author).strip()[:60]


def aius_with_text_ids(critique: str, texts: Iterable[str]) -> tuple[Aiu, ...]:
    """Return AIUs from a model's list, with ids derived from their texts; empty and repeated texts are dropped.

    Two runs that extract the same text thus refer to the same AIU.
    """
    unique = dict.fromkeys(" ".join(text.split()) for text in texts)
    return tuple(Aiu(id=f"{critique}.{_digest(text)}", text=text) for text in unique if text)


def aius_with_numbers(critique: str, texts: Iterable[str]) -> tuple[Aiu, ...]:
    """Return AIUs from a file's list, with their positions from 1 as ids."""
    return tuple(Aiu(id=f"{critique}.{position}", text=text) for position, text in enumerate(texts, 1))


def first_duplicate_id(critiques: Sequence[Critique]) -> str | None:
    """Return the first id that two critiques, or two AIUs, of an item share; None if all are unique."""
    seen: set[tuple[str, str]] = set()
    for critique in critiques:
        for key in (("critique", critique.id), *(("aiu", aiu.id) for aiu in critique.aius or ())):
            if key in seen:
                return key[1]
            seen.add(key)
    return None


def reference_critique(critiques: Iterable[Critique]) -> Critique | None:
    """Return the reference critique; None if there is none."""
    return next((critique for critique in critiques if critique.role == "reference"), None)


def hypothesis_critiques(critiques: Iterable[Critique]) -> tuple[Critique, ...]:
    """Return the critiques that are evaluated."""
    return tuple(critique for critique in critiques if critique.role == "hypothesis")


def precision_target(item: str, aiu: str) -> Target:
    """Return the target for precision: is an AIU of a hypothesis critique true?"""
    return Target(item=item, kind="aiu_precision", part=aiu)


def recall_target(item: str, aiu: str, critique: str) -> Target:
    """Return the target for recall: does a hypothesis critique cover an AIU of the reference critique?"""
    return Target(item=item, kind="aiu_recall", part=f"{aiu}{RECALL_SEPARATOR}{critique}")


def critique_targets(item: str, critique: Critique, reference: Critique | None) -> list[Target]:
    """Return every target of a hypothesis critique: precision of its own AIUs, then recall of the reference's."""
    precision = [precision_target(item, aiu.id) for aiu in critique.aius or ()]
    reference_aius = reference.aius or () if reference else ()
    return precision + [recall_target(item, aiu.id, critique.id) for aiu in reference_aius]


@dataclass(frozen=True)
class CritiqueScore:
    """A critique's precision, recall and F1, from 0 to 1; None if undefined."""

    precision: float | None
    recall: float | None
    f1: float | None


def score_critique(factual: Iterable[bool | None], covered: Iterable[bool | None]) -> CritiqueScore:
    """Return precision, recall and F1 (Eqs. 1, 3 and 5). Unreadable judgements (None) are left out."""
    precision, recall = _share_true(factual), _share_true(covered)
    if precision is None or recall is None:
        return CritiqueScore(precision, recall, None)
    total = precision + recall
    return CritiqueScore(precision, recall, 2 * precision * recall / total if total else 0.0)


def _share_true(judgements: Iterable[bool | None]) -> float | None:
    known = [judgement for judgement in judgements if judgement is not None]
    return known.count(True) / len(known) if known else None


def score_bounds(factual: Sequence[bool | None], covered: Sequence[bool | None]) -> tuple[CritiqueScore, CritiqueScore]:
    """Return the lowest and the highest possible scores: every unreadable judgement false, or every one true."""
    low, high = (
        score_critique(*([assumed if value is None else value for value in values] for values in (factual, covered)))
        for assumed in (False, True)
    )
    return low, high


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=4).hexdigest()
