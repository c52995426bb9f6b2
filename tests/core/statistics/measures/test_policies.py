"""Policies of one judge and of several: thresholds, labels kept aside, and what noisy people make reachable."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from core.statistics.measures import policies, risk
from core.statistics.measures.policies import Verdicts


def judge(rng: np.random.Generator, hard: np.ndarray, skill: float) -> tuple[np.ndarray, np.ndarray]:
    """Return confidences and errors of a judge that errs rarely where it is sure."""
    confidence = np.clip(1 - hard + rng.normal(0, 0.05, hard.size), 0, 1)
    return confidence, (rng.random(hard.size) < skill * hard).astype(float)


def cascade(seed: int, looks: int = 1, labels: int = 400) -> tuple[policies.Cascade, float]:
    """Return a cascade of a cheap and a good judge on 1,200 targets, and the share of errors that it accepts."""
    rng = np.random.default_rng(seed)
    hard = rng.random(1_200)
    labelled = rng.permutation(1_200) < labels
    judges, errors = [], []
    for skill in (0.6, 0.15):
        confidence, wrong = judge(rng, hard, skill)
        errors.append(wrong)
        judges.append(Verdicts(confidence, np.where(labelled, wrong, np.nan)))
    found = policies.find_cascade(judges, np.ones(1_200), rng.random(1_200), promised=0.1, level=0.05, looks=looks)
    accepted = np.concatenate([errors[place][found.pile == place] for place in range(2)])
    return found, float(accepted.mean()) if accepted.size else 0.0


def test_a_second_judge_accepts_what_the_first_passes_on_and_the_promise_is_kept() -> None:
    found = [cascade(seed) for seed in range(60)]
    assert np.mean([risk > 0.1 for _, risk in found]) <= 0.05
    assert np.mean([(one.pile == 1).sum() for one, _ in found]) > 100
    assert all(one.upper is None or one.upper <= 0.1 for one, _ in found)


def test_planned_looks_spend_the_risk() -> None:
    once, often = (np.mean([cascade(seed, looks)[0].accepted for seed in range(20)]) for looks in (1, 10))
    assert often < once


def test_a_tenth_of_the_labels_is_kept_aside_if_there_are_enough() -> None:
    numbers, labelled = np.random.default_rng(0).random(1_000), np.arange(1_000) < 300
    aside = policies.kept_aside(numbers, labelled)
    assert aside.sum() == 30 and not (aside & ~labelled).any()
    assert policies.kept_aside(numbers, np.arange(1_000) < 200).any()
    assert not policies.kept_aside(numbers, np.arange(1_000) < 199).any()
    assert cascade(0)[0].verification is not None and cascade(0, labels=150)[0].verification is None


def test_labels_kept_aside_contradict_a_promise_that_is_broken() -> None:
    numbers, wrong = np.arange(1_000) / 1_000, np.zeros(1_000)
    wrong[950:] = 1.0  # the highest numbers are kept aside
    verdicts = [Verdicts(np.ones(1_000), wrong)]
    found = policies.find_cascade(verdicts, np.ones(1_000), numbers, promised=0.05, level=0.05)
    assert found.accepted == 1_000
    assert found.verification is not None
    assert (found.verification.labelled, found.verification.errors) == (100, 50) and found.verification.contradicts


def test_thresholds_that_were_found_give_the_same_bounds_and_piles() -> None:
    rng = np.random.default_rng(3)
    hard, labelled, numbers = rng.random(800), rng.random(800) < 0.5, rng.random(800)
    judged = [judge(rng, hard, skill) for skill in (0.3, 0.05)]
    verdicts = [Verdicts(confidence, np.where(labelled, wrong, np.nan)) for confidence, wrong in judged]
    found = policies.find_cascade(verdicts, np.ones(800), numbers, promised=0.1, level=0.05)
    first, second = (curve.chosen for curve in found.curves)
    assert first is not None and second is not None
    assert found.upper == max(first.upper, second.upper) and found.accepted == (found.pile < 2).sum() > first.accepted
    thresholds = [first.threshold, second.threshold]
    risks, pile = policies.at_thresholds(verdicts, thresholds, np.ones(800), numbers, 0.05)
    assert risks == [first, second] and (pile == found.pile).all()
    assert policies.at_thresholds(verdicts, [None, 0.0], np.ones(800), numbers, 0.05)[0][0] is None


@pytest.mark.parametrize("categories", [2, 3])
@pytest.mark.parametrize("error", [0.0, 0.1, 0.3])
def test_the_error_of_an_annotator_follows_from_agreement(error: float, categories: int) -> None:
    agreement = (1 - error) ** 2 + error**2 / (categories - 1)
    assert policies.error_of_one_label(agreement, categories) == pytest.approx(error)


def test_the_majority_of_three_errs_less_than_one() -> None:
    assert policies.error_of_majority(0.1, 1) == pytest.approx(0.1)
    assert policies.error_of_majority(0.1, 3) == pytest.approx(3 * 0.01 * 0.9 + 0.001)
    assert policies.error_of_majority(0.1, 4) == policies.error_of_majority(0.1, 3)


# Thresholds on confidence below which verdicts go to people


@given(st.integers(0, 40), st.integers(1, 200), st.sampled_from((0.05, 0.025)))
def test_bounds_are_those_of_scipy(errors: int, n: int, level: float) -> None:
    errors = min(errors, n)
    interval = stats.binomtest(errors, n, alternative="less").proportion_ci(1 - level)
    assert risk.upper_bound(errors, n, level) == pytest.approx(interval.high)


def test_59_labels_without_an_error_promise_5_percent_at_95() -> None:
    assert risk.upper_bound(0, 59, 0.05) <= 0.05 < risk.upper_bound(0, 58, 0.05)
    assert [risk.fewest_labels(0.05, 0.05, errors) for errors in (0, 1)] == [59, 93]


def test_at_most_twelve_quantiles_of_the_confidences_are_thresholds() -> None:
    assert list(risk.thresholds_of(np.repeat(np.arange(12.0), range(1, 13)))) == list(range(11, -1, -1))
    assert list(risk.thresholds_of(np.arange(24.0))) == list(range(22, -1, -2))


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
    broken = [planted(seed, 0.05, share_of_errors)[1] > 0.05 for seed in range(80)]
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
    for labels, more in ((58, 1), (10, 49), (9, None)):  # 59 in all without an error
        errors = np.where(np.arange(200) < labels, 0.0, np.nan)
        curve = risk.risk_curve(np.ones(200), errors, np.full(200, 0.05), np.full(200, 0.5), promised=0.05)
        assert (curve.more_labels, curve.more_above) == (more, 1.0 if more else None)


def test_labels_that_could_decide_keep_the_share_of_errors() -> None:
    errors = np.where(np.arange(1_000) < 50, np.arange(1_000) == 0, np.nan)
    curve = risk.risk_curve(np.ones(1_000), errors, np.full(1_000, 0.05), np.full(1_000, 0.5), promised=0.05)
    assert curve.more_labels == 132  # 131 would do: 4 errors of 181; they are tried in steps of 2 %
    assert risk.upper_bound(4, 181, 0.05) <= 0.05 < risk.upper_bound(4, 180, 0.05)


def test_coverage_is_the_share_of_all_verdicts() -> None:
    curve = risk.risk_curve(np.repeat([1.0, 0.0], [100, 300]), np.repeat([0.0, 1.0], [100, 300]), np.ones(400),
                            np.full(400, 0.5), promised=0.05)  # fmt: skip
    assert (curve.coverage, curve.points[-1].risk) == (0.25, 0.75)


# Reliability, expected calibration error and AUROC of a confidence


def test_the_area_is_that_of_mann_and_whitney_with_ties() -> None:
    confidence = np.array([0.9, 0.8, 0.8, 0.6, 0.4, 0.4, 0.3])
    correct = np.array([1.0, 1, 0, 1, 0, 1, 0])
    u = stats.mannwhitneyu(confidence[correct == 1], confidence[correct == 0]).statistic
    found = risk.calibrate(confidence, correct, np.ones(7))
    assert found.auroc == pytest.approx(u / (4 * 3))


def test_a_confidence_that_is_the_share_of_right_verdicts_has_no_error() -> None:
    confidence = np.repeat([0.25, 0.75], 8)
    correct = np.array([1.0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0])
    number = (confidence > 0.5).astype(int)
    assert risk.calibration_errors(confidence, correct, np.ones((1, 16)), number)[0] == 0
    assert risk.calibration_errors(confidence + 0.1, correct, np.ones((1, 16)), number)[0] == pytest.approx(0.1)


def test_labels_count_by_their_probability() -> None:
    confidence, correct = np.array([0.9, 0.9, 0.2]), np.array([1.0, 0.0, 0.0])
    found = risk.calibrate(confidence, correct, np.array([0.1, 1.0, 0.5]))
    repeated = np.repeat([0, 1, 2], [10, 1, 2])
    same = risk.aurocs(confidence[repeated], correct[repeated], np.ones((1, 13)))
    assert found.auroc == pytest.approx(same[0])


def test_verdicts_that_are_all_right_have_no_area() -> None:
    found = risk.calibrate(np.array([0.5, 0.9]), np.ones(2), np.ones(2))
    assert (found.auroc, found.auroc_low, found.error) == (None, None, pytest.approx(0.3))
    assert risk.calibrate(np.array([]), np.array([]), np.array([])).labels == 0


def test_the_interval_of_the_area_holds_the_true_one() -> None:
    held = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        correct = (rng.random(150) < 0.8).astype(float)
        found = risk.calibrate(rng.normal(correct, 1.0), correct, np.ones(150))
        assert found.auroc_low is not None and found.auroc_high is not None
        held.append(found.auroc_low <= stats.norm.cdf(1 / 2**0.5) <= found.auroc_high)
    assert 0.9 <= np.mean(held) <= 0.98
