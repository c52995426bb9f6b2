"""Draws of targets, their probabilities, and means over all targets from those drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from core.statistics.measures import designs
from core.statistics.measures.designs import DesignMean, design_mean

SEEDS = range(400)


def test_numbers_are_those_of_the_key_and_the_seed_alone() -> None:
    few, many = designs.permanent_numbers(1, ["b"]), designs.permanent_numbers(1, ["a", "b", "c"])
    assert few[0] == many[1] != designs.permanent_numbers(2, ["b"])[0]
    numbers = designs.permanent_numbers(0, [f"item {number}" for number in range(5_000)])
    assert stats.kstest(numbers, "uniform").pvalue > 0.01


@given(st.lists(st.integers(0, 200), min_size=1, max_size=6).filter(any), st.integers(1, 500), st.booleans())
def test_an_allocation_spends_all_labels_that_fit(counts: list[int], size: int, by_spread: bool) -> None:
    spreads = [0.5 / (number + 1) for number in range(len(counts))] if by_spread else None
    found = designs.allocate(counts, size, spreads)
    assert all(0 <= labels <= count for labels, count in zip(found, counts, strict=True))
    assert sum(found) == max(min(size, sum(counts)), sum(min(2, count) for count in counts))


def test_neyman_allocation_follows_the_spread() -> None:
    assert designs.allocate([1000, 1000], 100, [0.5, 0.125]) == [80, 20]
    assert designs.allocate([700, 300], 100) == [70, 30]
    assert designs.allocate([1000, 10], 20) == [18, 2]  # at least two of each stratum


def test_effective_labels_are_kishs() -> None:
    assert designs.effective_labels(np.ones(7)) == 7
    assert designs.effective_labels(np.array([1.0, 3.0])) == 16 / 10


def test_the_mean_of_one_stratum_is_that_of_its_labels_with_students_interval() -> None:
    labels = np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 12])
    found = designs.design_mean(labels, np.ones(10), np.zeros(10, int))
    interval = stats.ttest_1samp(labels, 0).confidence_interval()
    assert (found.value, found.low, found.high) == pytest.approx((labels.mean(), interval.low, interval.high))


def test_a_stratified_mean_and_its_variance_are_cochrans() -> None:
    """Cochran 1977, equation 5.13, without the finite population correction but with sampled shares of strata."""
    strata = np.repeat([0, 1], [60, 40])
    human = np.full(100, np.nan)
    human[:6], human[60:68] = [1, 2, 3, 4, 5, 6], [10, 12, 14, 10, 12, 14, 11, 13]
    found = designs.design_mean(human, np.repeat([0.1, 0.2], [60, 40]), strata)
    assert found.value is not None and found.high is not None
    assert found.value == pytest.approx(0.6 * 3.5 + 0.4 * 12)
    between = (0.6 * (3.5 - found.value) ** 2 + 0.4 * (12 - found.value) ** 2) / 100
    within = 0.36 * human[:6].var(ddof=1) / 6 + 0.16 * human[60:68].var(ddof=1) / 8
    half = stats.t.ppf(0.975, 12) * (between + within) ** 0.5
    assert found.high - found.value == pytest.approx(half)


def test_few_labels_of_a_large_stratum_decide_the_degrees_of_freedom() -> None:
    """12 labels of 9,900 targets and 100 of 100: nearly Student's interval of the 12, not that of 110 degrees."""
    human = np.full(10_000, np.nan)
    human[:12], human[9_900:] = np.arange(12), np.tile([5.0, 6.0], 50)
    found = designs.design_mean(human, np.where(np.isnan(human), 0.01, 1.0), np.repeat([0, 1], [9_900, 100]))
    assert found.high is not None and found.value is not None and found.variance is not None
    assert (found.high - found.value) / found.variance**0.5 == pytest.approx(stats.t.ppf(0.975, 11), rel=0.01)


def test_labels_of_disputed_targets_only_give_no_mean_of_all() -> None:
    human = np.where(np.arange(40) < 20, 1.0, np.nan)
    found = designs.design_mean(human, np.ones(40), (np.arange(40) >= 20).astype(int))
    assert found.value is None and "1 of 2 strata" in found.reason


@pytest.mark.parametrize("uses_judge", [False, True])
def test_intervals_hold_the_mean_when_every_disputed_target_is_labelled(uses_judge: bool) -> None:
    """A wins 75 % of the clear and 50 % of the disputed pairs; labels of disputed pairs alone say 50 %."""
    held = [interval_holds(seed, 0.3 * 0.5 + 0.7 * 0.75, uses_judge) for seed in SEEDS]
    assert 0.92 <= np.mean(held) <= 0.98


def interval_holds(seed: int, truth: float, uses_judge: bool) -> bool:
    rng = np.random.default_rng(seed)
    disputed = (rng.random(300) < 0.3).astype(int)
    wins = (rng.random(300) < np.where(disputed, 0.5, 0.75)).astype(float)
    verdicts = np.where(rng.random(300) < np.where(disputed, 0.55, 0.9), wins, 1 - wins)
    sizes, numbers = [60, int(disputed.sum())], rng.random(300)
    ranks = np.array([(numbers[disputed == own] < number).sum() for number, own in zip(numbers, disputed, strict=True)])
    drawn = ranks < np.array(sizes)[disputed]
    probabilities = (np.array(sizes) / np.bincount(disputed))[disputed]
    found = designs.design_mean(
        np.where(drawn, wins, np.nan), probabilities, disputed, verdicts if uses_judge else None, limits=(0, 1)
    )
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


# Prediction-powered means: those of a design with one stratum and equal probabilities.


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
