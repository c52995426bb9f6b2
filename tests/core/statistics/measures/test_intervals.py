"""The bootstrap: what is drawn, and what is made of it."""

import numpy as np
import pytest
from scipy import stats

from core.statistics.data.patterns import Units, by_counts, by_rows, draw, patterns_of
from core.statistics.measures import agreement, kernels
from core.statistics.measures.intervals import acceleration, resample
from tests.core.statistics.build import of_codes, random_ratings


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def mean_of(values: np.ndarray):
    return lambda weights: (weights @ values / weights.sum(axis=1))[None]


def test_the_interval_is_scipys_bca(rng):
    values = rng.exponential(size=120)
    ours = resample(mean_of(values), Units(np.ones(120)), 20_000, 0)[0]
    theirs = stats.bootstrap((values,), np.mean, method="BCa", n_resamples=20_000, rng=1).confidence_interval
    width = theirs.high - theirs.low
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.03 * width)


def test_the_acceleration_of_a_mean_is_its_skewness(rng):
    values = rng.exponential(size=50)
    left_out = np.array([np.delete(values, at).mean() for at in range(50)])
    expected = stats.skew(values) / (6 * np.sqrt(50))
    assert acceleration(left_out, np.ones(50)) == pytest.approx(expected)


@pytest.mark.parametrize("times", [np.array([500.0, 300, 200]), np.array([2.0, 1, 3])])
def test_both_ways_of_drawing_have_the_multinomials_moments(times):
    """Few patterns are drawn as a multinomial, many by their items: the same distribution."""
    drawn = draw(times, 40_000, np.random.default_rng(0))
    n, p = times.sum(), times / times.sum()
    assert (drawn.sum(axis=1) == n).all()
    assert drawn.mean(axis=0) == pytest.approx(times, rel=0.02)
    assert np.cov(drawn.T) == pytest.approx(n * (np.diag(p) - np.outer(p, p)), rel=0.1, abs=0.02 * n)


def test_the_fast_bootstrap_spreads_like_resampled_items():
    ratings = random_ratings(np.random.default_rng(1), 60, 3, 3, 0.2)
    numbers = agreement.numbers_of(ratings)
    made = agreement.OF_COUNTS["fleiss_kappa"]

    def fleiss(rated) -> float:
        patterns = by_counts(rated)
        return float(made(patterns.counts, numbers)(patterns.units.times[None])[0])

    rng = np.random.default_rng(2)
    slow = [fleiss(of_codes(ratings.codes[rng.integers(0, 60, 60)], 3)) for _ in range(1500)]
    patterns = by_counts(ratings)
    weights = np.concatenate(list(patterns.units.resamples(1500, 3)))
    fast = made(patterns.counts, numbers)(weights)
    assert np.mean(fast) == pytest.approx(np.mean(slow), abs=4 * np.std(slow) / np.sqrt(750))
    assert np.std(fast) == pytest.approx(np.std(slow), rel=0.1)


def test_patterns_are_few_and_hold_every_item():
    ratings = random_ratings(np.random.default_rng(0), 5000, 3, 5, 0.1)
    rows, counts = patterns_of(ratings), by_counts(ratings)
    assert rows.units.times.sum() == 5000
    assert rows.units.times.size <= 6**3
    assert counts.units.times.size <= 56
    assert counts.units.times.sum() == (ratings.codes >= 0).any(axis=1).sum()


@pytest.mark.parametrize(("raters", "kinds"), [(30, 5), (3, 100), (12, 40)])
def test_many_raters_or_categories_fall_back_and_agree(raters, kinds):
    ratings = random_ratings(np.random.default_rng(0), 80, raters, kinds, 0.3)
    patterns = by_counts(ratings)
    every = np.array([np.bincount(row[row >= 0], minlength=kinds) for row in ratings.codes], float)
    for name in ("fleiss_kappa", "krippendorff_alpha_ordinal"):
        made, numbers = agreement.OF_COUNTS[name], agreement.numbers_of(ratings)
        fast = made(patterns.counts, numbers)(patterns.units.times[None])[0]
        assert fast == pytest.approx(made(every, numbers)(np.ones((1, 80)))[0], abs=1e-9)


def test_groups_are_drawn_whole():
    codes = np.repeat([[0, 0], [1, 1], [0, 1], [1, 0]], 5, axis=0)
    groups = [f"d{item // 5}" for item in range(20)]
    units = by_rows(of_codes(codes, 2, groups)).units
    assert units.number == 4
    for weights in units.resamples(50, 0):
        assert (weights % 5 == 0).all()
        assert (weights.sum(axis=1) == 20).all()


def test_items_in_groups_of_one_are_items():
    groups = [f"d{item}" for item in range(10)]
    assert by_rows(of_codes(np.zeros((10, 2)), 2, groups)).units.clusters is None


def test_groups_without_a_paired_item_are_not_drawn():
    codes = np.array([[0, 0], [1, 1], [0, -1], [1, -1]])
    assert by_rows(of_codes(codes, 2, ["a", "a", "b", "b"])).units.number == 1


def test_left_out_blocks_are_each_item_once():
    ratings = random_ratings(np.random.default_rng(0), 40, 3, 3, 0.2)
    units = by_counts(ratings).units
    weights, often = units.left_out()
    assert (weights.sum(axis=1) == units.times.sum() - 1).all()
    assert often.sum() == units.times.sum()


def test_many_distinct_items_are_left_out_in_blocks():
    weights, often = Units(np.ones(5000)).left_out()
    assert weights.shape == (400, 5000)
    assert ((1 - weights).sum(axis=0) == 1).all()
    assert often.sum() == 400


def test_undefined_resamples_are_counted():
    """Two items, one of each category: a quarter of the resamples has only the first, as many the other."""
    ratings = of_codes(np.array([[0, 0], [1, 1]]), 2)
    found = agreement.estimate(ratings, "cohen_kappa", resamples=2000)
    assert found.value == 1
    assert found.dropped == pytest.approx(1000, abs=120)
    assert "resamples undefined" in found.reason


def test_resampling_a_constant_gives_no_interval():
    statistic = kernels.together([kernels.percent(np.array([[2.0, 0], [0, 2]]))])
    (found,) = resample(statistic, Units(np.array([5.0, 5])), 100, 0)
    assert (found.value, found.low, found.high) == (1, None, None)


def test_intervals_hold_the_truth_as_often_as_they_say():
    """400 studies of 200 items: 95 % within four standard errors. The whole table is in the docs."""
    rng, held, raters = np.random.default_rng(4), [], 3
    truth = 0.7**2  # two even categories, each rater right in .7 and guessing else
    for study in range(400):
        true = rng.integers(0, 2, (200, 1))
        codes = np.where(rng.random((200, raters)) < 0.7, true, rng.integers(0, 2, (200, raters)))
        found = agreement.estimate(of_codes(codes, 2), "fleiss_kappa", resamples=400, seed=study)
        held.append(found.low <= truth <= found.high)
    assert abs(np.mean(held) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 400)
