"""Planted shares of judge error, ambiguity and human noise are recovered."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from core.statistics.measures import annotator_dependence, causes
from core.statistics.measures.causes import CAUSES, causes_of_votes, count_votes
from tests.core.statistics.builders import ratings_from_codes


def planted(seed: int, *, clear: float, raters: int = 5, items: int = 400, error: float = 0.15):
    """Return labels, verdicts, and the true cause of each item if the judge disagrees: 0, 1 or 2 as in `CAUSES`.

    Of all annotators the share pi chooses category 1: Beta(.4, .4) if `clear` is 0, otherwise .93 or .07 on that share
    of the items and .5 on the others. The judge is wrong on `error` of the clear items, and guesses on the others.
    """
    rng = np.random.default_rng(seed)
    mixed = np.where(rng.random(items) < clear, np.where(rng.random(items) < 0.5, 0.93, 0.07), 0.5)
    pi = mixed if clear else rng.beta(0.4, 0.4, items)
    codes = (rng.random((items, raters)) < pi[:, None]).astype(np.int16)
    ambiguous = (pi > 1 / 3) & (pi < 2 / 3)
    right = np.where(ambiguous, rng.random(items) < 0.5, rng.random(items) >= error)
    verdicts = np.where(right, pi > 0.5, pi <= 0.5).astype(np.int16)
    for_verdict = np.where(verdicts == 1, pi, 1 - pi)
    return ratings_from_codes(codes, 2), verdicts, np.digitize(for_verdict, [1 / 3, 2 / 3])


FEW = (2, 2)
"""How often the accuracies of annotators are estimated again where no interval is tested."""


@pytest.mark.slow
@pytest.mark.parametrize("raters", [3, 5])
def test_planted_shares_are_within_their_intervals(raters):
    covered = np.zeros(3)
    for seed in range(8):
        ratings, verdicts, cause = planted(seed, clear=0, raters=raters)
        found = causes_of_votes(count_votes(ratings), verdicts)
        truth = np.bincount(cause[found.disagreeing], minlength=3) / found.disagreements
        covered += [share.low <= true <= share.high for share, true in zip(found.shares, truth, strict=True)]
        assert found.error_rate == pytest.approx(0.15, abs=0.08)
    assert (covered >= 7).all()


def test_shares_of_two_groups_of_items_are_found_roughly():
    found, truths = [], []
    for seed in range(4):
        ratings, verdicts, cause = planted(seed, clear=0.75, items=600)
        causes = causes_of_votes(count_votes(ratings), verdicts, resamples=20)
        found.append([share.value for share in causes.shares])
        truths.append(np.bincount(cause[causes.disagreeing], minlength=3) / causes.disagreements)
    assert np.mean(found, axis=0) == pytest.approx(np.mean(truths, axis=0), abs=0.15)


@pytest.mark.parametrize("noise", [(0.06, 0.12, 0.22), (0.13, 0.13, 0.13)], ids=["unequal", "equal"])
@pytest.mark.parametrize("error", [0.03, 0.25])
def test_intervals_hold_the_shares_of_clear_items_with_noisy_annotators(noise: tuple[float, ...], error: float) -> None:
    covered = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, 260)
        codes = np.stack([np.where(rng.random(260) < share, 1 - truth, truth) for share in noise], axis=1)
        verdicts = np.where(rng.random(260) < error, 1 - truth, truth).astype(np.int16)
        found = causes_of_votes(count_votes(ratings_from_codes(codes.astype(np.int16), 2)), verdicts, resamples=200)
        wrong = (verdicts != truth)[found.disagreeing].mean()
        shares = {one.cause: one for one in found.shares}
        covered += (
            [
                shares["judge error"].low <= wrong <= shares["judge error"].high,
                shares["human noise"].low <= 1 - wrong <= shares["human noise"].high,
                shares["ambiguity"].low == 0,
            ]
            if found.shares
            else []
        )
    assert np.mean(covered) > 0.9


def test_a_judge_that_follows_all_people_is_never_wrong():
    ratings, verdicts, _ = planted(3, clear=0, error=0.0, raters=3)
    found = causes_of_votes(count_votes(ratings), verdicts)
    assert found.shares[0].cause == "judge error" and found.shares[0].value < 0.2
    assert found.error_rate is not None and found.error_rate < 0.08


def test_a_judge_against_unanimous_people_is_wrong():
    codes = np.repeat(np.arange(40)[:, None] % 2, 5, axis=1)
    verdicts = np.where(np.arange(40) < 10, 1 - np.arange(40) % 2, np.arange(40) % 2).astype(np.int16)
    found = causes_of_votes(count_votes(ratings_from_codes(codes, 2)), verdicts)
    assert found.disagreements == 10 and found.shares[0].value > 0.99
    ends = {share.cause: (share.low, share.high) for share in found.shares}
    assert ends["judge error"] == pytest.approx((0.6915, 1), abs=1e-4)  # 10 of 10, Clopper & Pearson
    assert ends["human noise"] == pytest.approx((0, 0.3085), abs=1e-4)
    verdicts[0] = codes[0, 0]
    few = causes_of_votes(count_votes(ratings_from_codes(codes, 2)), verdicts)
    assert few.shares == () and few.reason == "10 disagreements needed for the shares"
    assert np.isfinite(few.probabilities[1:10]).all()


def test_items_without_a_majority_are_not_decided():
    codes = np.repeat(np.arange(40)[:, None] % 2, 4, axis=1)
    codes[:6, :2] = 1 - codes[:6, :2]
    verdicts = (1 - np.arange(40) % 2).astype(np.int16)
    found = causes_of_votes(count_votes(ratings_from_codes(codes, 2)), verdicts, resamples=5)
    assert (found.items, found.decided, found.disagreements) == (40, 34, 34)


@settings(max_examples=5)
@given(st.integers(0, 1000), st.integers(2, 4))
def test_probabilities_add_up_and_names_of_categories_do_not_matter(seed, n_categories):
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, n_categories, (60, 4)).astype(np.int16)
    verdicts = rng.integers(-1, n_categories, 60).astype(np.int16)
    mirrored = np.where(codes >= 0, n_categories - 1 - codes, -1)
    other = np.where(verdicts >= 0, n_categories - 1 - verdicts, -1).astype(np.int16)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(annotator_dependence, "REFITS", FEW)
        found = causes_of_votes(count_votes(ratings_from_codes(codes, n_categories)), verdicts, resamples=10)
        reverse = causes_of_votes(count_votes(ratings_from_codes(mirrored, n_categories)), other, resamples=10)
    if not found.shares:
        assert found.reason
        return
    assert sum(share.value for share in found.shares) == pytest.approx(1)
    assert np.nansum(found.probabilities) == pytest.approx(found.disagreements)
    assert [share.cause for share in found.shares] == list(CAUSES)
    assert [share.value for share in reverse.shares] == pytest.approx([share.value for share in found.shares])


def test_few_targets_have_no_decomposition():
    def decompose(items: int):
        return causes_of_votes(count_votes(ratings_from_codes(np.zeros((items, 2), int), 2)), np.ones(items, np.int16))

    found = decompose(29)
    assert found.shares == () and found.reason == "29 targets with a verdict and two labels, 30 needed"
    assert len(decompose(30).shares) == 3


@pytest.mark.parametrize(
    ("seed", "n_categories", "clusters"), [(0, 2, False), (1, 3, True), (2, 5, False), (3, 20, True)]
)
def test_merged_patterns_give_the_causes_of_single_items(monkeypatch, seed, n_categories, clusters):
    """Without merging, each distinct row of votes and verdict has its own posterior."""
    monkeypatch.setattr(annotator_dependence, "REFITS", FEW)
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_categories, 300)
    codes = np.where(rng.random((300, 4)) < 0.7, truth[:, None], rng.integers(0, n_categories, (300, 4)))
    codes = np.where(rng.random(codes.shape) < 0.3, -1, codes).astype(np.int16)
    verdicts = np.where(rng.random(300) < 0.7, truth, rng.integers(-1, n_categories, 300)).astype(np.int16)
    ratings = ratings_from_codes(codes, n_categories, [f"g{n // 3}" for n in range(300)] if clusters else None)
    found = causes_of_votes(count_votes(ratings), verdicts, resamples=10)
    counts = (codes[:, :, None] == np.arange(n_categories)).sum(axis=1)
    used = (counts.sum(axis=1) > 1) & (verdicts >= 0)
    majority = np.where(2 * counts.max(axis=1) > counts.sum(axis=1), counts.argmax(axis=1), -1)
    counts, codes_used = counts[used], verdicts[used]
    votes, of_verdict = counts.sum(axis=1), counts[np.arange(len(counts)), codes_used]
    assert found.kappa is not None and found.error_rate is not None
    concentration, mean = 1 / found.kappa - 1, (counts / votes[:, None]).mean(axis=0)[codes_used]
    share = beta(concentration * mean + of_verdict, concentration * (1 - mean) + votes - of_verdict)
    masses = np.diff(share.cdf([[0], [1 / 3], [2 / 3], [1]]), axis=0).T
    error = 0.2
    for _ in range(60):
        causes = masses * [error, 0.5, 1 - error]
        causes /= causes.sum(axis=1, keepdims=True)
        error = causes[:, 0].sum() / (causes[:, 0].sum() + causes[:, 2].sum())
    assert found.error_rate == pytest.approx(error, rel=1e-9)
    causes = (causes := masses * [error, 0.5, 1 - error]) / causes.sum(axis=1, keepdims=True)
    differs = (majority >= 0)[used] & (majority[used] != codes_used)
    assert (found.items, found.disagreements) == (used.sum(), differs.sum())
    assert found.probabilities[used][differs] == pytest.approx(causes[differs], rel=1e-8)
    assert np.isnan(found.probabilities[used][~differs]).all() and np.isnan(found.probabilities[~used]).all()
    assert [one.value for one in found.shares] == pytest.approx(causes[differs].mean(axis=0), rel=1e-8)


# Dawid and Skene's estimates of reliability without gold.


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
    of_items = causes.fit_counts(np.asarray(codes[:, :, None] == np.arange(3), float))
    of_patterns, _ = causes.fit_ratings(ratings_from_codes(codes, 3))
    assert of_patterns.log_likelihood == pytest.approx(of_items.log_likelihood, rel=1e-6)
    assert of_patterns.shares == pytest.approx(of_items.shares, abs=1e-4)


def test_unanimous_raters_have_accuracy_one():
    fit, _ = causes.fit_ratings(ratings_from_codes(np.repeat([[0, 0], [1, 1]], 10, axis=0), 2))
    assert fit.accuracy == pytest.approx([1, 1])
