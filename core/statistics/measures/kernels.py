"""Agreement as functions of weighted patterns: the formulas, once, for values and resamples alike.

Each function takes the counts n_ik of P patterns, (P, K): how many raters put pattern i in category
k, n_i = sum_k n_ik. It returns a function of weights w, (B, P), how often each pattern occurs in each
of B samples, to B values, nan where undefined. One row of weights gives the value itself, the rest
its resamples. Sums over items below are sums over patterns times their weight.
"""

from collections.abc import Callable, Sequence

import numpy as np

from core.statistics.data.arrays import Floats, beyond_chance, ratio, standard

Statistic = Callable[[Floats], Floats]
"""(B, P) weights -> (B,) values."""
Family = Callable[[Floats], Floats]
"""(B, P) weights -> (S, B) values of S statistics."""


def together(statistics: Sequence[Statistic]) -> Family:
    """Several statistics as one family, in their order."""

    def values(weights: Floats) -> Floats:
        return np.stack([statistic(weights) for statistic in statistics])

    return values


def percent(counts: Floats) -> Statistic:
    """Mean over items with two labels or more of the share of label pairs that agree.

    p_i = sum_k n_ik (n_ik - 1) / (n_i (n_i - 1)); the value is the mean of p_i (Fleiss 1971, eq. 2).
    """
    features = np.stack([*agreeing(counts, np.eye(counts.shape[1]))], axis=1)

    def value(weights: Floats) -> Floats:
        sums = weights @ features
        return ratio(sums[:, 0], sums[:, 1])

    return value


def fleiss(counts: Floats) -> Statistic:
    """(p_a - p_e) / (1 - p_e) with p_a as in `percent` and p_e = sum_k q_k^2 (Fleiss 1971).

    q_k is the mean over items with a label of the proportion n_ik / n_i, so that each item counts
    once however many raters it has (Gwet 2014, section 2.4.3). With equally many raters everywhere
    this is Fleiss' own chance term.
    """
    features, kinds = with_proportions(counts, np.eye(counts.shape[1])), counts.shape[1]

    def value(weights: Floats) -> Floats:
        observed, shares = observed_and_shares(weights @ features, kinds)
        return beyond_chance(observed, (shares**2).sum(axis=1))

    return value


def gwet(counts: Floats, weighting: Floats | None = None) -> Statistic:
    """Gwet's AC1, or AC2 with agreement weights w_kl, (K, K) (Gwet 2008; 2014, chapters 2-3).

    p_a: mean over items with two labels of sum_k n_ik (sum_l w_kl n_il - 1) / (n_i (n_i - 1)).
    p_e = T / (K (K - 1)) sum_k q_k (1 - q_k), T = sum_kl w_kl, q_k as in `fleiss`. K is the number
    of declared categories, used or not. Undefined where the scale has one category.
    """
    kinds = counts.shape[1]
    agree = np.eye(kinds) if weighting is None else weighting
    features = with_proportions(counts, agree)
    spread = agree.sum() / (kinds * (kinds - 1)) if kinds > 1 else np.nan

    def value(weights: Floats) -> Floats:
        observed, shares = observed_and_shares(weights @ features, kinds)
        return beyond_chance(observed, spread * (shares * (1 - shares)).sum(axis=1))

    return value


def brennan_prediger(counts: Floats) -> Statistic:
    """(p_a - 1/K) / (1 - 1/K), also Randolph's free-marginal kappa (Brennan & Prediger 1981)."""
    agreed, kinds = percent(counts), counts.shape[1]

    def value(weights: Floats) -> Floats:
        observed = agreed(weights)
        return beyond_chance(observed, np.full_like(observed, 1 / kinds))

    return value


def alpha_nominal(counts: Floats) -> Statistic:
    """Krippendorff's alpha, nominal: 1 - D_o / D_e over the items with two labels or more.

    D_o = (1/n) sum_i (n_i^2 - sum_k n_ik^2) / (n_i - 1), D_e = (n^2 - sum_k n_k^2) / (n (n - 1)),
    n the number of labels that can be paired (Krippendorff 2011).
    """
    there, size = pairable(counts)
    parted = ratio(size**2 - (there**2).sum(axis=1), size - 1)
    features = np.column_stack([np.where(size > 1, parted, 0), there])

    def value(weights: Floats) -> Floats:
        sums = weights @ features
        totals = sums[:, 1:]
        n = totals.sum(axis=1)
        return one_minus(sums[:, 0], n**2 - (totals**2).sum(axis=1), n)

    return value


def alpha_interval(counts: Floats, numbers: Floats) -> Statistic:
    """Krippendorff's alpha with delta_kl^2 = (v_k - v_l)^2, v_k the number of category k."""
    there, size = pairable(counts)
    centred = standard(numbers)
    return alpha_of_moments(size, there @ centred, there @ centred**2)


