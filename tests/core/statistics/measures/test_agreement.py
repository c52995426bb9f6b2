"""Estimates of agreement."""

from itertools import combinations

import numpy as np
import pytest

from core.statistics.data.ratings import Scores
from core.statistics.measures import agreement
from tests.core.statistics.builders import estimate_statistic, random_ratings, ratings_from_codes


def test_the_krippendorff_package_and_the_closed_form_give_the_same_alpha(monkeypatch):
    ratings = random_ratings(np.random.default_rng(0), 60, 4, 5, 0.3)
    names = [f"krippendorff_alpha_{level}" for level in ("nominal", "ordinal", "interval")]
    by_package = agreement.estimate_statistics(ratings, names, resamples=0)
    monkeypatch.setattr(agreement, "MAX_PACKAGE_CELLS", 0)
    by_formula = agreement.estimate_statistics(ratings, names, resamples=0)
    for name in names:
        assert by_package[name].value == pytest.approx(by_formula[name].value, abs=1e-9)


def test_items_without_a_pair_of_labels_give_no_statistic_and_a_reason():
    estimate = estimate_statistic(ratings_from_codes(np.array([[0, -1], [-1, 1]]), 2), "percent")
    assert (estimate.value, estimate.items, estimate.items_total) == (None, 0, 2)
    assert "no item was labelled by two annotators" in estimate.reason
    scores = Scores(("i",), ("a", "b"), np.array([[1.5, np.nan]]))
    assert {one.value for one in agreement.estimate_score_statistics(scores).values()} == {None}


def test_mean_over_pairs_that_share_few_items_has_no_interval():
    """Kappas of four items are biased by more than the width of the interval of their mean."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, (300, 1))
    codes = np.where(rng.random((300, 40)) < 0.7, truth, rng.integers(0, 3, (300, 40)))
    few = np.where(rng.random(codes.shape).argsort(axis=1) < 5, codes, -1)
    found = agreement.estimate_statistics(
        ratings_from_codes(few, 3), ("cohen_kappa", "spearman", "fleiss_kappa"), resamples=50
    )
    for name in ("cohen_kappa", "spearman"):
        assert found[name].value is not None and found[name].low is None and found[name].high is None
        assert "two annotators share 3.9 items on average" in found[name].reason
    assert found["fleiss_kappa"].low is not None
    full = agreement.estimate_statistics(ratings_from_codes(codes[:, :5], 3), ("cohen_kappa", "spearman"), resamples=50)
    assert all(one.low is not None and "share" not in one.reason for one in full.values())


@pytest.mark.parametrize(("annotators", "has_interval"), [(5, True), (6, False)])
def test_two_annotators_need_three_times_the_root_of_the_items(annotators, has_interval):
    """100 items with all combinations of three annotators alike: two of five share 30 items, two of six share 20."""
    chosen = list(combinations(range(annotators), 3))
    rng = np.random.default_rng(0)
    codes = np.full((100, annotators), -1)
    for item in range(100):
        codes[item, chosen[item % len(chosen)]] = rng.integers(0, 3, 3)
    (found,) = agreement.estimate_statistics(ratings_from_codes(codes, 3), ("cohen_kappa",), resamples=50).values()
    assert found.value is not None and (found.low is not None) == has_interval
