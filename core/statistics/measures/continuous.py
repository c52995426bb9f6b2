"""Statistics of continuous scores, and the correlation of a judge's scores with the annotators'.

Functions of weights (B, N) over N distinct rows of scores, as in `coefficients`. Continuous scores do not repeat, so
that N is the number of items and the compression of `patterns` gains nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from core.provenance import SEED
from core.statistics import notes
from core.statistics.data.arrays import Estimate, Floats, Ints, clipped_correlation, indicator_matrix, ratio, rescale
from core.statistics.data.patterns import Units, distinct_scores
from core.statistics.data.sample import Sample
from core.statistics.measures.coefficients import alpha_from_moments, alpha_of_ranks
from core.statistics.measures.pairwise import MIN_ITEMS_FOR_CORRELATION, mask_small_samples, sign_matrix
from core.statistics.measures.resampling import (
    Family,
    Statistic,
    bootstrap,
    percentile_interval,
    stack_statistics,
    weighted_mean,
)

# Up to this many items Kendall's tau is a product of N x N matrices (18 MB each); above, scipy computes each
# resample in N log N.
MAX_SIGN_MATRIX_ITEMS = 1_500
# A product of variances of rescaled scores below this is a rounding error of zero.
MIN_SPREAD = 1e-12
# The same for ranks as shares of n, whose sums of squares are exact to more digits.
MIN_RANK_SPREAD = 1e-24


def alpha_interval(values: Floats) -> Statistic:
    """Krippendorff's interval alpha of scores (N, R), nan missing; see `coefficients.alpha_from_moments`."""
    present = ~np.isnan(values)
    # Only pairable values are rescaled: another value far away would shrink their differences to rounding errors.
    pairable = present & (present.sum(axis=1) > 1)[:, None]
    centred = np.full_like(values, np.nan)
    centred[pairable] = rescale(values[pairable])
    size = pairable.sum(axis=1).astype(float)
    return alpha_from_moments(size, np.nansum(centred, axis=1), np.nansum(centred**2, axis=1))


def alpha_ordinal(values: Floats) -> Statistic:
    """Krippendorff's ordinal alpha of scores: interval alpha of the mid-ranks of pairable values."""
    paired = (~np.isnan(values)).sum(axis=1) > 1
    pairable = ~np.isnan(values) & paired[:, None]
    distinct_values, codes = np.unique(values[pairable], return_inverse=True)
    item = np.repeat(np.arange(values.shape[0]), values.shape[1])[pairable.reshape(-1)]
    counts = indicator_matrix(item, codes.reshape(-1), (values.shape[0], len(distinct_values)))
    return alpha_of_ranks(counts, np.asarray(counts.sum(axis=1)).reshape(-1))


def pearson(x: Floats, y: Floats) -> Statistic:
    """Pearson's r of two columns of scores."""
    x, y = rescale(x), rescale(y)
    features = np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y])

    def statistic(weights: Floats) -> Floats:
        n, sx, sy, sxx, syy, sxy = (weights @ features).T
        spread = (n * sxx - sx**2) * (n * syy - sy**2)
        return clipped_correlation(n * sxy - sx * sy, np.sqrt(np.where(spread > MIN_SPREAD, spread, 0)))

    return statistic


def spearman(x: Floats, y: Floats) -> Statistic:
    """Spearman's rho: Pearson's r of mid-ranks, computed anew in each resample."""
    rank_functions = [mid_rank_function(values) for values in (x, y)]

    def statistic(weights: Floats) -> Floats:
        n = weights.sum(axis=1, keepdims=True)
        a, b = (ratio(ranks(weights), n) - 0.5 for ranks in rank_functions)
        product, first, second = ((weights * values).sum(axis=1) for values in (a * b, a * a, b * b))
        spread = first * second
        return clipped_correlation(product, np.sqrt(np.where(spread > MIN_RANK_SPREAD, spread, 0)))

    return statistic


def mid_rank_function(values: Floats) -> Statistic:
    """Return a function from weights (B, N) to mid-ranks (B, N) minus one half, ties sharing their mean."""
    _, starts, inverse = np.unique(np.sort(values), return_index=True, return_inverse=True)
    order = np.argsort(values, kind="stable")
    inverse[order] = inverse.copy()

    def ranks(weights: Floats) -> Floats:
        totals = np.add.reduceat(weights[:, order], starts, axis=1)
        return np.asarray((np.cumsum(totals, axis=1) - totals / 2)[:, inverse])

    return ranks


