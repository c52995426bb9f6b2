"""Thresholds on confidence below which verdicts go to people."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from core.statistics.measures import risk


@given(st.integers(0, 40), st.integers(1, 200), st.sampled_from((0.05, 0.025)))
def test_bounds_are_those_of_scipy(errors: int, n: int, level: float) -> None:
    errors = min(errors, n)
    interval = stats.binomtest(errors, n, alternative="less").proportion_ci(1 - level)
    assert risk.upper_bound(errors, n, level) == pytest.approx(interval.high)


def test_59_labels_without_an_error_promise_5_percent_at_95() -> None:
    assert risk.upper_bound(0, 59, 0.05) <= 0.05 < risk.upper_bound(0, 58, 0.05)
    assert [risk.fewest_labels(0.05, 0.05, errors) for errors in (0, 1)] == [59, 93]


def test_labels_with_unequal_probabilities_become_a_random_sample() -> None:
    probabilities = np.repeat([1.0, 0.1], [5_000, 500])
    kept = risk.equal_probability_part(probabilities, np.random.default_rng(0).random(5_500), 0.1)
    assert kept[5_000:].all() and kept[:5_000].mean() == pytest.approx(0.1, abs=0.02)


def test_a_stratum_without_a_label_by_chance_is_not_taken_as_right() -> None:
    rare, broken = np.arange(150) < 12, 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        probabilities = np.where(rare, 0.1, 0.5)
        errors = np.where(rng.random(150) < probabilities, rare, np.nan)
        curve = risk.risk_curve(np.ones(150), errors, probabilities, rng.random(150), promised=0.05)
        broken += curve.chosen is not None
    assert broken <= 200 * 0.05


def planted(seed: int, promised: float, share_of_errors: float) -> tuple[risk.RiskCurve, float]:
    """Return the curve of 1,000 verdicts of which the uncertain half is labelled wholly, and the risk it accepts."""
    rng = np.random.default_rng(seed)
    confidence = rng.random(1_000)
    chance = share_of_errors * (1 - confidence)
    probabilities = np.where(confidence < 0.5, 1.0, 0.4)
    errors = np.where(rng.random(1_000) < probabilities, rng.random(1_000) < chance, np.nan)
    curve = risk.risk_curve(confidence, errors, probabilities, rng.random(1_000), promised=promised)
    accepted = confidence >= (curve.chosen.threshold if curve.chosen else 2)
    return curve, float(chance[accepted].mean()) if accepted.any() else 0.0


@pytest.mark.parametrize("share_of_errors", [0.02, 0.1, 0.4])
def test_the_promise_is_broken_at_most_as_often_as_stated(share_of_errors: float) -> None:
    broken = [planted(seed, 0.05, share_of_errors)[1] > 0.05 for seed in range(300)]
    assert np.mean(broken) <= 0.05


def test_a_good_judge_keeps_most_of_its_verdicts_and_a_bad_one_none() -> None:
    coverage = [planted(seed, 0.1, 0.02)[0].coverage for seed in range(50)]
    assert np.mean(coverage) > 0.9
    curve, _ = planted(0, 0.05, 0.9)
    assert curve.chosen is None


def test_too_few_labels_give_no_threshold_and_the_number_that_could() -> None:
    confidence = np.linspace(0, 1, 100)
    errors = np.where(np.arange(100) >= 80, 0.0, np.nan)
    curve = risk.risk_curve(confidence, errors, np.full(100, 0.2), np.full(100, 0.5), promised=0.05)
    assert (curve.chosen, curve.coverage, curve.more_labels) == (None, 0.0, 39)


def test_ten_labels_tell_how_many_more_are_wanted_and_nine_do_not() -> None:
    for labels, more in ((10, 49), (9, None)):  # 59 in all without an error
        errors = np.where(np.arange(200) < labels, 0.0, np.nan)
        curve = risk.risk_curve(np.ones(200), errors, np.full(200, 0.05), np.full(200, 0.5), promised=0.05)
        assert curve.more_labels == more


def test_coverage_is_the_share_of_all_verdicts() -> None:
    curve = risk.risk_curve(np.repeat([1.0, 0.0], [100, 300]), np.repeat([0.0, 1.0], [100, 300]), np.ones(400),
                            np.full(400, 0.5), promised=0.05)  # fmt: skip
    assert curve.coverage == 0.25
