"""Prediction-powered means: those of a design with one stratum and equal probabilities."""

import numpy as np
import pytest

from core.statistics.measures.designs import DesignMean, design_mean


def powered(human: np.ndarray, judge: np.ndarray, unlabelled: np.ndarray, **options: object) -> DesignMean:
    """Return the mean from labels and verdicts (n,) and the verdicts of the other targets, (N,)."""
    values = np.concatenate([human, np.full(unlabelled.size, np.nan)])
    verdicts = np.concatenate([judge, unlabelled])
    return design_mean(values, np.ones(values.size), np.zeros(values.size, np.int64), verdicts, **options)


def alone(human: np.ndarray, **options: object) -> DesignMean:
    return design_mean(human, np.ones(human.size), np.zeros(human.size, np.int64), **options)


def test_the_value_is_that_of_the_published_formula():
    """PPI++ (Angelopoulos, Duchi & Zrnic 2023, section 6): lambda = cov(Y, F) / ((1 + n / N) var(F))."""
    rng = np.random.default_rng(1)
    human = (rng.random(40) < 0.6).astype(float)
    judge, unlabelled = np.where(rng.random(40) < 0.2, 1 - human, human), (rng.random(200) < 0.7).astype(float)
    found, verdicts = powered(human, judge, unlabelled), np.concatenate([judge, unlabelled])
    power = np.cov(human, judge)[0, 1] / ((1 + 40 / 200) * verdicts.var(ddof=1))
    assert found.value == pytest.approx(human.mean() - power * (judge.mean() - unlabelled.mean()))
    variance = np.var(human - power * judge, ddof=1) / 40 + power**2 * np.var(unlabelled, ddof=1) / 200
    assert found.variance == pytest.approx(variance, rel=0.06)  # and the degree of freedom of lambda
    fixed = powered(human, judge, unlabelled, judge_weight=1.0)
    assert fixed.value == pytest.approx(verdicts.mean() + (human - judge).mean())


def test_few_or_equal_labels_have_no_interval_and_limits_end_it():
    few, same, wins = np.array([1.0, 0, 1]), np.ones(40), np.array([1.0] * 19 + [0.0])
    assert alone(few).low is None and "fewer than 10 labels" in alone(few).reason
    assert alone(same).low is None
    assert alone(wins).high > 1 > alone(wins, limits=(0, 1)).high


def test_a_random_judge_costs_nothing_and_a_good_one_saves_labels():
    rng = np.random.default_rng(0)
    human = (rng.random(100) < 0.6).astype(float)
    noise = [(rng.random(n) < 0.5).astype(float) for n in (100, 5000)]
    assert powered(human, *noise).variance <= alone(human).variance * 1.02

    def flip_some(values: np.ndarray) -> np.ndarray:
        return np.where(rng.random(values.size) < 0.05, 1 - values, values)

    unlabelled = (rng.random(5000) < 0.6).astype(float)
    of_good_judge = powered(human, flip_some(human), flip_some(unlabelled))
    assert alone(human).variance / of_good_judge.variance > 3
    assert of_good_judge.low < 0.6 < of_good_judge.high


def test_intervals_cover_the_truth_with_a_biased_judge():
    """A judge that says yes too often: its own mean is off by .15, the interval is not."""
    rng, covered = np.random.default_rng(2), []
    for _ in range(500):
        truth = (rng.random(1100) < 0.5).astype(float)
        judge = np.where(rng.random(1100) < 0.3, 1.0, truth)
        result = powered(truth[:100], judge[:100], judge[100:], limits=(0, 1))
        covered.append(result.low <= 0.5 <= result.high)
    assert abs(np.mean(covered) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 500)


def test_two_equal_values_of_one_item_count_once():
    rng = np.random.default_rng(3)
    human, judge, unlabelled = (rng.random(n) for n in (40, 40, 200))
    once = powered(human, judge, unlabelled, judge_weight=0.5)
    twice = powered(
        *(np.repeat(values, 2) for values in (human, judge, unlabelled)),
        judge_weight=0.5, clusters=np.repeat(np.arange(240), 2),
    )  # fmt: skip
    assert twice.value == pytest.approx(once.value)
    assert twice.high - twice.low == pytest.approx(once.high - once.low, rel=0.02)


def test_intervals_of_clustered_values_cover_the_truth():
    """Three values of an item agree often; without the clusters the interval would be too narrow."""
    rng, covered, ignored = np.random.default_rng(4), [], []
    numbers = np.repeat(np.arange(200), 3)
    for _ in range(300):
        shared = np.repeat(rng.random(200) < 0.5, 3)
        truth = np.where(rng.random(600) < 0.8, shared, rng.random(600) < 0.5).astype(float)
        judge = np.where(rng.random(600) < 0.2, 1.0, truth)
        for found, clusters in ((covered, numbers), (ignored, None)):
            result = powered(truth[:120], judge[:120], judge[120:], clusters=clusters)
            found.append(result.low <= 0.5 <= result.high)
    assert np.mean(covered) > 0.9 > np.mean(ignored)


def test_degrees_of_freedom_count_items_and_not_their_pairs():
    """40 pairs of 20 items are 20 observations: t has 19 degrees of freedom."""
    rng = np.random.default_rng(6)
    human, numbers = rng.random(40), np.repeat(np.arange(20), 2)
    result = alone(human, clusters=numbers)
    assert result.high - result.low == pytest.approx(2 * 2.0930241 * result.variance**0.5)
    sums = np.bincount(numbers, human - human.mean())
    assert result.variance == pytest.approx(20 / 19 * (sums**2).sum() / 1600)