def kendall_tau_b(x: Floats, y: Floats) -> Statistic:
    """Kendall's tau-b, (C - D) / sqrt((n0 - n1) (n0 - n2)); see `pairwise.kendall_tau_b`."""
    if x.size > MAX_SIGN_MATRIX_ITEMS:
        return kendall_tau_b_by_scipy(x, y)
    signs_x, signs_y = sign_matrix(x), sign_matrix(y)
    matrices = [signs_x * signs_y, np.abs(signs_x), np.abs(signs_y)]

    def statistic(weights: Floats) -> Floats:
        score, untied_x, untied_y = (((weights @ matrix) * weights).sum(axis=1) for matrix in matrices)
        return clipped_correlation(score, np.sqrt(untied_x * untied_y))

    return statistic


def kendall_tau_b_by_scipy(x: Floats, y: Floats) -> Statistic:
    """`kendall_tau_b` computed by scipy for each row of weights, if N x N signs would not fit in memory."""

    from scipy import stats  # takes a third of a second to import and is seldom needed

    def statistic(weights: Floats) -> Floats:
        # Drawn items stand for a fraction more than whole ones, so tenths are repeated.
        unit = 1 if np.array_equal(weights, np.rint(weights)) else 10
        resampled_items = (np.repeat(np.arange(x.size), np.rint(row * unit).astype(np.int64)) for row in weights)
        return np.array([stats.kendalltau(x[items], y[items]).statistic for items in resampled_items])

    return statistic


def mean_over_pairs(values: Floats, names: Sequence[str]) -> Family:
    """Return the mean over rater pairs, matched by item, of "pearson", "spearman" or "kendall_tau_b".

    Pairs are weighted by the items that they share. The statistics of a pair are built when they are evaluated, so
    memory does not grow with the number of raters.
    """

    def family(weights: Floats) -> Floats:
        sums = np.zeros((len(names), weights.shape[0]))
        items = np.zeros_like(sums)
        for a, b in combinations(range(values.shape[1]), 2):
            both = np.flatnonzero(~np.isnan(values[:, [a, b]]).any(axis=1))
            if not both.size:
                continue
            of_pair = stack_statistics([FUNCTIONS[name](values[both, a], values[both, b]) for name in names])
            shared = weights[:, both]
            n = shared.sum(axis=1)
            correlations = mask_small_samples(of_pair(shared), n)
            defined = ~np.isnan(correlations)
            sums += np.where(defined, correlations * n, 0)
            items += np.where(defined, n, 0)
        return ratio(sums, items)

    return family


# Correlation of a judge's scores with the annotators', at the level of items, of groups and of systems.
#
# Item level: over all items at once. Group level: within each document or dialogue, then averaged, so easy and hard
# documents do not raise it. System level: between the systems' mean scores, as for a leaderboard. The three
# answer different questions and can differ in sign (Deutsch, Dror & Roth 2021).


FUNCTIONS: Mapping[str, Callable[[Floats, Floats], Statistic]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall_tau_b": kendall_tau_b,
}
# Resampled item weights in memory at once: 16 MB.
MAX_DRAWN_WEIGHTS = 2_000_000
Names = Sequence[str] | npt.NDArray[np.object_]


def item_level_correlations(
    judge: Floats,
    reference: Floats,
    *,
    groups: Names | None = None,
    resamples: int = 1000,
    sample: Sample | None = None,
) -> dict[str, Estimate]:
    """Estimate Pearson's r, Spearman's rho and Kendall's tau-b over items from scores (N,), nan missing.

    Items are resampled, or whole groups of items if groups (N,) are passed. With a `sample`, items count what they
    stand for.
    """
    both = ~np.isnan(judge) & ~np.isnan(reference)
    x, y = judge[both], reference[both]
    if x.size < MIN_ITEMS_FOR_CORRELATION:
        reason = f"a correlation needs {MIN_ITEMS_FOR_CORRELATION} items with both scores"
        return undefined_correlations(reason, x.size, judge.size)
    group_names = None if groups is None else tuple(np.array(groups, object)[both])
    own = None if sample is None else sample.select(both)
    rows, units = distinct_scores(np.column_stack([x, y]), group_names, own)
    family = stack_statistics([function(*rows.T) for function in FUNCTIONS.values()])
    results = bootstrap(family, units, resamples)
    return {
        name: notes.correlation_estimate(result, x.size, judge.size, units.size)
        for name, result in zip(FUNCTIONS, results, strict=True)
    }


