"""Agreement coefficients of many raters from category counts.

Each function takes the counts n_ik of P patterns, (P, K): the number of raters who assigned pattern i to category k;
n_i = sum_k n_ik. It returns a statistic, see `statistic`. Sums over items below are sums over patterns times their
weight.
"""

from typing import TYPE_CHECKING

import numpy as np

from core.statistics.data.arrays import Floats, chance_corrected, ratio, rescale
from core.statistics.measures.resampling import Statistic

if TYPE_CHECKING:
    from scipy import sparse


def percent_agreement(counts: Floats) -> Statistic:
    """Mean over items with at least two labels of the share of label pairs that agree.

    p_i = sum_k n_ik (n_ik - 1) / (n_i (n_i - 1)); the value is the mean of p_i (Fleiss 1971, eq. 2).
    """
    features = np.stack([*pair_agreement(counts, np.eye(counts.shape[1]))], axis=1)

    def statistic(weights: Floats) -> Floats:
        sums = weights @ features
        return ratio(sums[:, 0], sums[:, 1])

    return statistic


def fleiss_kappa(counts: Floats) -> Statistic:
    """(p_a - p_e) / (1 - p_e) with p_a as in `percent_agreement` and p_e = sum_k q_k^2 (Fleiss 1971).

    q_k is the mean over items with a label of the proportion n_ik / n_i, so each item counts once however many
    raters it has (Gwet 2014, section 2.4.3). With equally many raters on all items this is Fleiss' own chance term.
    """
    features, n_categories = agreement_features(counts, np.eye(counts.shape[1])), counts.shape[1]

    def statistic(weights: Floats) -> Floats:
        observed, shares = observed_and_shares(weights @ features, n_categories)
        return chance_corrected(observed, (shares**2).sum(axis=1))

    return statistic


def gwet_ac(counts: Floats, agreement_weights: Floats | None = None) -> Statistic:
    """Gwet's AC1, or AC2 with agreement weights w_kl, (K, K) (Gwet 2008; 2014, chapters 2-3).

    p_a: mean over items with two labels of sum_k n_ik (sum_l w_kl n_il - 1) / (n_i (n_i - 1)).
    p_e = T / (K (K - 1)) sum_k q_k (1 - q_k), T = sum_kl w_kl, q_k as in `fleiss_kappa`. K is the number of declared
    categories, used or not. Undefined if the scale has one category.
    """
    n_categories = counts.shape[1]
    agree = np.eye(n_categories) if agreement_weights is None else agreement_weights
    features = agreement_features(counts, agree)
    chance_factor = agree.sum() / (n_categories * (n_categories - 1)) if n_categories > 1 else np.nan

    def statistic(weights: Floats) -> Floats:
        observed, shares = observed_and_shares(weights @ features, n_categories)
        return chance_corrected(observed, chance_factor * (shares * (1 - shares)).sum(axis=1))

    return statistic


def alpha_nominal(counts: Floats) -> Statistic:
    """Krippendorff's alpha, nominal: 1 - D_o / D_e over the items with at least two labels.

    D_o = (1/n) sum_i (n_i^2 - sum_k n_ik^2) / (n_i - 1), D_e = (n^2 - sum_k n_k^2) / (n (n - 1)), n the number of
    pairable labels (Krippendorff 2011).
    """
    pairable, size = pairable_counts(counts)
    disagreement = ratio(size**2 - (pairable**2).sum(axis=1), size - 1)
    features = np.column_stack([np.where(size > 1, disagreement, 0), pairable])

    def statistic(weights: Floats) -> Floats:
        sums = weights @ features
        totals = sums[:, 1:]
        n = totals.sum(axis=1)
        return alpha_from_disagreement(sums[:, 0], n**2 - (totals**2).sum(axis=1), n)

    return statistic


def alpha_interval(counts: Floats, numbers: Floats) -> Statistic:
    """Krippendorff's alpha with delta_kl^2 = (v_k - v_l)^2, v_k the number of category k."""
    pairable, size = pairable_counts(counts)
    centred = rescale(numbers)
    return alpha_from_moments(size, pairable @ centred, pairable @ centred**2)


