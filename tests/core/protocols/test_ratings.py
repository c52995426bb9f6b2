"""The readers of ratings, options and numbers; other replies are refused with the reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.labels import Scale
from core.problems import Unreadable
from core.protocols import ratings

THREE = Scale(level="ordinal", categories=(1, 2, 3))
HUNDRED = Scale(level="interval", low=0, high=100)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Analysis: fine.\nRating: 2", 2),
        ("Analysis: fine.\n\n**Rating:** 3", 3),
        ("**Rating: 1**", 1),
        ("Rating: 2/3", 2),
        ("Final rating: 2 out of 3.", 2),
        ("Engaging: 3", 3),
        ("- Engaging (1-3): 3", 3),
        ("Rating:\n2", 2),
        ("The reply has 12 words and names 3 facts.\n\n2", 2),
        ("Rating = 2", 2),
        ("rating: 2.0", 2),
        ("Rating: 2\nRating: 2", 2),
        ("Score: ２", 2),
    ],
)
def test_a_rating(reply: str, value: int) -> None:
    assert ratings.read_rating(reply, THREE, ["engaging"]) == value


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "empty"),
        ("It is rather good, a 3 I would say.", 'no "Rating'),
        ("Rating: 2-3", "not one rating"),
        ("Rating: 2 or 3", "not one rating"),
        ("Rating: high", "not one rating"),
        ("Rating: 7", "not on the scale: 1, 2 or 3"),
        ("Rating: 2.5", "not on the scale"),
        ("Rating: -1", "not on the scale"),
        ("Rating: 4/5", "scale ends at 3"),
        ("Rating: 2\nRating: 3", "2 and 3"),
        ("Rating: (one value: 1, 2 or 3)", "not one rating"),
    ],
)
def test_no_rating(reply: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        ratings.read_rating(reply, THREE)


def test_a_continuous_scale_accepts_any_number_between_its_ends() -> None:
    assert ratings.read_rating("Rating: 87.5", HUNDRED) == 87.5
    with pytest.raises(Unreadable):
        ratings.read_rating("Rating: 101", HUNDRED)


@pytest.mark.parametrize(
    "reply",
    [
        "Answer: B",
        "**Answer:** (B)",
        "Answer: B) 60 km/h",
        "Answer:\nB",
        "So it is 60.\n\nB",
        "Answer: option B",
        'Answer: "B"',
    ],
)
def test_an_option(reply: str) -> None:
    assert ratings.read_option(reply, "ABCDE") == "B"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("Answer: A or B", "not one letter"),
        ("Answer: A, B", "not one letter"),
        ("Answer: sixty", "not one letter"),
        ("Answer: A\nAnswer: B", "A and B"),
        ("Answer: F", "F is not one of"),
        ("A train is fast.", 'no "Answer'),
        ("Answer: A train", "not one letter"),
    ],
)
def test_no_option(reply: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        ratings.read_option(reply, "ABCDE")


@pytest.mark.parametrize(
    ("reply", "value"),
    [("Answer: 42", 42), ("Answer: $1,200.50", 1200.5), ("Answer: −3", -3), ("Answer: 42 apples", 42), ("7", 7)],
)
def test_a_number(reply: str, value: float) -> None:
    assert ratings.read_number(reply) == value


@pytest.mark.parametrize("reply", ["Answer: 3 + 4", "Answer: seven", "It is 7, I think.", "Answer: 1\nAnswer: 2"])
def test_no_number(reply: str) -> None:
    with pytest.raises(Unreadable):
        ratings.read_number(reply)


def test_a_comment_is_the_text_above_the_rating() -> None:
    assert ratings.comment_text("**Analysis:** Dull.\nStill kind.\n**Rating:** 2") == "Dull.\nStill kind."
    assert ratings.comment_text("Dull.\n2") == "Dull."
    assert ratings.comment_text("Rating: 2") == ""


@given(st.sampled_from([1, 2, 3]), st.text(max_size=60).filter(lambda text: ":" not in text and "=" not in text))
def test_text_above_the_last_line_does_not_change_the_rating(value: int, text: str) -> None:
    assert ratings.read_rating(f"Analysis: x {text} x.\nRating: {value}", THREE) == value


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (
        lambda t: ratings.read_rating(t, THREE),
        lambda t: ratings.read_option(t, "AB"),
        ratings.read_number,
        ratings.comment_text,
    ):
        try:
            read(text)
        except Unreadable:
            continue