def group_level_correlations(
    judge: Floats, reference: Floats, groups: Names, *, resamples: int = 1000, weights: Floats | None = None
) -> dict[str, Estimate]:
    """Estimate the mean over groups of the correlation within each; groups (N,) are resampled.

    `weights` (N,): what each item stands for, 1 by default.

    A group with fewer than two items, or with equal scores on either side, has no correlation and is left out; the
    reason gives the number of such groups.
    """
    both = ~np.isnan(judge) & ~np.isnan(reference)
    names, group = np.unique(np.array(groups, object)[both].astype(str), return_inverse=True)
    x, y = judge[both], reference[both]
    counted = np.ones(x.size) if weights is None else weights[both]
    columns = np.stack([x, y, counted])
    scores_by_group = [columns[:, group == number] for number in range(names.size)]
    estimates = {}
    for name, function in FUNCTIONS.items():
        correlations = np.array([correlate(function, *scores) for scores in scores_by_group])
        defined = correlations[~np.isnan(correlations)]
        mean = weighted_mean(defined, np.ones(defined.size, bool))
        (result,) = bootstrap(stack_statistics([mean]), Units(np.ones(defined.size)), resamples)
        estimates[name] = notes.group_mean_estimate(result, defined.size, correlations.size, x.size, judge.size)
    return estimates


def correlate(
    function: Callable[[Floats, Floats], Statistic], x: Floats, y: Floats, weights: Floats | None = None
) -> float:
    """Return the correlation of two columns, each row with its weight, or 1; nan if it is undefined."""
    counted = np.ones(x.size) if weights is None else weights
    return float(function(x, y)(counted[None])[0]) if x.size > 1 else np.nan


def system_level_correlations(
    judge: Floats,
    reference: Floats,
    systems: Names,
    items: Names,
    *,
    resamples: int = 1000,
    weights: Floats | None = None,
) -> dict[str, Estimate]:
    """Estimate the correlation of the systems' mean scores, from both sides' scores (N,).

    `systems` and `items` (N,): which system answered which item; `weights` (N,): what each item stands for, 1 by
    default. Both are resampled ("boot-both" of Deutsch et al.
    2021), so the interval covers other systems on other items.
    """
    both = ~np.isnan(judge) & ~np.isnan(reference)
    names, system = np.unique(np.array(systems, object)[both].astype(str), return_inverse=True)
    item = np.unique(np.array(items, object)[both].astype(str), return_inverse=True)[1]
    if names.size < MIN_ITEMS_FOR_CORRELATION:
        reason = f"a correlation needs {MIN_ITEMS_FOR_CORRELATION} systems; there are {names.size}"
        return undefined_correlations(reason, int(both.sum()), judge.size)
    scores = np.stack([judge[both], reference[both]])
    counted = np.ones(item.size) if weights is None else weights[both]
    values = row_correlations(system_means(counted[None], system, scores))[:, 0]
    resampled = resampled_system_correlations(system, item, scores, counted, resamples)
    return {
        name: notes.system_estimate(percentile_interval(float(value), row), names.size, item.size, judge.size)
        for name, value, row in zip(FUNCTIONS, values, resampled, strict=True)
    }


def resampled_system_correlations(system: Ints, item: Ints, scores: Floats, counted: Floats, resamples: int) -> Floats:
    """Return the three correlations, (3, B), with systems and items drawn with replacement."""
    rng = np.random.default_rng(SEED)
    n_systems, n_items = int(system.max()) + 1, int(item.max()) + 1
    chunk, correlations = max(1, MAX_DRAWN_WEIGHTS // item.size), [np.empty((len(FUNCTIONS), 0))]
    for start in range(0, resamples, chunk):
        b = min(chunk, resamples - start)
        weights = rng.multinomial(n_items, np.full(n_items, 1 / n_items), size=b)[:, item]
        means = system_means(weights * counted, system, scores)
        drawn_systems = rng.integers(0, n_systems, (b, n_systems))
        correlations.append(row_correlations(np.take_along_axis(means, drawn_systems[None], axis=2)))
    return np.concatenate(correlations, axis=1)


def system_means(weights: Floats, system: Ints, scores: Floats) -> Floats:
    """Return each system's weighted mean of both scores (2, N), (2, B, S); nan if its items have no weight."""
    indicator = indicator_matrix(np.arange(system.size), system)
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
