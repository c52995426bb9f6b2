"""The distributions equal SciPy's, in the tails too: p-values come from there."""

import pytest
from scipy import special, stats

from core.statistics.data.arrays import normal_cdf, normal_quantile, students_t_cdf


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
