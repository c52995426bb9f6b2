"""Every statistic of every two raters without intervals, computed for thousands of pairs at once.

From the K x K tables of the pairs, in chunks of bounded memory. The values are those of `agreement` on the items that
both raters labelled.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from core.statistics import catalogue
from core.statistics.data.arrays import Codes, Floats, Ints, chance_corrected, ratio
from core.statistics.measures.agreement import COUNT_STATISTICS, table_statistic
from core.statistics.measures.pairwise import MAX_TABLE_CELLS, PairTables, mid_ranks, pair_tables


def pair_values(codes: Codes, numbers: Floats, names: Sequence[str], pairs: Ints) -> Iterator[tuple[Ints, Floats]]:
    """Yield the shared items (chunk,) and the values (statistics, chunk) of rater pairs (pairs, 2), in their order.

    `codes` (N, R) are the labels of all items, -1 missing; `numbers` (K,) are those of the categories. A value is nan
    if it is undefined.
    """
    chunk = max(1, MAX_TABLE_CELLS // max(numbers.size**2, codes.shape[0]))
    weights = np.ones((codes.shape[0], 1))
    for start in range(0, len(pairs), chunk):
        tables = pair_tables(codes, numbers.size, pairs[start : start + chunk], weights)
        values = np.stack([table_value(name, tables, numbers)[:, 0] for name in names])
        yield tables.n[:, 0].astype(np.int64), values


def table_value(name: str, tables: PairTables, numbers: Floats) -> Floats:
    """Return one statistic of tables (K, K, pairs, 1), (pairs, 1); all labels on shared items, so each item has two."""
    if name not in COUNT_STATISTICS:
        return table_statistic(name, numbers)(tables)
    if name.startswith("krippendorff_alpha_"):
        return alpha(name.removeprefix("krippendorff_alpha_"), tables, numbers)
    size, chance_weights = numbers.size, catalogue.BY_ID[name].chance_weights
    agree = np.eye(size) if chance_weights is None else chance_weights(size)
    observed = ratio(np.einsum("kl...,kl->...", tables.cells, agree), tables.n)
    shares = ratio(tables.rows + tables.columns, 2 * tables.n)
    if name == "percent":
        return observed
    if name == "fleiss_kappa":
        return chance_corrected(observed, (shares**2).sum(axis=0))
    return chance_corrected(observed, agree.sum() / (size * (size - 1)) * (shares * (1 - shares)).sum(axis=0))


def alpha(level: str, tables: PairTables, numbers: Floats) -> Floats:
    """Krippendorff's alpha of tables: 1 - D_o / D_e with the difference of the level; see `coefficients`."""
    totals = tables.rows + tables.columns
    n_categories = numbers.size
    if level == "ordinal":
        positions = mid_ranks(totals)
    else:
        values = np.arange(n_categories, dtype=float) if level == "nominal" else numbers
        positions = np.broadcast_to(values.reshape(-1, 1, 1), totals.shape)
    observed, expected = np.zeros_like(tables.n), np.zeros_like(tables.n)
    for k in range(n_categories):
        for other in range(n_categories):
            if k != other:
                difference = 1.0 if level == "nominal" else (positions[k] - positions[other]) ** 2
                observed += tables.cells[k, other] * difference
                expected += totals[k] * totals[other] * difference
    labels = 2 * tables.n
    return 1 - ratio(observed * 2 * (labels - 1), expected)
