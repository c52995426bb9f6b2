"""Scales, and the gold value that follows from labels."""

import pytest
from pydantic import ValidationError

from core.labels import (
    PREFERENCE,
    TRUTH,
    Adjudication,
    Label,
    Scale,
    Target,
    Value,
    is_match,
    judges_gold,
    majority_value,
    policy_gold,
    resolve_gold,
)

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
        (INTERVAL, 0, True, True),
        (INTERVAL, -0.5, False, False),
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
        ({"a": 1}, 1, "single", "1 label"),
        ({}, None, "unresolved", "no label"),
    ],
)
def test_gold_is_a_single_label_else_unanimous_else_majority_else_unresolved(
    labels: dict[str, object], value: object, source: str, reason: str
) -> None:
    gold = resolve_gold(TARGET, labels)  # type: ignore[arg-type]
    assert (gold.value, gold.source, gold.reason, gold.annotators) == (value, source, reason, len(labels))


def test_the_distribution_has_equally_frequent_values_in_one_order() -> None:
    given: dict[str, Value] = {"a": 2, "b": 0, "c": 1, "d": 2}
    for labels in (given, dict(reversed(given.items()))):
        assert resolve_gold(TARGET, labels).distribution == ((2, 2), (0, 1), (1, 1))


def test_an_order_of_texts_has_each_number_once() -> None:
    for shown in ((), (1,), (2, 1, 3)):
        assert Label(target=TARGET, annotator="ann", value=1, shown=shown).shown == shown
    for shown in ((2,), (1, 1), (0, 1), (1, 3)):
        with pytest.raises(ValidationError, match="an order has every number"):
            Label(target=TARGET, annotator="ann", value=1, shown=shown)


def test_an_adjudication_takes_precedence_over_unanimous_labels() -> None:
    decision = Adjudication(target=TARGET, value=2, rule="discussion", reason="", adjudicator="dee")
    gold = resolve_gold(TARGET, {"ann": 1, "ben": 1}, decision)
    assert (gold.value, gold.source, gold.reason) == (2, "adjudicated", "discussion")


@pytest.mark.parametrize(
    ("scale", "values", "value", "source"),
    [
        (FIVE, (2, 3), 2.5, "mean"),
        (FIVE, (2, 4), 3, "mean"),
        (FIVE, (3, 3), 3, "mean"),
        (None, (0.25, 0.75), 0.5, "mean"),
        (FIVE, (2,), 2, "single"),
        (GRADES, ("good", "good", "poor"), "good", "majority"),
        (Scale(level="nominal", categories=(1, 2, 3)), (1, 3), None, "unresolved"),
    ],
)
def test_gold_of_scores_is_their_mean_unless_the_scale_is_nominal(
    scale: Scale | None, values: tuple[object, ...], value: object, source: str
) -> None:
    labels = {f"annotator {n}": value for n, value in enumerate(values)}
    gold = resolve_gold(Target(item="q1", kind="score"), labels, scale=scale)  # type: ignore[arg-type]
    assert (gold.value, type(gold.value), gold.source) == (value, type(value), source)


def test_verdicts_of_judges_are_gold_of_their_own_source_only_when_they_agree() -> None:
    agreed = judges_gold(TARGET, {"first": 1, "second": 1})
    assert (agreed.value, agreed.source, agreed.reason) == (1, "judges", "no label; the verdict of first, second")
    assert judges_gold(TARGET, {"only": 2}).value == 2
    assert (agreed.annotators, policy_gold(TARGET, 1, "p").annotators) == (0, 0)
    differing = judges_gold(TARGET, {"first": 1, "second": 2})
    assert (differing.value, differing.source) == (None, "unresolved")
    assert differing.reason == "no label, and the verdicts of first, second differ"


def test_gold_of_weights_is_the_mean_of_each_aspect() -> None:
    weights = Target(item="q1", kind="aspect_weights")
    gold = resolve_gold(weights, {"ann": {"b": 40.0, "a": 60.0}, "ben": {"a": 80.0, "b": 20.0}})
    assert (gold.value, gold.source) == ({"a": 70.0, "b": 30.0}, "mean")
    other = resolve_gold(weights, {"ann": {"b": 100.0}, "ben": {"a": 100.0}})
    assert (other.value, other.source) == (None, "unresolved")


@pytest.mark.parametrize(
    ("value", "known", "tolerance", "matches"),
    [
        ("a", "a", 0, True),
        ("a", "b", 0, False),
        (True, 1, 0, False),
        (3, 3.5, 0.5, True),
        (3, 3.6, 0.5, False),
        ({"a": 40, "b": 60}, {"b": 55, "a": 45}, 5, True),
        ({"a": 40, "b": 60}, {"a": 46, "b": 54}, 5, False),
        ({"a": 100}, {"b": 100}, 100, False),
    ],
)
def test_numbers_and_each_weight_may_differ_from_known_ones(
    value: object, known: object, tolerance: float, matches: bool
) -> None:
    assert is_match(value, known, tolerance) == is_match(known, value, tolerance) == matches  # type: ignore[arg-type]


def test_a_majority_is_more_than_half() -> None:
    assert (majority_value([1, 1, 2]), majority_value([1, 2]), majority_value([])) == (1, None, None)
    assert majority_value([True, True, 1]) is True


def test_a_number_that_is_not_finite_is_on_no_scale() -> None:
    assert not Scale(level="interval").contains(float("inf"))
    assert not Scale(level="interval").contains(float("nan"))


def test_a_preference_is_a_response_number_or_zero() -> None:
    assert [value for value in (0, 1, 2, 3, "1", False) if PREFERENCE.contains(value)] == [0, 1, 2]
