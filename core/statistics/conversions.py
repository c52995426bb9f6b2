"""Rules that make scorers of different kinds comparable; docs/statistics.md explains them.

A scorer is anything with a value for a target: people, a judge, a protocol, one of its members or rounds. Scores become
preferences, preferences become scores, and a choice becomes a win or a loss. Each rule is one function here.
"""

import math
from collections.abc import Sequence
from itertools import combinations

# Scores closer than this are equal: in floating point 0.1 + 0.2 differs from 0.3.
TOLERANCE = 1e-9


def preference_of_scores(first: float | None, second: float | None) -> int | None:
    """Return 1 or 2, the number of the higher score, 0 if they are equal, None if one is missing.

    There is no threshold of indifference: any difference is a preference, as in a sorted leaderboard.
    """
    if first is None or second is None or math.isnan(first) or math.isnan(second):
        return None
    if abs(first - second) < TOLERANCE:
        return 0
    return 1 if first > second else 2


def pairwise_preferences(scores: Sequence[float | None]) -> dict[tuple[int, int], int | None]:
    """Return (i, j) -> the preference between entries i < j, numbered from 1: a ranking as its pairs."""
    numbered = enumerate(scores, start=1)
    return {(i, j): preference_of_scores(a, b) for (i, a), (j, b) in combinations(numbered, 2)}


def win(choice: int, side: int) -> float:
    """Return 1 if the choice is this side of a pair, 0 if it is the other, one half for a tie."""
    return 0.5 if choice == 0 else float(choice == side)
