"""Paired comparisons and multiple testing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from core.statistics.measures import comparison


def test_a_paired_comparison_detects_what_two_intervals_hide(rng):
    """Two judges err together on hard items: their accuracies overlap, their difference does not include 0."""
    hard = rng.random(300) < 0.4
    first = (~hard).astype(float)
    second = np.minimum(first, np.where(rng.random(300) < 0.05, 1 - first, first))
    (result,) = comparison.compare_scores({"first": first, "second": second})
    assert 0 < result.low < result.difference < result.high
    assert result.p_bootstrap < 0.05
    assert result.p_t == pytest.approx(stats.ttest_rel(first, second).pvalue)
    assert result.p_corrected == result.p_bootstrap


def test_comparisons_are_corrected_for_their_number(rng):
    scores = {name: (rng.random(200) < 0.7).astype(float) for name in "abcd"}
    results = comparison.compare_scores(scores)
    assert len(results) == 6
    corrected = comparison.correct_p_values([result.p_bootstrap for result in results])
    assert [result.p_corrected for result in results] == corrected


def test_the_paired_bootstrap_rejects_equal_judges_at_its_level():
    """Without a difference a p under 0.05 occurs in at most 5 % of studies, within four standard errors."""
    rng = np.random.default_rng(3)
    results = [
        comparison.compare_scores({"a": (rng.random(80) < 0.7) * 1.0, "b": (rng.random(80) < 0.7) * 1.0}, resamples=200)
        for _ in range(300)
    ]
    rate = np.mean([result.p_bootstrap < 0.05 for (result,) in results])
    assert rate < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 300)


def test_judges_with_equal_scores_get_a_reason_instead_of_a_test():
    (result,) = comparison.compare_scores({"a": np.ones(50), "b": np.ones(50)})
    assert (result.difference, result.p_bootstrap) == (0, None)
    assert "no test can be made" in result.reason


def test_williams_test_needs_two_different_judges_and_four_items():
    assert comparison.williams_test(0.5, 0.5, 1.0, 100) is None
    assert comparison.williams_test(0.5, 0.4, 0.3, 3) is None


def test_williams_test_rejects_equal_judges_at_its_level():
    """Two equally good judges with correlated errors: p under 0.05 in about 5 % of 800 studies."""
    rng = np.random.default_rng(5)
    rejections = 0
    for _ in range(800):
        people, shared = rng.normal(size=60), rng.normal(size=60)
        first, second = (people + shared + rng.normal(size=60) for _ in range(2))
        r = np.corrcoef([people, first, second])
        rejections += comparison.williams_test(r[0, 1], r[0, 2], r[1, 2], 60)[1] < 0.05
    assert abs(rejections / 800 - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 800)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_false_discovery_corrections_equal_scipy(p):
    for correction, method in (("benjamini-hochberg", "bh"), ("benjamini-yekutieli", "by")):
        expected = stats.false_discovery_control(p, method=method)
        assert comparison.correct_p_values(p, correction) == pytest.approx(expected)


def test_williams_test_equals_bruceR():
    """R package bruceR, cor_diff(r1=.20, r2=.45, n=100, rcov=.80): t(97) = -4.56, p = 1e-05."""
    t, p = comparison.williams_test(0.20, 0.45, 0.80, 100)
    assert t == pytest.approx(-4.56, abs=0.005)
    assert p == pytest.approx(1e-5, abs=5e-6)


def test_corrected_p_values_equal_rs_p_adjust():
    """R: p.adjust(c(.01, .04, .03, .005), method) for "holm", "BH" and "BY"."""
    p = [0.01, 0.04, 0.03, 0.005]
    assert comparison.correct_p_values(p) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert comparison.correct_p_values(p, "benjamini-hochberg") == pytest.approx([0.02, 0.04, 0.04, 0.02])
    by = [0.041666667, 0.083333333, 0.083333333, 0.041666667]
    assert comparison.correct_p_values(p, "benjamini-yekutieli") == pytest.approx(by, abs=1e-8)


def test_p_of_resamples_that_are_all_equal_is_bound_by_their_number() -> None:
    assert comparison.bootstrap_p_value(0.5, np.full(99, 0.5)) == pytest.approx(1 / 100)
