"""MetaCritique's scores."""

import numpy as np
import pytest

from core.statistics.measures.means import count_aius, critique_scores


def test_scores_computed_by_hand():
    """Critique a: 2 of 2 true, 1 of 2 covered; b: 0 of 1 true, 1 of 1 covered."""
    names = np.array(["a", "a", "a", "a", "b", "b"])
    recall = np.array([False, False, True, True, False, True])
    true = np.array([True, True, True, False, False, True])
    estimates = critique_scores(count_aius(names, recall, true), resamples=0)
    assert estimates["precision_micro"].value == pytest.approx(2 / 3)
    assert estimates["recall_micro"].value == pytest.approx(2 / 3)
    assert estimates["precision_macro"].value == pytest.approx(1 / 2)
    assert estimates["recall_macro"].value == pytest.approx(3 / 4)
    assert estimates["f1_macro"].value == pytest.approx((2 * 1 * 0.5 / 1.5 + 0) / 2)


def test_critiques_without_an_aiu_are_left_out_and_counted():
    counts = count_aius(["a", "b"], np.array([False, True]), np.array([True, True]))
    estimate = critique_scores(counts, resamples=50)["precision_macro"]
    assert (estimate.value, estimate.items) == (1, 1)
    assert "1 of 2 critiques have no AIU to count" in estimate.reason
