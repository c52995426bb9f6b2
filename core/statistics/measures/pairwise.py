"""Statistics of two raters on the items that both judged, and their mean over all rater pairs.

Two raters' labels on the same items are a K x K table t_kl: how many items the first put in k and
the second in l. Items that only one of them judged are not in it: pairs are matched by item.
Tables come as (..., K, K) arrays, so that one call serves every pair and every resample.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from scipy import sparse

from core.statistics.data.arrays import Codes, Floats, ratio, standard
from core.statistics.measures.kernels import Family, Statistic

OfTable = Callable[[Floats], Floats]
"""(..., K, K) tables -> (...) values, nan where undefined."""
DENSE = 3_000_000
"""Up to so many cells a table of cells is kept whole."""
FEWEST_FOR_CORRELATION = 3


def cohen(tables: Floats, weighting: Floats | None = None) -> Floats:
    """Cohen's kappa, weighted where agreement weights (K, K) are given (Cohen 1960, 1968).

    1 - sum v_kl o_kl / sum v_kl e_kl with v = 1 - weights, o the table's proportions and e the
    products of its margins. Undefined where both raters used one and the same category.
    """
    kinds = tables.shape[-1]
    disagree = 1 - (np.eye(kinds) if weighting is None else weighting)
    n = tables.sum(axis=(-2, -1))
    expected = np.einsum("...k,kl,...l->...", tables.sum(axis=-1), disagree, tables.sum(axis=-2))
    return 1 - ratio((tables * disagree).sum(axis=(-2, -1)) * n, expected)


def cohen_of(codes: Codes, kinds: int, weighting: Floats | None = None) -> Statistic:
    """`cohen` of two raters' codes (P, 2) from their margins, without a K x K table for each resample.

    Patterns that one of the two did not judge are left out. It pays where categories are many.
    """
    disagree = 1 - (np.eye(kinds) if weighting is None else weighting)
    both = np.flatnonzero((codes >= 0).all(axis=1))
    a, b = codes[both].T
    margins = [np.eye(kinds)[side] for side in (a, b)]

    def value(weights: Floats) -> Floats:
        here = weights[:, both]
        rows, columns = (here @ margin for margin in margins)
        expected = ((rows @ disagree) * columns).sum(axis=1)
        return 1 - ratio((here @ disagree[a, b]) * here.sum(axis=1), expected)

    return value


def pearson(tables: Floats, numbers: Floats) -> Floats:
    """Pearson's r of two raters whose categories stand for numbers, (K,)."""
    values = np.broadcast_to(standard(numbers), tables.shape[:-1])
    return product_moment(tables, values, values)


def spearman(tables: Floats) -> Floats:
    """Spearman's rho: Pearson's r of mid-ranks, ties sharing the mean of their ranks."""
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    return product_moment(tables, mid_ranks(rows), mid_ranks(columns))


def kendall(tables: Floats) -> Floats:
    """Kendall's tau-b: (C - D) / sqrt((n0 - n1) (n0 - n2)), ties of either rater in n1 and n2.

    C and D count the item pairs that the raters order alike and oppositely (Kendall 1945).
    """
    earlier = np.cumsum(tables, axis=-2) - tables
    less = np.cumsum(earlier, axis=-1) - earlier
    more = earlier.sum(axis=-1, keepdims=True) - less - earlier
    score = (tables * (less - more)).sum(axis=(-2, -1))
    n = tables.sum(axis=(-2, -1))
    untied = [(n**2 - (margin**2).sum(axis=-1)) / 2 for margin in (tables.sum(axis=-1), tables.sum(axis=-2))]
    return enough(ratio(score, np.sqrt(untied[0] * untied[1])), n)


def product_moment(tables: Floats, x: Floats, y: Floats) -> Floats:
    """Pearson's r of a table whose rows stand for x (..., K) and columns for y (..., K)."""
    n = tables.sum(axis=(-2, -1))
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    x = x - ratio((rows * x).sum(-1), n)[..., None]
    y = y - ratio((columns * y).sum(-1), n)[..., None]
    product = np.einsum("...k,...kl,...l->...", x, tables, y)
    spread = (rows * x**2).sum(-1) * (columns * y**2).sum(-1)
    return enough(ratio(product, np.sqrt(np.where(spread > 1e-20, spread, 0))), n)


def enough(values: Floats, n: Floats) -> Floats:
    """The correlations of at least three items: two items lie on a line whatever they are."""
    return np.where(n >= FEWEST_FOR_CORRELATION, values, np.nan)


def signs(values: Floats) -> Floats:
    """(n,) -> (n, n): the sign of each value less each other."""
    return np.sign(np.subtract.outer(values, values)).astype(float)


def mid_ranks(margin: Floats) -> Floats:
    """The mean rank of each category, from how often each occurs, (..., K), as a share of n."""
    n = margin.sum(axis=-1, keepdims=True)
    return ratio(np.cumsum(margin, axis=-1) - margin / 2, n)


def over_pairs(codes: Codes, kinds: int, of_tables: Sequence[OfTable]) -> Family:
    """For each function of tables its mean over the rater pairs for which it is defined."""
    cells = pair_cells(codes, kinds)
    pairs = cells.shape[1] // kinds**2

    def values(weights: Floats) -> Floats:
        made = np.asarray((cells.T @ weights.T).T)
        tables = made.reshape(weights.shape[0], pairs, kinds, kinds)
        return np.stack([mean_defined(of_table(tables)) for of_table in of_tables])

    return values


def mean_defined(values: Floats) -> Floats:
    """Mean over the last axis of what is not nan; nan where nothing is."""
    defined = ~np.isnan(values)
    return ratio(np.where(defined, values, 0).sum(axis=-1), defined.sum(axis=-1))


def pair_cells(codes: Codes, kinds: int) -> sparse.csc_array | Floats:
    """(P, pairs * K * K): 1 in the cell of each rater pair's table that a pattern falls in."""
    pairs = list(combinations(range(codes.shape[1]), 2))
    rows, columns = [], []
    for number, (a, b) in enumerate(pairs):
        both = np.flatnonzero((codes[:, a] >= 0) & (codes[:, b] >= 0))
        rows.append(both)
        columns.append(number * kinds**2 + codes[both, a].astype(np.int64) * kinds + codes[both, b])
    shape = (codes.shape[0], len(pairs) * kinds**2)
    empty = [np.empty(0, np.int64)]
    at = (np.concatenate(rows or empty), np.concatenate(columns or empty))
    table = sparse.csc_array((np.ones(at[0].size), at), shape=shape)
    return table.toarray() if shape[0] * shape[1] <= DENSE else table
