"""The readers of aspects, weights and scores; other replies are refused with the reason."""

import pytest

from core.problems import Unreadable
from core.protocols.dna_eval.readings import read_aspects, read_number_row, read_scores, read_weights


@pytest.mark.parametrize(
    "reply",
    [
        "1. Is it right?\n2. Is it kind?",
        "(1) Is it right?\n(2) Is it kind?",
        "Here are two aspects:\n\n1) Is it right?\n2) Is it kind?\n",
        "**Aspect 1: Is it right?**\n**Aspect 2: Is it kind?**",
        "- Is it right?\n- Is it kind?",
        "Is it right?\nIs it kind?",
    ],
)
def test_aspects_are_the_lines_of_a_list(reply: str) -> None:
    assert read_aspects(reply, 2) == ("Is it right?", "Is it kind?")


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "empty"),
        ("1. one\n2. two\n3. three", "names 3 aspects, not 2"),
        ("1. one\n2. One", "the same aspect twice"),
        ("I would look at truth and beauty.", "names 1 aspects"),
    ],
)
def test_other_lists_are_unreadable_as_aspects(reply: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read_aspects(reply, 2)


@pytest.mark.parametrize(
    "reply",
    [
        "40% 35% 25%",
        "40, 35, 25",
        "['40%', '35%', '25%']",
        "40%|35%|25%",
        "**40% 35% 25%**",
        "These are my weights:\n40% 35% 25%",
        "x: 40%\ny: 35%\nz: 25%",
        "1. x - 40%\n2. y - 35%\n3. z - 25%",
        "80 70 50",
        "40% 35$ 25%",
    ],
)
def test_weights_are_read_from_a_row_or_from_lines(reply: str) -> None:
    assert read_weights(reply, ("x", "y", "z")) == {"x": 40, "y": 35, "z": 25}


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "empty"),
        ("40% 60%", "2 weights for 3"),
        ("About 40%, then 35% and 25%", "no line"),
        ("0 0 0", "all weights are 0"),
        ("120 -10 -10", "negative"),
        ("x: 40%\nThe rest is even.\nz: 25%", "no line"),
    ],
)
def test_other_rows_are_unreadable_as_weights(reply: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read_weights(reply, ("x", "y", "z"))


def test_a_row_holds_only_numbers() -> None:
    assert read_number_row("['20%', '80%']") == (20, 80)
    assert read_number_row("20 and 80") is None and read_number_row("none") is None and read_number_row("") is None


@pytest.mark.parametrize(
    "reply",
    [
        "8 7.5",
        "8, 7.5",
        "8 | 7.5",
        "**8 7.5**",
        "8/10 7.5/10",
        "It is close, 9 at first.\n\n8 7.5",
        "Response 1: 8\nResponse 2: 7.5",
        "Response 1: 8/10, Response 2: 7.5/10",
        "R1: 8; R2: 7.5",
    ],
)
def test_scores_are_the_numbers_of_the_last_line(reply: str) -> None:
    assert read_scores(reply, 2, 1, 10) == (8, 7.5)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "empty"),
        ("8", "not 2 scores"),
        ("8 7 6", "not 2 scores"),
        ("8 7\nBoth are good.", "not 2 scores"),
        ("I give 8 to the first and 7 to the second.", "not 2 scores"),
        ("0 7", "0 is not a score from 1 to 10"),
        ("8/20 7/20", "8/20 is not a score from 1 to 10"),
        ("Response 2: 8\nResponse 1: 7", "not 2 scores"),
        ("-8 7", "not 2 scores|-8 is not"),
    ],
)
def test_other_last_lines_are_unreadable_as_scores(reply: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read_scores(reply, 2, 1, 10)
