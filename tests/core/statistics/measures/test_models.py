"""Estimates that stand on a model: strengths, reliability, prediction-powered means."""

import numpy as np
import pytest

from core.statistics.measures import bradley_terry, dawid_skene, prediction_powered
from tests.core.statistics.build import of_codes


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def games(strength: np.ndarray, number: int, rng: np.random.Generator):
    first = rng.integers(0, strength.size, number)
    second = (first + rng.integers(1, strength.size, number)) % strength.size
    wins = rng.random(number) < 1 / (1 + np.exp(strength[second] - strength[first]))
    return first, second, np.where(wins, 1, 2)


def test_bradley_terry_finds_the_strengths_that_made_the_games(rng):
    truth = np.array([1.0, 0.4, 0.0, -0.5, -0.9])
    found = bradley_terry.rate(*games(truth, 4000, rng), list("abcde"))
    assert [one.strength for one in found] == pytest.approx(truth, abs=0.2)
    assert all(one.low < one.strength < one.high for one in found)
    assert sum(one.games for one in found) == 8000


def test_bradley_terry_intervals_hold_the_truth():
    """95 % intervals of 100 small tournaments hold at least 90 % of the true strengths."""
    truth, rng = np.array([0.6, 0.0, -0.6]), np.random.default_rng(1)
    held = []
    for seed in range(100):
        found = bradley_terry.rate(*games(truth, 150, rng), list("abc"), resamples=300, seed=seed)
        held += [one.low <= value <= one.high for one, value in zip(found, truth, strict=True)]
    assert 0.90 <= np.mean(held) <= 0.99


def test_a_tie_is_half_a_win_for_each():
    first, second = np.array([0, 0]), np.array([1, 1])
    tied = bradley_terry.rate(first, second, np.array([0, 0]), ["a", "b"], resamples=20)
    split = bradley_terry.rate(first, second, np.array([1, 2]), ["a", "b"], resamples=20)
    assert [one.strength for one in tied] == [one.strength for one in split] == [0, 0]
    assert tied[0].wins == 1


def test_who_never_lost_has_no_rating_and_a_reason():
    found = bradley_terry.rate(np.array([0, 1]), np.array([1, 2]), np.array([1, 1]), ["a", "b", "c"])
    assert all(one.strength is None and one.elo is None for one in found)
    assert "nobody lost" in found[0].reason


def test_games_of_one_item_are_drawn_together(rng):
    first, second, winner = (np.repeat(column, 8) for column in games(np.array([0.5, 0.0, -0.5]), 60, rng))
    groups = [f"item {game // 8}" for game in range(480)]
    alone = bradley_terry.rate(first, second, winner, list("abc"))[0]
    grouped = bradley_terry.rate(first, second, winner, list("abc"), groups=groups)[0]
    assert grouped.strength == pytest.approx(alone.strength)
    assert grouped.high - grouped.low > 2 * (alone.high - alone.low)


def test_400_elo_points_are_odds_of_ten_to_one():
    found = bradley_terry.rate(np.zeros(11, int), np.ones(11, int), np.array([1] * 10 + [2]), ["a", "b"], resamples=20)
    assert found[0].elo - found[1].elo == pytest.approx(400)


def test_dawid_skene_finds_who_is_reliable(rng):
    truth = rng.choice(3, 3000, p=(0.5, 0.3, 0.2))
    accuracy = (0.9, 0.75, 0.6, 0.4)
    said = [np.where(rng.random(3000) < how, truth, rng.integers(0, 3, 3000)) for how in accuracy]
    codes = np.column_stack(said)
    codes[rng.random(codes.shape) < 0.2] = -1
    fit, rows = dawid_skene.of_ratings(of_codes(codes, 3))
    assert fit.settled
    assert fit.accuracy == pytest.approx([how + (1 - how) / 3 for how in accuracy], abs=0.04)
    assert fit.shares == pytest.approx([0.5, 0.3, 0.2], abs=0.04)
    assert fit.posterior.shape == (len(rows), 3)


def test_patterns_and_items_give_dawid_skene_the_same_answer(rng):
    codes = rng.integers(-1, 3, (200, 3))
    codes = codes[(codes >= 0).any(axis=1)]
    one_by_one = dawid_skene.fit(dawid_skene.one_hot(codes, 3))
    together, _ = dawid_skene.of_ratings(of_codes(codes, 3))
    assert together.log_likelihood == pytest.approx(one_by_one.log_likelihood, rel=1e-6)
    assert together.shares == pytest.approx(one_by_one.shares, abs=1e-4)


def test_raters_in_full_agreement_are_taken_at_their_word():
    fit, _ = dawid_skene.of_ratings(of_codes(np.repeat([[0, 0], [1, 1]], 10, axis=0), 2))
    assert fit.accuracy == pytest.approx([1, 1])


def test_prediction_powered_by_hand():
    """The formula with lambda 1: mean(Y) - (mean(F) - mean(F')), var(Y - F) / n + var(F') / N."""
    human, judge, more = np.array([1.0, 0, 1, 1]), np.array([1.0, 1, 1, 0]), np.array([1.0, 1, 1, 0, 1, 0])
    found = prediction_powered.mean(human, judge, more, power=1.0)
    assert found.value == pytest.approx(0.75 - (0.75 - 4 / 6))
    spread = np.var(human - judge, ddof=1) / 4 + np.var(more, ddof=1) / 6
    assert found.high - found.low == pytest.approx(2 * 1.959964 * np.sqrt(spread), rel=1e-6)


def test_without_unlabelled_items_it_is_the_human_mean():
    human = np.array([1.0, 0, 1, 1])
    found = prediction_powered.mean(human, human, np.empty(0))
    assert (found.value, found.power) == (found.human, 0)
    assert "mean of the human labels" in found.reason


def test_a_useless_judge_costs_nothing_and_a_good_one_saves_labels():
    rng = np.random.default_rng(0)
    human = (rng.random(100) < 0.6).astype(float)
    noise = [(rng.random(n) < 0.5).astype(float) for n in (100, 5000)]
    useless = prediction_powered.mean(human, *noise)
    assert useless.high - useless.low <= (useless.human_high - useless.human_low) * 1.02
    more = (rng.random(5000) < 0.6).astype(float)
    flip = lambda values: np.where(rng.random(values.size) < 0.05, 1 - values, values)  # noqa: E731
    good = prediction_powered.mean(human, flip(human), flip(more))
    assert good.worth > 300
    assert good.low < 0.6 < good.high


def test_prediction_powered_intervals_hold_the_truth_of_a_biased_judge():
    """A judge that says yes too often: its own mean is off by .15, the interval is not."""
    rng, held = np.random.default_rng(2), []
    for _ in range(500):
        truth = (rng.random(1100) < 0.5).astype(float)
        judge = np.where(rng.random(1100) < 0.3, 1.0, truth)
        found = prediction_powered.mean(truth[:100], judge[:100], judge[100:])
        held.append(found.low <= 0.5 <= found.high)
    assert abs(np.mean(held) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 500)
