"""Means over items."""

import numpy as np

from core.statistics.measures.means import harmonic_mean, mean_estimate
from core.statistics.measures.resampling import NoInterval


def test_undefined_values_are_left_out_and_counted():
    estimate = mean_estimate([1.0, None, 3.0, float("nan")], total=6)
    assert (estimate.value, estimate.items, estimate.items_total) == (2, 2, 6)
    assert "undefined for 2 of 4 items, left out" in estimate.reason


def test_equal_values_have_no_interval_and_the_reason_is_true():
    assert mean_estimate([2.0] * 60).reason == NoInterval.NO_SPREAD.value
    assert mean_estimate([1.0, 2.0] * 30, resamples=0).reason == NoInterval.FEW_RESAMPLES.value


def test_items_of_a_group_are_resampled_together():
    rng = np.random.default_rng(0)
    values = np.repeat(rng.normal(size=40), 10)
    independent, grouped = mean_estimate(values), mean_estimate(values, groups=[str(n // 10) for n in range(400)])
    assert grouped.value == independent.value
    assert grouped.high - grouped.low > 2 * (independent.high - independent.low)


def test_no_values_give_no_mean_and_a_reason():
    estimate = mean_estimate([])
    assert estimate.value is None
    assert "no item has a value" in estimate.reason


def test_few_groups_are_a_caveat_though_their_items_are_many():
    values = np.random.default_rng(0).normal(size=100)
    assert "only 20 groups of items" in mean_estimate(values, groups=[str(n // 5) for n in range(100)]).reason
    assert mean_estimate(values).reason == ""


def test_f1_is_0_without_precision_or_recall_and_undefined_if_either_is():
    precision, recall = np.array([0, 0.5, 0, np.nan, 0.5, 0.25]), np.array([0, 0, 1, 0.5, 0.5, 0.75])
    np.testing.assert_array_equal(harmonic_mean(precision, recall), [0, 0, 0, np.nan, 0.5, 0.375])
