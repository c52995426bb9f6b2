"""Edits of AIUs: the resulting AIUs, and that the text of an id never changes."""

from typing import Any

import pytest
from pydantic import ValidationError

from core.aius import (
    Add,
    Adopt,
    Change,
    Edit,
    Merge,
    NotAtomic,
    Piece,
    Remove,
    Reword,
    Split,
    Undo,
    apply_edits,
    validate_change,
)
from core.critiques import Critique, aius_with_numbers
from core.errors import TiebreakError
from core.items import Item, Response

ITEM = Item(
    id="i",
    prompt="?",
    responses=(Response(text="!"),),
    critiques=(
        Critique(
            id="c", author="c", text="One and two. Three.", aius=aius_with_numbers("c", ["One and two.", "Three."])
        ),
        Critique(id="d", author="d", text="Four.", aius=aius_with_numbers("d", ["Four."])),
    ),
)


def pieces(*texts: str) -> tuple[Piece, ...]:
    return tuple(Piece(text=text) for text in texts)


def edits(*changes: Change, annotator: str = "ann") -> list[Edit]:
    return [Edit(number=number, annotator=annotator, change=change) for number, change in enumerate(changes, 1)]


def texts_after(*changes: Change, item: Item = ITEM) -> dict[str, list[tuple[str, str]]]:
    """Return critique -> (id, text) of its AIUs after the changes."""
    state = apply_edits(item, edits(*changes))
    return {critique.id: [(aiu.id, aiu.text) for aiu in critique.aius or ()] for critique in state.critiques}


SPLIT = Split(aiu="c.1", into=pieces("One.", "Two."))


def test_a_removed_aiu_is_restored_by_undo_and_others_keep_their_ids() -> None:
    removed = Remove(aiu="c.1")
    assert texts_after(removed)["c"] == [("c.2", "Three.")]
    assert texts_after(removed, Undo(edit=1)) == texts_after()
    assert texts_after(SPLIT, Remove(aiu="c.e1a"))["c"] == [("c.e1b", "Two."), ("c.2", "Three.")]
    with pytest.raises(TiebreakError, match="changed in the meantime"):
        validate_change(ITEM, edits(removed), SPLIT)
    with pytest.raises(TiebreakError, match="depends on this one"):
        validate_change(ITEM, edits(SPLIT, Remove(aiu="c.e1a")), Undo(edit=1))


def test_the_parts_of_a_split_aiu_take_its_position() -> None:
    assert texts_after(SPLIT)["c"] == [("c.e1a", "One."), ("c.e1b", "Two."), ("c.2", "Three.")]
    assert apply_edits(ITEM, edits(SPLIT)).origins == {"c.e1a": ("c.1",), "c.e1b": ("c.1",)}


def test_a_merged_aiu_takes_the_position_of_the_first() -> None:
    merged = Merge(aius=("c.2", "c.1"), piece=Piece(text="All."))
    assert texts_after(merged)["c"] == [("c.e1", "All.")]
    assert texts_after(SPLIT, Merge(aius=("c.e1b", "c.2"), piece=Piece(text="Rest.")))["c"] == [
        ("c.e1a", "One."),
        ("c.e2", "Rest."),
    ]


def test_splitting_an_aiu_removes_its_not_atomic_mark() -> None:
    marked = NotAtomic(aiu="c.1")
    assert apply_edits(ITEM, edits(marked)).not_atomic == {"c.1"}
    assert apply_edits(ITEM, edits(marked, NotAtomic(aiu="c.1", on=False))).not_atomic == frozenset()
    assert apply_edits(ITEM, edits(marked, SPLIT)).not_atomic == frozenset()


def test_the_number_of_an_undone_edit_is_not_reused() -> None:
    assert texts_after(SPLIT, Undo(edit=1), SPLIT)["c"][0] == ("c.e3a", "One.")


def test_no_id_ever_has_two_texts() -> None:
    history = edits(
        SPLIT, Reword(aiu="c.e1a", piece=Piece(text="1.")), Undo(edit=2), Add(critique="c", piece=Piece(text="X"))
    )
    texts: dict[str, str] = {}
    for end in range(len(history) + 1):
        for id, aiu in apply_edits(ITEM, history[:end]).aius().items():
            assert texts.setdefault(id, aiu.text) == aiu.text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (Split(aiu="c.9", into=pieces("a", "b")), "This AIU was changed in the meantime. Review it again."),
        (Merge(aius=("c.1", "d.1"), piece=Piece(text="x")), "Only different AIUs of one critique can be merged."),
        (Merge(aius=("c.1", "c.1"), piece=Piece(text="x")), "Only different AIUs of one critique can be merged."),
        (Add(critique="e", piece=Piece(text="x")), "There is no critique 'e' here."),
        (Undo(edit=7), "This edit is no longer in effect, so it cannot be undone."),
    ],
)
def test_an_impossible_change_is_refused(change: Change, message: str) -> None:
    with pytest.raises(TiebreakError) as problem:
        validate_change(ITEM, [], change)
    assert str(problem.value) == message


def test_an_edit_that_a_later_edit_depends_on_cannot_be_undone() -> None:
    history = edits(SPLIT, Reword(aiu="c.e1a", piece=Piece(text="1.")))
    with pytest.raises(TiebreakError, match="A later edit depends on this one"):
        validate_change(ITEM, history, Undo(edit=1))
    validate_change(ITEM, history, Undo(edit=2))


def test_an_undo_is_undone_any_number_of_times_unless_the_aius_changed_since() -> None:
    undone = edits(SPLIT, Undo(edit=1))
    validate_change(ITEM, undone, Undo(edit=2))
    redone = edits(SPLIT, Undo(edit=1), Undo(edit=2))
    for history, change in ((undone, Undo(edit=1)), (redone, Undo(edit=2))):
        with pytest.raises(TiebreakError):
            validate_change(ITEM, history, change)
    validate_change(ITEM, redone, Undo(edit=1))
    assert texts_after(SPLIT, Undo(edit=1), Undo(edit=2), Undo(edit=1), Undo(edit=4)) == texts_after(SPLIT)
    changed = edits(SPLIT, Undo(edit=1), Reword(aiu="c.1", piece=Piece(text="1 and 2.")))
    with pytest.raises(TiebreakError, match="The AIUs were changed since"):
        validate_change(ITEM, changed, Undo(edit=2))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Split(aiu="c.1", into=pieces("only one")),
        lambda: Merge(aius=("c.1",), piece=Piece(text="x")),
        lambda: Piece(text="  \n"),
        lambda: Piece(text="x" * 2001),
    ],
)
def test_a_change_without_content_is_invalid(make: Any) -> None:
    with pytest.raises(ValidationError):
        make()


def test_adopting_a_run_fills_in_only_what_is_missing() -> None:
    bare = Item(
        id="i", prompt="?", responses=(Response(text="!"),), critiques=(Critique(id="c", author="c", text="One."),)
    )
    adoption = Adopt(
        run="r",
        critiques=(
            Critique(id="c", author="c", text="One.", aius=aius_with_numbers("c", ["One."])),
            Critique(id="ref", author="r", role="reference", text="Two.", aius=aius_with_numbers("ref", ["Two."])),
        ),
        answer="!!",
    )
    state = apply_edits(bare, edits(adoption))
    assert [(critique.id, len(critique.aius or ())) for critique in state.critiques] == [("c", 1), ("ref", 1)]
    assert state.answer == "!!"
    assert apply_edits(ITEM, edits(adoption)).critiques[0] == ITEM.critiques[0]
