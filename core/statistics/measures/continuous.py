"""Statistics of scores that are numbers, not codes.

The same shape as `kernels`: functions of weights (B, N) over N distinct rows of scores. Continuous
scores do not repeat, so that N is the number of items and these cost what it costs.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import sparse

from core.statistics.data.arrays import Floats, ratio, standard
from core.statistics.measures.kernels import Family, Statistic, alpha_of_moments, together
from core.statistics.measures.pairwise import enough, mean_defined, signs

SIGNS = 1_500
"""Up to so many items Kendall's tau is a matrix product; beyond, scipy is asked for each resample."""


def alpha_interval(values: Floats) -> Statistic:
    """Krippendorff's interval alpha of scores (N, R), nan missing; see `kernels.alpha_of_moments`."""
    there = ~np.isnan(values)
    centred = np.full_like(values, np.nan)
    centred[there] = standard(values[there])
    return alpha_of_moments(there.sum(axis=1).astype(float), np.nansum(centred, axis=1), np.nansum(centred**2, axis=1))


def alpha_ordinal(values: Floats) -> Statistic:
    """Krippendorff's ordinal alpha of scores: interval alpha of the mid-ranks of pairable values."""
    paired = (~np.isnan(values)).sum(axis=1) > 1
    at, found = pd.factorize(np.where(paired[:, None], values, np.nan).reshape(-1), sort=True)
    item = np.repeat(np.arange(values.shape[0]), values.shape[1])[at >= 0]
    counts = sparse.csr_array((np.ones(item.size), (item, at[at >= 0])), shape=(values.shape[0], len(found)))
    size = np.asarray(counts.sum(axis=1)).reshape(-1)
    scale = np.where(paired, 1 / np.maximum(size - 1, 1), 0)

    def value(weights: Floats) -> Floats:
        totals = np.asarray(weights @ counts)
        n = totals.sum(axis=1)
        ranks = ratio(np.cumsum(totals, axis=1) - totals / 2, n[:, None]) - 0.5
        squares = np.asarray((weights * (size * scale)) @ counts)
        sums = (weights * scale * np.asarray(ranks @ counts.T) ** 2).sum(axis=1)
        apart = 2 * ((squares * ranks**2).sum(axis=1) - sums)
        spread = 2 * (n * (totals * ranks**2).sum(axis=1) - (totals * ranks).sum(axis=1) ** 2)
        return 1 - ratio(apart * (n - 1), spread)

    return value


def pearson(x: Floats, y: Floats) -> Statistic:
    """Pearson's r of two columns of scores."""
    x, y = standard(x), standard(y)
    features = np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y])

    def value(weights: Floats) -> Floats:
        n, sx, sy, sxx, syy, sxy = (weights @ features).T
        spread = (n * sxx - sx**2) * (n * syy - sy**2)
        return ratio(n * sxy - sx * sy, np.sqrt(np.where(spread > 1e-12, spread, 0)))

    return value


def spearman(x: Floats, y: Floats) -> Statistic:
    """Spearman's rho: Pearson's r of mid-ranks, taken anew in each resample."""
    ranked = [mid_ranks(values) for values in (x, y)]

    def value(weights: Floats) -> Floats:
        n = weights.sum(axis=1, keepdims=True)
        a, b = (ratio(ranks(weights), n) - 0.5 for ranks in ranked)
        product, first, second = ((weights * p).sum(axis=1) for p in (a * b, a * a, b * b))
        spread = np.sqrt(np.where(first * second > 1e-24, first * second, 0))
        return ratio(product, spread)

    return value


def mid_ranks(values: Floats) -> Statistic:
    """Weights (B, N) -> mid-ranks (B, N), less one half, ties sharing their mean."""
    _, starts, at = np.unique(np.sort(values), return_index=True, return_inverse=True)
    order = np.argsort(values, kind="stable")
    at[order] = at.copy()

    def ranks(weights: Floats) -> Floats:
        totals = np.add.reduceat(weights[:, order], starts, axis=1)
        return np.asarray((np.cumsum(totals, axis=1) - totals / 2)[:, at])

    return ranks


def kendall(x: Floats, y: Floats) -> Statistic:
    """Kendall's tau-b, (C - D) / sqrt((n0 - n1) (n0 - n2))."""
    if x.size > SIGNS:
        return kendall_one_by_one(x, y)
    over_x, over_y = signs(x), signs(y)
    tables = [over_x * over_y, np.abs(over_x), np.abs(over_y)]

    def value(weights: Floats) -> Floats:
        score, first, second = (((weights @ table) * weights).sum(axis=1) for table in tables)
        return ratio(score, np.sqrt(first * second))

    return value


def kendall_one_by_one(x: Floats, y: Floats) -> Statistic:
    """The same, by scipy for each row of weights: N log N, where N x N signs would not fit."""

    from scipy import stats  # slow to import, seldom needed

    def value(weights: Floats) -> Floats:
        drawn = (np.repeat(np.arange(x.size), row.astype(np.int64)) for row in weights)
        return np.array([stats.kendalltau(x[at], y[at]).statistic for at in drawn])

    return value


def over_pairs(values: Floats, kinds: Sequence[str]) -> Family:
    """The mean over rater pairs, matched by item, of pearson, spearman or kendall_tau_b."""
    make = {"pearson": pearson, "spearman": spearman, "kendall_tau_b": kendall}
    made = []
    for a, b in combinations(range(values.shape[1]), 2):
        both = np.flatnonzero(~np.isnan(values[:, [a, b]]).any(axis=1))
        if both.size:
            of_pair = together([make[kind](values[both, a], values[both, b]) for kind in kinds])
            made.append((both, of_pair))

    def family(weights: Floats) -> Floats:
        if not made:
            return np.full((len(kinds), weights.shape[0]), np.nan)
        found = [enough(of_pair(weights[:, both]), weights[:, both].sum(axis=1)) for both, of_pair in made]
        return mean_defined(np.stack(found, axis=-1))

    return family
