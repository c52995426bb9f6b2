"""Items with the same labels are exchangeable: keep each distinct pattern once, with how often.

A bootstrap over N items is then one multinomial draw over P distinct patterns, exactly, and a
statistic is evaluated on P rows with weights instead of on N items. P <= C(R + K, K) for R raters
and K categories: 56 for three raters and five categories, whatever N is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from core.statistics.arrays import Bools, Codes, Floats, Ints
from core.statistics.ratings import Ratings

LARGEST_KEY = 2**62
CHUNK = 4_000_000
"""Numbers held at once while resampling: 32 MB."""
BLOCKS = 400
"""At most so many blocks in the jackknife."""


@dataclass(frozen=True)
class Units:
    """What a resample draws from: P patterns, each on so many items, alone or in groups."""

    times: Floats
    """(P,): on how many items the pattern occurs."""
    clusters: sparse.csr_array | None = None
    """(G, P): how often each group of items shows each pattern; None where items stand alone."""

    @property
    def number(self) -> int:
        """How many things are drawn in one resample: groups, or items."""
        return int(self.times.sum()) if self.clusters is None else int(self.clusters.shape[0])

    def resamples(self, number: int, seed: int) -> Iterator[Floats]:
        """Weights (b, P) of `number` resamples with replacement, in chunks that fit in memory."""
        rng = np.random.default_rng(seed)
        size = max(1, CHUNK // max(1, self.times.size, self.number // 8))
        for start in range(0, number, size):
            drawn = min(size, number - start)
            if self.clusters is None:
                yield draw(self.times, drawn, rng)
            else:
                yield np.asarray(draw(np.ones(self.number), drawn, rng) @ self.clusters)

    def left_out(self) -> tuple[Floats, Floats]:
        """Weights (J, P), one block of items left out in each, and how often each occurs (J,).

        A block is one item of a pattern, one group of items, or, beyond 400 of them, a share.
        """
        if self.clusters is None and self.times.size <= BLOCKS:
            return self.times - np.eye(self.times.size), self.times
        parts = self.clusters
        if parts is None:
            parts = shares(self.times, BLOCKS)
        elif parts.shape[0] > BLOCKS:
            parts = joined(parts, BLOCKS)
        return self.times - parts.toarray(), np.ones(parts.shape[0])


@dataclass(frozen=True)
class Patterns:
    """Distinct patterns of labels."""

    codes: Codes
    """(P, R): one row of labels for each pattern, -1 missing."""
    counts: Floats
    """(P, K): how many raters chose each category."""
    units: Units


def draw(times: Floats, number: int, rng: np.random.Generator) -> Floats:
    """`number` resamples of sum(times) units: how often each pattern comes up, (number, P).

    One multinomial draw where patterns are few; where most units are their own pattern, drawing
    the units and counting them is faster.
    """
    units = int(times.sum())
    if times.size * 12 <= units:
        return rng.multinomial(units, times / units, size=number).astype(float)
    pattern_of = np.repeat(np.arange(times.size), times.astype(np.int64))
    drawn = pattern_of[rng.integers(0, units, (number, units), dtype=np.int32)]
    drawn += np.arange(number)[:, None] * times.size
    counted = np.bincount(drawn.reshape(-1), minlength=number * times.size)
    return counted.reshape(number, times.size).astype(float)


def by_counts(ratings: Ratings) -> Patterns:
    """Patterns where it does not matter which rater chose what. Items without a label are left out."""
    return compressed(ratings, np.any(ratings.codes >= 0, axis=1), ordered=False)


def by_rows(ratings: Ratings, fewest: int = 2) -> Patterns:
    """Patterns that keep who chose what, of the items with at least `fewest` labels."""
    return compressed(ratings, np.sum(ratings.codes >= 0, axis=1) >= fewest, ordered=True)


def compressed(ratings: Ratings, used: Bools, *, ordered: bool) -> Patterns:
    """The distinct patterns of the items that are used."""
    codes = ratings.codes if used.all() else ratings.codes[used]
    kinds = len(ratings.categories)
    rows, times, pattern_of = distinct(codes, kinds, locate=ratings.groups is not None)
    if not ordered:
        rows, again, merge = distinct(np.sort(rows, axis=1), kinds, locate=True)
        times = np.bincount(merge, times, minlength=again.size)
        pattern_of = merge[pattern_of] if pattern_of.size else pattern_of
    clusters = cluster_table(ratings.groups, used, pattern_of, rows.shape[0])
    return Patterns(rows, tally(rows, kinds), Units(np.asarray(times, float), clusters))


def distinct(codes: Codes, kinds: int, *, locate: bool = False) -> tuple[Codes, Ints, Ints]:
    """Distinct rows, how often each occurs, and, if asked, which of them each row is."""
    raters = codes.shape[1]
    size = (kinds + 1) ** raters
    if codes.shape[0] < 2 or not raters:
        return codes, np.ones(codes.shape[0], np.int64), np.arange(codes.shape[0])
    if size > LARGEST_KEY:
        rows, at, times = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
        return rows, times, at.reshape(-1)
    keys = row_keys(codes, kinds, size)
    if size > max(65_536, 2 * keys.size):
        found, at, times = np.unique(keys, return_inverse=True, return_counts=True)
        return row_of(found, raters, kinds), times, at
    every = np.bincount(keys, minlength=size)
    found = np.flatnonzero(every)
    number = np.cumsum(every > 0) - 1
    return row_of(found, raters, kinds), every[found], number[keys] if locate else found[:0]


def distinct_scores(values: Floats, groups: Sequence[str] | None) -> tuple[Floats, Units]:
    """Distinct rows of scores (N, C), nan missing, and what to draw them from.

    Scores of a few values repeat, so that this pays; continuous ones stay a row each.
    """
    filled = np.where(np.isnan(values), np.inf, values)
    rows, at, times = np.unique(filled, axis=0, return_inverse=True, return_counts=True)
    names = None if groups is None else tuple(groups)
    clusters = cluster_table(names, np.ones(at.size, bool), at.reshape(-1), times.size)
    return np.where(np.isinf(rows), np.nan, rows), Units(times.astype(float), clusters)


def row_keys(codes: Codes, kinds: int, size: int) -> Ints:
    """One number for each row: its codes as digits in base K + 1, a missing label as 0."""
    dtype = np.min_scalar_type(-size)
    keys = codes[:, 0].astype(dtype) + dtype.type(1)
    for column in codes.T[1:]:
        keys = keys * dtype.type(kinds + 1) + column.astype(dtype) + dtype.type(1)
    return np.asarray(keys, np.int64)


def row_of(keys: Ints, raters: int, kinds: int) -> Codes:
    """The rows that the keys stand for."""
    powers = (kinds + 1) ** np.arange(raters - 1, -1, -1, dtype=np.int64)
    return (keys[:, None] // powers % (kinds + 1) - 1).astype(np.int16)


def tally(codes: Codes, kinds: int) -> Floats:
    """(P, K): how many raters chose each category."""
    cells = np.arange(codes.shape[0])[:, None] * (kinds + 1) + codes + 1
    counted = np.bincount(cells.reshape(-1), minlength=codes.shape[0] * (kinds + 1))
    return counted.reshape(codes.shape[0], kinds + 1)[:, 1:].astype(float)


def cluster_table(
    groups: tuple[str, ...] | None, used: Bools, pattern_of: Ints, patterns: int
) -> sparse.csr_array | None:
    """(G, P): the patterns of each group; None where every group is a single item."""
    alone = grouped(None if groups is None else np.array(groups, object)[used])
    if alone is None:
        return None
    of_pattern = sparse.csr_array(
        (np.ones(pattern_of.size), (np.arange(pattern_of.size), pattern_of)),
        shape=(pattern_of.size, patterns),
    )
    return sparse.csr_array(alone @ of_pattern)


def grouped(groups: npt.NDArray[np.object_] | None) -> sparse.csr_array | None:
    """(G, N): 1 where an item is of a group; None where every group is a single item."""
    if groups is None:
        return None
    names, at = np.unique(groups.astype(str), return_inverse=True)
    if names.size in (0, at.size):
        return None
    return sparse.csr_array((np.ones(at.size), (at, np.arange(at.size))))


def shares(times: Floats, blocks: int) -> sparse.csr_array:
    """(blocks, P): the items dealt out to blocks like cards, so that each is a sample of all."""
    pattern_of = np.random.default_rng(0).permutation(np.repeat(np.arange(times.size), times.astype(np.int64)))
    at = np.arange(pattern_of.size) % blocks
    table = sparse.coo_array((np.ones(at.size), (at, pattern_of)), shape=(blocks, times.size))
    return table.tocsr()


def joined(clusters: sparse.csr_array, blocks: int) -> sparse.csr_array:
    """Groups put together until there are only so many blocks."""
    at = np.arange(clusters.shape[0]) % blocks
    deal = sparse.coo_array((np.ones(at.size), (at, np.arange(at.size))))
    return sparse.csr_array(deal.tocsr() @ clusters)
