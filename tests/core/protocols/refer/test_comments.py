"""The comment of a review: nothing in it can be read as the rating or the answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.answers import Number, Option, Rating
from core.errors import UnreadableReply
from core.protocols.refer.protocol import comment_text

THREE = Rating(levels=(1, 2, 3), names=("engaging",))


@pytest.mark.parametrize(
    ("reply", "comment"),
    [
        ("**Analysis:** Dull.\nStill kind.\n**Rating:** 2", "Dull.\nStill kind."),
        ("Dull.\n2", "Dull."),
        ("Rating: 2", ""),
        ("It is dull. I would rate it a 2. It uses the fact.\n\nRating: 2", "It is dull. It uses the fact."),
        ("Dull. On balance 2/3 seems right.\nRating: 2", "Dull."),
        ("It lies between a rating of 1 and 2. It is dull.\nRating: 2", "It is dull."),
        ("Rating: 1\nWait, actually it is kind.\nRating: 2", "Wait, actually it is kind."),
        ("<think>A 1? A 3?</think>Dull.\nEngaging: 2", "Dull."),
        ('{"reasoning": "Dull, and short.", "rating": 2}', "Dull, and short."),
        ("It names 3 facts.\nRating: 2", "It names 3 facts."),
    ],
)
def test_a_comment_does_not_contain_the_rating(reply: str, comment: str) -> None:
    assert comment_text(reply, THREE) == comment


def test_the_solution_of_a_problem_is_a_comment_without_its_answer() -> None:
    reply = "Analysis: 120 km in 2 h are 60 km/h.\nFinal answer: B"
    assert comment_text(reply, Option(letters="AB")) == "120 km in 2 h are 60 km/h."
    assert "Final answer" not in comment_text("Half of 120.\nFinal answer: 60", Number())


@given(st.text(max_size=200), st.sampled_from((1, 2, 3)))
def test_no_rating_can_be_read_in_a_comment(text: str, value: int) -> None:
    with pytest.raises(UnreadableReply):
        THREE.parse(comment_text(f"{text}\nRating: {value}", THREE))
