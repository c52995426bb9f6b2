"""Dependence on an annotator: planted copies are found, and judges that only err where people do are not."""

import numpy as np
import pytest

from core.statistics.data.arrays import Codes
from core.statistics.measures.annotator_dependence import State, find_dependence, fit_truth
from tests.bench.bench_recommendations import as_ratings

NOISE = (0.06, 0.12, 0.22)


def answers(truth: Codes, error: np.ndarray | float, rng: np.random.Generator, categories: int = 2) -> Codes:
    """Return the truth, or with probability `error` a neighbouring category."""
    step = rng.choice([-1, 1], truth.size)
    other = np.where((truth + step < 0) | (truth + step >= categories), truth - step, truth + step)
    return np.where(rng.random(truth.size) < error, other, truth).astype(np.int16)


def people(rng: np.random.Generator, noise: tuple[float, ...], items: int = 260, categories: int = 2) -> tuple:
    truth = rng.integers(0, categories, items)
    return truth, np.stack([answers(truth, error, rng, categories) for error in noise], axis=1)


def copy(labels: Codes, rng: np.random.Generator, share: float = 0.97, categories: int = 2) -> Codes:
    other = (labels + rng.integers(1, categories, labels.size)) % categories
    return np.where(rng.random(labels.size) < share, labels, other).astype(np.int16)


@pytest.mark.parametrize("copied", [0, 1, 2], ids=["best", "middle", "noisiest"])
@pytest.mark.parametrize(("noise", "categories"), [(NOISE, 2), ((0.2, 0.3, 0.45), 5)], ids=["pairs", "scores"])
def test_a_judge_that_repeats_an_annotator_is_found(copied: int, noise: tuple[float, ...], categories: int) -> None:
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        _, codes = people(rng, noise, categories=categories)
        judge = copy(codes[:, copied], rng, categories=categories)
        (dependence,) = find_dependence(as_ratings(codes, categories), {"judge": judge}).get("judge", [None])
        found.append(dependence and (dependence.annotator, dependence.state))
    assert found.count((f"annotator {copied + 1}", State.repeats)) == 20


@pytest.mark.parametrize("accuracy", [0.6, 0.8, 0.95])
def test_a_judge_that_errs_on_the_difficult_targets_of_people_repeats_nobody(accuracy: float) -> None:
    flagged = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        hard = rng.random(260) < 0.3
        truth = rng.integers(0, 2, 260)

        def error(mean: float, hard: np.ndarray = hard) -> np.ndarray:
            on_hard = min(2.6 * mean, 0.5)
            return np.where(hard, on_hard, (mean - 0.3 * on_hard) / 0.7)

        codes = np.stack([answers(truth, error(noise), rng) for noise in NOISE], axis=1)
        judge = answers(truth, error(1 - accuracy), rng)
        found = find_dependence(as_ratings(codes), {"judge": judge}).get("judge", ())
        flagged += any(one.state is State.repeats for one in found)
    assert flagged <= 2


def test_two_annotators_cannot_tell_a_copy_from_a_judge_that_is_right_with_one_of_them() -> None:
    rng = np.random.default_rng(0)
    truth, codes = people(rng, (0.1, 0.2))
    (dependence,) = find_dependence(as_ratings(codes), {"judge": copy(codes[:, 1], rng)})["judge"]
    assert (dependence.annotator, dependence.state, dependence.few_annotators) == ("annotator 2", State.unclear, True)
    decided = truth.astype(np.int16)
    (known,) = find_dependence(as_ratings(codes), {"judge": copy(codes[:, 1], rng)}, decided)["judge"]
    assert known.state is State.repeats
    assert not find_dependence(as_ratings(codes), {"judge": answers(truth, 0.1, rng)})


def test_a_copy_is_found_if_each_target_has_three_of_five_annotators() -> None:
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        _, codes = people(rng, (0.05, 0.1, 0.12, 0.2, 0.25))
        judge = copy(codes[:, 4], rng)
        codes[rng.random(codes.shape).argsort(axis=1).argsort(axis=1) >= 3] = -1
        dependence = find_dependence(as_ratings(codes), {"judge": judge, "other": copy(codes[:, 1], rng, 0.5)})
        found += dependence["judge"][0].annotator == "annotator 5"
    assert found == 20


def test_nothing_is_found_without_labels_or_where_annotators_surely_differ_on_few_targets() -> None:
    judge = np.zeros(60, np.int16)
    assert not find_dependence(as_ratings(np.zeros((60, 3))), {"judge": judge})
    assert not find_dependence(as_ratings(np.full((60, 3), -1)), {"judge": judge})
    assert not find_dependence(as_ratings(np.zeros((60, 1))), {"judge": judge})
    few = find_dependence(as_ratings(np.zeros((40, 3))), {"judge": judge[:40]})["judge"]
    assert [(one.state, one.targets) for one in few] == [(State.unclear, 0)]


def test_a_copy_that_few_targets_do_not_find_is_not_excluded() -> None:
    """Of 35 targets, and any part of them, a copy of the best annotator is found or not excluded."""
    excluded = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        _, codes = people(rng, NOISE)
        judge = copy(codes[:, 0], rng)
        for items in (10, 20, 35):
            excluded += not find_dependence(as_ratings(codes[:items]), {"judge": judge[:items]})
    assert excluded <= 6  # 5 %


def test_the_probable_truth_follows_the_more_accurate_annotator() -> None:
    rng = np.random.default_rng(1)
    truth, codes = people(rng, (0.05, 0.3, 0.3), items=4000)
    alone = (codes[:, 0] != codes[:, 1]) & (codes[:, 1] == codes[:, 2])
    probable = fit_truth(codes, 2)[np.arange(4000), codes[:, 0]][alone]
    right = (codes[:, 0] == truth)[alone].mean()
    assert 0.6 < probable.mean() < right  # accuracies are drawn to their mean
