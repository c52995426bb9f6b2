"""AIUs are found again in the critique that they were made from."""

import pytest

from core.aiu_spans import places, segments
from core.critiques import Aiu, Critique, numbered

TEXT = (
    "The answer confuses the two rivers, and it names the wrong sea. It should say that the Danube ends in the Black "
    "Sea. Otherwise it reads well; the style of the answer is clear."
)


def found(*aius: str) -> list[str | None]:
    critique = Critique(author="a", text=TEXT, aius=numbered("a", aius))
    there = places(critique)
    return [TEXT[slice(*there[aiu.id])] if aiu.id in there else None for aiu in critique.aius or ()]


@pytest.mark.parametrize(
    ("aiu", "stretch"),
    [
        ("The model-generated answer confuses the two rivers.", "The answer confuses the two rivers"),
        ("The model-generated answer names the wrong sea.", "names the wrong sea"),
        ("The Danube ends in the Black Sea.", "the Danube ends in the Black Sea"),
        (
            "The correct answer should say that the Danube ended in the Black Sea.",
            "should say that the Danube ends in the Black Sea",
        ),
        ("The style is clear.", "the style of the answer is clear"),
        ("Penguins live in the south.", None),
        ("The answer is.", "the answer is"),
    ],
)
def test_an_aiu_stands_where_its_words_are(aiu: str, stretch: str | None) -> None:
    (place,) = found(aiu)
    assert place is None or place in TEXT
    assert place == stretch


def test_two_aius_of_one_sentence_have_their_own_places() -> None:
    assert found("The rivers are confused.", "The sea is wrong.") == ["confuses the two rivers", "the wrong sea"]


def test_a_place_that_somebody_named_is_kept_and_one_outside_the_text_is_not() -> None:
    critique = Critique(
        author="a",
        text=TEXT,
        aius=(Aiu(id="1", text="The style is clear.", at=(0, 10)), Aiu(id="2", text="Clear style.", at=(5, 9999))),
    )
    assert places(critique)["1"] == (0, 10)
    assert TEXT[slice(*places(critique)["2"])] == "style of the answer is clear"


def test_the_text_is_cut_wherever_an_aiu_begins_or_ends() -> None:
    cut = segments("abcdef", {"x": (1, 4), "y": (3, 6)})
    assert [(one.start, one.end, one.aius) for one in cut] == [
        (0, 1, ()),
        (1, 3, ("x",)),
        (3, 4, ("x", "y")),
        (4, 6, ("y",)),
    ]


def test_segments_put_together_are_the_text() -> None:
    critique = Critique(author="a", text=TEXT, aius=numbered("a", ["The sea is wrong.", "Wrong sea, two rivers."]))
    assert "".join(TEXT[one.start : one.end] for one in segments(TEXT, places(critique))) == TEXT
    assert segments("", {}) == []
