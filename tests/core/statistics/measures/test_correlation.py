"""Correlation of a judge with people, at three levels."""

import numpy as np
import pytest
from scipy import stats

from core.statistics.measures import correlation


@pytest.fixture
def scored():
    """40 items by 6 systems: systems differ, items differ more, the judge sees both."""
    rng = np.random.default_rng(0)
    system, item = np.tile(np.arange(6), 40), np.repeat(np.arange(40), 6)
    truth = 0.6 * rng.normal(size=6)[system] + 1.5 * rng.normal(size=40)[item]
    people, judge = (truth + rng.normal(size=240) for _ in range(2))
    return judge, people, system.astype(str), item.astype(str)


def test_item_level_is_scipys(scored):
    judge, people, _, _ = scored
    found = correlation.item_level(judge, people)
    assert found["pearson"].value == pytest.approx(stats.pearsonr(judge, people).statistic)
    assert found["spearman"].value == pytest.approx(stats.spearmanr(judge, people).statistic)
    assert found["kendall_tau_b"].value == pytest.approx(stats.kendalltau(judge, people).statistic)
    assert all(one.low < one.value < one.high for one in found.values())


def test_group_level_is_the_mean_of_scipys_within_groups(scored):
    judge, people, _, item = scored
    found = correlation.group_level(judge, people, item)["spearman"]
    inside = [stats.spearmanr(judge[item == i], people[item == i]).statistic for i in np.unique(item)]
    assert found.value == pytest.approx(np.mean(inside))


def test_groups_without_a_correlation_are_counted(scored):
    judge, people, _, item = scored
    judge = np.where(item == "3", 1.0, judge)
    found = correlation.group_level(judge, people, item)["pearson"]
    assert "mean of 39 of 40 groups" in found.reason


def test_system_level_is_scipys_of_the_means(scored):
    judge, people, system, item = scored
    found = correlation.system_level(judge, people, system, item)
    means = [[side[system == s].mean() for s in np.unique(system)] for side in (judge, people)]
    assert found["pearson"].value == pytest.approx(stats.pearsonr(*means).statistic)
    assert found["kendall_tau_b"].value == pytest.approx(stats.kendalltau(*means).statistic)
    assert "6 systems" in found["pearson"].reason


def test_the_system_interval_is_wider_than_the_item_interval(scored):
    judge, people, system, item = scored
    of_items = correlation.item_level(judge, people)["pearson"]
    of_systems = correlation.system_level(judge, people, system, item)["pearson"]
    assert of_systems.high - of_systems.low > 2 * (of_items.high - of_items.low)


def test_items_of_a_document_are_drawn_together():
    rng = np.random.default_rng(1)
    document = np.repeat(np.arange(20), 10)
    judge, people = (np.repeat(rng.normal(size=20), 10) + 0.1 * rng.normal(size=200) for _ in range(2))
    alone = correlation.item_level(judge, people)["pearson"]
    grouped = correlation.item_level(judge, people, groups=document.astype(str))["pearson"]
    assert grouped.high - grouped.low > 1.8 * (alone.high - alone.low)


def test_what_is_missing_on_either_side_is_left_out():
    judge, people = np.array([1.0, 2, np.nan, 4, 3]), np.array([1.0, np.nan, 3, 4, 2])
    found = correlation.item_level(judge, people)["pearson"]
    assert (found.items, found.items_there) == (3, 5)


@pytest.mark.parametrize(("judge", "why"), [([1.0, 1, 1, 1], "scores of one side are equal"), ([1.0, 2], "needs 3")])
def test_what_cannot_be_correlated_says_why(judge, why):
    people = np.arange(len(judge), dtype=float)
    found = correlation.item_level(np.array(judge), people)["spearman"]
    assert found.value is None
    assert why in found.reason


def test_two_systems_are_too_few():
    names = np.array(["a", "b"] * 5)
    found = correlation.system_level(np.arange(10.0), np.arange(10.0), names, np.repeat(np.arange(5), 2).astype(str))
    assert found["pearson"].value is None
    assert "needs 3 systems" in found["pearson"].reason


def test_many_distinct_scores_go_by_scipy_one_by_one():
    rng = np.random.default_rng(0)
    x = rng.normal(size=1600)
    found = correlation.item_level(x, x + rng.normal(size=1600), resamples=20)["kendall_tau_b"]
    assert found.low < found.value < found.high
