"""Correlation of a judge with annotators, at three levels."""

import numpy as np
import pytest
from scipy import stats

from core.statistics.measures import continuous


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
