"""Scales, and the gold value that follows from labels."""

import pytest

from core.labels import PREFERENCE, TRUTH, Adjudication, Scale, Target, resolve_gold

TARGET = Target(item="q1", kind="preference", criterion="helpfulness")
FIVE = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))
GRADES = Scale(level="ordinal", categories=("poor", "good"))
INTERVAL = Scale(level="interval", low=0, high=10)


@pytest.mark.parametrize(
    ("scale", "value", "contains", "covers"),
    [
        (FIVE, 3, True, True),
        (FIVE, 3.5, False, True),
        (FIVE, 5.5, False, False),
        (FIVE, True, False, False),
        (TRUTH, True, True, True),
        (TRUTH, 1, False, False),
        (GRADES, "good", True, True),
        (GRADES, "fair", False, False),
        (INTERVAL, 9.5, True, True),
        (INTERVAL, 10.5, False, False),
        (INTERVAL, "9", False, False),
    ],
)
def test_a_scale_contains_its_values_and_covers_their_means(
    scale: Scale, value: object, contains: bool, covers: bool
) -> None:
    assert (scale.contains(value), scale.covers(value)) == (contains, covers)


@pytest.mark.parametrize(
    ("labels", "value", "source", "reason"),
    [
        ({"a": 1, "b": 1}, 1, "unanimous", "2 of 2"),
        ({"a": 1, "b": 1, "c": 0}, 1, "majority", "2 of 3"),
        ({"a": 1, "b": 2}, None, "unresolved", "no majority among 2 annotators"),
        ({"a": True, "b": 1}, None, "unresolved", "no majority among 2 annotators"),
        ({}, None, "unresolved", "no label, and no verdict that the judges agreed on"),
    ],
)
def test_gold_is_unanimous_else_majority_else_unresolved(
    labels: dict[str, object], value: object, source: str, reason: str
) -> None:
    gold = resolve_gold(TARGET, labels)  # type: ignore[arg-type]
    assert (gold.value, gold.source, gold.reason, gold.annotators) == (value, source, reason, len(labels))


def test_an_adjudication_takes_precedence_over_unanimous_labels() -> None:
    decision = Adjudication(target=TARGET, value=2, rule="discussion", reason="", adjudicator="dee")
    gold = resolve_gold(TARGET, {"ann": 1, "ben": 1}, decision, verdicts=[1])
    assert (gold.value, gold.source, gold.reason) == (2, "adjudicated", "discussion")


def test_verdicts_of_judges_count_only_without_labels_and_when_they_agree() -> None:
    assert resolve_gold(TARGET, {}, verdicts=[1, 1]).source == "judges"
    assert resolve_gold(TARGET, {}, verdicts=[1, 2]).reason == "no label, and the runs' verdicts differ"
    assert resolve_gold(TARGET, {"ann": 2}, verdicts=[1, 1]).value == 2


def test_equal_weights_of_two_annotators_are_one_value() -> None:
    gold = resolve_gold(TARGET, {"ann": {"b": 40.0, "a": 60.0}, "ben": {"a": 60.0, "b": 40.0}})
    assert (gold.value, gold.source) == ({"a": 60.0, "b": 40.0}, "unanimous")


def test_a_preference_is_a_response_number_or_zero() -> None:
    assert [value for value in (0, 1, 2, 3, "1", False) if PREFERENCE.contains(value)] == [0, 1, 2]
