"""Figure 3 of ReFeR: the chair right or wrong, by how many peers were right."""

import pytest

from core.labels import Scale
from core.statistics.reports.peer_errors import Reviewed, allowed, cases, findings, misleading, right, share, slices

THREE = Scale(level="ordinal", categories=(1, 2, 3))


def a_review(truth: object, peers: list[object], chair: object, trace: int = 0) -> Reviewed:
    named = tuple(zip("abcdef", peers, strict=False))
    return Reviewed(trace, f"item {trace}", truth, named, chair)  # type: ignore[arg-type]


def test_a_score_is_right_within_a_quarter_of_the_scale() -> None:
    assert allowed(THREE) == 0.5
    assert allowed(Scale(level="interval", low=0, high=100), 0.1) == 10
    assert right(2.5, 2, 0.5) and right(1.5, 2, 0.5)
    assert not right(2.51, 2, 0.5)


def test_a_scale_without_ends_allows_nothing_but_equality() -> None:
    assert allowed(Scale(level="interval")) is None
    assert right(3, 3, None) and not right(3.1, 3, None)


def test_an_answer_is_right_when_it_is_the_gold_answer() -> None:
    assert right("b", "B ") and not right("A", "B") and right(42.0, 42)


def test_what_could_not_be_read_is_not_right() -> None:
    (case,) = cases([a_review(2, [None, 2], None)], 0.5)
    assert case.peers_right == ("b",) and not case.chair_right and not case.chair_read


def test_the_slices_of_the_figure() -> None:
    judged = cases(
        [
            a_review("A", ["A", "A", "B"], "A", 1),
            a_review("A", ["A", "B", "A"], "B", 2),
            a_review("A", ["B", "B", "B"], "A", 3),
            a_review("A", ["B", "C", "B"], "B", 4),
            a_review("A", ["A", "A", "A"], "A", 5),
        ]
    )
    found = [
        (one.peers_right, one.peers, one.chair_right, [c.reviewed.trace for c in one.cases]) for one in slices(judged)
    ]
    assert found == [
        (0, 3, True, [3]),
        (0, 3, False, [4]),
        (2, 3, True, [1]),
        (2, 3, False, [2]),
        (3, 3, True, [5]),
    ]
    assert sum(one.share.value or 0 for one in slices(judged)) == pytest.approx(1)


def test_the_three_shares_of_the_paper() -> None:
    judged = cases(
        [a_review(1, [1, 3], 1), a_review(1, [1, 3], 3), a_review(1, [3, 3], 1), a_review(1, [1, 1], 1)], 0.5
    )
    assert {name: one.value for name, one in findings(judged).items()} == {
        "some": 0.25,
        "led astray": 0.25,
        "alone": 0.25,
    }


def test_a_peer_misled_the_chair_where_both_err_in_the_same_way() -> None:
    judged = cases([a_review(2, [3, 1, 2], 3), a_review(2, [3, 3, 2], 2), a_review(1, [3, 2, None], 2.4)], 0.5)
    assert misleading(judged) == {"a": 2, "b": 1}
    answers = cases([a_review("A", ["B", "C", "A"], "B")])
    assert answers[0].misled_by == ("a",)


def test_wilson_s_interval() -> None:
    """Newcombe 1998 (Statistics in Medicine 17), Table I: 81 of 263: 0.2553 to 0.3662; 0 of 20: 0 to 0.1611."""
    found = share(81, 263)
    assert (found.low, found.high) == (pytest.approx(0.2553, abs=5e-5), pytest.approx(0.3662, abs=5e-5))
    none = share(0, 20)
    assert (none.low, none.high) == (0, pytest.approx(0.1611, abs=5e-5))
    assert share(0, 0).value is None
