"""Bootstrap intervals."""

import numpy as np
import pytest
from scipy import stats

from core.statistics.data.patterns import Units, group_indicator, merge_equal_rows
from core.statistics.data.ratings import Ratings, category_numbers
from core.statistics.measures import agreement, coefficients, resampling
from core.statistics.measures.resampling import (
    NoInterval,
    Resampled,
    acceleration,
    bca_interval,
    bca_levels,
    bootstrap,
    percentile_interval,
    stack_statistics,
    weighted_mean,
)
from tests.core.statistics.builders import count_patterns, estimate_statistic, random_ratings, ratings_from_codes


def mean_family(values: np.ndarray):
    return lambda weights: (weights @ values / weights.sum(axis=1))[None]


def test_the_interval_equals_scipys_bca(rng):
    values = rng.exponential(size=120)
    ours = bootstrap(mean_family(values), Units(np.ones(120)), 20_000)[0]
    theirs = stats.bootstrap((values,), np.mean, method="BCa", n_resamples=20_000, rng=1).confidence_interval
    width = theirs.high - theirs.low
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.03 * width)


def test_the_acceleration_of_a_mean_is_its_skewness(rng):
    values = rng.exponential(size=50)
    jackknife = np.array([np.delete(values, item).mean() for item in range(50)])
    expected = stats.skew(values) / (6 * np.sqrt(50))
    assert acceleration(jackknife, np.ones(50)) == pytest.approx(expected)
    assert acceleration(np.ones(50), np.ones(50)) == 0


def test_the_bootstrap_of_patterns_spreads_like_resampled_items():
    ratings = random_ratings(np.random.default_rng(1), 60, 3, 3, 0.2)
    numbers = category_numbers(ratings.categories)
    function = agreement.COUNT_STATISTICS["fleiss_kappa"]

    def fleiss_kappa(resample) -> float:
        patterns = count_patterns(resample)
        return float(function(patterns.counts, numbers)(patterns.units.frequencies[None])[0])

    rng = np.random.default_rng(2)
    of_items = [fleiss_kappa(ratings_from_codes(ratings.codes[rng.integers(0, 60, 60)], 3)) for _ in range(1500)]
    patterns = count_patterns(ratings)
    weights = np.concatenate(list(patterns.units.resample_weights(1500)))
    of_patterns = function(patterns.counts, numbers)(weights)
    assert np.mean(of_patterns) == pytest.approx(np.mean(of_items), abs=4 * np.std(of_items) / np.sqrt(750))
    assert np.std(of_patterns) == pytest.approx(np.std(of_items), rel=0.1)


def test_undefined_resamples_are_counted():
    """Two items, one of each category: half of the resamples have only one category."""
    ratings = ratings_from_codes(np.array([[0, 0], [1, 1]]), 2)
    estimate = estimate_statistic(ratings, "cohen_kappa", resamples=2000)
    assert estimate.value == 1
    assert estimate.dropped == pytest.approx(1000, abs=120)
    assert "resamples undefined" in estimate.reason


def test_resampling_a_constant_gives_no_interval():
    family = stack_statistics([coefficients.percent_agreement(np.array([[2.0, 0], [0, 2]]))])
    (result,) = bootstrap(family, Units(np.array([5.0, 5])), 100)
    assert (result.value, result.low, result.high, result.missing) == (1, None, None, NoInterval.NO_SPREAD)


def test_resamples_equal_to_the_value_count_half():
    """1, 2 and 1 resamples below, at and above the value: z0 is 0; without the half it would be -.67."""
    levels = bca_levels(0.5, np.array([0.0, 0.5, 0.5, 1.0]), np.full(4, 0.5), np.ones(4))
    assert levels == pytest.approx([0.025, 0.975])
    skewed = bca_levels(0.5, np.array([0.0, 0.5, 1.0, 1.0]), np.full(4, 0.5), np.ones(4))
    z0 = stats.norm.ppf((1 + 1 / 2) / 4)
    assert skewed == pytest.approx(stats.norm.cdf(2 * z0 + stats.norm.ppf([0.025, 0.975])))


def test_the_levels_are_those_of_a_published_case(monkeypatch):
    """Efron & Tibshirani 1993, section 14.3: z0 .146 and acceleration .061 bound 90 % by the levels .110 and .985."""
    monkeypatch.setattr(resampling, "acceleration", lambda *_: 0.061)
    resampled = np.repeat([0.0, 1.0], [558, 442])
    levels = bca_levels(0.5, resampled, np.empty(0), np.empty(0), float(stats.norm.ppf(0.95)))
    assert levels == pytest.approx([0.110, 0.985], abs=1e-3)


def test_two_resamples_are_enough_for_an_interval():
    for values, missing in (([0.4, np.nan], NoInterval.FEW_RESAMPLES), ([0.4, 0.6], None)):
        assert bca_interval(0.5, np.array(values), np.full(4, 0.5), np.ones(4)).missing == missing


