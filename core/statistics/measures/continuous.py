"""Statistics of continuous scores.

Functions of weights (B, N) over N distinct rows of scores, as in `coefficients`. Continuous scores do not repeat, so
that N is the number of items and the compression of `patterns` gains nothing.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from core.statistics.data.arrays import Floats, clipped_correlation, indicator_matrix, ratio, rescale
from core.statistics.measures.coefficients import alpha_from_moments
from core.statistics.measures.pairwise import mask_small_samples, sign_matrix
from core.statistics.measures.resampling import Family, Statistic, stack_statistics

MAX_SIGN_MATRIX_ITEMS = 1_500
"""Up to this many items Kendall's tau is a product of N x N matrices (18 MB each); above, scipy computes each
resample in N log N."""
MIN_SPREAD = 1e-12
"""A product of variances of rescaled scores below this is a rounding error of zero."""
MIN_RANK_SPREAD = 1e-24
"""The same for ranks as shares of n, whose sums of squares are exact to more digits."""


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
    size = np.asarray(counts.sum(axis=1)).reshape(-1)
    scale = np.where(paired, 1 / np.maximum(size - 1, 1), 0)

    def statistic(weights: Floats) -> Floats:
        totals = np.asarray(weights @ counts)
        n = totals.sum(axis=1)
        ranks = ratio(np.cumsum(totals, axis=1) - totals / 2, n[:, None]) - 0.5
        squares = np.asarray((weights * (size * scale)) @ counts)
        squared_sums = (weights * scale * np.asarray(ranks @ counts.T) ** 2).sum(axis=1)
        observed = 2 * ((squares * ranks**2).sum(axis=1) - squared_sums)
        expected = 2 * (n * (totals * ranks**2).sum(axis=1) - (totals * ranks).sum(axis=1) ** 2)
        return 1 - ratio(observed * (n - 1), expected)

    return statistic


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
        resampled_items = (np.repeat(np.arange(x.size), row.astype(np.int64)) for row in weights)
        return np.array([stats.kendalltau(x[items], y[items]).statistic for items in resampled_items])

    return statistic


def mean_over_pairs(values: Floats, names: Sequence[str]) -> Family:
    """Return the mean over rater pairs, matched by item, of "pearson", "spearman" or "kendall_tau_b".

    Pairs are weighted by the items that they share. The statistics of a pair are built when they are evaluated, so
    memory does not grow with the number of raters.
    """
    functions = {"pearson": pearson, "spearman": spearman, "kendall_tau_b": kendall_tau_b}

    def family(weights: Floats) -> Floats:
        sums = np.zeros((len(names), weights.shape[0]))
        items = np.zeros_like(sums)
        for a, b in combinations(range(values.shape[1]), 2):
            both = np.flatnonzero(~np.isnan(values[:, [a, b]]).any(axis=1))
            if not both.size:
                continue
            of_pair = stack_statistics([functions[name](values[both, a], values[both, b]) for name in names])
            shared = weights[:, both]
            n = shared.sum(axis=1)
            correlations = mask_small_samples(of_pair(shared), n)
            defined = ~np.isnan(correlations)
            sums += np.where(defined, correlations * n, 0)
            items += np.where(defined, n, 0)
        return ratio(sums, items)

    return family
