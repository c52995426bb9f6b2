"""Prediction-powered means."""

import numpy as np
import pytest

from core.statistics.measures.systems import prediction_powered_mean


def test_the_mean_computed_by_hand():
    """The formula with lambda 1: mean(Y) - (mean(F) - mean(F')), var(Y - F) / n + var(F') / N."""
    human, judge = np.tile([1.0, 0, 1, 1], 3), np.tile([1.0, 1, 1, 0], 3)
    unlabelled = np.array([1.0, 1, 1, 0, 1, 0])
    result = prediction_powered_mean(human, judge, unlabelled, judge_weight=1.0)
    assert result.value == pytest.approx(0.75 - (0.75 - 4 / 6))
    variance = np.var(human - judge, ddof=1) / 12 + np.var(unlabelled, ddof=1) / 6
    assert result.high - result.low == pytest.approx(
        2 * 2.2009852 * np.sqrt(variance), rel=1e-6
    )  # t with 11 degrees of freedom


def test_few_or_equal_labels_have_no_interval_and_limits_end_it():
    few, same = np.array([1.0, 0, 1]), np.ones(40)
    wins = np.array([1.0] * 19 + [0.0])
    assert prediction_powered_mean(few, few, np.empty(0)).low is None
    assert prediction_powered_mean(same, same, np.empty(0)).low is None
    assert prediction_powered_mean(wins, wins, np.empty(0)).high > 1
    assert prediction_powered_mean(wins, wins, np.empty(0), limits=(0, 1)).high == 1


def test_without_unlabelled_items_it_is_the_human_mean():
    human = np.array([1.0, 0, 1, 1])
    result = prediction_powered_mean(human, human, np.empty(0))
    assert (result.value, result.judge_weight) == (result.human, 0)
    assert "mean of the human labels" in result.reason


def test_verdicts_are_worth_one_label_at_most():
    human = np.array([1.0] * 10 + [0.0] * 10)
    verdicts = np.ones(12)  # their sample variance is 0, so that they appear to be worth more
    enough = prediction_powered_mean(human, human, verdicts, judge_weight=0.9)
    assert enough.effective_labels == 20 + 12
    few = prediction_powered_mean(human, human, verdicts[:3], judge_weight=0.9)
    assert few.effective_labels is None and "3 items that only the judge saw, 10 needed" in few.reason
    assert "1 item that" in prediction_powered_mean(human, human, verdicts[:1], judge_weight=0.9).reason


def test_a_random_judge_costs_nothing_and_a_good_one_saves_labels():
    rng = np.random.default_rng(0)
    human = (rng.random(100) < 0.6).astype(float)
    noise = [(rng.random(n) < 0.5).astype(float) for n in (100, 5000)]
    of_noise = prediction_powered_mean(human, *noise)
    assert of_noise.high - of_noise.low <= (of_noise.human_high - of_noise.human_low) * 1.02

    def flip_some(values: np.ndarray) -> np.ndarray:
        return np.where(rng.random(values.size) < 0.05, 1 - values, values)

    unlabelled = (rng.random(5000) < 0.6).astype(float)
    of_good_judge = prediction_powered_mean(human, flip_some(human), flip_some(unlabelled))
    assert of_good_judge.effective_labels > 300
    assert of_good_judge.low < 0.6 < of_good_judge.high


def test_intervals_cover_the_truth_with_a_biased_judge():
    """A judge that says yes too often: its own mean is off by .15, the interval is not."""
    rng, covered = np.random.default_rng(2), []
    for _ in range(500):
        truth = (rng.random(1100) < 0.5).astype(float)
        judge = np.where(rng.random(1100) < 0.3, 1.0, truth)
        result = prediction_powered_mean(truth[:100], judge[:100], judge[100:])
        covered.append(result.low <= 0.5 <= result.high)
    assert abs(np.mean(covered) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 500)


def test_two_equal_values_of_one_item_count_once():
    rng = np.random.default_rng(3)
    human, judge, unlabelled = (rng.random(n) for n in (40, 40, 200))
    once = prediction_powered_mean(human, judge, unlabelled)
    numbers = np.arange(240)
    clusters = (np.repeat(numbers[:40], 2), np.repeat(numbers[40:], 2))
    twice = prediction_powered_mean(
        *(np.repeat(values, 2) for values in (human, judge, unlabelled)), once.judge_weight, clusters=clusters
    )
    assert twice.value == pytest.approx(once.value)
    assert twice.high - twice.low == pytest.approx(once.high - once.low, rel=0.02)
    assert twice.human_high == pytest.approx(once.human_high)
    assert twice.effective_labels == pytest.approx(2 * once.effective_labels, rel=0.05)


def test_intervals_of_clustered_values_cover_the_truth():
    """Three values of an item agree often; without the clusters the interval would be too narrow."""
    rng, covered, ignored = np.random.default_rng(4), [], []
    numbers = np.repeat(np.arange(200), 3)
    for _ in range(300):
        shared = np.repeat(rng.random(200) < 0.5, 3)
        truth = np.where(rng.random(600) < 0.8, shared, rng.random(600) < 0.5).astype(float)
        judge = np.where(rng.random(600) < 0.2, 1.0, truth)
        values = (truth[:120], judge[:120], judge[120:])
        for found, clusters in ((covered, (numbers[:120], numbers[120:])), (ignored, None)):
            result = prediction_powered_mean(*values, clusters=clusters)
            found.append(result.low <= 0.5 <= result.high)
    assert np.mean(covered) > 0.9 > np.mean(ignored)


def test_intervals_and_caveat_count_items_and_not_their_pairs():
    """40 pairs of 20 items are 20 observations: t has 19 degrees of freedom, and the caveat of few items remains."""
    rng = np.random.default_rng(6)
    human, numbers = rng.random(40), np.repeat(np.arange(20), 2)
    result = prediction_powered_mean(human, human, np.empty(0), clusters=(numbers, np.empty(0, np.int64)))
    sums = np.bincount(numbers, human - human.mean())
    error = np.sqrt(20 / 19 * (sums**2).sum()) / 40
    assert result.high - result.low == pytest.approx(2 * 2.0930241 * error)
    assert "fewer than 100 labelled items" in result.reason