def test_an_interval_that_excludes_its_value_is_not_returned():
    resampled = np.linspace(0.2, 0.3, 50)
    for result in (bca_interval(0.5, resampled, np.full(9, 0.5), np.ones(9)), percentile_interval(0.5, resampled)):
        assert (result.value, result.low, result.high, result.missing) == (0.5, None, None, NoInterval.VALUE_OUTSIDE)
    for end in (0.2, 0.3):
        assert percentile_interval(end, np.array([0.2] * 50 + [0.3] * 50)).low == 0.2, "its ends are inside"
    inside = percentile_interval(0.25, resampled)
    assert inside.low < 0.25 < inside.high
    assert not inside.problem


def test_ordinal_alpha_of_continuous_scores_near_one_has_no_interval():
    """Repeated items are ties, which raise ordinal alpha in every resample above the value of the data."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=300)
    values = np.column_stack([truth, truth + 0.01 * rng.normal(size=300)])
    scores = Ratings(("a", "b"), values)
    estimates = agreement.estimate_score_statistics(scores, resamples=200)
    alpha = estimates["krippendorff_alpha_ordinal"]
    assert alpha.value == pytest.approx(0.9999, abs=1e-4)
    assert (alpha.low, alpha.high, alpha.reason) == (None, None, NoInterval.VALUE_OUTSIDE.value)
    spearman = estimates["spearman"]
    assert spearman.low < spearman.value < spearman.high


def test_intervals_cover_the_truth_at_their_nominal_rate():
    """400 studies of 200 items: 95 % within four standard errors. The whole table is in the docs."""
    rng, covered, raters = np.random.default_rng(4), [], 3
    truth = 0.7**2  # two even categories, each rater right in .7 and guessing else
    for _ in range(400):
        true = rng.integers(0, 2, (200, 1))
        codes = np.where(rng.random((200, raters)) < 0.7, true, rng.integers(0, 2, (200, raters)))
        ratings = ratings_from_codes(codes, 2)
        estimate = estimate_statistic(ratings, "fleiss_kappa", resamples=400)
        covered.append(estimate.low <= truth <= estimate.high)
    assert abs(np.mean(covered) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 400)


def interval_of_mean(values: np.ndarray, groups: np.ndarray | None = None) -> tuple[float, float]:
    statistic = stack_statistics([weighted_mean(values, np.ones(values.size, bool))])
    units = Units(np.ones(values.size), group_indicator(None if groups is None else groups.astype(object)))
    (result,) = bootstrap(statistic, units, 1000)
    assert result.low is not None and result.high is not None
    return result.low, result.high


def test_many_values_are_resampled_in_blocks_with_the_same_interval(rng):
    values = rng.exponential(size=20_000)
    half = 1.96 * values.std() / np.sqrt(values.size)
    low, high = interval_of_mean(values)
    assert (low - values.mean(), high - values.mean()) == pytest.approx((-half, half), rel=0.15)


def test_many_clusters_are_resampled_in_blocks_with_the_same_interval(rng):
    means = rng.normal(size=3000)
    values, groups = np.repeat(means, 4), np.repeat(np.arange(3000), 4).astype(str)
    half = 1.96 * means.std() / np.sqrt(means.size)
    low, high = interval_of_mean(values, groups)
    assert (low - values.mean(), high - values.mean()) == pytest.approx((-half, half), rel=0.15)


def test_patterns_with_equal_features_are_merged_exactly(rng):
    features = rng.integers(0, 3, size=(5000, 2)).astype(float)
    frequencies = rng.integers(1, 4, size=5000).astype(float)
    merged, units = merge_equal_rows(features, Units(frequencies))
    assert len(merged) == 9
    np.testing.assert_allclose(units.frequencies @ merged, frequencies @ features)
    np.testing.assert_allclose(units.frequencies @ merged**2, frequencies @ features**2)


@pytest.mark.parametrize("seed", range(20))
def test_rows_with_equal_features_are_merged_wherever_they_are(seed):
    distinct = np.random.default_rng(seed).integers(0, 3, size=(40, 32)).astype(float)
    places = np.arange(1243) % 40
    merged, units = merge_equal_rows(distinct[places], Units(np.ones(1243)))
    assert len(merged) == len(np.unique(distinct, axis=0))
    assert sorted(units.frequencies) == sorted(np.bincount(places))


@pytest.mark.parametrize("items", [30, 3_000])
def test_wanted_statistics_have_the_resamples_of_the_whole_family(rng, items):
    values = rng.normal(size=(items, 3))
    used = np.ones(items, bool)
    family = stack_statistics([weighted_mean(column, used) for column in values.T])
    every = bootstrap(family, Units(np.ones(items)), 200)
    assert bootstrap(family, Units(np.ones(items)), 200, wanted=[2, 0]) == [every[2], every[0]]
    assert bootstrap(family, Units(np.ones(items)), 200, wanted=[]) == []
    assert bootstrap(family, Units(np.zeros(items)), 200, wanted=[1]) == [Resampled(None, None, None, 0)]
