"""Proposals of which AIUs of two extractions are the same."""

import pytest

from core.aius import locate_aius, match_aius, split_text
from core.critiques import Aiu, Critique, aius_with_numbers


def aius(*texts: str, prefix: str = "a") -> list[Aiu]:
    return [Aiu(id=f"{prefix}{number}", text=text) for number, text in enumerate(texts)]


def test_the_most_similar_texts_are_paired_and_each_aiu_once() -> None:
    old = aius("The answer is wrong.", "A ball is round.")
    new = aius("The answer is wrong indeed.", "The answer is wrong!", "A cube has corners.", prefix="b")
    matches = match_aius(old, new)
    assert [(match.old.id, match.new.id) for match in matches] == [("a0", "b1")]
    assert matches[0].similarity == 1


def test_other_texts_are_not_proposed_and_equal_ids_are_the_same_already() -> None:
    assert match_aius(aius("A ball is round."), aius("Cubes have eight corners.", prefix="b")) == []
    assert match_aius(aius("A ball is round."), aius("A ball is round.")) == []
    assert match_aius([], []) == []


# Spans of AIUs in their critique.


TEXT = (
    "The answer confuses the two rivers, and it names the wrong sea. It should say that the Danube ends in the Black "
    "Sea. Otherwise it reads well; the style of the answer is clear."
)


def located_texts(*aius: str) -> list[str | None]:
    critique = Critique(author="a", text=TEXT, aius=aius_with_numbers("a", aius))
    spans = locate_aius(critique)
    return [TEXT[slice(*spans[aiu.id])] if aiu.id in spans else None for aiu in critique.aius or ()]


@pytest.mark.parametrize(
    ("aiu", "expected"),
    [
        ("The model-generated answer confuses the two rivers.", "The answer confuses the two rivers"),
        ("The model-generated answer names the wrong sea.", "and it names the wrong sea"),
        ("The Danube ends in the Black Sea.", "It should say that the Danube ends in the Black Sea"),
        ("The style is clear.", "the style of the answer is clear"),
        ("Penguins live in the south.", None),
        ("The answer is.", None),
    ],
)
def test_the_span_of_an_aiu_is_the_clause_with_its_words(aiu: str, expected: str | None) -> None:
    assert located_texts(aiu) == [expected]


def test_of_two_equal_passages_the_one_after_the_previous_aiu_is_chosen() -> None:
    text = "The end is weak. The plot is thin. The end is weak."
    aius = aius_with_numbers("a", ["The plot is thin.", "The end is weak."])
    spans = locate_aius(Critique(author="a", text=text, aius=aius))
    assert spans["a.2"][0] > spans["a.1"][0]


def test_a_marked_span_is_used_unless_it_is_outside_the_text() -> None:
    critique = Critique(
        author="a",
        text=TEXT,
        aius=(Aiu(id="1", text="The style is clear.", at=(0, 10)), Aiu(id="2", text="Clear style.", at=(5, 9999))),
    )
    assert locate_aius(critique)["1"] == (0, 10)
    assert TEXT[slice(*locate_aius(critique)["2"])] == "the style of the answer is clear"


def test_the_text_is_cut_at_the_edges_of_every_span() -> None:
    segments = split_text("abcdef", {"x": (1, 4), "y": (3, 6)})
    assert [(segment.start, segment.end, segment.aius) for segment in segments] == [
        (0, 1, ()),
        (1, 3, ("x",)),
        (3, 4, ("x", "y")),
        (4, 6, ("y",)),
    ]
