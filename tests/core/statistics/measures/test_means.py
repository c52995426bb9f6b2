"""Means and shares over items."""

import numpy as np
import pytest

from core.statistics.measures.intervals import FEW_RESAMPLES, NO_SPREAD
from core.statistics.measures.means import mean_estimate, wilson_proportion


def test_wilsons_interval_equals_the_published_examples():
    """Newcombe 1998 (Statistics in Medicine 17), Table I: 81 of 263: 0.2553 to 0.3662; 0 of 20: 0 to 0.1611."""
    assert wilson_proportion(81, 263) == pytest.approx((81 / 263, 0.2553, 0.3662), abs=5e-5)
    assert wilson_proportion(0, 20) == pytest.approx((0, 0, 0.1611), abs=5e-5)
    assert wilson_proportion(0, 0) == (None, None, None)


def test_undefined_values_are_left_out_and_counted():
    estimate = mean_estimate([1.0, None, 3.0, float("nan")], total=6)
    assert (estimate.value, estimate.items, estimate.items_total) == (2, 2, 6)
    assert "undefined for 2 of 4 items, left out" in estimate.reason


def test_equal_values_have_no_interval_and_the_reason_is_true():
    assert mean_estimate([2.0] * 60).reason == NO_SPREAD
    assert mean_estimate([1.0, 2.0] * 30, resamples=0).reason == FEW_RESAMPLES


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
