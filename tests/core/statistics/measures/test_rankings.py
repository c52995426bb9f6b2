"""Distances of rankings."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from core.statistics.measures import pairwise
from tests.core.statistics.oracles import top_k_distance

WEIGHTS = st.lists(st.integers(1, 4), min_size=4, max_size=4).map(lambda weights: np.array(weights, float))


@given(WEIGHTS, WEIGHTS)
def test_kendalls_distance_is_half_of_one_minus_tau_b(x, y):
    distance = pairwise.kendall_distance(x, y)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert distance is None
    else:
        assert distance == pytest.approx((1 - stats.kendalltau(x, y).statistic) / 2)
        assert 0 <= distance <= 1


@given(WEIGHTS, WEIGHTS, WEIGHTS)
def test_kprof_is_a_metric(x, y, z):
    assert pairwise.partial_ranking_distance(x, x) == 0
    assert pairwise.partial_ranking_distance(x, y) == pairwise.partial_ranking_distance(y, x)
    direct = pairwise.partial_ranking_distance(x, z)
    assert direct <= pairwise.partial_ranking_distance(x, y) + pairwise.partial_ranking_distance(y, z)


def full_rankings(top: tuple[int, ...], elements: list[int]) -> list[list[int]]:
    """Return every full ranking that begins with the list."""
    return [list(top + rest) for rest in permutations([element for element in elements if element not in top])]


def count_inversions(first: list[int], second: list[int]) -> int:
    pairs = combinations(first, 2)
    return sum((first.index(i) - first.index(j)) * (second.index(i) - second.index(j)) < 0 for i, j in pairs)


@given(st.permutations(range(5)), st.permutations(range(5)))
def test_top_k_at_a_half_is_the_mean_over_all_full_rankings(first_order, second_order):
    """Fagin et al. 2003, theorem 3.11: K^(1/2) is the average over all extensions of both lists."""
    first, second = tuple(first_order[:2]), tuple(second_order[:3])
    elements = sorted({*first, *second})
    inversions = [
        count_inversions(a, b) for a in full_rankings(first, elements) for b in full_rankings(second, elements)
    ]
    assert top_k_distance(first, second, 0.5) == pytest.approx(np.mean(inversions))
    assert top_k_distance(first, second, 0.0) == min(inversions)


def test_disjoint_top_k_lists_have_fagins_distance():
    """Fagin et al. 2003, section 3: disjoint lists of k have the distance k^2 + p k (k - 1)."""
    for k in (1, 3, 5):
        for p in (0.0, 0.5, 1.0):
            assert top_k_distance(range(k), range(k, 2 * k), p) == pytest.approx(k**2 + p * k * (k - 1))
