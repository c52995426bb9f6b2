"""AIUs: the edits of annotators, also of references and aspects, and the span of a critique that an AIU restates.

Edits are append-only; the current AIUs are computed by applying them in order.

A label refers to an AIU by its id, and the text of an id never changes: splitting, merging or rewording creates AIUs
with new ids. Labels therefore never move to another text. Labels of an AIU that an edit replaced are stored, and count
again when the edit is undone.

Models rewrite AIUs when they extract them, so an AIU seldom occurs in its critique word for word. Its span, which is
highlighted, is the clause or sentence whose content words are most similar to the AIU's, in any order. A span that the
AIU itself names is used as it is; an AIU that resembles no part of the text has no span.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from string import ascii_lowercase
from typing import Annotated, Literal

from pydantic import Field, field_validator

from core.critiques import Aiu, Critique, hypothesis_critiques, reference_critique
from core.errors import TiebreakError
from core.frozen import Frozen
from core.items import Item, check_aspects

AiuText = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"\S")]
ReferenceText = Annotated[str, Field(min_length=1, max_length=200_000, pattern=r"\S")]


class Piece(Frozen):
    """The text of a new AIU and, if the annotator marked it, its span in the critique."""

    text: AiuText
    at: tuple[int, int] | None = None
    """Character offsets: start and end, the end excluded."""


class Split(Frozen):
    """Replace an AIU by several."""

    type: Literal["split"] = "split"
    aiu: str
    into: tuple[Piece, ...] = Field(min_length=2, max_length=len(ascii_lowercase))
    """The new ids end in one letter each."""


class Merge(Frozen):
    """Replace several AIUs of one critique by one."""

    type: Literal["merge"] = "merge"
    aius: tuple[str, ...] = Field(min_length=2)
    piece: Piece


class Add(Frozen):
    """Append an AIU to a critique."""

    type: Literal["add"] = "add"
    critique: str
    piece: Piece


class Reword(Frozen):
    """Replace an AIU by one with another text."""

    type: Literal["edit"] = "edit"
    aiu: str
    piece: Piece


class Remove(Frozen):
    """Remove an AIU, such as one that the critique does not state."""

    type: Literal["remove"] = "remove"
    aiu: str


class NotAtomic(Frozen):
    """Mark an AIU that states more than one thing or depends on its context, until it is split; `on=False` unmarks."""

    type: Literal["not_atomic"] = "not_atomic"
    aiu: str
    on: bool = True


class Adopt(Frozen):
    """Use the critiques, AIUs and reference answer that a run generated, if the item has none of its own."""

    type: Literal["adopt"] = "adopt"
    run: str
    critiques: tuple[Critique, ...]
    answer: str | None = None


class Reextract(Frozen):
    """Replace the AIUs of a critique by those that a later run extracted.

    An AIU that a person confirmed to be the same in other words is listed with its earlier id and text.
    """

    type: Literal["reextract"] = "reextract"
    run: str
    critique: str
    aius: tuple[Aiu, ...]


class SetReference(Frozen):
    """Replace the reference answer of an item; without a text it has none."""

    type: Literal["reference"] = "reference"
    text: ReferenceText | None


class SetAspects(Frozen):
    """Replace the aspects that an item is judged by, each a name or `name: definition`; without any, it has none."""

    type: Literal["aspects"] = "aspects"
    aspects: tuple[str, ...]
    run: str = ""
    """The run that proposed them; empty if a person wrote them."""

    @field_validator("aspects")
    @classmethod
    def _check(cls, aspects: tuple[str, ...]) -> tuple[str, ...]:
        return check_aspects(aspects)


class Undo(Frozen):
    """Undo an edit. An undo can itself be undone."""

    type: Literal["undo"] = "undo"
    edit: int


Change = Annotated[
    Split | Merge | Add | Reword | Remove | NotAtomic | Adopt | Reextract | SetReference | SetAspects | Undo,
    Field(discriminator="type"),
]


class Edit(Frozen):
    """A change with its author and time; `number` counts an item's edits from 1."""

    number: int = Field(ge=1)
    annotator: str
    change: Change
    at: datetime | None = None


