"""Statistics of two raters on the items that both labelled, and their mean over all pairs of raters.

Two raters' labels on the same items are a K x K table t_kl: the number of items that the first assigned to
category k and the second to l. Items that only one of them labelled are not in it: pairs are matched by item.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from core.statistics.data.arrays import Codes, Floats, Ints, clipped_correlation, indicator_matrix, ratio, rescale
from core.statistics.measures.resampling import Family, Statistic, SumStatistic

CORRELATIONS = ("pearson", "spearman", "kendall_tau_b")
# Cells of resampled tables in memory at once: 4 MB, so most temporary arrays stay in the processor's cache.
MAX_TABLE_CELLS = 500_000
# Two items are on a line for any values, so their correlation is always -1 or 1.
MIN_ITEMS_FOR_CORRELATION = 3
# With 4 and 5 items the bootstrap interval of a correlation holds the truth in 69 and 86 % of samples.
MIN_ITEMS_FOR_INTERVAL = 6
# A product of sums of squares below this is a rounding error of zero: ranks and rescaled numbers are of order 1.
MIN_SPREAD = 1e-20


@dataclass(frozen=True)
class PairTables:
    """K x K tables of many rater pairs and resamples at once."""

    cells: Floats
    """(K, K, ...): the number of items that the first rater assigned to k and the second to l. The long axes
    are last, because numpy is several times slower when its inner loop runs over K cells."""

    @cached_property
    def rows(self) -> Floats:
        """(K, ...): the number of items that the first rater assigned to each category."""
        return np.asarray(self.cells.sum(axis=1))

    @cached_property
    def columns(self) -> Floats:
        """(K, ...): the number of items that the second rater assigned to each category."""
        return np.asarray(self.cells.sum(axis=0))

    @cached_property
    def n(self) -> Floats:
        """(...): the number of items that both labelled."""
        return np.asarray(self.rows.sum(axis=0))


# Tables -> (...) values, nan if undefined.
TableStatistic = Callable[[PairTables], Floats]


def cohen_kappa(tables: PairTables, agreement_weights: Floats | None = None) -> Floats:
    """Cohen's kappa, weighted if agreement weights (K, K) are passed (Cohen 1960, 1968).

    1 - sum v_kl o_kl / sum v_kl e_kl with v = 1 - weights, o the table's proportions and e the products of its margins.
    Undefined if both raters used one and the same category.
    """
    if agreement_weights is None:
        observed = tables.n - np.einsum("kk...->...", tables.cells)
        expected = tables.n**2 - np.einsum("k...,k...->...", tables.rows, tables.columns)
    else:
        disagree = 1 - agreement_weights
        observed = np.tensordot(disagree, tables.cells, axes=2)
        expected = np.einsum("k...,k...->...", np.tensordot(disagree, tables.rows, axes=(0, 0)), tables.columns)
    return 1 - ratio(observed * tables.n, expected)


def cohen_kappa_statistic(codes: Codes, n_categories: int, agreement_weights: Floats | None = None) -> Statistic:
    """`cohen_kappa` of two raters' codes (P, 2) from their margins, without a K x K table for each resample.

    Patterns that one of the two did not label are left out. This is faster if categories are many.
    """
    disagree = 1 - (np.eye(n_categories) if agreement_weights is None else agreement_weights)
    both = np.asarray((codes >= 0).all(axis=1), bool)
    a, b = np.where(both[:, None], codes, 0).T
    indicators = [np.eye(n_categories)[rater_codes] for rater_codes in (a, b)]
    features = np.column_stack([*indicators, disagree[a, b]]) * both[:, None]

    def combine(sums: Floats) -> Floats:
        rows, columns = sums[:, :n_categories], sums[:, n_categories : 2 * n_categories]
        expected = ((rows @ disagree) * columns).sum(axis=1)
        return 1 - ratio(sums[:, -1] * rows.sum(axis=1), expected)

    return SumStatistic(features, combine)


def pearson(tables: PairTables, numbers: Floats) -> Floats:
    """Pearson's r of two raters whose categories denote numbers, (K,)."""
    values = np.broadcast_to(rescale(numbers).reshape(-1, *(1,) * tables.n.ndim), tables.rows.shape)
    return product_moment(tables, values, values)


def spearman(tables: PairTables) -> Floats:
    """Spearman's rho: Pearson's r of mid-ranks, tied items sharing the mean of their ranks."""
    return product_moment(tables, mid_ranks(tables.rows), mid_ranks(tables.columns))