def alpha_from_moments(size: Floats, total: Floats, squares: Floats) -> Statistic:
    """Interval alpha from each pattern's number of values, their sum and sum of squares, (P,) each.

    The sum over pairs of (x - y)^2 is 2 (n_i sum x^2 - (sum x)^2): no K x K table is needed, so continuous scores
    cost as little as codes. Patterns with one value are left out.
    """
    paired = size > 1
    disagreement = ratio(2 * (size * squares - total**2), size - 1)
    features = np.column_stack([np.where(paired, column, 0) for column in (disagreement, size, total, squares)])

    def statistic(weights: Floats) -> Floats:
        observed, n, s, q = (weights @ features).T
        return alpha_from_disagreement(observed, 2 * (n * q - s**2), n)

    return statistic


def alpha_ordinal(counts: Floats) -> Statistic:
    """Krippendorff's alpha with his ordinal metric, (sum_{g=k..l} n_g - (n_k + n_l) / 2)^2.

    That is the squared difference of the mid-ranks of k and l among all pairable labels, so ordinal alpha is
    interval alpha of mid-ranks, computed anew in each resample.
    """
    return alpha_of_ranks(*pairable_counts(counts))


def alpha_of_ranks(pairable: "Floats | sparse.csr_array", size: Floats) -> Statistic:
    """Ordinal alpha from the counts (P, K) of ordered values of items with at least two, and their sums (P,)."""
    scale = np.where(size > 1, 1 / np.maximum(size - 1, 1), 0)

    def statistic(weights: Floats) -> Floats:
        totals = np.asarray(weights @ pairable)
        n = totals.sum(axis=1)
        ranks = ratio(np.cumsum(totals, axis=1) - totals / 2, n[:, None]) - 0.5
        squares = np.asarray((weights * (size * scale)) @ pairable)
        squared_sums = np.einsum("bp,bp->b", weights * scale, np.asarray(ranks @ pairable.T) ** 2)
        observed = 2 * ((squares * ranks**2).sum(axis=1) - squared_sums)
        expected = 2 * (n * (totals * ranks**2).sum(axis=1) - (totals * ranks).sum(axis=1) ** 2)
        return alpha_from_disagreement(observed, expected, n)

    return statistic


def pairable_counts(counts: Floats) -> tuple[Floats, Floats]:
    """Return the counts and the labels of each item, with 0 for items of fewer than two labels."""
    size = counts.sum(axis=1)
    paired = size > 1
    return np.where(paired[:, None], counts, 0), np.where(paired, size, 0)


def alpha_from_disagreement(observed: Floats, expected: Floats, n: Floats) -> Floats:
    """1 - D_o / D_e for D_o = observed / n and D_e = expected / (n (n - 1))."""
    return 1 - ratio(observed * (n - 1), expected)


def pair_agreement(counts: Floats, agreement_weights: Floats) -> tuple[Floats, Floats]:
    """Return for each pattern the weighted share of its label pairs that agree, and 1 if it has pairs, otherwise 0."""
    size = counts.sum(axis=1)
    agreeing = (counts * (counts @ agreement_weights.T - 1)).sum(axis=1)
    paired = size > 1
    return np.where(paired, ratio(agreeing, size * (size - 1)), 0), paired.astype(float)


def agreement_features(counts: Floats, agreement_weights: Floats) -> Floats:
    """Return (P, K + 3): agreement, 1 if there are pairs, 1 if there are labels, proportions n_ik / n_i."""
    size = counts.sum(axis=1)
    proportions = np.nan_to_num(ratio(counts, size[:, None]))
    return np.column_stack([*pair_agreement(counts, agreement_weights), size > 0, proportions])


def observed_and_shares(sums: Floats, n_categories: int) -> tuple[Floats, Floats]:
    """Return mean agreement (B,) and mean proportions (B, K) from the weighted sums of `agreement_features`."""
    return ratio(sums[:, 0], sums[:, 1]), ratio(sums[:, 3 : 3 + n_categories], sums[:, 2:3])


def linear_weights(n_categories: int) -> Floats:
    """Agreement weights 1 - |k - l| / (K - 1), (K, K), on the declared scale."""
    distances = np.abs(np.subtract.outer(np.arange(n_categories), np.arange(n_categories)))
    return np.asarray(1 - distances / max(n_categories - 1, 1))


def quadratic_weights(n_categories: int) -> Floats:
    """Agreement weights 1 - (k - l)^2 / (K - 1)^2, (K, K), on the declared scale."""
    return np.asarray(1 - (1 - linear_weights(n_categories)) ** 2)
