"""Bradley-Terry ratings."""

import numpy as np
import pytest

from core.statistics.measures import systems


def draw_games(strengths: np.ndarray, number: int, rng: np.random.Generator):
    first = rng.integers(0, strengths.size, number)
    second = (first + rng.integers(1, strengths.size, number)) % strengths.size
    first_wins = rng.random(number) < 1 / (1 + np.exp(strengths[second] - strengths[first]))
    return first, second, np.where(first_wins, 1, 2)


def test_ratings_recover_the_strengths_that_generated_the_games(rng):
    truth = np.array([1.0, 0.4, 0.0, -0.5, -0.9])
    ratings = systems.rate_systems(*draw_games(truth, 4000, rng), list("abcde"))
    assert [rating.strength for rating in ratings] == pytest.approx(truth, abs=0.2)
    assert all(rating.low < rating.strength < rating.high for rating in ratings)


def test_intervals_cover_the_truth():
    """95 % intervals of 100 small tournaments cover at least 90 % of the true strengths."""
    truth, rng = np.array([0.6, 0.0, -0.6]), np.random.default_rng(1)
    covered = []
    for _ in range(100):
        ratings = systems.rate_systems(*draw_games(truth, 150, rng), list("abc"), resamples=300)
        covered += [rating.low <= value <= rating.high for rating, value in zip(ratings, truth, strict=True)]
    assert 0.90 <= np.mean(covered) <= 0.99


def test_a_tie_is_half_a_win_for_each():
    first, second = np.array([0, 0]), np.array([1, 1])
    tied = systems.rate_systems(first, second, np.array([0, 0]), ["a", "b"], resamples=20)
    split = systems.rate_systems(first, second, np.array([1, 2]), ["a", "b"], resamples=20)
    assert [rating.strength for rating in tied] == [rating.strength for rating in split] == [0, 0]


def test_a_system_that_never_lost_has_no_rating_and_a_reason():
    ratings = systems.rate_systems(np.array([0, 1]), np.array([1, 2]), np.array([1, 1]), ["a", "b", "c"])
    assert all(rating.strength is None for rating in ratings)
    assert "without losses" in ratings[0].reason


def test_games_of_one_item_are_resampled_together(rng):
    games = draw_games(np.array([0.5, 0.0, -0.5]), 60, rng)
    first, second, winner = (np.repeat(column, 8) for column in games)
    groups = [f"item {game // 8}" for game in range(480)]
    independent = systems.rate_systems(first, second, winner, list("abc"))[0]
    grouped = systems.rate_systems(first, second, winner, list("abc"), groups=groups)[0]
    assert grouped.strength == pytest.approx(independent.strength)
    assert grouped.high - grouped.low > 2 * (independent.high - independent.low)


def test_the_difference_of_two_strengths_is_the_logarithm_of_the_odds():
    winner = np.array([1] * 10 + [2])  # ten wins to one
    a, b = systems.rate_systems(np.zeros(11, int), np.ones(11, int), winner, ["a", "b"], resamples=20)
    assert a.strength - b.strength == pytest.approx(np.log(10))


JOURNALS = {  # cited, citing: Stigler 1994, in Agresti 2002 p. 448 and R's BradleyTerry2
    ("Biometrika", "Comm Statist"): (730, 33),
    ("Biometrika", "JASA"): (498, 320),
    ("Biometrika", "JRSS-B"): (221, 284),
    ("Comm Statist", "JASA"): (68, 813),
    ("Comm Statist", "JRSS-B"): (17, 276),
    ("JASA", "JRSS-B"): (142, 325),
}
BASEBALL = np.array(  # American League 1987, Agresti 2002 table 10.10
    [
        [0, 7, 9, 7, 7, 9, 11],
        [6, 0, 7, 5, 11, 9, 9],
        [4, 6, 0, 7, 7, 8, 12],
        [6, 8, 6, 0, 6, 7, 10],
        [6, 2, 6, 7, 0, 7, 12],
        [4, 4, 5, 6, 6, 0, 6],
        [2, 4, 1, 3, 1, 7, 0],
    ],
    float,
)


def test_the_statistics_journals_are_rated_as_published():
    names = ["Biometrika", "Comm Statist", "JASA", "JRSS-B"]
    wins = np.zeros((4, 4))
    for (cited, citing), (won, lost) in JOURNALS.items():
        wins[names.index(cited), names.index(citing)] = won
        wins[names.index(citing), names.index(cited)] = lost
    theta = systems.fit_strengths(wins[None])[0]
    assert (theta - theta[0])[1:] == pytest.approx([-2.94907, -0.47957, 0.26895], abs=5e-5)


def test_the_american_league_is_rated_as_published():
    theta = systems.fit_strengths(BASEBALL[None])[0]
    assert theta - theta[-1] == pytest.approx([1.581, 1.436, 1.294, 1.248, 1.108, 0.684, 0], abs=5e-4)
