"""Statistics of continuous scores against other implementations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from core.statistics.measures import continuous
from tests.core.statistics.oracles import SCIPY_CORRELATIONS, mean_over_pairs, package_alpha


@given(arrays.arrays(float, (9, 3), elements=st.floats(-50, 50, width=16) | st.just(np.nan)))
def test_alpha_of_scores_equals_the_krippendorff_package(values):
    weights = np.ones((1, len(values)))
    for level, function in (("interval", continuous.alpha_interval), ("ordinal", continuous.alpha_ordinal)):
        expected = package_alpha(values.T, level)
        value = float(function(values)(weights)[0]) if not np.isnan(values).all() else np.nan
        assert value == pytest.approx(expected, abs=1e-6, nan_ok=True)


def test_a_distant_score_without_a_pair_does_not_change_alpha():
    pair = np.array([[6e-8, 0.0], [0.0, 0.0]])
    alone = np.vstack([pair, [1.0, np.nan]])
    values = [continuous.alpha_interval(scores)(np.ones((1, len(scores))))[0] for scores in (pair, alone)]
    assert values == pytest.approx([package_alpha(pair.T, "interval")] * 2)


@given(arrays.arrays(float, (9, 3), elements=st.floats(-9, 9, width=16) | st.just(np.nan)))
def test_correlations_of_scores_equal_scipy_matched_by_item(scores):
    family = continuous.mean_over_pairs(scores, list(SCIPY_CORRELATIONS))
    values = family(np.ones((1, len(scores))))[:, 0]
    for value, statistic in zip(values, SCIPY_CORRELATIONS.values(), strict=True):
        assert value == pytest.approx(mean_over_pairs(scores, statistic), abs=1e-6, nan_ok=True)


def test_pearson_of_linear_scores_never_exceeds_one():
    """Rounding takes the unclipped quotient above 1 for some of these columns."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        x = rng.normal(size=20)
        slope, weights = rng.normal(), rng.integers(0, 4, (5, 20)).astype(float)
        values = continuous.pearson(x, slope * x + 3)(weights)
        assert values == pytest.approx(np.sign(slope) * np.ones(5), abs=1e-9)
        assert (np.abs(values) <= 1).all()


def test_kendall_by_scipy_and_by_sign_matrices_are_equal():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 9, (2, 60)).astype(float)
    weights = rng.integers(0, 3, (4, 60)).astype(float)
    by_signs = continuous.kendall_tau_b(x, y)(weights)
    np.testing.assert_allclose(by_signs, continuous.kendall_tau_b_by_scipy(x, y)(weights), atol=1e-12)
    assert by_signs[0] == pytest.approx(
        stats.kendalltau(*(np.repeat(side, weights[0].astype(int)) for side in (x, y))).statistic
    )
