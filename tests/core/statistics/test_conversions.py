"""The rules that make scorers of different kinds comparable."""

import math

from hypothesis import given
from hypothesis import strategies as st

from core.statistics.conversions import (
    pairwise_preferences,
    preference_of_scores,
    win,
)

SCORES = st.floats(-100, 100)


def test_the_higher_score_is_preferred_and_equal_scores_are_a_tie():
    assert [preference_of_scores(*pair) for pair in ((7, 5), (5, 7), (5, 5), (0.1 + 0.2, 0.3))] == [1, 2, 0, 0]


def test_a_missing_score_is_no_preference():
    assert preference_of_scores(None, 3) is None and preference_of_scores(3, math.nan) is None


@given(SCORES, SCORES)
def test_swapping_the_scores_swaps_the_preference(first, second):
    assert preference_of_scores(second, first) == {1: 2, 2: 1, 0: 0}[preference_of_scores(first, second)]


def test_a_ranking_is_its_pairs():
    assert pairwise_preferences([3, 9, 3]) == {(1, 2): 2, (1, 3): 0, (2, 3): 1}


def test_a_choice_wins_for_its_own_side():
    assert [win(choice, 2) for choice in (2, 1, 0)] == [1.0, 0.0, 0.5]
