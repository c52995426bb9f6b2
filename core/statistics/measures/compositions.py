"""Weights of aspects, which sum to a whole: how far apart two people's are, and how alike many are."""

import numpy as np

from core.statistics.data.arrays import TINY, Floats
from core.statistics.measures.rankings import ranks


def shares(weights: Floats) -> Floats:
    """Weights as shares of their sum, along the last axis. Raises ValueError for a negative one."""
    weights = np.asarray(weights, float)
    if (weights < 0).any() or (weights.sum(axis=-1) <= 0).any():
        raise ValueError("weights must not be negative and must not all be zero")
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def total_variation(x: Floats, y: Floats) -> float:
    """sum |x_k - y_k| / 2 of the shares: how much of the whole must move to turn one into the other.

    0 the same, 1 nothing in common; defined with zero weights, unlike `aitchison`.
    """
    return float(np.abs(shares(x) - shares(y)).sum() / 2)


def aitchison(x: Floats, y: Floats) -> float | None:
    """Euclidean distance of centred log-ratios (Aitchison 1986); None where a weight is zero.

    The distance of compositional data analysis: it sees ratios, so 1 % against 2 % is as far as
    20 % against 40 %.
    """
    x, y = shares(x), shares(y)
    if min(x.min(), y.min()) < TINY:
        return None
    ratios = np.log(x / y)
    return float(np.sqrt(((ratios - ratios.mean()) ** 2).sum()))


def kendall_w(weights: Floats) -> float | None:
    """Kendall's coefficient of concordance of m raters on n things, (m, n), with ties corrected.

    W = 12 S / (m^2 (n^3 - n) - m T), S the squared deviations of the rank sums, T = sum (t^3 - t)
    over the ties of all raters (Kendall & Babington Smith 1939; Siegel & Castellan 1988). 0 no
    agreement, 1 all the same order; None with fewer than two raters or things, or all tied.
    """
    m, n = weights.shape
    ranked = np.array([ranks(row) for row in weights])
    ties = sum((np.unique(row, return_counts=True)[1] ** 3).sum() - n for row in ranked)
    spread = m**2 * (n**3 - n) - m * ties
    if m < 2 or spread <= 0:
        return None
    sums = ranked.sum(axis=0)
    return float(12 * ((sums - sums.mean()) ** 2).sum() / spread)