@dataclass(frozen=True)
class EditedAius:
    """An item's critiques, reference answer and aspects after its edits."""

    critiques: tuple[Critique, ...]
    answer: str | None
    """The reference answer."""
    not_atomic: frozenset[str] = frozenset()
    """Ids of the AIUs marked as not atomic."""
    applied: tuple[int, ...] = ()
    """The numbers of the edits in effect, in order."""
    origins: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """New AIU -> the AIUs it replaced; empty for one that was added."""
    aspects: tuple[str, ...] = ()
    """The aspects that the item is judged by."""

    def aius(self) -> dict[str, Aiu]:
        """Return every current AIU by its id."""
        return {aiu.id: aiu for critique in self.critiques for aiu in critique.aius or ()}

    def lacks_aius(self) -> bool:
        """Return whether there is no reference critique, or no AIUs of a critique."""
        critiques = [*hypothesis_critiques(self.critiques), reference_critique(self.critiques)]
        return any(critique is None or critique.aius is None for critique in critiques)

    def critique_of(self, aiu: str) -> Critique:
        """Return the critique that contains an AIU; raises TiebreakError when an edit has replaced the AIU."""
        for critique in self.critiques:
            if any(current.id == aiu for current in critique.aius or ()):
                return critique
        raise TiebreakError("This AIU was changed in the meantime. Review it again.")


def apply_edits(item: Item, edits: Sequence[Edit]) -> EditedAius:
    """Return the item's AIUs after every edit that is not undone."""
    state = EditedAius(item.critiques, item.reference, aspects=item.aspects)
    for edit in sorted(active_edits(edits), key=lambda edit: edit.number):
        try:
            state = apply_edit(state, edit)
        except TiebreakError:
            continue  # an undo removed the AIU that this edit changes
    return state


def with_edits(item: Item, edits: Sequence[Edit]) -> Item:
    """Return the item with its critiques, AIUs, reference answer and aspects after its edits."""
    if not edits:
        return item
    state = apply_edits(item, edits)
    changed = {"critiques": state.critiques, "reference": state.answer, "aspects": state.aspects}
    return item.model_copy(update=changed)


def with_inputs(item: Item, edits: Sequence[Edit]) -> Item:
    """Return the item with the reference answer and the aspects that people gave it; critiques are as imported."""
    return with_edits(
        item, [edit for edit in active_edits(edits) if isinstance(edit.change, SetReference | SetAspects)]
    )


def active_edits(edits: Sequence[Edit]) -> list[Edit]:
    """Return the edits that are not undone, without the undo edits themselves."""
    undone: set[int] = set()
    for edit in sorted(edits, key=lambda edit: -edit.number):  # newest first: an undone undo has no effect
        if isinstance(edit.change, Undo) and edit.number not in undone:
            undone.add(edit.change.edit)
    return [edit for edit in edits if edit.number not in undone and not isinstance(edit.change, Undo)]


def validate_change(item: Item, edits: Sequence[Edit], change: Change) -> None:
    """Raise TiebreakError when a change cannot be applied after `edits`."""
    state = apply_edits(item, edits)
    trial = Edit(number=len(edits) + 1, annotator="", change=change)
    if isinstance(change, Undo):
        after = apply_edits(item, [*edits, trial])
        _validate_undo(set(state.applied), set(after.applied), edits, change)
    else:
        apply_edit(state, trial)


def _validate_undo(before: set[int], after: set[int], edits: Sequence[Edit], change: Undo) -> None:
    """Raise TiebreakError unless an undo removes one edit from those in effect, or restores the one that it undid."""
    undone = next((edit.change for edit in edits if edit.number == change.edit), None)
    if isinstance(undone, Undo):
        if after != before | {undone.edit} or undone.edit in before:
            raise TiebreakError("The AIUs were changed since, so this edit cannot be restored.")
        return
    if change.edit not in before:
        raise TiebreakError("This edit is no longer in effect, so it cannot be undone.")
    if before - after != {change.edit}:
        raise TiebreakError("A later edit depends on this one: undo that one first.")


