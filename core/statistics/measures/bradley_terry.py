"""Bradley-Terry ratings: how strong each system is, from who was preferred to whom.

P(i beats j) = s_i / (s_i + s_j) (Bradley & Terry 1952; Zermelo 1929). A tie is half a win for each.
The log-strengths theta = ln s have mean 0; 400 / ln 10 of them is one point of an Elo scale.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from core.statistics.data.arrays import Floats, Ints
from core.statistics.data.patterns import Units, cluster_table
from core.statistics.measures.intervals import Resampled, resample

ELO = 400 / np.log(10)
LARGEST = 15.0
"""A log-strength beyond this means that a system won, or lost, everything: no estimate exists."""
STEPS = 30


@dataclass(frozen=True)
class Rating:
    """One system's strength with its 95 % interval."""

    system: str
    strength: float | None
    """theta: mean 0 over the systems; None where no estimate exists."""
    low: float | None
    high: float | None
    wins: float
    """Ties count one half."""
    games: int
    dropped: int = 0
    reason: str = ""

    @property
    def elo(self) -> float | None:
        """1000 + 400 theta / ln 10."""
        return None if self.strength is None else 1000 + ELO * self.strength


def rate(
    first: Ints,
    second: Ints,
    winner: Ints,
    systems: Sequence[str],
    *,
    groups: Sequence[str] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> list[Rating]:
    """Rate systems from games: two systems' numbers and who won (1 the first, 2 the second, 0 a tie).

    All three are (N,). Games are resampled, or the groups (items) that they come from: distinct
    (first, second, winner) are drawn with their frequency, as in `patterns`.
    """
    m = len(systems)
    units, places, halves = games(first, second, winner, m, groups)

    def tables(weights: Floats) -> Floats:
        made = np.zeros((weights.shape[0], m * m))
        for place, half in zip(places.T, halves.T, strict=True):
            np.add.at(made.T, place, weights.T * half[:, None])
        return made.reshape(-1, m, m)

    wins = tables(units.times[None])[0]
    if not estimable(wins):
        return undefined(wins, systems)
    value = strengths(wins[None])[0]

    def family(weights: Floats) -> Floats:
        return strengths(tables(weights), value).T

    found = resample(family, units, resamples, seed)
    return [rating(name, one, wins, s) for s, (name, one) in enumerate(zip(systems, found, strict=True))]


def rating(name: str, found: Resampled, wins: Floats, s: int) -> Rating:
    """A system's rating with how often it played."""
    games_of = round(wins[s].sum() + wins[:, s].sum())
    reason = f"{found.dropped} resamples left somebody without a win or a loss" if found.dropped else ""
    return Rating(name, found.value, found.low, found.high, float(wins[s].sum()), games_of, found.dropped, reason)


def strengths(wins: Floats, start: Floats | None = None) -> Floats:
    """theta (B, M) from win tables (B, M, M), wins[i, j] how often i beat j; nan where none exists.

    Newton's method on the log-likelihood sum wins_ij (theta_i - ln(e^theta_i + e^theta_j)), kept
    at mean 0.
    """
    b, m = wins.shape[:2]
    theta = np.zeros((b, m)) if start is None else np.broadcast_to(start, (b, m)).copy()
    games_ij = wins + np.swapaxes(wins, 1, 2)
    won = wins.sum(axis=2)
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(theta[:, None, :] - theta[:, :, None]))
        gradient = won - (games_ij * p).sum(axis=2)
        information = -games_ij * p * (1 - p)
        information[:, range(m), range(m)] = -information.sum(axis=2)
        step = np.linalg.solve(information + 1 / m + 1e-9 * np.eye(m), gradient[..., None])[..., 0]
        theta += np.clip(step, -2, 2)
        theta -= theta.mean(axis=1, keepdims=True)
        if np.abs(step).max(initial=0) < 1e-10:
            break
    apart = np.abs(step).max(axis=1) > 1e-6
    theta[apart | (np.abs(theta).max(axis=1) > LARGEST)] = np.nan
    return theta


def estimable(wins: Floats) -> bool:
    """Whether every system can be reached from every other by wins (Ford 1957)."""
    return bool(connected_components(wins > 0, connection="strong")[0] == 1)


def undefined(wins: Floats, systems: Sequence[str]) -> list[Rating]:
    """Ratings that say why there are none."""
    pieces = connected_components(wins > 0, connection="strong")[0]
    reason = (
        f"the systems fall into {pieces} parts, between which nobody lost or nobody played: "
        "strengths of different parts cannot be compared"
    )
    played = wins.sum(axis=1) + wins.sum(axis=0)
    return [
        Rating(name, None, None, None, float(wins[s].sum()), round(played[s]), 0, reason)
        for s, name in enumerate(systems)
    ]


def games(first: Ints, second: Ints, winner: Ints, m: int, groups: Sequence[str] | None) -> tuple[Units, Ints, Floats]:
    """Distinct games to draw from; the cells of the win table that each fills, and by how much.

    Returns units over P distinct games, cells (P, 2) in an M x M table, amounts (P, 2).
    """
    keys, at, times = np.unique((first * m + second) * 3 + winner, return_inverse=True, return_counts=True)
    clusters = cluster_table(groups, at, keys.size)
    who, outcome = np.divmod(keys, 3)
    a, b = np.divmod(who, m)
    places = np.column_stack([a * m + b, b * m + a])
    to_first = np.select([outcome == 1, outcome == 2], [1.0, 0.0], 0.5)
    return Units(times.astype(float), clusters), places, np.column_stack([to_first, 1 - to_first])