def kendall_tau_b(tables: PairTables) -> Floats:
    """Kendall's tau-b: (C - D) / sqrt((n0 - n1) (n0 - n2)).

    C and D count the item pairs that the raters order alike and oppositely, n0 all item pairs, n1 and n2 those that one
    rater ties (Kendall 1945).
    """
    n_categories = len(tables.cells)
    lower_rows = np.zeros_like(tables.columns)
    score = np.zeros_like(tables.n)
    for k in range(1, n_categories):
        lower_rows += tables.cells[k - 1]
        # Of the items in lower rows, those in lower columns than l minus those in higher columns.
        balance = lower_rows[0] - lower_rows.sum(axis=0)
        score += tables.cells[k, 0] * balance
        for column in range(1, n_categories):
            balance += lower_rows[column - 1]
            balance += lower_rows[column]
            score += tables.cells[k, column] * balance
    untied = [(tables.n**2 - (margin**2).sum(axis=0)) / 2 for margin in (tables.rows, tables.columns)]
    return mask_small_samples(clipped_correlation(score, np.sqrt(untied[0] * untied[1])), tables.n)


def product_moment(tables: PairTables, x: Floats, y: Floats) -> Floats:
    """Pearson's r of tables whose rows denote x (K, ...) and whose columns denote y (K, ...)."""
    x = x - ratio((tables.rows * x).sum(axis=0), tables.n)
    y = y - ratio((tables.columns * y).sum(axis=0), tables.n)
    product = np.einsum("k...,k...->...", x, np.einsum("kl...,l...->k...", tables.cells, y))
    spread = (tables.rows * x**2).sum(axis=0) * (tables.columns * y**2).sum(axis=0)
    correlations = clipped_correlation(product, np.sqrt(np.where(spread > MIN_SPREAD, spread, 0)))
    return mask_small_samples(correlations, tables.n)


def mask_small_samples(correlations: Floats, n: Floats) -> Floats:
    """Replace correlations of fewer than three items by nan."""
    return np.where(n >= MIN_ITEMS_FOR_CORRELATION, correlations, np.nan)


def sign_matrix(values: Floats) -> Floats:
    """Return the sign of each value minus each other, (n,) -> (n, n)."""
    return np.sign(np.subtract.outer(values, values)).astype(float)


def mid_ranks(margin: Floats) -> Floats:
    """Return the mean rank of each category from its frequency, (K, ...), as a share of n."""
    ranks = margin / 2
    below = np.zeros_like(margin[0])
    for k in range(1, len(margin)):  # np.cumsum over a leading axis is several times slower
        below += margin[k - 1]
        ranks[k] += below
    return ratio(ranks, margin.sum(axis=0))


