"""The readers of scores and votes; other replies are refused with the reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.problems import Unreadable
from core.protocols.chateval.readings import read_scores, read_vote
from tests.core.protocols.discussions import scores_reply


@pytest.mark.parametrize(
    ("reply", "values"),
    [
        (scores_reply(8, 7), (8, 7)),
        (scores_reply(8.5, "7"), (8.5, 7)),
        ("**Score of Assistant 1:** 8\n**Score of Assistant 2:** 7/10", (8, 7)),
        ("The score of Assistant 1: 8\nThe score of Assistant 2: 9", (8, 9)),
        ("Score for Assistant 1: **9**\nScore for Assistant 2: **4**.", (9, 4)),
        ("- Assistant 1: 8 out of 10\n- Assistant 2: 6 out of 10", (8, 6)),
        ("Assistant 1's score: 8\nAssistant 2's score: 6", (8, 6)),
        ("Score of Assistant 2: 3\nScore of Assistant 1: 4", (4, 3)),
        ("Both are good. Assistant 1 has 3 examples.\n\n8 7", (8, 7)),
        ("Final score of Assistant 1: 8\nFinal score of Assistant 2: 8", (8, 8)),
        ("Score of Assistant 1: ８\r\nScore of Assistant 2: 7\r\n```", (8, 7)),
        (f"{scores_reply(8, 7)}\n{scores_reply(8, 7)}", (8, 7)),
    ],
)
def test_two_scores(reply: str, values: tuple[float, float]) -> None:
    assert read_scores(reply, 1, 10) == values


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "empty"),
        ("  \n---\n", "empty"),
        ("Assistant 1 is better, I would say 8 against 7.", 'no "Score of Assistant 1'),
        ("Score of Assistant 1: 8", "no score of assistant 2"),
        ("Score of Assistant 1: 8\nScore of Assistant 2:", "is not one score"),
        (scores_reply("8-9", 7), "'8-9' is not one score"),
        (scores_reply("8 or 9", 7), "is not one score"),
        (scores_reply(11, 7), "11 is not a score from 1 to 10"),
        (scores_reply(0, 7), "0 is not a score from 1 to 10"),
        (scores_reply(-3, 7), "-3 is not a score"),
        (scores_reply("4/5", 7), "scores out of 5"),
        (scores_reply("(the score alone)", "(the score alone)"), "is not one score"),
        (f"{scores_reply(8, 7)}\n{scores_reply(6, 7)}", "scores assistant 1 with both 6 and 8"),
        (scores_reply("N/A", 7), "is not one score"),
        ("8 7 6", 'no "Score'),
        ("I cannot help with that.", 'no "Score'),
    ],
)
def test_no_scores(reply: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read_scores(reply, 1, 10)


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
    assert read_vote(reply) == value


@pytest.mark.parametrize("reply", ["", "[Silence]", "Assistant", "1 or 2", "3", "Both have merits."])
def test_no_vote(reply: str) -> None:
    with pytest.raises(Unreadable):
        read_vote(reply)


@given(st.text(max_size=300))
def test_any_reply_is_read_or_refused(reply: str) -> None:
    try:
        first, second = read_scores(reply, 1, 10)
    except Unreadable:
        return
    assert 1 <= first <= 10 and 1 <= second <= 10
