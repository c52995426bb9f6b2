"""Edits of AIUs: what stands after them, and that no AIU ever gets other words under its id."""

from typing import Any

import pytest
from pydantic import ValidationError

from core.aius import Add, Adopt, Change, Edit, Merge, NotAtomic, Piece, Reword, Split, Undo, checked, last, standing
from core.critiques import Critique, numbered
from core.items import Item, Response
from core.problems import Problem

ITEM = Item(
    id="i",
    prompt="?",
    responses=(Response(text="!"),),
    critiques=(
        Critique(id="c", author="c", text="One and two. Three.", aius=numbered("c", ["One and two.", "Three."])),
        Critique(id="d", author="d", text="Four.", aius=numbered("d", ["Four."])),
    ),
)


def pieces(*texts: str) -> tuple[Piece, ...]:
    return tuple(Piece(text=text) for text in texts)


def edits(*changes: Change, who: str = "ann") -> list[Edit]:
    return [Edit(number=number, annotator=who, change=change) for number, change in enumerate(changes, 1)]


def stands(*changes: Change, item: Item = ITEM) -> dict[str, list[tuple[str, str]]]:
    """Critique -> (id, words) of its AIUs."""
    now = standing(item, edits(*changes))
    return {one.id: [(aiu.id, aiu.text) for aiu in one.aius or ()] for one in now.critiques}


SPLIT = Split(aiu="c.1", into=pieces("One.", "Two."))


def test_an_aiu_that_is_split_makes_room_for_its_parts() -> None:
    assert stands(SPLIT)["c"] == [("c.e1a", "One."), ("c.e1b", "Two."), ("c.2", "Three.")]
    assert standing(ITEM, edits(SPLIT)).of == {"c.e1a": ("c.1",), "c.e1b": ("c.1",)}


def test_aius_that_are_merged_stand_at_the_place_of_the_first() -> None:
    merged = Merge(aius=("c.2", "c.1"), piece=Piece(text="All."))
    assert stands(merged)["c"] == [("c.e1", "All.")]
    assert stands(SPLIT, Merge(aius=("c.e1b", "c.2"), piece=Piece(text="Rest.")))["c"] == [
        ("c.e1a", "One."),
        ("c.e2", "Rest."),
    ]


def test_what_is_added_stands_at_the_end_of_its_critique() -> None:
    assert stands(Add(critique="d", piece=Piece(text=" Five. ")))["d"] == [("d.1", "Four."), ("d.e1", "Five.")]


def test_other_words_are_another_aiu() -> None:
    assert stands(Reword(aiu="c.2", piece=Piece(text="3.")))["c"] == [("c.1", "One and two."), ("c.e1", "3.")]


def test_not_atomic_is_a_mark_that_goes_when_the_aiu_is_split() -> None:
    marked = NotAtomic(aiu="c.1")
    assert standing(ITEM, edits(marked)).not_atomic == {"c.1"}
    assert standing(ITEM, edits(marked, NotAtomic(aiu="c.1", on=False))).not_atomic == frozenset()
    assert standing(ITEM, edits(marked, SPLIT)).not_atomic == frozenset()


def test_an_undo_brings_back_the_aiu_with_its_id() -> None:
    assert stands(SPLIT, Undo(edit=1)) == stands()


def test_an_undo_can_be_undone() -> None:
    assert stands(SPLIT, Undo(edit=1), Undo(edit=2)) == stands(SPLIT)


def test_what_was_taken_back_leaves_its_number_taken() -> None:
    assert stands(SPLIT, Undo(edit=1), SPLIT)["c"][0] == ("c.e3a", "One.")


def test_no_id_ever_has_two_wordings() -> None:
    history = edits(
        SPLIT, Reword(aiu="c.e1a", piece=Piece(text="1.")), Undo(edit=2), Add(critique="c", piece=Piece(text="X"))
    )
    words: dict[str, str] = {}
    for end in range(len(history) + 1):
        for id, aiu in standing(ITEM, history[:end]).aius().items():
            assert words.setdefault(id, aiu.text) == aiu.text


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (Split(aiu="c.9", into=pieces("a", "b")), "This AIU was changed meanwhile; look at it again."),
        (Merge(aius=("c.1", "d.1"), piece=Piece(text="x")), "Only different AIUs of one critique can be merged."),
        (Merge(aius=("c.1", "c.1"), piece=Piece(text="x")), "Only different AIUs of one critique can be merged."),
        (Add(critique="e", piece=Piece(text="x")), "There is no critique 'e' here."),
        (Undo(edit=7), "This edit does not stand any more, so it cannot be taken back."),
    ],
)
def test_a_change_that_cannot_be_made_is_refused_in_a_sentence(change: Change, sentence: str) -> None:
    with pytest.raises(Problem) as problem:
        checked(ITEM, [], change)
    assert str(problem.value) == sentence


def test_an_edit_that_others_build_on_is_not_taken_back() -> None:
    history = edits(SPLIT, Reword(aiu="c.e1a", piece=Piece(text="1.")))
    with pytest.raises(Problem, match="A later edit builds on this one"):
        checked(ITEM, history, Undo(edit=1))
    checked(ITEM, history, Undo(edit=2))


def test_the_last_edit_is_ones_own_and_of_this_critique() -> None:
    history = [
        Edit(number=1, annotator="ann", change=SPLIT),
        Edit(number=2, annotator="ann", change=Add(critique="d", piece=Piece(text="x"))),
        Edit(number=3, annotator="bob", change=Add(critique="c", piece=Piece(text="y"))),
    ]
    assert last(ITEM, history, "ann", "c") == 1
    assert last(ITEM, history, "ann", "d") == 2
    assert last(ITEM, history, "bob", "d") is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: Split(aiu="c.1", into=pieces("only one")),
        lambda: Merge(aius=("c.1",), piece=Piece(text="x")),
        lambda: Piece(text="  \n"),
        lambda: Piece(text="x" * 2001),
    ],
)
def test_a_change_without_content_cannot_be_said(make: Any) -> None:
    with pytest.raises(ValidationError):
        make()


def test_what_a_run_wrote_fills_only_what_is_missing() -> None:
    bare = Item(
        id="i", prompt="?", responses=(Response(text="!"),), critiques=(Critique(id="c", author="c", text="One."),)
    )
    taken = Adopt(
        run="r",
        critiques=(
            Critique(id="c", author="c", text="One.", aius=numbered("c", ["One."])),
            Critique(id="ref", author="r", role="reference", text="Two.", aius=numbered("ref", ["Two."])),
        ),
        answer="!!",
    )
    now = standing(bare, edits(taken))
    assert [(one.id, len(one.aius or ())) for one in now.critiques] == [("c", 1), ("ref", 1)] and now.answer == "!!"
    assert standing(ITEM, edits(taken)).critiques[0] == ITEM.critiques[0]
