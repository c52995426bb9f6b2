"""What replies about critiques say, and which of them say nothing."""

import pytest

from core.problems import Unreadable
from core.protocols.metacritique.readings import claims, letter, rating, truth, words


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Evidence: ...\nReasoning: ...\nTherefore, the claim is true.", True),
        ("The two contradict each other. Therefore, the claim is false.", False),
        ("True", True),
        ("**False**", False),
        ("Verdict: **true**", True),
        ("It does not follow.\n\nThe claim in question is false.", False),
        ("Although it is not said outright, it follows.\nTherefore, the claim is true.", True),
        ("Thus, the statement is therefore “true”.", True),
        ("So the claim is **false**.\n---", False),
        ("Ｔｒｕｅ", True),
        ("If the first claim is false, the rest falls. Therefore, the claim is false.", False),
    ],
)
def test_the_last_sentence_tells(reply: str, value: bool) -> None:
    assert truth(reply) is value


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "the reply is empty"),
        ("The claim is about Ada.", "the last sentence does not say"),
        ("The claim is not true.", "the last sentence does not say"),
        ("It isn't clear that the claim is true.", "the last sentence does not say"),
        ("The claim is partially true.", "the last sentence does not say"),
        ("Whether the claim is true depends.", "the last sentence does not say"),
        ("The claim is either true or false.", "the last sentence does not say"),
        ("Therefore, the claim is true.\nFalse", "both true and false"),
        ("true / false", "the last sentence does not say"),
        ("Therefore, the claim is true. I hope this helps!", "the last sentence does not say"),
        ("The claim is true. Rather, the claim is false", None),
    ],
)
def test_what_is_in_doubt_is_no_judgement(reply: str, reason: str | None) -> None:
    if reason is None:
        assert truth(reply) is False
        return
    with pytest.raises(Unreadable, match=reason):
        truth(reply)


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("One.\nTwo.", ["One.", "Two."]),
        ("1. One.\n2) Two.\n- Three.\n(4) Four.", ["One.", "Two.", "Three.", "Four."]),
        ("Here are the claims:\n\n* One.\n* Two.", ["One.", "Two."]),
        ("```\nOne.\n```", ["One."]),
        ("claims:\nOption 3 is right.", ["Option 3 is right."]),
        ("The answer says: 3.", ["The answer says: 3."]),
        ("2 litres are too much.", ["2 litres are too much."]),
        ("none", []),
        ("None.", []),
    ],
)
def test_claims_stand_one_a_line(reply: str, found: list[str]) -> None:
    assert claims(reply).splitlines() == found


@pytest.mark.parametrize("reply", ["", "  \n ", "Here are the claims:", "```\n```"])
def test_a_list_without_a_claim_cannot_be_read(reply: str) -> None:
    with pytest.raises(Unreadable):
        claims(reply)


@pytest.mark.parametrize(("reply", "value"), [("Fine. [[6]]", 6), ("[[ 1 ]]", 1), ("[[5]] So: [[5]]", 5)])
def test_a_rating_stands_in_double_brackets(reply: str, value: int) -> None:
    assert rating(reply) == value


@pytest.mark.parametrize("reply", ["6", "[[8]]", "[[0]]", "[[5.5]]", "[[score]]", "[[5]] or [[6]]", "[[five]]"])
def test_what_is_no_rating_from_1_to_7_is_refused(reply: str) -> None:
    with pytest.raises(Unreadable):
        rating(reply)


@pytest.mark.parametrize(("reply", "value"), [("[[A]]", 1), ("So [[b]].", 2), ("A tie: [[C]]", 0)])
def test_a_letter_names_the_better_one(reply: str, value: int) -> None:
    assert letter(reply) == value


@pytest.mark.parametrize("reply", ["A", "[[A]] [[B]]", "[[D]]", "[A]", "", '"[[A]]" if A, "[[B]]" if B, "[[C]]"'])
def test_what_is_no_letter_is_refused(reply: str) -> None:
    with pytest.raises(Unreadable):
        letter(reply)


def test_a_text_is_what_stands_there() -> None:
    assert words(" So it is.\n") == "So it is."
    with pytest.raises(Unreadable, match="empty"):
        words(" \n")