def apply_edit(state: EditedAius, edit: Edit) -> EditedAius:
    """Return the state after one more edit; raises TiebreakError when an AIU it changes does not exist."""
    edited = replace(state, applied=(*state.applied, edit.number))
    match edit.change:
        case SetReference(text=text):
            return replace(edited, answer=text)
        case SetAspects(aspects=aspects):
            return replace(edited, aspects=aspects)
        case Adopt(critiques=critiques, answer=answer):
            return _adopt(edited, critiques, answer)
        case Reextract(critique=critique, aius=aius):
            others = {aiu.id for other in edited.critiques if other.id != critique for aiu in other.aius or ()}
            ids = [aiu.id for aiu in aius]
            changed = _change_aius(edited, critique, lambda _: aius)
            if len(set(ids)) < len(ids) or others & set(ids):
                raise TiebreakError("Two AIUs would have the same id.")
            return replace(changed, not_atomic=edited.not_atomic & {*others, *ids})
        case Undo():
            raise TypeError(f"an undo cannot be applied: {edit.change!r}")
    return _edit_aius(edited, edit.change, edit.number)


def _edit_aius(state: EditedAius, change: Split | Merge | Add | Reword | Remove | NotAtomic, number: int) -> EditedAius:
    match change:
        case Split(aiu=aiu, into=pieces):
            return _replace_aius(state, (aiu,), pieces, [f".e{number}{letter}" for letter in ascii_lowercase])
        case Merge(aius=aius, piece=piece):
            return _replace_aius(state, aius, (piece,), [f".e{number}"])
        case Reword(aiu=aiu, piece=piece):
            return _replace_aius(state, (aiu,), (piece,), [f".e{number}"])
        case Add(critique=critique, piece=piece):
            added = Aiu(id=f"{critique}.e{number}", text=piece.text.strip(), at=piece.at)
            changed = _change_aius(state, critique, lambda aius: (*aius, added))
            return replace(changed, origins=state.origins | {added.id: ()})
        case Remove(aiu=aiu):
            return _replace_aius(state, (aiu,), (), ())
        case NotAtomic(aiu=aiu, on=on):
            state.critique_of(aiu)  # raises TiebreakError when the AIU was replaced
            return replace(state, not_atomic=state.not_atomic | {aiu} if on else state.not_atomic - {aiu})


def _replace_aius(
    state: EditedAius, old: tuple[str, ...], pieces: Sequence[Piece], id_endings: Sequence[str]
) -> EditedAius:
    """Replace AIUs of one critique by new ones, at the position of the first."""
    critique = state.critique_of(old[0])
    if len(set(old)) < len(old) or any(state.critique_of(aiu) is not critique for aiu in old):
        raise TiebreakError("Only different AIUs of one critique can be merged.")
    new = [
        Aiu(id=f"{critique.id}{ending}", text=piece.text.strip(), at=piece.at)
        for piece, ending in zip(pieces, id_endings, strict=False)
    ]

    def change(aius: tuple[Aiu, ...]) -> tuple[Aiu, ...]:
        position = next(index for index, aiu in enumerate(aius) if aiu.id in old)
        rest = [aiu for aiu in aius if aiu.id not in old]
        return (*rest[:position], *new, *rest[position:])

    origins = state.origins | {aiu.id: old for aiu in new}
    return replace(_change_aius(state, critique.id, change), origins=origins, not_atomic=state.not_atomic - set(old))


def adds_something(state: EditedAius, adoption: Adopt) -> bool:
    """Return whether the adoption of what a run generated would change an item."""
    adopted = _adopt(state, adoption.critiques, adoption.answer)
    return (adopted.critiques, adopted.answer) != (state.critiques, state.answer)


def _adopt(state: EditedAius, critiques: Sequence[Critique], answer: str | None) -> EditedAius:
    """Add the missing critiques, AIUs and answer; existing ones are not overwritten."""
    by_id = {critique.id: critique for critique in state.critiques}
    for critique in critiques:
        existing = by_id.get(critique.id)
        if existing is None:
            by_id[critique.id] = critique
        elif existing.aius is None:
            by_id[critique.id] = existing.model_copy(update={"aius": critique.aius})
    return replace(state, critiques=tuple(by_id.values()), answer=state.answer if state.answer is not None else answer)


def _change_aius(
    state: EditedAius, critique_id: str, change: Callable[[tuple[Aiu, ...]], tuple[Aiu, ...]]
) -> EditedAius:
    """Return the state with other AIUs of a critique; raises TiebreakError if there is no such critique."""
    if all(critique.id != critique_id for critique in state.critiques):
        raise TiebreakError(f"There is no critique {critique_id!r} here.")
    critiques = [
        critique.model_copy(update={"aius": change(critique.aius or ())}) if critique.id == critique_id else critique
        for critique in state.critiques
    ]
    return replace(state, critiques=tuple(critiques))


