"""How people change AIUs. Edits are only ever added, and what stands is found by going through them from the first.

A label speaks of an AIU by its id, and an id never gets other words: whoever splits, merges or edits makes AIUs with
new ids. So nobody's label moves; labels of an AIU that no longer stands are kept, and count again when it is undone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from core.critiques import Aiu, Critique
from core.frozen import Frozen
from core.items import Item
from core.problems import Problem

Words = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"\S")]
Place = tuple[int, int] | None


class Piece(Frozen):
    """The words of a new AIU, and where it stands in the critique, where that was said."""

    text: Words
    at: Place = None


class Split(Frozen):
    """One AIU said several things."""

    type: Literal["split"] = "split"
    aiu: str
    into: tuple[Piece, ...] = Field(min_length=2, max_length=26)


class Merge(Frozen):
    """Several AIUs say one thing."""

    type: Literal["merge"] = "merge"
    aius: tuple[str, ...] = Field(min_length=2)
    piece: Piece


class Add(Frozen):
    """The critique says something that no AIU holds."""

    type: Literal["add"] = "add"
    critique: str
    piece: Piece


class Reword(Frozen):
    """An AIU in other words."""

    type: Literal["edit"] = "edit"
    aiu: str
    piece: Piece


class NotAtomic(Frozen):
    """An AIU says more than one thing, or cannot stand alone; it stays until somebody splits it."""

    type: Literal["not_atomic"] = "not_atomic"
    aiu: str
    on: bool = True


class Adopt(Frozen):
    """What a run wrote and extracted becomes what people label, where the item brought nothing."""

    type: Literal["adopt"] = "adopt"
    run: str
    critiques: tuple[Critique, ...]
    answer: str | None = None


class Undo(Frozen):
    """Takes an edit back. An undo can be undone too."""

    type: Literal["undo"] = "undo"
    edit: int


Change = Annotated[Split | Merge | Add | Reword | NotAtomic | Adopt | Undo, Field(discriminator="type")]


class Edit(Frozen):
    """A change as it was made; `number` counts an item's edits from 1."""

    number: int = Field(ge=1)
    annotator: str
    change: Change
    at: datetime | None = None


@dataclass(frozen=True)
class Standing:
    """What people label of an item now."""

    critiques: tuple[Critique, ...]
    answer: str | None
    """The reference answer."""
    not_atomic: frozenset[str] = frozenset()
    applied: tuple[int, ...] = ()
    """The edits that hold, in order."""
    of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """New AIU -> the AIUs that it was made from; none for one that was added."""

    def aius(self) -> dict[str, Aiu]:
        """Every AIU that stands, by its id."""
        return {aiu.id: aiu for critique in self.critiques for aiu in critique.aius or ()}

    def critique_of(self, aiu: str) -> Critique:
        """The critique that an AIU stands in; raises Problem where it stands in none."""
        for critique in self.critiques:
            if any(one.id == aiu for one in critique.aius or ()):
                return critique
        raise Problem("This AIU was changed meanwhile; look at it again.")


def standing(item: Item, edits: Sequence[Edit]) -> Standing:
    """What the item brings, changed by every edit that was not taken back."""
    now = Standing(item.critiques, item.reference)
    for edit in sorted(effective(edits), key=lambda one: one.number):
        try:
            now = applied(now, edit)
        except Problem:
            continue  # what it changed no longer stands
    return now


def effective(edits: Sequence[Edit]) -> list[Edit]:
    """The edits that were not taken back, without the undoing itself."""
    undone: set[int] = set()
    for edit in sorted(edits, key=lambda one: -one.number):
        if isinstance(edit.change, Undo) and edit.number not in undone:
            undone.add(edit.change.edit)
    return [edit for edit in edits if edit.number not in undone and not isinstance(edit.change, Undo)]


def checked(item: Item, edits: Sequence[Edit], change: Change) -> None:
    """Refuse, in a sentence, a change that cannot be made to what stands now."""
    now = standing(item, edits)
    trial = Edit(number=len(edits) + 1, annotator="", change=change)
    if not isinstance(change, Undo):
        applied(now, trial)
        return
    if change.edit not in now.applied:
        raise Problem("This edit does not stand any more, so it cannot be taken back.")
    lost = set(now.applied) - set(standing(item, [*edits, trial]).applied) - {change.edit}
    if lost:
        raise Problem("A later edit builds on this one: take that back first.")


