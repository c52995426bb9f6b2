"""Weights, weighted sums, and the weight at which a verdict turns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.aspects import (
    best,
    contributions,
    equal,
    flips,
    mean,
    normalised,
    overall,
    part,
    preferred,
    ranking,
    reweighted,
    tops,
)
from core.statistics.measures.rankings import partial_distance, top_k_distance
from tests.core.protocols.scorings import TABLE_11

WEIGHTS = {name: float(weight) for name, (weight, _, _) in TABLE_11.items()}
FIRST = {name: float(score) for name, (_, score, _) in TABLE_11.items()}
SECOND = {name: float(score) for name, (_, _, score) in TABLE_11.items()}
PERCENT = st.lists(st.integers(0, 100), min_size=2, max_size=6).filter(any)


def test_table_11_adds_up() -> None:
    assert overall(WEIGHTS, FIRST) == pytest.approx(8.05) and overall(WEIGHTS, SECOND) == pytest.approx(7.8)
    assert contributions(WEIGHTS, FIRST)["relevance"] == 2.5


def test_relevance_under_14_percent_would_flip_table_11() -> None:
    (flip,) = flips(WEIGHTS, [FIRST, SECOND], "relevance")
    assert (round(flip.at, 1), flip.side, flip.to) == (14.3, "under", 2)


def test_depth_cannot_flip_table_11_and_accuracy_can() -> None:
    assert flips(WEIGHTS, [FIRST, SECOND], "depth") == []
    (flip,) = flips(WEIGHTS, [FIRST, SECOND], "accuracy")
    assert flip.side == "over" and flip.at == pytest.approx(100 * 0.45 / 1.25)


def test_beyond_the_flip_the_other_response_wins() -> None:
    for aspect in WEIGHTS:
        for flip in flips(WEIGHTS, [FIRST, SECOND], aspect):
            step = -0.5 if flip.side == "under" else 0.5
            sums = [overall(reweighted(WEIGHTS, aspect, flip.at + step), one) for one in (FIRST, SECOND)]
            assert preferred(sums) == flip.to == 2
            back = [overall(reweighted(WEIGHTS, aspect, flip.at - step), one) for one in (FIRST, SECOND)]
            assert preferred(back) == 1


def test_among_three_the_nearest_rival_takes_over() -> None:
    scores = [{"x": 9.0, "y": 1.0}, {"x": 6.0, "y": 6.0}, {"x": 1.0, "y": 9.0}]
    (flip,) = flips({"x": 80.0, "y": 20.0}, scores, "x")
    assert flip.to == 2 and flip.at == pytest.approx(62.5)
    under, over = flips({"x": 50.0, "y": 50.0}, scores, "x")
    assert (under.to, over.to) == (3, 1)


def test_a_tie_has_no_flip() -> None:
    assert flips({"x": 50.0, "y": 50.0}, [{"x": 7.0, "y": 8.0}, {"x": 8.0, "y": 7.0}], "x") == []


def test_a_single_aspect_has_no_flip() -> None:
    assert flips({"x": 100.0}, [{"x": 7.0}, {"x": 8.0}], "x") == []


@given(PERCENT, st.data())
def test_other_weights_keep_their_proportions_and_all_sum_to_100(raw: list[int], data: st.DataObject) -> None:
    weights = dict(zip("abcdef", normalised(raw), strict=False))
    to = data.draw(st.floats(0, 100))
    moved = reweighted(weights, "a", to)
    assert moved["a"] == to and sum(moved.values()) == pytest.approx(100)
    others = [name for name in weights if name != "a"]
    for x in others:
        for y in others:
            assert moved[x] * weights[y] == pytest.approx(moved[y] * weights[x], abs=1e-6)


def test_where_the_others_had_nothing_they_share_alike() -> None:
    assert reweighted({"x": 100.0, "y": 0.0, "z": 0.0}, "x", 40) == {"x": 40, "y": 30, "z": 30}


def test_weights_that_sum_to_100_are_left_as_they_are() -> None:
    assert normalised([33, 33, 34]) == (33, 33, 34) and normalised([95, 90, 100, 85]) == pytest.approx(
        (25.675, 24.324, 27.027, 22.973), abs=1e-3
    )


@pytest.mark.parametrize(("raw", "why"), [([], "all weights are 0"), ([0, 0], "all weights are 0"), ([9, -1], "neg")])
def test_weights_that_are_none_are_refused(raw: list[float], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        normalised(raw)


def test_preferences_and_places() -> None:
    assert preferred([8.05, 7.8]) == 1 and preferred([7, 9]) == 2 and preferred([0.1 + 0.2, 0.3]) == 0
    assert best([1, 3, 3]) == (2, 3) and ranking([5, 9, 9, 1]) == (3, 1, 1, 4)
    assert equal(("x", "y")) == {"x": 50, "y": 50}


def test_the_mean_of_weights_is_weights() -> None:
    assert mean([{"x": 20, "y": 80}, {"x": 40, "y": 60}]) == {"x": 30, "y": 70} and mean([]) == {}


def test_a_set_of_aspects_is_known_in_any_order() -> None:
    assert part(("a", "b")) == part(("b", "a")) != part(("a", "c"))


@given(st.permutations("abcdef"), st.permutations("abcdef"), st.integers(1, 6), st.sampled_from([0, 0.5]))
def test_without_ties_a_cut_ranking_has_fagins_distance_of_top_k_lists(x: str, y: str, k: int, p: float) -> None:
    first, second = ({name: 6.0 - place for place, name in enumerate(order)} for order in (x, y))
    cut = map(np.array, tops(first, second, k))
    assert partial_distance(*cut, p=p) == top_k_distance(x[:k], y[:k], p=p)


def test_an_aspect_as_heavy_as_the_last_one_stays_in_the_list() -> None:
    assert tops({"x": 40, "y": 30, "z": 30}, {"x": 30, "y": 50, "z": 20}, 2) == ([40, 30, 30], [30, 50, -1])
