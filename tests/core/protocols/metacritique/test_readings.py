"""The readers of truth values, claims, ratings and letters; other replies are refused with the reason."""

import pytest

from core.problems import Unreadable
from core.protocols.metacritique.readings import read_claims, read_letter, read_rating, read_text, read_truth


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
def test_the_last_sentence_is_read(reply: str, value: bool) -> None:
    assert read_truth(reply) is value


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
def test_a_qualified_conclusion_is_unreadable(reply: str, reason: str | None) -> None:
    if reason is None:
        assert read_truth(reply) is False
        return
    with pytest.raises(Unreadable, match=reason):
        read_truth(reply)


@pytest.mark.parametrize(
    ("reply", "claims"),
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
def test_claims_are_read_one_a_line(reply: str, claims: list[str]) -> None:
    assert read_claims(reply).splitlines() == claims


@pytest.mark.parametrize("reply", ["", "  \n ", "Here are the claims:", "```\n```"])
def test_a_list_without_claims_is_unreadable(reply: str) -> None:
    with pytest.raises(Unreadable):
        read_claims(reply)


@pytest.mark.parametrize(("reply", "value"), [("Fine. [[6]]", 6), ("[[ 1 ]]", 1), ("[[5]] So: [[5]]", 5)])
def test_a_rating_is_in_double_brackets(reply: str, value: int) -> None:
    assert read_rating(reply) == value


@pytest.mark.parametrize("reply", ["6", "[[8]]", "[[0]]", "[[5.5]]", "[[score]]", "[[5]] or [[6]]", "[[five]]"])
def test_other_replies_are_unreadable_as_ratings(reply: str) -> None:
    with pytest.raises(Unreadable):
        read_rating(reply)


@pytest.mark.parametrize(("reply", "value"), [("[[A]]", 1), ("So [[b]].", 2), ("A tie: [[C]]", 0)])
def test_a_letter_names_the_better_one(reply: str, value: int) -> None:
    assert read_letter(reply) == value


@pytest.mark.parametrize("reply", ["A", "[[A]] [[B]]", "[[D]]", "[A]", "", '"[[A]]" if A, "[[B]]" if B, "[[C]]"'])
def test_other_replies_are_unreadable_as_letters(reply: str) -> None:
    with pytest.raises(Unreadable):
        read_letter(reply)


def test_a_text_is_read_without_surrounding_blanks() -> None:
    assert read_text(" So it is.\n") == "So it is."
    with pytest.raises(Unreadable, match="empty"):
        read_text(" \n")
