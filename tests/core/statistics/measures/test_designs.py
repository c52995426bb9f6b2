"""Draws of targets, their probabilities, and means over all targets from those drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from core.statistics.measures import designs

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
