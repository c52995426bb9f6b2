"""Reliability, expected calibration error and AUROC of a confidence."""

import numpy as np
import pytest
from scipy import stats

from core.statistics.measures import calibration


def test_the_area_is_that_of_mann_and_whitney_with_ties() -> None:
    confidence = np.array([0.9, 0.8, 0.8, 0.6, 0.4, 0.4, 0.3])
    correct = np.array([1.0, 1, 0, 1, 0, 1, 0])
    u = stats.mannwhitneyu(confidence[correct == 1], confidence[correct == 0]).statistic
    found = calibration.calibrate(confidence, correct, np.ones(7))
    assert found.auroc == pytest.approx(u / (4 * 3))


def test_a_confidence_that_is_the_share_of_right_verdicts_has_no_error() -> None:
    confidence = np.repeat([0.25, 0.75], 8)
    correct = np.array([1.0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0])
    number = (confidence > 0.5).astype(int)
    assert calibration.calibration_errors(confidence, correct, np.ones((1, 16)), number)[0] == 0
    assert calibration.calibration_errors(confidence + 0.1, correct, np.ones((1, 16)), number)[0] == pytest.approx(0.1)


def test_labels_count_by_their_probability() -> None:
    confidence, correct = np.array([0.9, 0.9, 0.2]), np.array([1.0, 0.0, 0.0])
    found = calibration.calibrate(confidence, correct, np.array([0.1, 1.0, 0.5]))
    repeated = np.repeat([0, 1, 2], [10, 1, 2])
    same = calibration.aurocs(confidence[repeated], correct[repeated], np.ones((1, 13)))
    assert found.auroc == pytest.approx(same[0])


def test_verdicts_that_are_all_right_have_no_area() -> None:
    found = calibration.calibrate(np.array([0.5, 0.9]), np.ones(2), np.ones(2))
    assert (found.auroc, found.auroc_low, found.error) == (None, None, pytest.approx(0.3))
    assert calibration.calibrate(np.array([]), np.array([]), np.array([])).labels == 0


def test_the_interval_of_the_area_holds_the_true_one() -> None:
    held = []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        correct = (rng.random(150) < 0.8).astype(float)
        found = calibration.calibrate(rng.normal(correct, 1.0), correct, np.ones(150))
        assert found.auroc_low is not None and found.auroc_high is not None
        held.append(found.auroc_low <= stats.norm.cdf(1 / 2**0.5) <= found.auroc_high)
    assert 0.9 <= np.mean(held) <= 0.98
