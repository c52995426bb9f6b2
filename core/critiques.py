"""Critiques of a response and their atomic information units, as MetaCritique has them (Sun et al. 2024, Section 2).

A hypothesis critique is what is evaluated; the reference critique is what it is held against. An AIU is the smallest
piece of information that can stand without its context.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from core.frozen import Frozen
from core.labels import Target

Author = Literal["people", "llm"]
Role = Literal["hypothesis", "reference"]
Name = Annotated[str, Field(max_length=120, pattern=r"^[\w.\- ]*$")]
"""What parts of targets are made of: letters, digits, "_", ".", "-" and blanks."""
IN = "@"
"""Between an AIU of the reference critique and the critique that covers it, or does not."""


class Aiu(Frozen):
    """One atomic information unit. Its id is its own in the whole item, and stays when others are split or merged."""

    id: Name = Field(min_length=1)
    text: str = Field(min_length=1)
    at: tuple[int, int] | None = None
    """Where it stands in the critique, from letter to letter, where somebody said so."""


class Critique(Frozen):
    """Somebody's critique of a response."""

    id: Name = ""
    """Its own in the item; where it is left out, its author's name."""
    author: str
    """The person or the model that wrote it."""
    source: Author = "llm"
    role: Role = "hypothesis"
    text: str
    aius: tuple[Aiu, ...] | None = None
    """None where nobody has extracted them yet; () where there are none."""
    of: int = Field(default=1, ge=1)
    """Which response it is about, from 1."""

    @model_validator(mode="before")
    @classmethod
    def _named_after_its_author(cls, told: object) -> object:
        if isinstance(told, dict) and not told.get("id"):
            return told | {"id": name_of(str(told.get("author", "")))}
        return told

    @model_validator(mode="after")
    def _has_a_name(self) -> Self:
        if not self.id:
            raise ValueError("a critique needs an id or an author")
        return self


def name_of(author: str) -> str:
    """An author's name as the id of a critique."""
    return re.sub(r"[^\w.\- ]+", "-", author).strip()[:60]


def written(critique: str, texts: Iterable[str]) -> tuple[Aiu, ...]:
    """AIUs from a model's list. The id follows from the words: two runs that say the same speak of the same AIU."""
    kept = dict.fromkeys(" ".join(text.split()) for text in texts)
    return tuple(Aiu(id=f"{critique}.{_digest(text)}", text=text) for text in kept if text)


def numbered(critique: str, texts: Iterable[str]) -> tuple[Aiu, ...]:
    """AIUs as a file lists them: their ids are their places, from 1."""
    return tuple(Aiu(id=f"{critique}.{place}", text=text) for place, text in enumerate(texts, 1))


def twice(critiques: Sequence[Critique]) -> str | None:
    """The first id that two critiques, or two AIUs, of an item share."""
    seen: set[tuple[str, str]] = set()
    for kind, name in _names(critiques):
        if (kind, name) in seen:
            return name
        seen.add((kind, name))
    return None


def reference(critiques: Iterable[Critique]) -> Critique | None:
    """The reference critique, where there is one."""
    return next((one for one in critiques if one.role == "reference"), None)


def hypotheses(critiques: Iterable[Critique]) -> tuple[Critique, ...]:
    """The critiques that are evaluated."""
    return tuple(one for one in critiques if one.role == "hypothesis")


def factual(item: str, aiu: str) -> Target:
    """Precision: whether an AIU of a hypothesis critique is true."""
    return Target(item=item, kind="aiu_precision", part=aiu)


def covered(item: str, aiu: str, critique: str) -> Target:
    """Recall: whether a hypothesis critique says an AIU of the reference critique."""
    return Target(item=item, kind="aiu_recall", part=f"{aiu}{IN}{critique}")


def targets(item: str, critique: Critique, reference: Critique | None) -> list[Target]:
    """Everything that is judged of a hypothesis critique: first its own AIUs, then the reference's."""
    own = [factual(item, aiu.id) for aiu in critique.aius or ()]
    return own + [covered(item, aiu.id, critique.id) for aiu in (reference.aius or () if reference else ())]


@dataclass(frozen=True)
class Score:
    """A critique's precision, recall and F1, from 0 to 1; None where undefined."""

    precision: float | None
    recall: float | None
    f1: float | None


def score(factual: Iterable[bool | None], covered: Iterable[bool | None]) -> Score:
    """Eqs. 1, 3 and 5. A judgement that could not be read (None) is left out; without any the score is undefined."""
    import numpy as np

    from core.statistics.measures.critiques import Critiques

    counts = [[(said.count(True), len(said))] for said in (_read(factual), _read(covered))]
    one = Critiques(("",), *(np.array(count, float) for count in counts))
    return Score(*(None if np.isnan(value[0]) else float(value[0]) for value in (one.precision, one.recall, one.f1)))


def _read(said: Iterable[bool | None]) -> list[bool]:
    return [value for value in said if value is not None]


def _names(critiques: Sequence[Critique]) -> Iterable[tuple[str, str]]:
    for critique in critiques:
        yield "critique", critique.id
        for aiu in critique.aius or ():
            yield "aiu", aiu.id


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=4).hexdigest()
