"""Contention: 0 if opinions agree, 1 if they could not differ more."""

import pytest

from core.labels import Scale
from core.verdicts import DISPUTE_THRESHOLD, contention, is_disputed

LEVELS = Scale(level="ordinal", categories=(1, 2, 3))


@pytest.mark.parametrize(
    ("opinions", "expected"),
    [
        ([1, 1, 1], 0.0),
        ([1, 1, 2], 0.5),
        ([1, 2, 0], 1.0),
        ([1, 2], 1.0),
        ([1], 0.0),
        ([1, None, 1], 0.0),
        ([None, None], None),
        ([True, 1], 1.0),
        (["A", "A", "B", "B"], 2 / 3),
    ],
)
def test_choices_are_measured_by_the_share_of_the_most_frequent_value(opinions, expected):
    assert contention(opinions) == (expected if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("scores", "expected"), [([1, 3, 1, 3], 1.0), ([2, 2], 0.0), ([1, 2], 0.5), ([2.5], 0.0), ([0, 4], 1.0)]
)
def test_scores_are_measured_by_their_range_on_the_scale(scores, expected):
    assert contention(scores, LEVELS) == pytest.approx(expected)


def test_a_choice_that_changes_with_the_order_of_responses_is_fully_contended():
    assert contention([1, 1], flipped=True) == 1.0


def test_a_scale_without_numbers_is_measured_as_choices():
    assert contention(["A", "B"], Scale(level="nominal", categories=("A", "B", "C"))) == 1.0


@pytest.mark.parametrize(
    ("votes", "disputed"),
    [([1, 1, 2], False), ([1, 1, 1, 2, 2, 0, 0], True), ([1, 1, 1, 1, 2, 2, 2], False), ([1, 2], True)],
)
def test_votes_without_a_majority_are_above_the_default_threshold(votes: list[int], disputed: bool) -> None:
    assert is_disputed(contention(votes), DISPUTE_THRESHOLD) is disputed


def test_nothing_is_above_a_threshold_of_1_and_no_contention_is_not_disputed() -> None:
    assert not is_disputed(contention([1, 2, 0]), 1)
    assert not is_disputed(None, 0)
