"""Dawid and Skene's estimates of reliability without gold."""

import numpy as np
import pytest

from core.statistics.measures import causes
from tests.core.statistics.builders import ratings_from_codes


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_the_fit_recovers_the_raters_accuracies(rng):
    truth = rng.choice(3, 3000, p=(0.5, 0.3, 0.2))
    accuracies = (0.9, 0.75, 0.6, 0.4)
    codes = np.column_stack(
        [np.where(rng.random(3000) < accuracy, truth, rng.integers(0, 3, 3000)) for accuracy in accuracies]
    )
    codes[rng.random(codes.shape) < 0.2] = -1
    fit, rows = causes.fit_ratings(ratings_from_codes(codes, 3))
    assert fit.converged
    assert fit.accuracy == pytest.approx([accuracy + (1 - accuracy) / 3 for accuracy in accuracies], abs=0.04)
    assert fit.shares == pytest.approx([0.5, 0.3, 0.2], abs=0.04)
    assert fit.posterior.shape == (len(rows), 3)


def test_patterns_and_items_give_the_same_fit(rng):
    codes = rng.integers(-1, 3, (200, 3))
    codes = codes[(codes >= 0).any(axis=1)]
    of_items = causes.fit_counts(causes.one_hot(codes, 3))
    of_patterns, _ = causes.fit_ratings(ratings_from_codes(codes, 3))
    assert of_patterns.log_likelihood == pytest.approx(of_items.log_likelihood, rel=1e-6)
    assert of_patterns.shares == pytest.approx(of_items.shares, abs=1e-4)


def test_unanimous_raters_have_accuracy_one():
    fit, _ = causes.fit_ratings(ratings_from_codes(np.repeat([[0, 0], [1, 1]], 10, axis=0), 2))
    assert fit.accuracy == pytest.approx([1, 1])