def last(item: Item, edits: Sequence[Edit], annotator: str, critique: str) -> int | None:
    """The newest standing edit that the annotator made to a critique; None where there is none."""
    now = standing(item, edits)
    mine = [one for one in edits if one.annotator == annotator and one.number in now.applied]
    about = [one for one in mine if critique in touched(item, edits, one)]
    return about[-1].number if about else None


def touched(item: Item, edits: Sequence[Edit], edit: Edit) -> set[str]:
    """The critiques that an edit changed."""
    before = standing(item, [one for one in edits if one.number < edit.number])
    match edit.change:
        case Add(critique=critique):
            return {critique}
        case Split(aiu=aiu) | Reword(aiu=aiu) | NotAtomic(aiu=aiu):
            return {before.critique_of(aiu).id}
        case Merge(aius=aius):
            return {before.critique_of(aius[0]).id}
        case Adopt(critiques=critiques):
            return {critique.id for critique in critiques}
    return set()


def applied(now: Standing, edit: Edit) -> Standing:
    """What stands after one more edit; raises Problem where what it changes does not stand."""
    done = replace(now, applied=(*now.applied, edit.number))
    match edit.change:
        case Split(aiu=aiu, into=pieces):
            ids = [f".e{edit.number}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
            return _replaced(done, (aiu,), pieces, ids)
        case Merge(aius=aius, piece=piece):
            return _replaced(done, aius, (piece,), [f".e{edit.number}"])
        case Reword(aiu=aiu, piece=piece):
            return _replaced(done, (aiu,), (piece,), [f".e{edit.number}"])
        case Add(critique=critique, piece=piece):
            return _added(done, critique, piece, f"{critique}.e{edit.number}")
        case NotAtomic(aiu=aiu, on=on):
            now.critique_of(aiu)
            return replace(done, not_atomic=now.not_atomic | {aiu} if on else now.not_atomic - {aiu})
        case Adopt(critiques=critiques, answer=answer):
            return _adopted(done, critiques, answer)
    raise TypeError(f"an undo is not applied: {edit.change!r}")


def _replaced(now: Standing, old: tuple[str, ...], pieces: Sequence[Piece], ids: Sequence[str]) -> Standing:
    critique = now.critique_of(old[0])
    if len(set(old)) < len(old) or any(now.critique_of(aiu) is not critique for aiu in old):
        raise Problem("Only different AIUs of one critique can be merged.")
    new = [
        Aiu(id=f"{critique.id}{id}", text=piece.text.strip(), at=piece.at)
        for piece, id in zip(pieces, ids, strict=False)
    ]

    def change(aius: tuple[Aiu, ...]) -> tuple[Aiu, ...]:
        place = next(index for index, aiu in enumerate(aius) if aiu.id in old)
        rest = [aiu for aiu in aius if aiu.id not in old]
        return (*rest[:place], *new, *rest[place:])

    made = now.of | {aiu.id: old for aiu in new}
    return replace(_with(now, critique.id, change), of=made, not_atomic=now.not_atomic - set(old))


def _added(now: Standing, critique: str, piece: Piece, id: str) -> Standing:
    if all(one.id != critique for one in now.critiques):
        raise Problem(f"There is no critique {critique!r} here.")
    new = Aiu(id=id, text=piece.text.strip(), at=piece.at)
    return replace(_with(now, critique, lambda aius: (*aius, new)), of=now.of | {id: ()})


def _adopted(now: Standing, critiques: Sequence[Critique], answer: str | None) -> Standing:
    """Only what is missing is taken."""
    there = {one.id: one for one in now.critiques}
    for one in critiques:
        known = there.get(one.id)
        if known is None or known.aius is None:
            there[one.id] = one if known is None else known.model_copy(update={"aius": one.aius})
    return replace(now, critiques=tuple(there.values()), answer=now.answer if now.answer is not None else answer)


def _with(now: Standing, critique: str, change: Callable[[tuple[Aiu, ...]], tuple[Aiu, ...]]) -> Standing:
    changed = [
        one.model_copy(update={"aius": change(one.aius or ())}) if one.id == critique else one for one in now.critiques
    ]
    return replace(now, critiques=tuple(changed))
