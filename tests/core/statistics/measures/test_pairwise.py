"""Statistics of two raters, and their mean over pairs, against other implementations."""

import warnings
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from nltk.metrics.agreement import AnnotationTask
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from core.statistics.data.patterns import distinct_patterns
from core.statistics.data.ratings import category_numbers
from core.statistics.measures import agreement, pairwise
from tests.core.statistics.builders import random_ratings
from tests.core.statistics.oracles import SCIPY_CORRELATIONS, estimate_values, is_equal, mean_over_pairs, top_k_distance
from tests.core.statistics.strategies import generated_ratings

NAMES = ["cohen_kappa", "cohen_kappa_linear", "cohen_kappa_quadratic", *SCIPY_CORRELATIONS]


@given(generated_ratings(raters=(2, 2), missing=False))
def test_cohens_kappa_equals_scikit_learn_on_the_declared_scale(ratings):
    a, b = ratings.codes.T
    labels = list(range(len(ratings.categories)))
    names = {"cohen_kappa": None, "cohen_kappa_linear": "linear", "cohen_kappa_quadratic": "quadratic"}
    for (name, weights), value in zip(names.items(), estimate_values(ratings, *names), strict=True):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = float(cohen_kappa_score(a, b, labels=labels, weights=weights))
        assert is_equal(value, expected), name


@given(generated_ratings(raters=(2, 4), missing=False, items=(2, 10)))
def test_the_mean_over_rater_pairs_equals_nltk(ratings):
    triples = [
        (rater, item, int(code))
        for item, row in enumerate(ratings.codes)
        for rater, code in zip(ratings.raters, row, strict=True)
    ]
    task = AnnotationTask(data=triples)
    percent, kappa = estimate_values(ratings, "percent", "cohen_kappa")
    assert is_equal(percent, task.avg_Ao())
    assume((np.ptp(ratings.codes, axis=0) > 0).all())  # for a rater with one label only nltk returns kappa 1
    assert is_equal(kappa, task.kappa())


@given(generated_ratings(raters=(2, 4), items=(3, 14)))
def test_correlations_of_categories_equal_scipy_matched_by_item(ratings):
    labels = np.where(ratings.codes < 0, np.nan, ratings.codes)
    values = estimate_values(ratings, *SCIPY_CORRELATIONS)
    for (name, statistic), value in zip(SCIPY_CORRELATIONS.items(), values, strict=True):
        assert is_equal(value, mean_over_pairs(labels, statistic)), name


@given(generated_ratings(raters=(2, 4), items=(2, 14)))
def test_tables_and_margins_give_the_same_values(ratings):
    patterns, numbers = distinct_patterns(ratings).with_min_labels(2), category_numbers(ratings.categories)
    weights = np.random.default_rng(0).integers(0, 3, (3, patterns.units.frequencies.size)).astype(float)
    by_tables = agreement.pair_statistics(patterns.codes, numbers, NAMES)(weights)
    for name, values in zip(NAMES, by_tables, strict=True):
        expected = agreement.pair_statistic_without_tables(patterns.codes, numbers, name)(weights)
        np.testing.assert_allclose(values, expected, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("max_cells", [1, 1000])
def test_chunks_of_pairs_give_the_same_values_as_all_pairs_at_once(monkeypatch, max_cells):
    ratings = random_ratings(np.random.default_rng(0), 40, 12, 4, 0.6)
    patterns, numbers = distinct_patterns(ratings).with_min_labels(2), category_numbers(ratings.categories)
    weights = np.random.default_rng(1).integers(0, 3, (9, patterns.units.frequencies.size)).astype(float)
    family = agreement.pair_statistics(patterns.codes, numbers, NAMES)
    at_once = family(weights)
    monkeypatch.setattr(pairwise, "MAX_TABLE_CELLS", max_cells)
    np.testing.assert_allclose(family(weights), at_once, rtol=1e-12)


def test_pairs_without_a_shared_pattern_are_not_compared():
    codes = np.array([[0, 1, -1], [1, -1, 1], [0, 0, -1]], np.int16)
    assert pairwise.overlapping_pairs(codes).tolist() == [[0, 1], [0, 2]]


def test_perfect_correlations_never_exceed_one():
    """Rounding takes the unclipped quotient above 1 for some of these tables."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        codes = rng.integers(0, 7, 30)
        for sign in (1, -1):
            pair = np.column_stack([codes, codes if sign == 1 else 6 - codes])
            numbers = rng.normal(size=7).cumsum() if sign == 1 else np.arange(7.0)
            family = agreement.pair_statistics(pair.astype(np.int16), numbers, list(SCIPY_CORRELATIONS))
            values = family(np.ones((1, 30)))[:, 0]
            assert values == pytest.approx(sign * np.ones(3), abs=1e-12)
            assert (np.abs(values) <= 1).all()


def test_every_pair_of_raters_is_counted_once():
    codes = np.array([[0, 0, 1, 1], [1, 1, 0, 0]], np.int16)
    tables = pairwise.pair_tables(codes, 2, np.array(list(combinations(range(4), 2))), np.array([[2.0], [3.0]]))
    assert tables.cells[:, :, 0, 0].tolist() == [[2, 0], [0, 3]]
    assert tables.cells[:, :, 1, 0].tolist() == [[0, 2], [3, 0]]
    assert tables.n[:, 0].tolist() == [5] * 6


# Aspect weights as shares of a whole.


WEIGHTS = st.lists(st.integers(1, 4), min_size=4, max_size=4).map(lambda weights: np.array(weights, float))


@given(st.lists(WEIGHTS, min_size=3, max_size=5))
def test_kendalls_w_is_friedmans_statistic_rescaled(rows):
    weights = np.array(rows)
    if (np.ptp(weights, axis=1) == 0).all():
        assert pairwise.kendall_w(weights) is None
    else:
        friedman = stats.friedmanchisquare(*weights.T).statistic
        assert pairwise.kendall_w(weights) == pytest.approx(friedman / (len(rows) * 3))


def test_kendalls_w_equals_the_nag_librarys_example():
    """NAG Library routine g08daf, example: W = 0.828 (three rankings of ten, with ties)."""
    rankings = np.array(
        [
            [1.0, 4.5, 2.0, 4.5, 3.0, 7.5, 6.0, 9.0, 7.5, 10.0],
            [2.5, 1.0, 2.5, 4.5, 4.5, 8.0, 9.0, 6.5, 10.0, 6.5],
            [2.0, 1.0, 4.5, 4.5, 4.5, 4.5, 8.0, 8.0, 8.0, 10.0],
        ]
    )
    assert pairwise.kendall_w(rankings) == pytest.approx(0.828, abs=5e-4)


def test_one_rater_has_no_concordance():
    assert pairwise.kendall_w(np.array([[3.0, 2, 1]])) is None


def test_moving_half_of_the_weight_is_a_distance_of_a_half():
    assert pairwise.total_variation(np.array([50.0, 50, 0]), np.array([0.0, 5, 5])) == pytest.approx(0.5)
    assert pairwise.total_variation(np.array([2.0, 1]), np.array([20.0, 10])) == pytest.approx(0)


def test_weights_that_are_all_zero_are_refused():
    with pytest.raises(ValueError, match="must not all be zero"):
        pairwise.normalize_weights(np.array([0.0, 0]))


def test_weights_of_any_positive_sum_are_shares():
    assert pairwise.normalize_weights(np.array([0.25, 0.25])).tolist() == [0.5, 0.5]


# Distances of rankings.


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
