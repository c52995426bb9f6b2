"""Policies of one judge and of several: thresholds, labels kept aside, and what noisy people make reachable."""

import numpy as np
import pytest

from core.statistics.measures import policies
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
    found = [cascade(seed) for seed in range(100)]
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
    confidence, wrong = judge(rng, rng.random(800), 0.1)
    verdicts, numbers = [Verdicts(confidence, np.where(rng.random(800) < 0.5, wrong, np.nan))], rng.random(800)
    found = policies.find_cascade(verdicts, np.ones(800), numbers, promised=0.1, level=0.05)
    (chosen,) = (curve.chosen for curve in found.curves)
    assert chosen is not None
    risks, pile = policies.at_thresholds(verdicts, [chosen.threshold], np.ones(800), numbers, 0.05)
    assert risks == [chosen] and (pile == found.pile).all()
    assert policies.at_thresholds(verdicts, [None], np.ones(800), numbers, 0.05)[0] == [None]


@pytest.mark.parametrize("categories", [2, 3])
@pytest.mark.parametrize("error", [0.0, 0.1, 0.3])
def test_the_error_of_an_annotator_follows_from_agreement(error: float, categories: int) -> None:
    agreement = (1 - error) ** 2 + error**2 / (categories - 1)
    assert policies.error_of_one_label(agreement, categories) == pytest.approx(error)


def test_the_majority_of_three_errs_less_than_one() -> None:
    assert policies.error_of_majority(0.1, 1) == pytest.approx(0.1)
    assert policies.error_of_majority(0.1, 3) == pytest.approx(3 * 0.01 * 0.9 + 0.001)
    assert policies.error_of_majority(0.1, 4) == policies.error_of_majority(0.1, 3)