# Character offsets into the critique: start and end, the end excluded.
Span = tuple[int, int]
_SENTENCE = re.compile(r"\w(?:[^.!?;\n]|[.](?=\S))*")
_CLAUSE = re.compile(r"\w(?:[^.!?;,:\n]|[.,:](?=\S))*")
# English function words, and the nouns that nearly every AIU about an answer begins with.
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a an and are as at be been but by can could did do does for from had has have he her his if in into is it its
        may might more no not of on or out should so such than that the their them then there these they this to too
        was were which while who why will with would you your
        answer model generated correct critique reference
        """,
    )
)
# Percent. Below it, related and unrelated clauses can no longer be distinguished.
_MIN_SIMILARITY = 55
# Percent for a span after the previous AIU's: extraction mostly follows the text.
_ORDER_BONUS = 5


@dataclass(frozen=True)
class Segment:
    """A stretch of a critique and the ids of the AIUs whose spans cover it."""

    start: int
    end: int
    aius: tuple[str, ...]


def locate_aius(critique: Critique) -> dict[str, Span]:
    """Return the span of each AIU by its id; AIUs without a span are left out."""
    found = {match.span() for pattern in (_CLAUSE, _SENTENCE) for match in pattern.finditer(critique.text)}
    parts = {span: words for span in sorted(found) if (words := _content_words(critique.text[slice(*span)]))}
    spans: dict[str, Span] = {}
    previous_start = 0
    for aiu in critique.aius or ():
        span = aiu.at
        if span is None or not 0 <= span[0] < span[1] <= len(critique.text):
            span = _most_similar_part(aiu.text, parts, previous_start)
        if span is not None:
            spans[aiu.id] = span
            previous_start = span[0]
    return spans


def _most_similar_part(aiu: str, parts: Mapping[Span, str], previous_start: int) -> Span | None:
    from rapidfuzz import fuzz

    words = _content_words(aiu)
    scores = {span: fuzz.ratio(words, own) + _ORDER_BONUS * (span[0] >= previous_start) for span, own in parts.items()}
    best = max(scores, key=lambda span: scores[span], default=None)
    return best if best is not None and scores[best] >= _MIN_SIMILARITY else None


def _content_words(text: str) -> str:
    """Return the words that carry meaning in lower case and sorted, so their order does not matter."""
    return " ".join(sorted({*re.findall(r"\w+(?:['’]\w+)?", text.lower())} - _STOP_WORDS))


def split_text(text: str, spans: Mapping[str, Span]) -> list[Segment]:
    """Return the whole text in segments, cut at every start and end of a span."""
    cuts = sorted({0, len(text), *(edge for span in spans.values() for edge in span)})
    return [
        Segment(start, end, tuple(aiu for aiu, (first, last) in spans.items() if first <= start and end <= last))
        for start, end in pairwise(cuts)
    ]


# Proposals which AIUs of two extractions of one critique are the same statement in other words.
#
# A proposal is for a person to confirm: labels belong to the text of an AIU, and similar texts can differ in a "not".

# Pairs below are not proposed.
LEAST_SIMILARITY = 0.75


@dataclass(frozen=True)
class AiuMatch:
    """An AIU of the earlier extraction, and the one of the later that may state the same."""

    old: Aiu
    new: Aiu
    similarity: float
    """Of the texts, 0 to 1: rapidfuzz's ratio of the sorted words."""


def match_aius(old: Sequence[Aiu], new: Sequence[Aiu]) -> list[AiuMatch]:
    """Return at most one pair for each AIU, the most similar first. AIUs with equal ids are the same already."""
    from rapidfuzz import fuzz, utils

    same = {aiu.id for aiu in old} & {aiu.id for aiu in new}
    pairs = [
        AiuMatch(aiu, other, fuzz.token_sort_ratio(aiu.text, other.text, processor=utils.default_process) / 100)
        for aiu in old
        for other in new
        if not {aiu.id, other.id} & same
    ]
    matches: list[AiuMatch] = []
    used: set[str] = set()
    for pair in sorted(pairs, key=lambda pair: -pair.similarity):
        if pair.similarity >= LEAST_SIMILARITY and not {f"old {pair.old.id}", f"new {pair.new.id}"} & used:
            matches.append(pair)
            used |= {f"old {pair.old.id}", f"new {pair.new.id}"}
    return matches
