"""Weights, weighted sums, and the weights at which the verdict changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.aspects import (
    aspect_set_id,
    equal_weights,
    find_flips,
    mean_weights,
    normalize_weights,
    overall_score,
    preferred_response,
    rank_responses,
    set_weight,
    truncate_rankings,
)
from core.statistics.measures.pairwise import partial_ranking_distance
from tests.core.protocols.scorings import TABLE_11
from tests.core.statistics.oracles import top_k_distance

WEIGHTS = {name: float(weight) for name, (weight, _, _) in TABLE_11.items()}
FIRST = {name: float(score) for name, (_, score, _) in TABLE_11.items()}
SECOND = {name: float(score) for name, (_, _, score) in TABLE_11.items()}
PERCENT = st.lists(st.integers(0, 100), min_size=2, max_size=6).filter(any)


def test_overall_scores_are_those_of_table_11() -> None:
    assert overall_score(WEIGHTS, FIRST) == pytest.approx(8.05) and overall_score(WEIGHTS, SECOND) == pytest.approx(7.8)


def test_relevance_below_14_percent_flips_table_11() -> None:
    (flip,) = find_flips(WEIGHTS, [FIRST, SECOND], "relevance")
    assert (round(flip.at, 1), flip.side, flip.to) == (14.3, "under", 2)


def test_accuracy_can_flip_table_11_and_depth_cannot() -> None:
    assert find_flips(WEIGHTS, [FIRST, SECOND], "depth") == []
    (flip,) = find_flips(WEIGHTS, [FIRST, SECOND], "accuracy")
    assert flip.side == "over" and flip.at == pytest.approx(100 * 0.45 / 1.25)


def test_beyond_a_flip_the_other_response_wins() -> None:
    for aspect in WEIGHTS:
        for flip in find_flips(WEIGHTS, [FIRST, SECOND], aspect):
            step = -0.5 if flip.side == "under" else 0.5
            beyond, before = (set_weight(WEIGHTS, aspect, flip.at + change) for change in (step, -step))
            assert preferred_response([overall_score(beyond, scores) for scores in (FIRST, SECOND)]) == flip.to == 2
            assert preferred_response([overall_score(before, scores) for scores in (FIRST, SECOND)]) == 1


def test_among_three_responses_the_nearest_crossing_counts() -> None:
    scores = [{"x": 9.0, "y": 1.0}, {"x": 6.0, "y": 6.0}, {"x": 1.0, "y": 9.0}]
    (flip,) = find_flips({"x": 80.0, "y": 20.0}, scores, "x")
    assert flip.to == 2 and flip.at == pytest.approx(62.5)
    under, over = find_flips({"x": 50.0, "y": 50.0}, scores, "x")
    assert (under.to, over.to) == (3, 1)


def test_a_tie_has_no_flip() -> None:
    assert find_flips({"x": 50.0, "y": 50.0}, [{"x": 7.0, "y": 8.0}, {"x": 8.0, "y": 7.0}], "x") == []


def test_a_single_aspect_has_no_flip() -> None:
    assert find_flips({"x": 100.0}, [{"x": 7.0}, {"x": 8.0}], "x") == []


@given(PERCENT, st.data())
def test_setting_one_weight_preserves_the_proportions_of_the_others(raw: list[int], data: st.DataObject) -> None:
    weights = dict(zip("abcdef", normalize_weights(raw), strict=False))
    percent = data.draw(st.floats(0, 100))
    moved = set_weight(weights, "a", percent)
    assert moved["a"] == percent and sum(moved.values()) == pytest.approx(100)
    others = [name for name in weights if name != "a"]
    for x in others:
        for y in others:
            assert moved[x] * weights[y] == pytest.approx(moved[y] * weights[x], abs=1e-6)


def test_weights_of_zero_share_the_remainder_equally() -> None:
    assert set_weight({"x": 100.0, "y": 0.0, "z": 0.0}, "x", 40) == {"x": 40, "y": 30, "z": 30}


def test_weights_that_sum_to_100_are_not_changed() -> None:
    assert normalize_weights([33, 33, 34]) == (33, 33, 34) and normalize_weights([95, 90, 100, 85]) == pytest.approx(
        (25.675, 24.324, 27.027, 22.973), abs=1e-3
    )


@pytest.mark.parametrize(
    ("raw", "message"), [([], "all weights are 0"), ([0, 0], "all weights are 0"), ([9, -1], "neg")]
)
def test_weights_that_cannot_be_normalised_raise_value_error(raw: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        normalize_weights(raw)


def test_the_preferred_response_and_ranks_treat_equal_scores_as_ties() -> None:
    assert (
        preferred_response([8.05, 7.8]) == 1
        and preferred_response([7, 9]) == 2
        and preferred_response([0.1 + 0.2, 0.3]) == 0
    )
    assert preferred_response([1, 3, 3]) == 0 and rank_responses([5, 9, 9, 1]) == (3, 1, 1, 4)
    assert equal_weights(("x", "y")) == {"x": 50, "y": 50}


def test_mean_weights_sum_to_100() -> None:
    assert mean_weights([{"x": 20, "y": 80}, {"x": 40, "y": 60}]) == {"x": 30, "y": 70} and mean_weights([]) == {}


def test_the_id_of_a_set_of_aspects_does_not_depend_on_their_order() -> None:
    assert aspect_set_id(("a", "b")) == aspect_set_id(("b", "a")) != aspect_set_id(("a", "c"))


@given(st.permutations("abcdef"), st.permutations("abcdef"), st.integers(1, 6), st.sampled_from([0, 0.5]))
def test_without_ties_truncated_rankings_have_fagins_top_k_distance(x: str, y: str, k: int, p: float) -> None:
    first, second = ({name: 6.0 - position for position, name in enumerate(order)} for order in (x, y))
    truncated = map(np.array, truncate_rankings(first, second, k))
    assert partial_ranking_distance(*truncated, p=p) == top_k_distance(x[:k], y[:k], p=p)


def test_an_aspect_as_heavy_as_the_kth_is_included() -> None:
    assert truncate_rankings({"x": 40, "y": 30, "z": 30}, {"x": 30, "y": 50, "z": 20}, 2) == (
        [40, 30, 30],
        [30, 50, -1],
    )
