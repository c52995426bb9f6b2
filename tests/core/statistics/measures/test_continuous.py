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


# Correlation of a judge with annotators, at three levels.


@pytest.fixture
def scores():
    """40 items by 6 systems: systems differ, items differ more, and the judge's scores follow both."""
    rng = np.random.default_rng(0)
    system, item = np.tile(np.arange(6), 40), np.repeat(np.arange(40), 6)
    truth = 0.6 * rng.normal(size=6)[system] + 1.5 * rng.normal(size=40)[item]
    reference, judge = (truth + rng.normal(size=240) for _ in range(2))
    return judge, reference, system.astype(str), item.astype(str)


def test_item_level_equals_scipy(scores):
    judge, reference, _, _ = scores
    estimates = continuous.item_level_correlations(judge, reference)
    assert estimates["pearson"].value == pytest.approx(stats.pearsonr(judge, reference).statistic)
    assert estimates["spearman"].value == pytest.approx(stats.spearmanr(judge, reference).statistic)
    assert estimates["kendall_tau_b"].value == pytest.approx(stats.kendalltau(judge, reference).statistic)
    assert all(estimate.low < estimate.value < estimate.high for estimate in estimates.values())


def test_group_level_is_the_mean_of_scipy_within_groups(scores):
    judge, reference, _, item = scores
    estimate = continuous.group_level_correlations(judge, reference, item)["spearman"]
    within = [stats.spearmanr(judge[item == i], reference[item == i]).statistic for i in np.unique(item)]
    assert estimate.value == pytest.approx(np.mean(within))


def test_groups_without_a_correlation_are_counted(scores):
    judge, reference, _, item = scores
    judge = np.where(item == "3", 1.0, judge)
    estimate = continuous.group_level_correlations(judge, reference, item)["pearson"]
    assert "mean of 39 of 40 groups" in estimate.reason


def test_system_level_equals_scipy_on_the_means(scores):
    judge, reference, system, item = scores
    estimates = continuous.system_level_correlations(judge, reference, system, item)
    means = [[side[system == s].mean() for s in np.unique(system)] for side in (judge, reference)]
    assert estimates["pearson"].value == pytest.approx(stats.pearsonr(*means).statistic)
    assert estimates["spearman"].value == pytest.approx(stats.spearmanr(*means).statistic)
    assert estimates["kendall_tau_b"].value == pytest.approx(stats.kendalltau(*means).statistic)
    assert "6 systems" in estimates["pearson"].reason


def test_the_system_interval_is_wider_than_the_item_interval(scores):
    judge, reference, system, item = scores
    of_items = continuous.item_level_correlations(judge, reference)["pearson"]
    of_systems = continuous.system_level_correlations(judge, reference, system, item)["pearson"]
    assert of_systems.high - of_systems.low > 2 * (of_items.high - of_items.low)


def test_items_of_a_document_are_resampled_together():
    rng = np.random.default_rng(1)
    document = np.repeat(np.arange(20), 10)
    judge, reference = (np.repeat(rng.normal(size=20), 10) + 0.1 * rng.normal(size=200) for _ in range(2))
    independent = continuous.item_level_correlations(judge, reference)["pearson"]
    grouped = continuous.item_level_correlations(judge, reference, groups=document.astype(str))["pearson"]
    assert grouped.high - grouped.low > 1.8 * (independent.high - independent.low)


def test_items_with_a_missing_score_are_left_out():
    judge, reference = np.array([1.0, 2, np.nan, 4, 3]), np.array([1.0, np.nan, 3, 4, 2])
    estimate = continuous.item_level_correlations(judge, reference)["pearson"]
    assert (estimate.items, estimate.items_total) == (3, 5)


@pytest.mark.parametrize(("judge", "reason"), [([1.0, 1, 1, 1], "scores of one side are equal"), ([1.0, 2], "needs 3")])
def test_an_undefined_correlation_has_a_reason(judge, reason):
    reference = np.arange(len(judge), dtype=float)
    estimate = continuous.item_level_correlations(np.array(judge), reference)["spearman"]
    assert estimate.value is None
    assert reason in estimate.reason


def test_two_systems_are_too_few():
    systems, items = np.array(["a", "b"] * 5), np.repeat(np.arange(5), 2).astype(str)
    estimates = continuous.system_level_correlations(np.arange(10.0), np.arange(10.0), systems, items)
    assert estimates["pearson"].value is None
    assert "needs 3 systems" in estimates["pearson"].reason


def test_a_correlation_over_fewer_than_six_items_has_no_interval() -> None:
    scores = np.array([1.0, 3, 2, 5, 4, 6])
    six, five = (continuous.item_level_correlations(scores[:n], np.arange(n) * 1.0) for n in (6, 5))
    assert all(one.low is not None for one in six.values())
    assert all((one.value is not None, one.low, one.high) == (True, None, None) for one in five.values())
    assert all("fewer than 6 items" in one.reason and "too narrow" not in one.reason for one in five.values())


def test_many_distinct_scores_are_correlated_by_scipy():
    rng = np.random.default_rng(0)
    x = rng.normal(size=1600)
    estimate = continuous.item_level_correlations(x, x + rng.normal(size=1600), resamples=20)["kendall_tau_b"]
    assert estimate.low < estimate.value < estimate.high


def test_correlations_of_linear_system_means_never_exceed_one():
    """Rounding takes the unclipped quotient above 1 for some of these rows."""
    x = np.random.default_rng(0).normal(size=(2000, 5))
    values = continuous.row_correlations(np.stack([x, 3 * x + 1]))
    assert values == pytest.approx(np.ones((3, 2000)))
    assert (values <= 1).all()


def test_system_level_correlations_without_resamples_are_values_alone() -> None:
    scores, systems, items = np.arange(9.0), list("abc" * 3), list("111222333")
    estimates = continuous.system_level_correlations(scores, scores, systems, items, resamples=0)
    assert all(e.value == pytest.approx(1) and (e.low, e.high) == (None, None) for e in estimates.values())