def alpha_of_moments(size: Floats, total: Floats, squares: Floats) -> Statistic:
    """Interval alpha from each pattern's number of values, their sum and sum of squares, (P,) each.

    sum over pairs of (x - y)^2 is 2 (n_i sum x^2 - (sum x)^2): no K x K table is needed, so that
    continuous scores cost as little as codes. Patterns with one value are left out.
    """
    paired = size > 1
    parted = ratio(2 * (size * squares - total**2), size - 1)
    features = np.column_stack([np.where(paired, part, 0) for part in (parted, size, total, squares)])

    def value(weights: Floats) -> Floats:
        apart, n, s, q = (weights @ features).T
        return one_minus(apart, 2 * (n * q - s**2), n)

    return value


def alpha_ordinal(counts: Floats) -> Statistic:
    """Krippendorff's alpha with his ordinal metric, (sum_{g=k..l} n_g - (n_k + n_l) / 2)^2.

    That is the squared difference of the mid-ranks of k and l among all pairable labels, so ordinal
    alpha is interval alpha of mid-ranks, taken anew in each resample.
    """
    there, size = pairable(counts)
    scale = np.where(size > 1, 1 / np.maximum(size - 1, 1), 0)

    def value(weights: Floats) -> Floats:
        totals = weights @ there
        n = totals.sum(axis=1)
        ranks = ratio(np.cumsum(totals, axis=1) - totals / 2, n[:, None]) - 0.5
        squares = (weights * (size * scale)) @ there
        sums = np.einsum("bp,bp->b", weights * scale, (ranks @ there.T) ** 2)
        apart = 2 * ((squares * ranks**2).sum(axis=1) - sums)
        spread = 2 * (n * (totals * ranks**2).sum(axis=1) - (totals * ranks).sum(axis=1) ** 2)
        return one_minus(apart, spread, n)

    return value


def alpha_ratio(counts: Floats, numbers: Floats) -> Statistic:
    """Krippendorff's alpha with delta_kl^2 = ((v_k - v_l) / (v_k + v_l))^2, for scales with a true zero."""
    apart = np.abs(np.subtract.outer(numbers, numbers))
    squared = np.nan_to_num(ratio(apart, np.add.outer(numbers, numbers))) ** 2
    there, size = pairable(counts)
    within = ((there @ squared) * there).sum(axis=1)
    features = np.column_stack([np.nan_to_num(ratio(within, size - 1)), there])

    def value(weights: Floats) -> Floats:
        sums = weights @ features
        totals = sums[:, 1:]
        return one_minus(sums[:, 0], ((totals @ squared) * totals).sum(axis=1), totals.sum(axis=1))

    return value


def pairable(counts: Floats) -> tuple[Floats, Floats]:
    """The counts with items of fewer than two labels emptied, and the labels of each item."""
    size = counts.sum(axis=1)
    there = np.where((size > 1)[:, None], counts, 0)
    return there, np.where(size > 1, size, 0)


def one_minus(apart: Floats, spread: Floats, n: Floats) -> Floats:
    """1 - D_o / D_e for D_o = apart / n and D_e = spread / (n (n - 1))."""
    return 1 - ratio(apart * (n - 1), spread)


def agreeing(counts: Floats, agree: Floats) -> tuple[Floats, Floats]:
    """For each pattern the (weighted) share of its label pairs that agree, and 1 where it has pairs."""
    size = counts.sum(axis=1)
    together = (counts * (counts @ agree.T - 1)).sum(axis=1)
    paired = size > 1
    return np.where(paired, ratio(together, size * (size - 1)), 0), paired.astype(float)


def with_proportions(counts: Floats, agree: Floats) -> Floats:
    """(P, K + 3): agreement, 1 where there are pairs, 1 where there are labels, proportions n_ik / n_i."""
    size = counts.sum(axis=1)
    shares = np.nan_to_num(ratio(counts, size[:, None]))
    return np.column_stack([*agreeing(counts, agree), size > 0, shares])


def observed_and_shares(sums: Floats, kinds: int) -> tuple[Floats, Floats]:
    """Mean agreement (B,) and mean proportions (B, K) from the sums of `with_proportions`."""
    return ratio(sums[:, 0], sums[:, 1]), ratio(sums[:, 3 : 3 + kinds], sums[:, 2:3])


def linear(kinds: int) -> Floats:
    """Agreement weights 1 - |k - l| / (K - 1), (K, K), on the declared scale."""
    apart = np.abs(np.subtract.outer(np.arange(kinds), np.arange(kinds)))
    return np.asarray(1 - apart / max(kinds - 1, 1))


def quadratic(kinds: int) -> Floats:
    """Agreement weights 1 - (k - l)^2 / (K - 1)^2, (K, K), on the declared scale."""
    return np.asarray(1 - (1 - linear(kinds)) ** 2)


def ordinal(kinds: int) -> Floats:
    """Gwet's ordinal weights 1 - C(|k - l| + 1, 2) / C(K, 2), (K, K) (Gwet 2014, section 3.5)."""
    apart = np.abs(np.subtract.outer(np.arange(kinds), np.arange(kinds)))
    return np.asarray(1 - apart * (apart + 1) / max(kinds * (kinds - 1), 1))
