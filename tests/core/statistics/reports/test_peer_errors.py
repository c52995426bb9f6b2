"""Figure 3 of ReFeR: the chair right or wrong, by the number of peers that were right."""

import pytest

from core.labels import Scale
from core.statistics.reports.peer_errors import (
    ReviewedTrace,
    classify_traces,
    count_misleading_peers,
    is_correct,
    outcome_slices,
    published_shares,
    score_tolerance,
)

THREE = Scale(level="ordinal", categories=(1, 2, 3))


def make_review(truth: object, peers: list[object], chair: object, trace: int = 0) -> ReviewedTrace:
    named_peers = tuple(zip("abcdef", peers, strict=False))
    return ReviewedTrace(trace, f"item {trace}", truth, named_peers, chair)  # type: ignore[arg-type]


def test_a_score_is_right_within_a_quarter_of_the_scale() -> None:
    assert score_tolerance(THREE) == 0.5
    assert score_tolerance(Scale(level="interval", low=0, high=100), 0.1) == 10
    assert is_correct(2.5, 2, 0.5) and is_correct(1.5, 2, 0.5)
    assert not is_correct(2.51, 2, 0.5)


def test_on_a_scale_without_ends_only_the_truth_is_correct() -> None:
    assert score_tolerance(Scale(level="interval")) is None
    assert is_correct(3, 3, None) and not is_correct(3.1, 3, None)


def test_an_answer_is_right_when_it_is_the_gold_answer() -> None:
    assert is_correct("b", "B ") and not is_correct("A", "B") and is_correct(42.0, 42)
    assert not is_correct(None, 2, 0.5), "an unreadable reply"


def test_the_slices_of_the_figure() -> None:
    outcomes = classify_traces(
        [
            make_review("A", ["A", "A", "B"], "A", 1),
            make_review("A", ["A", "B", "A"], "B", 2),
            make_review("A", ["B", "B", "B"], "A", 3),
            make_review("A", ["B", "C", "B"], "B", 4),
            make_review("A", ["A", "A", "A"], "A", 5),
        ]
    )
    slices = outcome_slices(outcomes)
    assert [
        (one.peers_right, one.peers, one.chair_right, [outcome.reviewed.trace for outcome in one.outcomes])
        for one in slices
    ] == [
        (0, 3, True, [3]),
        (0, 3, False, [4]),
        (2, 3, True, [1]),
        (2, 3, False, [2]),
        (3, 3, True, [5]),
    ]
    assert sum(one.share.value or 0 for one in slices) == pytest.approx(1)


def test_the_three_shares_of_the_paper() -> None:
    outcomes = classify_traces(
        [make_review(1, [1, 3], 1), make_review(1, [1, 3], 3), make_review(1, [3, 3], 1), make_review(1, [1, 1], 1)],
        0.5,
    )
    assert {name: one.value for name, one in published_shares(outcomes).items()} == {
        "some": 0.25,
        "led astray": 0.25,
        "alone": 0.25,
    }


def test_a_peer_misled_the_chair_if_both_err_in_the_same_way() -> None:
    outcomes = classify_traces(
        [make_review(2, [3, 1, 2], 3), make_review(2, [3, 3, 2], 2), make_review(1, [3, 2, None], 2.4)], 0.5
    )
    assert count_misleading_peers(outcomes) == {"a": 2, "b": 1}
    answers = classify_traces([make_review("A", ["B", "C", "A"], "B")])
    assert answers[0].misled_by == ("a",)
