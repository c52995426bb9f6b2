"""Scores and votes are read where they stand as they were asked for; anything else is no verdict, with the reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.problems import Unreadable
from core.protocols.chateval.readings import scores, vote
from tests.core.protocols.talks import scored


@pytest.mark.parametrize(
    ("reply", "values"),
    [
        (scored(8, 7), (8, 7)),
        (scored(8.5, "7"), (8.5, 7)),
        ("**Score of Assistant 1:** 8\n**Score of Assistant 2:** 7/10", (8, 7)),
        ("The score of Assistant 1: 8\nThe score of Assistant 2: 9", (8, 9)),
        ("Score for Assistant 1: **9**\nScore for Assistant 2: **4**.", (9, 4)),
        ("- Assistant 1: 8 out of 10\n- Assistant 2: 6 out of 10", (8, 6)),
        ("Assistant 1's score: 8\nAssistant 2's score: 6", (8, 6)),
        ("Score of Assistant 2: 3\nScore of Assistant 1: 4", (4, 3)),
        ("Both are good. Assistant 1 has 3 examples.\n\n8 7", (8, 7)),
        ("Final score of Assistant 1: 8\nFinal score of Assistant 2: 8", (8, 8)),
        ("Score of Assistant 1: ８\r\nScore of Assistant 2: 7\r\n```", (8, 7)),
        (f"{scored(8, 7)}\n{scored(8, 7)}", (8, 7)),
    ],
)
def test_two_scores(reply: str, values: tuple[float, float]) -> None:
    assert scores(reply, 1, 10) == values


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "empty"),
        ("  \n---\n", "empty"),
        ("Assistant 1 is better, I would say 8 against 7.", 'no "Score of Assistant 1'),
        ("Score of Assistant 1: 8", "no score of assistant 2"),
        ("Score of Assistant 1: 8\nScore of Assistant 2:", "is not one score"),
        (scored("8-9", 7), "'8-9' is not one score"),
        (scored("8 or 9", 7), "is not one score"),
        (scored(11, 7), "11 is not a score from 1 to 10"),
        (scored(0, 7), "0 is not a score from 1 to 10"),
        (scored(-3, 7), "-3 is not a score"),
        (scored("4/5", 7), "scores out of 5"),
        (scored("(the score alone)", "(the score alone)"), "is not one score"),
        (f"{scored(8, 7)}\n{scored(6, 7)}", "scores assistant 1 with both 6 and 8"),
        (scored("N/A", 7), "is not one score"),
        ("8 7 6", 'no "Score'),
        ("I cannot help with that.", 'no "Score'),
    ],
)
def test_no_scores(reply: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        scores(reply, 1, 10)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Reasons.\n\n1", 1),
        ("Reasons.\n\n**2**", 2),
        ("Reasons.\n\nAssistant 1", 1),
        ("Assistant 2's answer is better.", 2),
        ("Neither is better.", 0),
        ("Reasons.\n\n0", 0),
    ],
)
def test_a_vote(reply: str, value: int) -> None:
    assert vote(reply) == value


@pytest.mark.parametrize("reply", ["", "[Silence]", "Assistant", "1 or 2", "3", "Both have merits."])
def test_no_vote(reply: str) -> None:
    with pytest.raises(Unreadable):
        vote(reply)


@given(st.text(max_size=300))
def test_whatever_is_said_is_read_or_refused_in_words(reply: str) -> None:
    try:
        first, second = scores(reply, 1, 10)
    except Unreadable:
        return
    assert 1 <= first <= 10 and 1 <= second <= 10
