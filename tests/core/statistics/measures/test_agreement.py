"""Estimates of agreement."""

import numpy as np
import pytest

from core.statistics.data.ratings import Scores
from core.statistics.measures import agreement
from tests.core.statistics.builders import estimate_statistic, random_ratings, ratings_from_codes


def test_the_krippendorff_package_and_the_closed_form_give_the_same_alpha(monkeypatch):
    ratings = random_ratings(np.random.default_rng(0), 60, 4, 5, 0.3)
    names = [f"krippendorff_alpha_{level}" for level in ("nominal", "ordinal", "interval", "ratio")]
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
