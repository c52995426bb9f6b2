"""Bradley-Terry ratings: the strength of each system from pairwise preferences.

P(i beats j) = s_i / (s_i + s_j) (Bradley & Terry 1952; Zermelo 1929). A tie is half a win for each. The log-strengths
theta = ln s have mean 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from core.statistics.data.arrays import Floats, Ints
from core.statistics.data.patterns import Units, cluster_table, drawn_units
from core.statistics.data.sample import Sample
from core.statistics.measures.resampling import bootstrap
from core.wording import format_count, join_notes


@dataclass(frozen=True)
class SystemRating:
    """The strength of one system with its 95 % interval."""

    system: str
    strength: float | None
    """theta: mean 0 over the systems; None if no estimate exists."""
    low: float | None
    high: float | None
    reason: str = ""


# A log-strength above this means that a system won, or lost, every game: no estimate exists.
MAX_STRENGTH = 15.0
# Newton's method needs about six; a step of more than 2 is clipped, which can add a few.
MAX_ITERATIONS = 30
TOLERANCE = 1e-10


def rate_systems(
    first: Ints,
    second: Ints,
    winner: Ints,
    systems: Sequence[str],
    *,
    groups: Sequence[str] | None = None,
    resamples: int = 1000,
    sample: Sample | None = None,
) -> list[SystemRating]:
    """Rate systems from games: the numbers of two systems and who won (1 the first, 2 the second, 0 a tie), (N,) each.

    Games are resampled, or the groups (items) that they come from: distinct (first, second, winner) are drawn with
    their frequency, as in `patterns`. `sample` is how the games were drawn.
    """
    m = len(systems)
    units, cells, amounts = distinct_games(first, second, winner, m, groups, sample)

    def win_tables(weights: Floats) -> Floats:
        tables = np.zeros((weights.shape[0], m * m))
        for cell, amount in zip(cells.T, amounts.T, strict=True):
            np.add.at(tables.T, cell, weights.T * amount[:, None])
        return tables.reshape(-1, m, m)

    wins = win_tables(units.frequencies[None])[0]  # of the games that were played
    # Every system can be reached from every other by wins (Ford 1957), or there are no estimates.
    components = connected_components(wins > 0, connection="strong")[0]
    if components != 1:
        reason = (
            f"the systems form {components} groups without losses or without games between them: "
            "strengths of different groups cannot be compared"
        )
        return [SystemRating(name, None, None, None, reason) for name in systems]
    strengths = fit_strengths(win_tables(units.counted[None]))[0]

    def family(weights: Floats) -> Floats:
        return fit_strengths(win_tables(weights), strengths).T

    ratings = []
    for name, result in zip(systems, bootstrap(family, units, resamples), strict=True):
        undefined = format_count(result.dropped, "resample has", "resamples have")
        dropped = f"{undefined} a system without a win or a loss" if result.dropped else ""
        reason = join_notes(result.problem, dropped)
        ratings.append(SystemRating(name, result.value, result.low, result.high, reason))
    return ratings


def fit_strengths(wins: Floats, start: Floats | None = None) -> Floats:
    """Return theta (B, M) from win tables (B, M, M), wins[i, j] how often i beat j; nan if no estimate exists.

    Newton's method on the log-likelihood sum wins_ij (theta_i - ln(e^theta_i + e^theta_j)), centred at mean 0.
    """
    b, m = wins.shape[:2]
    theta = np.zeros((b, m)) if start is None else np.broadcast_to(start, (b, m)).copy()
    games = wins + np.swapaxes(wins, 1, 2)
    total_wins = wins.sum(axis=2)
    for _ in range(MAX_ITERATIONS):
        p = 1 / (1 + np.exp(theta[:, None, :] - theta[:, :, None]))
        gradient = total_wins - (games * p).sum(axis=2)
        information = -games * p * (1 - p)
        information[:, range(m), range(m)] = -information.sum(axis=2)
        # 1/m fixes the mean, which the likelihood leaves free; 1e-9 keeps degenerate tables solvable.
        step = np.linalg.solve(information + 1 / m + 1e-9 * np.eye(m), gradient[..., None])[..., 0]
        theta += np.clip(step, -2, 2)
        theta -= theta.mean(axis=1, keepdims=True)
        if np.abs(step).max(initial=0) < TOLERANCE:
            break
    diverged = np.abs(step).max(axis=1) > 1e-6
    theta[diverged | (np.abs(theta).max(axis=1) > MAX_STRENGTH)] = np.nan
    return theta


def distinct_games(
    first: Ints, second: Ints, winner: Ints, m: int, groups: Sequence[str] | None, sample: Sample | None = None
) -> tuple[Units, Ints, Floats]:
    """Return the distinct games as sampling units, the win-table cells that each fills, and by how much.

    Units over P distinct games, cells (P, 2) in an M x M table, amounts (P, 2).
    """
    keys, inverse, frequencies = np.unique((first * m + second) * 3 + winner, return_inverse=True, return_counts=True)
    units = Units(frequencies.astype(float), cluster_table(groups, inverse, keys.size))
    if sample is not None:
        places, units = drawn_units(inverse, sample, groups)
        keys = keys[places]
    players, outcome = np.divmod(keys, 3)
    a, b = np.divmod(players, m)
    cells = np.column_stack([a * m + b, b * m + a])
    to_first = np.select([outcome == 1, outcome == 2], [1.0, 0.0], 0.5)
    return units, cells, np.column_stack([to_first, 1 - to_first])
