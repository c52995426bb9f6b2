"""Aspect weights as shares of a whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from core.statistics.measures import pairwise

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
