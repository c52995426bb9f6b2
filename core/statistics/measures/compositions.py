"""Aspect weights as compositions: their distance, and the concordance of many raters."""

import numpy as np

from core.statistics.data.arrays import Floats
from core.statistics.measures.rankings import descending_ranks


def normalize_weights(weights: Floats) -> Floats:
    """Return weights as shares of their sum, along the last axis.

    Raises ValueError for a negative weight and for weights that are all zero.
    """
    weights = np.asarray(weights, float)
    if (weights < 0).any() or (weights.sum(axis=-1) <= 0).any():
        raise ValueError("weights must not be negative and must not all be zero")
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def total_variation(x: Floats, y: Floats) -> float:
    """sum |x_k - y_k| / 2 of the shares: the part of the whole that must move to turn one into the other.

    0 for equal shares, 1 for shares of different aspects; defined with zero weights.
    """
    return float(np.abs(normalize_weights(x) - normalize_weights(y)).sum() / 2)


def kendall_w(weights: Floats) -> float | None:
    """Kendall's coefficient of concordance of m raters who weigh n aspects, (m, n), corrected for ties.

    W = 12 S / (m^2 (n^3 - n) - m T), S the squared deviations of the rank sums, T = sum (t^3 - t) over the ties of all
    raters (Kendall & Babington Smith 1939; Siegel & Castellan 1988). 0 no agreement, 1 the same order throughout; None
    with fewer than two raters or aspects, or if all weights are tied.
    """
    m, n = weights.shape
    ranks = np.array([descending_ranks(row) for row in weights])
    ties = sum((np.unique(row, return_counts=True)[1] ** 3).sum() - n for row in ranks)
    spread = m**2 * (n**3 - n) - m * ties
    if m < 2 or spread <= 0:
        return None
    sums = ranks.sum(axis=0)
    return float(12 * ((sums - sums.mean()) ** 2).sum() / spread)
