"""Combinations of statistics."""

import numpy as np

from core.statistics.measures.statistic import difference, mean_statistic, on_subset, stack_statistics, weighted_mean

VALUES = np.array([1.0, 2.0, 6.0])
WEIGHTS = np.array([[1.0, 1, 1], [0, 2, 1], [0, 0, 0]])


def total(weights: np.ndarray) -> np.ndarray:
    return weights @ VALUES


def test_a_weighted_mean_uses_only_the_mask_and_is_nan_without_weight():
    statistic = weighted_mean(VALUES, np.array([True, True, False]))
    np.testing.assert_array_equal(statistic(WEIGHTS), [1.5, 2, np.nan])


def test_a_mean_of_statistics_leaves_out_the_undefined():
    nowhere = weighted_mean(VALUES, np.zeros(3, bool))
    np.testing.assert_array_equal(mean_statistic([total, nowhere])(WEIGHTS), total(WEIGHTS))
    assert np.isnan(mean_statistic([])(WEIGHTS)).all()


def test_differences_subsets_and_stacks_see_the_same_weights():
    np.testing.assert_array_equal(difference(total, total)(WEIGHTS), np.zeros(3))
    np.testing.assert_array_equal(on_subset(lambda w: w.sum(axis=1), np.array([True, False, True]))(WEIGHTS), [2, 1, 0])
    assert stack_statistics([total, total])(WEIGHTS).shape == (2, 3)
