"""Combinations of statistics."""

import numpy as np
import pytest

from core.statistics.measures.resampling import (
    SumStatistic,
    difference,
    mean_by_items,
    on_subset,
    pooled_match_rate,
    stack_statistics,
    weighted_mean,
)

VALUES = np.array([1.0, 2.0, 6.0])
WEIGHTS = np.array([[1.0, 1, 1], [0, 2, 1], [0, 0, 0]])


def total(weights: np.ndarray) -> np.ndarray:
    return weights @ VALUES


def test_a_weighted_mean_uses_only_the_mask_and_is_nan_without_weight():
    statistic = weighted_mean(VALUES, np.array([True, True, False]))
    np.testing.assert_array_equal(statistic(WEIGHTS), [1.5, 2, np.nan])


def test_differences_subsets_and_stacks_see_the_same_weights():
    np.testing.assert_array_equal(difference(total, total)(WEIGHTS), np.zeros(3))
    np.testing.assert_array_equal(on_subset(lambda w: w.sum(axis=1), np.array([True, False, True]))(WEIGHTS), [2, 1, 0])
    assert stack_statistics([total, total])(WEIGHTS).shape == (2, 3)


def test_sums_of_whole_numbers_are_the_same_in_single_precision():
    rng = np.random.default_rng(1)
    features = rng.integers(0, 3, (400, 6)).astype(float)
    weights = rng.multinomial(40_000, np.full(400, 1 / 400), 50).astype(float)
    statistic = SumStatistic(features, lambda sums: sums[:, 0] / sums.sum(axis=1))
    counted = statistic.of_counts(40_000)
    assert counted is not statistic
    assert counted(weights).tolist() == statistic(weights).tolist()


@pytest.mark.parametrize(("feature", "largest"), [(0.5, 10), (3.0, 2**24)])
def test_other_sums_stay_in_double_precision(feature, largest):
    statistic = SumStatistic(np.full((4, 1), feature), lambda sums: sums[:, 0])
    assert statistic.of_counts(largest) is statistic


def test_a_mean_by_items_has_their_numbers_as_weights():
    many, few = np.array([True, True, True, False]), np.array([False, False, False, True])
    shares = [weighted_mean(np.array([1.0, 0.0, 1.0, 0.0]), used) for used in (many, few)]
    nowhere = weighted_mean(np.ones(4), np.zeros(4, bool))
    resamples = np.array([[1.0, 1, 1, 1], [1, 1, 1, 3], [0, 0, 0, 2]])
    means = mean_by_items([*shares, nowhere], [many, few, np.zeros(4, bool)])(resamples)
    np.testing.assert_allclose(means, [2 / 4, 2 / 6, 0])
    assert np.isnan(mean_by_items([], [])(resamples)).all()


def test_the_pooled_match_rate_is_the_share_of_all_used_labels():
    rng = np.random.default_rng(2)
    codes, references = rng.integers(0, 3, (2, 60, 4)).astype(np.int16)
    used = rng.random((60, 4)) < 0.4
    used[:, 3] = False
    weights = rng.integers(0, 5, (20, 60)).astype(float)
    hits = [weights[:, row] * np.sum((codes == references)[row] & used[row]) for row in range(60)]
    labels = [weights[:, row] * used[row].sum() for row in range(60)]
    expected = np.sum(hits, axis=0) / np.sum(labels, axis=0)
    rate = pooled_match_rate((codes == references)[used], np.nonzero(used)[0], 60)
    np.testing.assert_allclose(rate(weights), expected)
