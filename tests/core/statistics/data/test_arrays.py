"""Division and scaling of arrays."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import special, stats

from core.statistics.data.arrays import (
    chance_corrected,
    clipped_correlation,
    mean_of_defined,
    normal_cdf,
    normal_quantile,
    quantiles,
    ratio,
    rescale,
    students_t_cdf,
)


def test_division_by_zero_is_nan():
    np.testing.assert_array_equal(ratio(np.array([1.0, 2.0]), np.array([4.0, 0.0])), [0.25, np.nan])
    np.testing.assert_array_equal(ratio(np.ones((2, 1)), np.array([1.0, 0.0])), [[1, np.nan], [1, np.nan]])


def test_a_quotient_above_one_by_rounding_is_one_and_an_undefined_one_stays_nan():
    values = clipped_correlation(np.array([1 + 1e-15, -1 - 1e-15, 0.5, 1.0]), np.array([1.0, 1.0, 1.0, 0.0]))
    np.testing.assert_array_equal(values, [1, -1, 0.5, np.nan])


def test_rescaled_values_are_centred_with_largest_deviation_one():
    assert rescale(np.array([1e9, 1e9 + 2, 1e9 + 4])).tolist() == [-1, 0, 1]
    assert rescale(np.array([5.0, 5.0])).tolist() == [0, 0]
    assert rescale(np.empty(0)).size == 0


def test_chance_corrected_agreement_is_zero_at_chance_and_undefined_at_certain_chance():
    values = chance_corrected(np.array([0.5, 1.0, 1.0]), np.array([0.5, 0.5, 1.0]))
    np.testing.assert_array_equal(values, [0, 1, np.nan])


def test_the_mean_leaves_out_nan():
    assert mean_of_defined(np.array([[1.0, np.nan, 3.0]])) == pytest.approx([2])
    assert np.isnan(mean_of_defined(np.array([[np.nan]]))).all()


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40), st.lists(st.floats(0, 1), min_size=1, max_size=3))
@example([1.0, 2.0], [0.0, 0.5, 1.0])
@example([0.1] * 7, [0.025, 0.975])
def test_quantiles_are_those_of_numpy(values: list[float], levels: list[float]) -> None:
    assert quantiles(np.array(values), levels).tolist() == np.quantile(values, levels).tolist()


# The distributions equal SciPy's, in the tails too: p-values come from there.


@pytest.mark.parametrize("z", [-37.0, -12.5, -8.4, -3.0, -0.1, 0.0, 1.0, 5.0])
def test_normal_probabilities_are_precise_in_the_tails(z):
    assert normal_cdf(z) == pytest.approx(float(special.ndtr(z)), rel=1e-12, abs=0)
    assert normal_cdf(z) > 0


@pytest.mark.parametrize("probability", [1e-300, 1e-12, 0.025, 0.5, 0.975, 1 - 1e-12])
def test_normal_quantiles(probability):
    assert normal_quantile(probability) == pytest.approx(float(stats.norm.ppf(probability)), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("degrees", "t"), [(1, -40.0), (4.5, -2.0), (99, 0.0), (10_000, -20.0)])
def test_probabilities_of_students_t(degrees, t):
    assert students_t_cdf(degrees, t) == pytest.approx(float(stats.t.cdf(t, degrees)), rel=1e-9, abs=0)
