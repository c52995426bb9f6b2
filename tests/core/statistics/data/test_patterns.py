"""Distinct patterns of labels: the compressed data of every bootstrap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.statistics.data.patterns import (
    Units,
    distinct_patterns,
    draw_resamples,
    judged_patterns,
    majority_category,
)
from core.statistics.data.ratings import category_numbers
from core.statistics.measures import agreement
from tests.core.statistics.builders import count_patterns, random_ratings, ratings_from_codes
from tests.core.statistics.strategies import generated_ratings


def patterns_of_pairs(ratings):
    return distinct_patterns(ratings).with_min_labels(2)


@given(generated_ratings(items=(2, 14)), st.integers(0, 2**32))
def test_weighted_patterns_give_the_values_of_the_resampled_items(ratings, seed):
    drawn = np.random.default_rng(seed).integers(0, len(ratings.codes), len(ratings.codes))
    resample = ratings_from_codes(ratings.codes[drawn], len(ratings.categories))
    numbers = category_numbers(ratings.categories)
    for make_patterns, order in ((count_patterns, sorted), (patterns_of_pairs, list)):
        patterns, resampled = make_patterns(ratings), make_patterns(resample)
        position = {tuple(order(row)): number for number, row in enumerate(patterns.codes.tolist())}
        weights = np.zeros((1, patterns.units.frequencies.size))
        for row, frequency in zip(resampled.codes.tolist(), resampled.units.frequencies, strict=True):
            weights[0, position[tuple(order(row))]] = frequency
        assert weights.sum() == resampled.units.size
        if make_patterns is count_patterns and resampled.units.size:
            for function in agreement.COUNT_STATISTICS.values():
                value = function(patterns.counts, numbers)(weights)
                expected = function(resampled.counts, numbers)(resampled.units.frequencies[None])
                np.testing.assert_allclose(value, expected, atol=1e-9)


@pytest.mark.parametrize("frequencies", [np.array([500.0, 300, 200]), np.array([2.0, 1, 3])])
def test_both_ways_of_drawing_have_the_moments_of_the_multinomial(frequencies):
    """Few patterns are drawn as a multinomial, many by their items: the same distribution."""
    drawn = draw_resamples(frequencies, 40_000, np.random.default_rng(0))
    n, p = frequencies.sum(), frequencies / frequencies.sum()
    assert (drawn.sum(axis=1) == n).all()
    assert drawn.mean(axis=0) == pytest.approx(frequencies, rel=0.02)
    assert np.cov(drawn.T) == pytest.approx(n * (np.diag(p) - np.outer(p, p)), rel=0.1, abs=0.02 * n)


@pytest.mark.parametrize(("raters", "n_categories"), [(30, 5), (3, 100), (12, 40)])
def test_many_raters_or_categories_give_the_values_of_the_items(raters, n_categories):
    ratings = random_ratings(np.random.default_rng(0), 80, raters, n_categories, 0.3)
    patterns, numbers = count_patterns(ratings), category_numbers(ratings.categories)
    counts = np.array([np.bincount(row[row >= 0], minlength=n_categories) for row in ratings.codes], float)
    for name in ("fleiss_kappa", "krippendorff_alpha_ordinal"):
        function = agreement.COUNT_STATISTICS[name]
        value = function(patterns.counts, numbers)(patterns.units.frequencies[None])[0]
        assert value == pytest.approx(function(counts, numbers)(np.ones((1, 80)))[0], abs=1e-9)


def test_groups_are_drawn_whole():
    codes = np.repeat([[0, 0], [1, 1], [0, 1], [1, 0]], 5, axis=0)
    groups = [f"d{item // 5}" for item in range(20)]
    units = distinct_patterns(ratings_from_codes(codes, 2, groups)).with_min_labels(2).units
    assert units.size == 4
    for weights in units.resample_weights(50):
        assert (weights % 5 == 0).all()
        assert (weights.sum(axis=1) == 20).all()


def test_the_jackknife_leaves_out_each_item_once():
    ratings = random_ratings(np.random.default_rng(0), 40, 3, 3, 0.2)
    units = count_patterns(ratings).units
    weights, block_frequencies = units.jackknife_weights()
    assert (weights.sum(axis=1) == units.frequencies.sum() - 1).all()
    assert block_frequencies.sum() == units.frequencies.sum()


def test_the_jackknife_leaves_out_many_distinct_items_in_blocks():
    weights, block_frequencies = Units(np.ones(5000)).jackknife_weights()
    assert weights.shape == (400, 5000)
    assert ((1 - weights).sum(axis=0) == 1).all()
    assert block_frequencies.sum() == 400


def test_a_majority_is_more_than_half_and_a_tie_is_none():
    counts = np.array([[2, 1, 0], [1, 1, 0], [2, 1, 1], [0, 0, 0], [0, 0, 1]])
    assert majority_category(counts).tolist() == [0, -1, -1, -1, 2]


# Patterns of annotators, judge and gold.


def test_items_with_equal_labels_verdict_and_gold_are_one_pattern():
    labels = ratings_from_codes(np.array([[0, 1], [0, 1], [0, 1], [1, 1]]), 2)
    patterns = judged_patterns(labels, np.array([0, 0, 1, 1]), np.array([0, 0, 0, -1]))
    assert patterns.units.frequencies.sum() == 4
    assert sorted(patterns.units.frequencies) == [1, 1, 2]
    assert patterns.count_items(patterns.judge == 1) == 2


def test_the_majority_of_others_excludes_the_annotator():
    labels = ratings_from_codes(np.array([[0, 1, 1], [0, 0, 1], [-1, 1, 1]]), 2)
    patterns = judged_patterns(labels, np.zeros(3), np.zeros(3))
    rows, raters, _, majorities = patterns.labels.compared(np.ones(3, bool))
    own = raters == 0
    assert patterns.labels.codes[rows[own]].tolist() == [[0, 1, 1]]
    assert majorities[own].tolist() == [1]
