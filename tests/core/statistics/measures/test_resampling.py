"""Combinations of statistics."""

import numpy as np
import pytest

from core.statistics.data.patterns import Units
from core.statistics.data.sample import Draw
from core.statistics.measures.means import count_aius, critique_scores, harmonic_mean, mean_estimate
from core.statistics.measures.resampling import (
    SumStatistic,
    bootstrap,
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


def test_differences_subsets_and_stacks_see_the_same_weights():
    np.testing.assert_array_equal(difference(total, total)(WEIGHTS), np.zeros(3))
    np.testing.assert_array_equal(on_subset(lambda w: w.sum(axis=1), np.array([True, False, True]))(WEIGHTS), [2, 1, 0])
    assert stack_statistics([total, total])(WEIGHTS).shape == (2, 3)


def test_weights_of_a_design_are_summed_in_double_precision():
    draw = Draw(np.zeros(3, int), np.array([10 / 3, 10 / 3, 0.1]), np.array([6.7 + 1 / 15]))
    (result,) = bootstrap(SumStatistic(VALUES[:, None], lambda sums: sums.T), Units(np.ones(3), draw=draw), 0)
    assert result.value == pytest.approx(10.6, rel=1e-14)


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


# Means over items


def test_undefined_values_are_left_out_and_counted():
    estimate = mean_estimate([1.0, None, 3.0, float("nan")], total=6)
    assert (estimate.value, estimate.items, estimate.items_total) == (2, 2, 6)
    assert "undefined for 2 of 4 items, left out" in estimate.reason


def test_items_of_a_group_are_resampled_together():
    rng = np.random.default_rng(0)
    values = np.repeat(rng.normal(size=40), 10)
    independent, grouped = mean_estimate(values), mean_estimate(values, groups=[str(n // 10) for n in range(400)])
    assert grouped.value == independent.value
    assert grouped.high - grouped.low > 2 * (independent.high - independent.low)


def test_few_groups_are_a_caveat_though_their_items_are_many():
    values = np.random.default_rng(0).normal(size=100)
    assert "only 20 groups of items" in mean_estimate(values, groups=[str(n // 5) for n in range(100)]).reason
    assert mean_estimate(values).reason == ""


def test_f1_is_0_without_precision_or_recall_and_undefined_if_either_is():
    precision, recall = np.array([0, 0.5, 0, np.nan, 0.5, 0.25]), np.array([0, 0, 1, 0.5, 0.5, 0.75])
    np.testing.assert_array_equal(harmonic_mean(precision, recall), [0, 0, 0, np.nan, 0.5, 0.375])


# MetaCritique's scores.


def test_scores_computed_by_hand():
    """Critique a: 2 of 2 true, 1 of 2 covered; b: 0 of 1 true, 1 of 1 covered."""
    names = np.array(["a", "a", "a", "a", "b", "b"])
    recall = np.array([False, False, True, True, False, True])
    true = np.array([True, True, True, False, False, True])
    estimates = critique_scores(count_aius(names, recall, true), resamples=0)
    assert estimates["precision_micro"].value == pytest.approx(2 / 3)
    assert estimates["recall_micro"].value == pytest.approx(2 / 3)
    assert estimates["precision_macro"].value == pytest.approx(1 / 2)
    assert estimates["recall_macro"].value == pytest.approx(3 / 4)
    assert estimates["f1_macro"].value == pytest.approx((2 * 1 * 0.5 / 1.5 + 0) / 2)
