"""Items with the same labels are exchangeable: keep each distinct pattern once, with how often.

A bootstrap over N items is then one multinomial draw over P distinct patterns, exactly, and a
statistic is evaluated on P rows with weights instead of on N items. P <= C(R + K, K) for R raters
and K categories: 56 for three raters and five categories, whatever N is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from core.statistics.data.arrays import Codes, Floats, Ints
from core.statistics.data.ratings import Ratings

LARGEST_KEY = 2**62
CHUNK = 8_000_000
"""Numbers held at once while resampling: 64 MB."""
BLOCK = 100_000
"""Units drawn at once: few enough to stay in the processor's cache."""
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
        size = max(1, CHUNK // max(1, self.times.size))
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

    @property
    def sizes(self) -> Floats:
        """(P,): how many labels each pattern has."""
        return np.asarray(self.counts.sum(axis=1))

    def with_labels(self, fewest: int) -> "Patterns":
        """Only the patterns with at least so many labels."""
        kept = self.sizes >= fewest
        clusters = self.units.clusters
        if clusters is not None:
            clusters = filled_rows(sparse.csr_array(clusters[:, np.flatnonzero(kept)]))
        return Patterns(self.codes[kept], self.counts[kept], Units(self.units.times[kept], clusters))

    def merged(self) -> "Patterns":
        """Patterns with the same counts as one, where it does not matter who chose what."""
        first, at = same_counts(self.counts, self.codes.shape[1])
        times = np.asarray(np.bincount(at, self.units.times, minlength=first.size), float)
        clusters = self.units.clusters
        if clusters is not None:
            into = sparse.csr_array((np.ones(at.size), (np.arange(at.size), at)))
            clusters = sparse.csr_array(clusters @ into)
        return Patterns(self.codes[first], self.counts[first], Units(times, clusters))


def draw(times: Floats, number: int, rng: np.random.Generator) -> Floats:
    """`number` resamples of sum(times) units: how often each pattern comes up, (number, P).

    One multinomial draw where patterns are few; where most units are their own pattern, drawing
    the units and counting them is faster.
    """
    units = int(times.sum())
    if times.size * 12 <= units:
        return rng.multinomial(units, times / units, size=number).astype(float)
    pattern_of = np.repeat(np.arange(times.size), times.astype(np.int64))
    together = max(1, BLOCK // units)
    shift = np.arange(together)[:, None] * times.size
    out = np.empty((number, times.size))
    for start in range(0, number, together):
        rows = out[start : start + together]
        drawn = pattern_of[rng.integers(0, units, (len(rows), units), dtype=np.int32)]
        counted = np.bincount((drawn + shift[: len(rows)]).reshape(-1), minlength=rows.size)
        rows[:] = counted.reshape(rows.shape)
    return out


def patterns_of(ratings: Ratings) -> Patterns:
    """The distinct rows of labels, with how often each occurs, unlabelled items included."""
    kinds = len(ratings.categories)
    rows, times, pattern_of = distinct(ratings.codes, kinds, locate=ratings.groups is not None)
    clusters = cluster_table(ratings.groups, pattern_of, times.size)
    return Patterns(rows, tally(rows, kinds), Units(np.asarray(times, float), clusters))


def by_counts(ratings: Ratings) -> Patterns:
    """Patterns where it does not matter which rater chose what. Items without a label are left out."""
    return patterns_of(ratings).with_labels(1).merged()


def by_rows(ratings: Ratings) -> Patterns:
    """Patterns that keep who chose what, of the items with at least two labels."""
    return patterns_of(ratings).with_labels(2)


def distinct(codes: Codes, kinds: int, *, locate: bool = False) -> tuple[Codes, Ints, Ints]:
    """Distinct rows, how often each occurs, and, if asked, which of them each row is.

    Rows of so many raters and categories that they have no number are hardly ever alike: they stay
    as they are.
    """
    raters = codes.shape[1]
    size = (kinds + 1) ** raters
    if codes.shape[0] < 2 or not raters or size > LARGEST_KEY:
        return codes, np.ones(codes.shape[0], np.int64), np.arange(codes.shape[0])
    keys = row_keys(codes, kinds, size)
    if size > max(65_536, 2 * keys.size):
        found, at, times = np.unique(keys, return_inverse=True, return_counts=True)
        return row_of(found, raters, kinds), times, at
    every = np.bincount(keys, minlength=size)
    found = np.flatnonzero(every)
    number = np.cumsum(every > 0) - 1
    return row_of(found, raters, kinds), every[found], number[keys] if locate else found[:0]


def same_counts(counts: Floats, raters: int) -> tuple[Ints, Ints]:
    """The first of each distinct row of counts (P, K), and which of those each row is."""
    kinds = counts.shape[1]
    if (raters + 1) ** kinds <= LARGEST_KEY:
        powers = (raters + 1) ** np.arange(kinds, dtype=np.int64)
        _, first, at = np.unique(counts.astype(np.int64) @ powers, return_index=True, return_inverse=True)
    else:
        _, first, at = np.unique(counts, axis=0, return_index=True, return_inverse=True)
    return first, at.reshape(-1)


def distinct_scores(values: Floats, groups: Sequence[str] | None) -> tuple[Floats, Units]:
    """Distinct rows of scores (N, C), nan missing, and what to draw them from.

    Scores of a few values repeat, so that this pays; continuous ones stay a row each.
    """
    filled = np.where(np.isnan(values), np.inf, values)
    rows, at, times = np.unique(filled, axis=0, return_inverse=True, return_counts=True)
    names = None if groups is None else tuple(groups)
    clusters = cluster_table(names, at.reshape(-1), times.size)
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


def cluster_table(groups: Sequence[str] | None, pattern_of: Ints, patterns: int) -> sparse.csr_array | None:
    """(G, P): how often each group shows each pattern; None where every group is a single item."""
    alone = grouped(None if groups is None else np.array(groups, object))
    if alone is None:
        return None
    of_pattern = sparse.csr_array(
        (np.ones(pattern_of.size), (np.arange(pattern_of.size), pattern_of)),
        shape=(pattern_of.size, patterns),
    )
    return sparse.csr_array(alone @ of_pattern)


def filled_rows(table: sparse.csr_array) -> sparse.csr_array:
    """The rows of a table that hold something: groups without an item that is used are no groups."""
    return sparse.csr_array(table[np.flatnonzero(np.diff(table.indptr))])


def grouped(groups: npt.NDArray[np.object_] | None) -> sparse.csr_array | None:
    """(G, N): 1 where an item is of a group; None where every group is a single item."""
    if groups is None:
        return None
    at, names = pd.factorize(groups.astype(object), sort=True)
    if len(names) in (0, at.size):
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