def mean_over_pairs(codes: Codes, n_categories: int, statistics: Sequence[TableStatistic]) -> Family:
    """Return for each table statistic its mean over the rater pairs for which it is defined, weighted by shared items.

    Without weights, a pair that shares three items would count as much as one that shares hundreds. Pairs are processed
    in chunks, so memory does not grow with the number of raters.
    """
    pairs = overlapping_pairs(codes)

    def family(weights: Floats) -> Floats:
        chunk = max(1, MAX_TABLE_CELLS // max(1, weights.shape[0] * n_categories**2, codes.shape[0]))
        weights_by_pattern = np.ascontiguousarray(weights.T)
        sums = np.zeros((len(statistics), weights.shape[0]))
        shared = np.zeros_like(sums)
        for start in range(0, len(pairs), chunk):
            tables = pair_tables(codes, n_categories, pairs[start : start + chunk], weights_by_pattern)
            for number, statistic in enumerate(statistics):
                values = statistic(tables)
                defined = ~np.isnan(values)
                sums[number] += np.where(defined, values * tables.n, 0).sum(axis=0)
                shared[number] += np.where(defined, tables.n, 0).sum(axis=0)
        return ratio(sums, shared)

    return family


def overlapping_pairs(codes: Codes) -> Ints:
    """Return the pairs of raters who share a pattern, (pairs, 2)."""
    present = (codes >= 0).astype(float)
    return np.argwhere(np.triu(present.T @ present, 1) > 0)


def pair_tables(codes: Codes, n_categories: int, pairs: Ints, weights_by_pattern: Floats) -> PairTables:
    """Return the tables (K, K, pairs, B) of rater pairs (pairs, 2) from the weights of P patterns (P, B)."""
    first, second = codes[:, pairs[:, 0]], codes[:, pairs[:, 1]]
    pattern, pair = np.nonzero((first >= 0) & (second >= 0))
    cell = first[pattern, pair].astype(np.int32) * n_categories + second[pattern, pair]
    # One row for each cell of each pair's table, with 1 for the patterns that fall in it.
    row, shape = cell * len(pairs) + pair.astype(np.int32), (n_categories**2 * len(pairs), codes.shape[0])
    indicator = indicator_matrix(row, pattern.astype(np.int32), shape)
    cells = np.asarray(indicator @ weights_by_pattern)
    return PairTables(cells.reshape(n_categories, n_categories, len(pairs), weights_by_pattern.shape[1]))


# Distances of rankings: Kendall's distance with ties, partial rankings, top-k lists.
#
# Fagin, Kumar & Sivakumar 2003, "Comparing top k lists"; Fagin, Kumar, Mahdian, Sivakumar & Vee 2006, "Comparing
# partial rankings". Rankings here are of few elements (aspects, systems), so all pairs are enumerated.


def kendall_distance(x: Floats, y: Floats) -> float | None:
    """(1 - tau_b) / 2: 0 for the same order, 1 for the opposite; None if x or y ties all elements.

    This is the distance of DnA-Eval's published code, which however returns 0, "identical", if tau_b is undefined.
    """
    signs_x, signs_y = sign_matrix(x), sign_matrix(y)
    spread = np.sqrt((signs_x**2).sum() * (signs_y**2).sum())
    if not spread:
        return None
    return float(np.clip(1 - (signs_x * signs_y).sum() / spread, 0, 2)) / 2


def partial_ranking_distance(x: Floats, y: Floats, p: float = 0.5) -> float:
    """K^(p) of partial rankings: 1 for each pair in opposite order, p for each pair tied in one ranking only.

    With p = 1/2 this is K_prof, a metric (Fagin et al. 2006). Divide by n (n - 1) / 2 for a share.
    """
    signs_x, signs_y = sign_matrix(x), sign_matrix(y)
    opposite = (signs_x * signs_y < 0).sum() / 2
    tied_once = ((signs_x == 0) != (signs_y == 0)).sum() / 2
    return float(opposite + p * tied_once)


# Aspect weights as compositions: their distance, and the concordance of many raters.


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
    # Rank 1 is the largest weight; ties share the mean of their ranks.
    larger = (weights[:, None, :] > weights[:, :, None]).sum(axis=2)
    ranks = larger + ((weights[:, None, :] == weights[:, :, None]).sum(axis=2) + 1) / 2
    ties = sum((np.unique(row, return_counts=True)[1] ** 3).sum() - n for row in ranks)
    spread = m**2 * (n**3 - n) - m * ties
    if m < 2 or spread <= 0:
        return None
    sums = ranks.sum(axis=0)
    return float(12 * ((sums - sums.mean()) ** 2).sum() / spread)


# Rules that make scorers of different kinds comparable; docs/statistics.md explains them. A scorer is anything with a
# value for a target: people, a judge, a protocol, one of its members or rounds. Scores become preferences, preferences
# become scores, and a choice becomes a win or a loss. Each rule is one function here.

# Scores closer than this are equal: in floating point 0.1 + 0.2 differs from 0.3.
TOLERANCE = 1e-9


def preference_of_scores(first: float | None, second: float | None) -> int | None:
    """Return 1 or 2, the number of the higher score, 0 if they are equal, None if one is missing.

    There is no threshold of indifference: any difference is a preference, as in a sorted leaderboard.
    """
    if first is None or second is None or math.isnan(first) or math.isnan(second):
        return None
    if abs(first - second) < TOLERANCE:
        return 0
    return 1 if first > second else 2


def pairwise_preferences(scores: Sequence[float | None]) -> dict[tuple[int, int], int | None]:
    """Return (i, j) -> the preference between entries i < j, numbered from 1: a ranking as its pairs."""
    numbered = enumerate(scores, start=1)
    return {(i, j): preference_of_scores(a, b) for (i, a), (j, b) in combinations(numbered, 2)}


def win(choice: int, side: int) -> float:
    """Return 1 if the choice is this side of a pair, 0 if it is the other, one half for a tie."""
    return 0.5 if choice == 0 else float(choice == side)
