"""Replies as models write them are read as a careful person reads them; what states no value gives none."""

import re
from collections import Counter

import pytest

from tests.core.answers.replies import ANSWERS, SETS, Case, cases

ALL = [case for name in SETS for case in cases(name)]
LOST = {"choice": 17, "rating": 12, "scores": 6, "truth": 6, "weights": 3, "number": 2, "claims": 1}
"""Replies of each kind that state a value which is not read: to be lowered with each one that is read from now on."""


@pytest.mark.parametrize("kind", ANSWERS)
def test_no_value_is_wrong_and_no_other_one_is_lost(kind: str) -> None:
    replies = [case for case in ALL if case.kind == kind]
    assert len(replies) >= (10 if kind == "passage" else 80)
    assert [case for case in replies if case.outcome() in ("wrong", "invented")] == []
    assert sum(case.outcome() == "lost" for case in replies) == LOST.get(kind, 0)


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_reading_says_where_the_reply_states_its_value(kind: str) -> None:
    for case in ALL:
        if case.kind == kind and (reading := case.reading()):
            start, end = reading.span
            assert reading.rule in case.answer.rules and 0 <= start < end <= len(case.reply), case
            alone = Case(case.kind, case.declaration, case.group, case.reply[start:end], case.expected)
            assert kind in LISTS or alone.outcome() == case.outcome(), case


LISTS = ("scores", "weights", "claims")
"""Of some of these, the lines around the values say what they are."""
SPELLED = ("seventeenth", "nineteenth")
"""The sets of places and numerals in many languages: they have the forms for both responses instead of swapped ones."""
SWAPPED = {
    "1": "2",
    "１": "２",
    "first": "second",
    "First": "Second",
    "Response One": "Response Two",
    "première": "deuxième",
    "primera": "segunda",
    "erste": "zweite",
    "первый": "второй",
    "الأول": "الثاني",
    "第一": "第二",
}
SWAPPED |= {"Assistant B": "Assistant A", "[[B]]": "[[A]]"}
SWAPPED |= {there: here for here, there in SWAPPED.items()}


def swapped(case: Case) -> Case:
    """The same reply with the responses the other way round."""
    forms = "|".join(rf"\b{form}\b" if form.isalpha() and form.isascii() else re.escape(form) for form in SWAPPED)
    reply = re.sub(rf"(?:{forms})(?! glance)", lambda found: SWAPPED[found[0]], case.reply)
    return Case(case.kind, case.declaration, case.group, reply, {1: 2, 2: 1}.get(case.expected, case.expected))


def test_response_1_and_response_2_are_read_alike() -> None:
    pairs = [case for name in SETS if name not in SPELLED for case in cases(name) if case.kind == "choice"]
    replies = [case for case in pairs if case.declaration not in ("letters", "three")]
    unlike = [case for case in replies if case.outcome() != swapped(case).outcome()]
    assert len(replies) > 200
    assert [case.reply for case in unlike] == []


def test_places_and_numerals_of_all_languages_are_read() -> None:
    replies = [case for name in SPELLED for case in cases(name) if case.kind == "choice"]
    stated = Counter(case.expected for case in replies)
    lost = Counter(case.expected for case in replies if case.outcome() == "lost")
    assert min(stated[1], stated[2]) > 90
    assert lost[1] == lost[2] <= 2


def test_true_and_false_are_lost_alike() -> None:
    lost = Counter(case.expected for case in ALL if case.kind == "truth" and case.outcome() == "lost")
    stated = Counter(case.expected for case in ALL if case.kind == "truth" and case.expected is not None)
    assert lost[True] == lost[False]
    assert min(stated.values()) > 100
