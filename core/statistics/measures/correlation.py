"""Correlation of a judge's scores with the annotators', at the level of items, of groups and of systems.

Item level: over all items at once. Group level: within each document or dialogue, then averaged, so easy and hard
documents do not raise it. System level: between the systems' mean scores, as for a leaderboard. The three
answer different questions and can differ in sign (Deutsch, Dror & Roth 2021).
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from core.statistics import notes
from core.statistics.data.arrays import Estimate, Floats, Ints, clipped_correlation, ratio
from core.statistics.data.patterns import Units, distinct_scores
from core.statistics.measures.continuous import kendall_tau_b, pearson, spearman
from core.statistics.measures.pairwise import MIN_ITEMS_FOR_CORRELATION
from core.statistics.measures.resampling import Statistic, bootstrap, percentile_interval, stack_statistics

FUNCTIONS: Mapping[str, Callable[[Floats, Floats], Statistic]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall_tau_b": kendall_tau_b,
}
MAX_DRAWN_WEIGHTS = 2_000_000
"""Resampled item weights in memory at once: 16 MB."""
Names = Sequence[str] | npt.NDArray[np.object_]


def item_level_correlations(
    judge: Floats, reference: Floats, *, groups: Names | None = None, resamples: int = 1000, seed: int = 0
) -> dict[str, Estimate]:
    """Estimate Pearson's r, Spearman's rho and Kendall's tau-b over items from scores (N,), nan missing.

    Items are resampled, or whole groups of items if groups (N,) are passed.
    """
    both = ~np.isnan(judge) & ~np.isnan(reference)
    x, y = judge[both], reference[both]
    if x.size < MIN_ITEMS_FOR_CORRELATION:
        reason = f"a correlation needs {MIN_ITEMS_FOR_CORRELATION} items with both scores"
        return undefined_correlations(reason, x.size, judge.size)
    group_names = None if groups is None else tuple(np.array(groups, object)[both])
    rows, units = distinct_scores(np.column_stack([x, y]), group_names)
    family = stack_statistics([function(*rows.T) for function in FUNCTIONS.values()])
    results = bootstrap(family, units, resamples, seed)
    return {
        name: notes.correlation_estimate(result, x.size, judge.size, units.size)
        for name, result in zip(FUNCTIONS, results, strict=True)
    }


def group_level_correlations(
    judge: Floats, reference: Floats, groups: Names, *, resamples: int = 1000, seed: int = 0
) -> dict[str, Estimate]:
    """Estimate the mean over groups of the correlation within each; groups (N,) are resampled.

    A group with fewer than two items, or with equal scores on either side, has no correlation and is left out; the
    reason gives the number of such groups.
    """
    both = ~np.isnan(judge) & ~np.isnan(reference)
    names, group = np.unique(np.array(groups, object)[both].astype(str), return_inverse=True)
    x, y = judge[both], reference[both]
    scores_by_group = [(x[group == number], y[group == number]) for number in range(names.size)]
    estimates = {}
    for name, function in FUNCTIONS.items():
        correlations = np.array([correlate(function, *scores) for scores in scores_by_group])
        estimates[name] = mean_over_groups(correlations, x.size, judge.size, resamples, seed)
    return estimates


def correlate(function: Callable[[Floats, Floats], Statistic], x: Floats, y: Floats) -> float:
    """Return the correlation of two columns; nan if it is undefined."""
    return float(function(x, y)(np.ones((1, x.size)))[0]) if x.size > 1 else np.nan


def mean_over_groups(correlations: Floats, items: int, items_total: int, resamples: int, seed: int) -> Estimate:
    """Estimate the mean of the correlations (G,) that are defined, resampling groups."""
    defined = correlations[~np.isnan(correlations)]

    def family(weights: Floats) -> Floats:
        return ratio(weights @ defined, weights.sum(axis=1))[None]

    (result,) = bootstrap(family, Units(np.ones(defined.size)), resamples, seed)
    return notes.group_mean_estimate(result, defined.size, correlations.size, items, items_total)


def system_level_correlations(
    judge: Floats, reference: Floats, systems: Names, items: Names, *, resamples: int = 1000, seed: int = 0
) -> dict[str, Estimate]:
    """Estimate the correlation of the systems' mean scores, from both sides' scores (N,).

    `systems` and `items` (N,): which system answered which item. Both are resampled ("boot-both" of Deutsch et al.
    2021), so the interval covers other systems on other items.
    """
    both = ~np.isnan(judge) & ~np.isnan(reference)
    names, system = np.unique(np.array(systems, object)[both].astype(str), return_inverse=True)
    item = np.unique(np.array(items, object)[both].astype(str), return_inverse=True)[1]
    if names.size < MIN_ITEMS_FOR_CORRELATION:
        reason = f"a correlation needs {MIN_ITEMS_FOR_CORRELATION} systems; there are {names.size}"
        return undefined_correlations(reason, int(both.sum()), judge.size)
    scores = np.stack([judge[both], reference[both]])
    values = row_correlations(system_means(np.ones((1, item.size)), system, scores))[:, 0]
    resampled = resampled_system_correlations(system, item, scores, resamples, seed)
    return {
        name: notes.system_estimate(percentile_interval(float(value), row), names.size, item.size, judge.size)
        for name, value, row in zip(FUNCTIONS, values, resampled, strict=True)
    }


def resampled_system_correlations(system: Ints, item: Ints, scores: Floats, resamples: int, seed: int) -> Floats:
    """Return the three correlations, (3, B), with systems and items drawn with replacement."""
    rng = np.random.default_rng(seed)
    n_systems, n_items = int(system.max()) + 1, int(item.max()) + 1
    chunk, correlations = max(1, MAX_DRAWN_WEIGHTS // item.size), [np.empty((len(FUNCTIONS), 0))]
    for start in range(0, resamples, chunk):
        b = min(chunk, resamples - start)
        weights = rng.multinomial(n_items, np.full(n_items, 1 / n_items), size=b)[:, item]
        means = system_means(weights.astype(float), system, scores)
        drawn_systems = rng.integers(0, n_systems, (b, n_systems))
        correlations.append(row_correlations(np.take_along_axis(means, drawn_systems[None], axis=2)))
    return np.concatenate(correlations, axis=1)


def system_means(weights: Floats, system: Ints, scores: Floats) -> Floats:
    """Return each system's weighted mean of both scores (2, N), (2, B, S); nan if its items have no weight."""
    indicator = sparse.csr_array((np.ones(system.size), (np.arange(system.size), system)))
    n = np.asarray(weights @ indicator)
    return np.stack([ratio(np.asarray((weights * row) @ indicator), n) for row in scores])


