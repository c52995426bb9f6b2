"""Correlation of a judge's scores with people's, at the level of items, of groups and of systems.

Item level: over all items at once. Group level: within each document or dialogue, then averaged,
so that easy and hard documents do not help. System level: between the systems' mean scores, which
is what a leaderboard needs. The three answer different questions and can differ in sign
(Deutsch, Dror & Roth 2021).
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from core.statistics import remarks
from core.statistics.data.arrays import Floats, Ints, ratio
from core.statistics.data.estimate import Estimate
from core.statistics.data.patterns import Units, distinct_scores
from core.statistics.measures.continuous import kendall, pearson, spearman
from core.statistics.measures.intervals import percentile, resample
from core.statistics.measures.kernels import Statistic, together
from core.statistics.measures.pairwise import FEWEST_FOR_CORRELATION as FEWEST

KINDS: Mapping[str, Callable[[Floats, Floats], Statistic]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall_tau_b": kendall,
}
Names = Sequence[str] | npt.NDArray[np.object_]


def item_level(
    judge: Floats, people: Floats, *, groups: Names | None = None, resamples: int = 1000, seed: int = 0
) -> dict[str, Estimate]:
    """Pearson, Spearman and Kendall tau-b over items, (N,) each, nan missing.

    Items are resampled, or whole groups of items where groups (N,) are given.
    """
    both = ~np.isnan(judge) & ~np.isnan(people)
    x, y = judge[both], people[both]
    if x.size < FEWEST:
        return nothing(f"a correlation needs {FEWEST} items with both scores", x.size, judge.size)
    names = None if groups is None else tuple(np.array(groups, object)[both])
    rows, units = distinct_scores(np.column_stack([x, y]), names)
    family = together([make(*rows.T) for make in KINDS.values()])
    found = resample(family, units, resamples, seed)
    return {
        kind: remarks.correlation(one, x.size, judge.size, units.number) for kind, one in zip(KINDS, found, strict=True)
    }


def group_level(
    judge: Floats, people: Floats, groups: Names, *, resamples: int = 1000, seed: int = 0
) -> dict[str, Estimate]:
    """The mean over groups of the correlation within each; groups (N,) are resampled.

    A group with fewer than two items, or with equal scores on either side, has no correlation and is
    left out; the reason says how many were.
    """
    both = ~np.isnan(judge) & ~np.isnan(people)
    names, at = np.unique(np.array(groups, object)[both].astype(str), return_inverse=True)
    x, y = judge[both], people[both]
    parts = [(x[at == group], y[at == group]) for group in range(names.size)]
    found = {}
    for kind, make in KINDS.items():
        inside = np.array([within(make, *part) for part in parts])
        found[kind] = mean_of_groups(inside, x.size, judge.size, resamples, seed)
    return found


def within(make: Callable[[Floats, Floats], Statistic], x: Floats, y: Floats) -> float:
    """The correlation of two columns; nan where it is undefined."""
    return float(make(x, y)(np.ones((1, x.size)))[0]) if x.size > 1 else np.nan


def mean_of_groups(inside: Floats, used: int, there: int, resamples: int, seed: int) -> Estimate:
    """The mean of the correlations (G,) that are defined, groups resampled."""
    kept = inside[~np.isnan(inside)]

    def family(weights: Floats) -> Floats:
        return ratio(weights @ kept, weights.sum(axis=1))[None]

    (one,) = resample(family, Units(np.ones(kept.size)), resamples, seed)
    return remarks.mean_of_groups(one, kept.size, inside.size, used, there)


def system_level(
    judge: Floats, people: Floats, systems: Names, items: Names, *, resamples: int = 1000, seed: int = 0
) -> dict[str, Estimate]:
    """The correlation of the systems' mean scores, from both sides' scores (N,).

    `systems` and `items` (N,) tell which system answered which item. Both are resampled ("boot-both"
    of Deutsch et al. 2021), so that the interval speaks of other systems on other items.
    """
    both = ~np.isnan(judge) & ~np.isnan(people)
    names, system = np.unique(np.array(systems, object)[both].astype(str), return_inverse=True)
    item = np.unique(np.array(items, object)[both].astype(str), return_inverse=True)[1]
    if names.size < FEWEST:
        reason = f"a correlation needs {FEWEST} systems, here are {names.size}"
        return nothing(reason, int(both.sum()), judge.size)
    scores = np.stack([judge[both], people[both]])
    values = rows_of(means_of(np.ones((1, item.size)), system, scores))[:, 0]
    drawn = resampled_systems(system, item, scores, resamples, seed)
    return {
        kind: remarks.of_systems(percentile(float(value), row), names.size, item.size, judge.size)
        for kind, value, row in zip(KINDS, values, drawn, strict=True)
    }


def resampled_systems(system: Ints, item: Ints, scores: Floats, resamples: int, seed: int) -> Floats:
    """(3, B): the three correlations with systems and items drawn with replacement."""
    rng = np.random.default_rng(seed)
    number, items = int(system.max()) + 1, int(item.max()) + 1
    size, found = max(1, 2_000_000 // item.size), []
    for start in range(0, resamples, size):
        b = min(size, resamples - start)
        drawn = rng.multinomial(items, np.full(items, 1 / items), size=b)[:, item]
        means = means_of(drawn.astype(float), system, scores)
        picked = rng.integers(0, number, (b, number))
        found.append(rows_of(np.take_along_axis(means, picked[None], axis=2)))
    return np.concatenate(found, axis=1)


def means_of(weights: Floats, system: Ints, scores: Floats) -> Floats:
    """(2, B, S): each system's weighted mean of both scores (2, N); nan where it has no weight."""
    of_system = sparse.csr_array((np.ones(system.size), (np.arange(system.size), system)))
    n = np.asarray(weights @ of_system)
    return np.stack([ratio(np.asarray((weights * row) @ of_system), n) for row in scores])


def rows_of(means: Floats) -> Floats:
    """(2, B, S) scores -> (3, B): Pearson, Spearman and tau-b of each row; nan where undefined."""
    x, y = means
    over = [np.sign(side[:, :, None] - side[:, None, :]) for side in (x, y)]
    spread = np.sqrt((over[0] ** 2).sum((1, 2)) * (over[1] ** 2).sum((1, 2)))
    tau = ratio((over[0] * over[1]).sum((1, 2)), spread)
    ranks = [side.sum(axis=2) for side in over]  # twice the mid-rank, less its mean
    found = np.stack([moment(x, y), moment(*ranks), tau])
    return np.where(np.isnan(means).any(axis=(0, 2)), np.nan, found)


def moment(x: Floats, y: Floats) -> Floats:
    """Pearson's r of each row of (B, S)."""
    x = x - x.mean(axis=1, keepdims=True)
    y = y - y.mean(axis=1, keepdims=True)
    return ratio((x * y).sum(axis=1), np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1)))


def nothing(reason: str, used: int, there: int) -> dict[str, Estimate]:
    """No value, and why."""
    return {kind: Estimate(None, None, None, used, there, 0, 0, 0, reason) for kind in KINDS}
