"""Distances of rankings and of weights."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from core.statistics.measures import compositions, rankings

WEIGHTS = st.lists(st.integers(1, 4), min_size=4, max_size=4).map(lambda w: np.array(w, float))


@given(WEIGHTS, WEIGHTS)
def test_kendalls_distance_is_half_of_one_less_tau_b(x, y):
    found = rankings.kendall_distance(x, y)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert found is None
    else:
        assert found == pytest.approx((1 - stats.kendalltau(x, y).statistic) / 2)


@given(WEIGHTS, WEIGHTS, WEIGHTS)
def test_kprof_is_a_metric(x, y, z):
    assert rankings.partial_distance(x, x) == 0
    assert rankings.partial_distance(x, y) == rankings.partial_distance(y, x)
    direct = rankings.partial_distance(x, z)
    assert direct <= rankings.partial_distance(x, y) + rankings.partial_distance(y, z)


def extensions(top: tuple[int, ...], everything: list[int]) -> list[list[int]]:
    """Every full ranking that begins with the list."""
    return [list(top + rest) for rest in permutations([thing for thing in everything if thing not in top])]


def inversions(one: list[int], other: list[int]) -> int:
    return sum((one.index(i) - one.index(j)) * (other.index(i) - other.index(j)) < 0 for i, j in combinations(one, 2))


@given(st.permutations(range(5)), st.permutations(range(5)))
def test_top_k_at_a_half_is_the_mean_over_all_full_rankings(first, second):
    """Fagin et al. 2003, theorem 3.11: K^(1/2) is the average over all extensions of both lists."""
    one, other = tuple(first[:2]), tuple(second[:3])
    things = sorted({*one, *other})
    apart = [inversions(a, b) for a in extensions(one, things) for b in extensions(other, things)]
    assert rankings.top_k_distance(one, other, 0.5) == pytest.approx(np.mean(apart))
    assert rankings.top_k_distance(one, other, 0.0) == min(apart)


@given(st.lists(WEIGHTS, min_size=3, max_size=5))
def test_kendalls_w_is_friedmans_statistic_rescaled(rows):
    weights = np.array(rows)
    if (np.ptp(weights, axis=1) == 0).all():
        assert compositions.kendall_w(weights) is None
    else:
        friedman = stats.friedmanchisquare(*weights.T).statistic
        assert compositions.kendall_w(weights) == pytest.approx(friedman / (len(rows) * 3))


def test_one_person_alone_has_no_concordance():
    assert compositions.kendall_w(np.array([[3.0, 2, 1]])) is None


def test_half_the_weight_moved_is_a_distance_of_a_half():
    assert compositions.total_variation(np.array([50.0, 50, 0]), np.array([0.0, 5, 5])) == pytest.approx(0.5)
    assert compositions.total_variation(np.array([2.0, 1]), np.array([20.0, 10])) == pytest.approx(0)


def test_log_ratios_see_one_and_two_per_cent_as_they_see_twenty_and_forty():
    far = compositions.aitchison(np.array([1.0, 99]), np.array([2.0, 98]))
    near = compositions.aitchison(np.array([20.0, 80]), np.array([33.0, 67]))
    assert far == pytest.approx(near, rel=0.04)
    assert compositions.aitchison(np.array([0.0, 1]), np.array([1.0, 1])) is None


def test_weights_that_are_none_are_refused():
    with pytest.raises(ValueError, match="must not all be zero"):
        compositions.shares(np.array([0.0, 0]))