def row_correlations(means: Floats) -> Floats:
    """Return Pearson's r, Spearman's rho and tau-b of each row, (2, B, S) -> (3, B); nan if undefined."""
    x, y = means
    signs_x, signs_y = (np.sign(side[:, :, None] - side[:, None, :]) for side in (x, y))
    spread = np.sqrt((signs_x**2).sum((1, 2)) * (signs_y**2).sum((1, 2)))
    tau_b = clipped_correlation((signs_x * signs_y).sum((1, 2)), spread)
    # The signs of a system against all others sum to twice its mid-rank, minus a constant.
    rho = row_pearson(signs_x.sum(axis=2), signs_y.sum(axis=2))
    correlations = np.stack([row_pearson(x, y), rho, tau_b])
    return np.where(np.isnan(means).any(axis=(0, 2)), np.nan, correlations)


def row_pearson(x: Floats, y: Floats) -> Floats:
    """Return Pearson's r of each row of (B, S)."""
    x = x - x.mean(axis=1, keepdims=True)
    y = y - y.mean(axis=1, keepdims=True)
    return clipped_correlation((x * y).sum(axis=1), np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1)))


def undefined_correlations(reason: str, items: int, items_total: int) -> dict[str, Estimate]:
    """Return estimates without a value, with the reason."""
    return {name: Estimate(None, None, None, items, items_total, 0, 0, 0, reason) for name in FUNCTIONS}
