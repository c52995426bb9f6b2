"""Correlation of a judge's scores with people's, at the level of items, of groups and of systems.

Item level: over all items at once. Group level: within each document or dialogue, then averaged,
so that easy and hard documents do not help. System level: between the systems' mean scores, which
is what a leaderboard needs. The three answer different questions and can differ in sign
(Deutsch, Dror & Roth 2021).
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from core.statistics import words
from core.statistics.arrays import Floats, Ints, ratio
from core.statistics.continuous import kendall, pearson, spearman
from core.statistics.estimate import Estimate
from core.statistics.intervals import interval, resample
from core.statistics.kernels import Family, Statistic, together
from core.statistics.pairwise import mean_defined
from core.statistics.patterns import Units, grouped

KINDS = {"pearson": pearson, "spearman": spearman, "kendall_tau_b": kendall}
FEWEST = words.FEWEST_FOR_CORRELATION


def item_level(
    judge: Floats,
    people: Floats,
    *,
    groups: Sequence[str] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Pearson, Spearman and Kendall tau-b over items, (N,) each, nan missing.

    Where groups are given they are resampled whole.
    """
    both = ~np.isnan(judge) & ~np.isnan(people)
    x, y = judge[both], people[both]
    if x.size < FEWEST:
        return nothing(f"a correlation needs {FEWEST} items with both scores", x.size, judge.size)
    units = Units(
        np.ones(x.size), grouped(None if groups is None else np.array(groups, object)[both])
    )
    family = together([make(x, y) for make in KINDS.values()])
    found = resample(family, units, resamples, seed)
    flat = "all scores equal: nothing to correlate" if constant(x, y) else ""
    return {
        kind: words.plain(one, flat, x.size, judge.size, pairs=x.size)
        for kind, one in zip(KINDS, found, strict=True)
    }


def group_level(
    judge: Floats,
    people: Floats,
    groups: Sequence[str],
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Estimate]:
    """The mean over groups of the correlation within each, where it is defined.

    Groups are resampled. A group with fewer than two items, or with equal scores on either side, has
    no correlation and is left out; the reason says how many were.
    """
    both = ~np.isnan(judge) & ~np.isnan(people)
    names, at = np.unique(np.array(groups, object)[both].astype(str), return_inverse=True)
    x, y = judge[both], people[both]
    inside = [(x[at == g], y[at == g]) for g in range(names.size)]
    found = {}
    for kind, make in KINDS.items():
        values = np.array([one_value(make, a, b) for a, b in inside])
        found[kind] = mean_of_groups(values, x.size, judge.size, resamples, seed)
    return found


def mean_of_groups(values: Floats, used: int, there: int, resamples: int, seed: int) -> Estimate:
    """The mean of what is defined, groups resampled."""
    defined = ~np.isnan(values)
    kept = values[defined]
    units = Units(np.ones(kept.size))

    def family(weights: Floats) -> Floats:
        return ratio(weights @ kept, weights.sum(axis=1))[None]

    (one,) = resample(family, units, resamples, seed)
    lost = int((~defined).sum())
    note = f"mean of {kept.size} groups; {lost} have no correlation, their scores being equal or single"
    if not kept.size:
        return words.plain(one, note, used, there)
    return words.plain(one, note if lost else "", used, there, pairs=used, units=kept.size)


def system_level(
    judge: Floats,
    people: Floats,
    systems: Sequence[str],
    items: Sequence[str],
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Estimate]:
    """The correlation of the systems' mean scores, from one judge's and people's scores (N,) each.

    `systems` and `items` (N,) tell which system answered which item. Both are resampled
    (Deutsch et al. 2021, "boot-both"): the interval speaks of other systems on other items.
    """
    both = ~np.isnan(judge) & ~np.isnan(people)
    system, at = np.unique(np.array(systems, object)[both].astype(str), return_inverse=True)
    _, item = np.unique(np.array(items, object)[both].astype(str), return_inverse=True)
    if system.size < FEWEST:
        return nothing(f"a correlation needs {FEWEST} systems, here are {system.size}", 0, judge.size)
    x, y = judge[both], people[both]
    once = np.ones((1, system.size))
    drawn, value = [], together(
        [make(*means_of(np.ones((1, x.size)), at, (x, y), system.size)[:, 0]) for make in KINDS.values()]
    )(once)[:, 0]
    rng = np.random.default_rng(seed)
    for _ in range(resamples):
        weights = np.bincount(rng.integers(0, item.max() + 1, item.max() + 1), minlength=item.max() + 1)
        means = means_of(weights[item][None].astype(float), at, (x, y), system.size)[:, 0]
        picked = means[:, rng.integers(0, system.size, system.size)]
        drawn.append([one_value(make, *picked) for make in KINDS.values()])
    note = "the units are systems; items and systems were both resampled"
    every = np.array(drawn).T
    flat = np.full(1, np.nan), np.ones(1)
    return {
        kind: words.plain(interval(float(v), row, *flat), note, x.size, judge.size, units=system.size)
        for kind, v, row in zip(KINDS, value, every, strict=True)
    }


def means_of(weights: Floats, at: Ints, scores: tuple[Floats, Floats], systems: int) -> Floats:
    """(2, B, S): each system's weighted mean of both scores; nan where it has no weight."""
    of_system = sparse.csr_array((np.ones(at.size), (np.arange(at.size), at)), shape=(at.size, systems))
    n = np.asarray(weights @ of_system)
    return np.stack([ratio(np.asarray((weights * s) @ of_system), n) for s in scores])


def one_value(make: object, x: Floats, y: Floats) -> float:
    """The correlation of two columns, nan where it is undefined."""
    both = ~np.isnan(x) & ~np.isnan(y)
    if both.sum() < 2:
        return float("nan")
    statistic: Statistic = make(x[both], y[both])  # type: ignore[operator]
    return float(statistic(np.ones((1, int(both.sum()))))[0])


def constant(x: Floats, y: Floats) -> bool:
    """Whether either side gives everything the same score."""
    return bool(np.ptp(x) == 0 or np.ptp(y) == 0)


def nothing(reason: str, used: int, there: int) -> dict[str, Estimate]:
    """No value, and why."""
    return {kind: Estimate(None, None, None, used, there, 0, 0, 0, reason) for kind in KINDS}


__all__ = ["Family", "group_level", "item_level", "mean_defined", "system_level"]
