"""Distinct patterns of labels and how often each occurs: the compressed data that every bootstrap draws from.

Items with the same labels are exchangeable. A bootstrap over N items is therefore exactly one multinomial draw over
P distinct patterns, and a statistic is evaluated on P weighted rows instead of N items. P <= C(R + K, K) for R raters
and K categories: 56 for three raters and five categories, for any N.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array

from core.provenance import SEED
from core.statistics.data.arrays import (
    Bools,
    Codes,
    Floats,
    Ints,
    indicator_matrix,
    normal_quantile,
    students_t_quantile,
)
from core.statistics.data.ratings import Ratings
from core.statistics.data.sample import Draw, Sample

NORMAL_97_5 = normal_quantile(0.975)
# Resampling weights held in memory at once: 64 MB.
MAX_WEIGHTS = 8_000_000
# Units drawn at once: few enough to stay in the processor's cache.
DRAW_BATCH = 100_000
# Blocks of the jackknife at most; the acceleration that it estimates is accurate enough with fewer still.
MAX_JACKKNIFE_BLOCKS = 400
# A multinomial draw costs about as much for one pattern as a uniform draw for 12 units (measured).
MULTINOMIAL_RATIO = 12
# Patterns with equal features are merged if there are more patterns; fewer are drawn as fast as they are compared.
MERGE_FROM = 500
# Patterns or clusters that are resampled one by one; see `merge_equal_rows`.
MAX_ROWS = 1_000
# Random blocks of items that are resampled in their place if there are more. The standard error of a statistic then
# has a relative error of 1 / sqrt(2 BLOCKS) = 2 %, as that of as many resamples has.
BLOCKS = 1_000


@dataclass(frozen=True)
class Units:
    """The sampling units of a bootstrap: P patterns, each on a number of items, independent or in clusters."""

    frequencies: Floats
    """(P,): the number of items with each pattern."""
    clusters: csr_array | None = None
    """(G, P): the number of items of each cluster with each pattern; None if items are independent."""
    draw: Draw | None = None
    """What the items of each pattern stand for, if they were drawn by a design; otherwise each counts 1."""

    @property
    def counted(self) -> Floats:
        """(P,): what all items of each pattern together count: the weights that give a statistic its value."""
        return self.frequencies if self.draw is None else self.frequencies * self.draw.weights

    def effective(self, used: Bools) -> float | None:
        """Return Kish's (1965) effective number of items of the used patterns (P,); None if each counts the same."""
        if self.draw is None:
            return None
        frequencies, weights = self.frequencies[used], self.draw.weights[used]
        own = weights[(weights > 0) & (frequencies > 0)]
        if not own.size or np.ptp(own) <= 1e-9 * own.max():
            return None
        return float((frequencies @ weights) ** 2 / (frequencies @ weights**2))

    def select(self, mask: Bools) -> "Units":
        """Return the units of some of the patterns (P,), which stand for all that are labelled."""
        clusters = self.clusters
        if clusters is not None:
            clusters = clusters[:, np.flatnonzero(mask)]
            # A group without any item that the statistic uses is not resampled.
            clusters = clusters[np.flatnonzero(clusters.sum(axis=1))]
        draw = None if self.draw is None else self.draw.calibrated(self.frequencies, mask).select(mask)
        return Units(self.frequencies[mask], clusters, draw=draw)

    @property
    def quantile(self) -> float:
        """The 97.5 % quantile of a standard error: of the normal distribution, of Student's t for drawn items."""
        if self.draw is None:
            return NORMAL_97_5
        degrees = self.draw.degrees(self.frequencies) if self.clusters is None else self.size - 1
        return students_t_quantile(degrees, 0.975) if degrees > 0 else NORMAL_97_5

    @property
    def size(self) -> int:
        """The number of units in one resample: clusters, or items."""
        return int(self.frequencies.sum()) if self.clusters is None else int(self.clusters.shape[0])

    def resample_weights(self, resamples: int) -> Iterator[Floats]:
        """Yield what the patterns count (b, P) in resamples with replacement, in chunks of bounded memory."""
        rng = np.random.default_rng(SEED)
        chunk = max(1, MAX_WEIGHTS // max(1, self.frequencies.size))
        for start in range(0, resamples, chunk):
            number = min(chunk, resamples - start)
            if self.draw is not None:
                yield self._resample_draw(self.draw, number, rng)
            elif self.clusters is None:
                yield draw_resamples(self.frequencies, number, rng)
            else:
                # Products with a sparse table have this order; sums of the weights round as their order in memory.
                yield np.asfortranarray(draw_resamples(np.ones(self.size), number, rng) @ self.clusters)

    def _resample_draw(self, draw: Draw, number: int, rng: np.random.Generator) -> Floats:
        """Return the same for items of a design: drawn within strata, or whole clusters of all strata."""
        if self.clusters is None:
            return draw.resample(self.frequencies, number, rng)
        return np.asarray(draw_resamples(np.ones(self.size), number, rng) @ self.clusters) * draw.weights

    def jackknife_weights(self) -> tuple[Floats, Floats]:
        """Return what the patterns count (J, P) without each block of items, and how often each block occurs (J,).

        A block is one item of a pattern or one cluster; above 400 of these, a random share of the items or clusters.
        """
        if self.draw is not None and self.clusters is None:
            return self.draw.without_each(self.frequencies, MAX_JACKKNIFE_BLOCKS)
        if self.clusters is None and self.frequencies.size <= MAX_JACKKNIFE_BLOCKS:
            return self.frequencies - np.eye(self.frequencies.size), self.frequencies
        blocks = self.clusters
        if blocks is None:
            blocks = random_blocks(self.frequencies, MAX_JACKKNIFE_BLOCKS)
        elif blocks.shape[0] > MAX_JACKKNIFE_BLOCKS:
            blocks = merge_clusters(blocks, MAX_JACKKNIFE_BLOCKS)
        weights = 1.0 if self.draw is None else self.draw.weights
        return (self.frequencies - blocks.toarray()) * weights, np.ones(blocks.shape[0])


@dataclass(frozen=True)
class Patterns:
    """Distinct patterns of labels."""

    codes: Codes
    """(P, R): one row of labels for each pattern, -1 missing."""
    counts: Floats
    """(P, K): the number of raters who chose each category."""
    units: Units

    def with_min_labels(self, minimum: int) -> "Patterns":
        """Return only the patterns with at least this number of labels."""
        mask = self.counts.sum(axis=1) >= minimum
        return Patterns(self.codes[mask], self.counts[mask], self.units.select(mask))

    def merged_by_counts(self) -> "Patterns":
        """Merge patterns with the same category counts, for statistics that ignore which rater chose which category."""
        if self.units.draw is not None:
            return self
        # The last category first: the order of the patterns decides which one a random number draws.
        _, _, inverse = distinct_rows(self.counts[:, ::-1])
        first = np.unique(inverse, return_index=True)[1]
        frequencies = np.asarray(np.bincount(inverse, self.units.frequencies, minlength=first.size), float)
        clusters = self.units.clusters
        if clusters is not None:
            clusters = clusters @ indicator_matrix(np.arange(inverse.size), inverse, (inverse.size, first.size))
        return Patterns(self.codes[first], self.counts[first], Units(frequencies, clusters))


def merge_equal_rows(features: Floats | Bools, units: Units) -> tuple[Floats, Units]:
    """Return features (P, F) whose weighted sums a statistic uses, and their units, with fewer rows if P is large.

    Of many clusters, the sums of each cluster are resampled. Of many patterns, those with equal features are one, which
    is exact. Above `MAX_ROWS` of either, items or clusters are assigned to blocks at random, and the sums of whole
    blocks are resampled: sums of independent draws have the same variance and skewness in blocks as alone.
    """
    values: Floats = features.astype(float, copy=False)
    if units.draw is not None:  # patterns of several strata cannot be one
        return values, units
    if units.clusters is not None:
        if units.size <= MAX_ROWS:
            return values, units
        blocks = merge_clusters(units.clusters, BLOCKS)
        return np.asarray(blocks @ values), Units(np.ones(BLOCKS))
    if units.frequencies.size <= MERGE_FROM:
        return values, units
    values, _, place = distinct_rows(values)
    frequencies = np.asarray(np.bincount(place, units.frequencies), float)
    if frequencies.size <= MAX_ROWS:
        return values, Units(frequencies)
    return np.asarray(random_blocks(frequencies, BLOCKS) @ values), Units(np.ones(BLOCKS))


def draw_resamples(frequencies: Floats, number: int, rng: np.random.Generator) -> Floats:
    """Return how often each pattern occurs in each resample of sum(frequencies) units, (number, P).

    Uses one multinomial draw if patterns are few. If most units have a unique pattern, drawing the units
    and counting them is faster.
    """
    units = int(frequencies.sum())
    if frequencies.size * MULTINOMIAL_RATIO <= units:
        return rng.multinomial(units, frequencies / units, size=number).astype(float)
    pattern_of_unit = np.repeat(np.arange(frequencies.size), frequencies.astype(np.int64))
    batch = max(1, DRAW_BATCH // units)
    # The offsets give every resample of a batch its own range of counters, so one bincount serves the batch.
    offsets = np.arange(batch)[:, None] * frequencies.size
    weights = np.empty((number, frequencies.size))
    for start in range(0, number, batch):
        rows = weights[start : start + batch]
        drawn = pattern_of_unit[rng.integers(0, units, (len(rows), units), dtype=np.int32)]
        occurrences = np.bincount((drawn + offsets[: len(rows)]).reshape(-1), minlength=rows.size)
        rows[:] = occurrences.reshape(rows.shape)
    return weights


def distinct_patterns(ratings: Ratings) -> Patterns:
    """Return the distinct rows of labels with their frequencies, unlabelled items included."""
    rows, units = distinct_units(ratings.codes, ratings.groups, ratings.sample)
    return Patterns(rows, category_counts(rows, len(ratings.categories)), units)


def distinct_units(
    values: npt.NDArray[Any], groups: Sequence[str] | None, sample: Sample | None
) -> tuple[npt.NDArray[Any], Units]:
    """Return the distinct rows of codes or numbers (N, C), and their sampling units."""
    rows, frequencies, pattern_of_item = distinct_rows(values)
    if sample is not None:
        places, units = drawn_units(pattern_of_item, sample, groups)
        return rows[places], units
    clusters = cluster_table(groups, pattern_of_item, frequencies.size)
    return rows, Units(np.asarray(frequencies, float), clusters)


def drawn_units(inverse: Ints, sample: Sample, groups: Sequence[str] | None) -> tuple[Ints, Units]:
    """Return the patterns (Q,) split by stratum and weight, and their units; `inverse` (N,) are the items' patterns."""
    known, code = np.unique(np.column_stack([sample.strata, sample.weights]), axis=0, return_inverse=True)
    keys, new = np.unique(inverse * len(known) + code.reshape(-1), return_inverse=True)
    places, own = np.divmod(keys, len(known))
    draw = Draw(known[own, 0].astype(np.int64), known[own, 1], sample.sizes)
    frequencies = np.bincount(new, minlength=places.size).astype(float)
    return places, Units(frequencies, cluster_table(groups, new, places.size), draw=draw)


def distinct_rows(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Ints, Ints]:
    """Return the distinct rows in their order, their frequencies, and the distinct row of each row."""
    if not values.size:
        return values, np.ones(len(values), np.int64), np.arange(len(values))
    frame = pd.DataFrame(values)
    place = np.asarray(frame.groupby(list(frame.columns), sort=True).ngroup(), np.int64)
    _, first, frequencies = np.unique(place, return_index=True, return_counts=True)
    return values[first], np.asarray(frequencies, np.int64), place


def distinct_scores(values: Floats, groups: Sequence[str] | None, sample: Sample | None = None) -> tuple[Floats, Units]:
    """Return the distinct rows of scores (N, C), nan missing, and their sampling units.

    Scores with few distinct values repeat and compress; continuous scores remain one row each.
    """
    rows, units = distinct_units(np.where(np.isnan(values), np.inf, values), groups, sample)  # nan is no group
    return np.where(np.isinf(rows), np.nan, rows), units


def category_counts(codes: Codes, n_categories: int) -> Floats:
    """Return the number of raters who chose each category, (P, K)."""
    cells = np.arange(codes.shape[0])[:, None] * (n_categories + 1) + codes + 1
    occurrences = np.bincount(cells.reshape(-1), minlength=codes.shape[0] * (n_categories + 1))
    return occurrences.reshape(codes.shape[0], n_categories + 1)[:, 1:].astype(float)


def majority_category(counts: Floats) -> Codes:
    """Return the category that more than half chose, from counts (..., K); -1 for a tie, a plurality or no label."""
    largest = counts.argmax(axis=-1)
    has_majority = 2 * counts.max(axis=-1, initial=0) > counts.sum(axis=-1)
    return np.where(has_majority, largest, -1).astype(np.int16)


def cluster_table(
    groups: Sequence[str] | npt.NDArray[np.object_] | None, pattern_of_item: Ints, patterns: int
) -> csr_array | None:
    """Return how often each group has each pattern, (G, P); None if every group is a single item."""
    if groups is None:
        return None
    codes, names = pd.factorize(np.asarray(groups, object), sort=True)
    if len(names) in (0, codes.size):
        return None
    return indicator_matrix(codes, pattern_of_item, (len(names), patterns))


def group_indicator(groups: npt.NDArray[np.object_] | None) -> csr_array | None:
    """Return (G, N) with 1 if an item belongs to a group; None if every group is a single item."""
    return None if groups is None else cluster_table(groups, np.arange(len(groups)), len(groups))


def random_blocks(frequencies: Floats, blocks: int) -> csr_array:
    """Assign the items to blocks of equal size at random, (blocks, P), so each block is a sample of all items."""
    pattern_of_item = np.random.default_rng(0).permutation(
        np.repeat(np.arange(frequencies.size), frequencies.astype(np.int64))
    )
    block_of_item = np.arange(pattern_of_item.size) % blocks
    return indicator_matrix(block_of_item, pattern_of_item, (blocks, frequencies.size))


def merge_clusters(clusters: csr_array, blocks: int) -> csr_array:
    """Merge clusters into this number of blocks."""
    block_of_cluster = np.arange(clusters.shape[0]) % blocks
    return indicator_matrix(block_of_cluster, np.arange(block_of_cluster.size)) @ clusters


# Distinct patterns of the annotators' labels, one judge's verdict and the gold label of an item.
#
# Every statistic of a judge with categorical verdicts is a function of these rows, so a bootstrap over items draws
# distinct rows, as in `patterns`.


@dataclass(frozen=True)
class LabelRows:
    """P rows of the labels of R annotators on K categories; -1 is a missing label."""

    codes: Codes
    """(P, R)"""
    n_categories: int

    @cached_property
    def counts(self) -> Floats:
        """(P, K): the number of annotators who chose each category."""
        return category_counts(self.codes, self.n_categories)

    @cached_property
    def majority(self) -> Codes:
        """(P,): the category that more than half of the annotators chose; -1 if there is none."""
        return majority_category(self.counts)

    def compared(self, used: Bools) -> tuple[Ints, Ints, Codes, Codes]:
        """Return the labels in some rows (P,) whose others in the row have a majority.

        Their rows, annotators and categories, and the majority category of the others, (M,) each.
        """
        rows, raters = np.nonzero((self.codes >= 0) & used[:, None])
        codes, others = self.codes[rows, raters], self.counts[rows]
        others[np.arange(rows.size), codes] -= 1
        majorities = majority_category(others)
        found = majorities >= 0
        return rows[found], raters[found], codes[found], majorities[found]

    def count_raters(self, used: Bools) -> int:
        """Return the number of annotators with a label in a row of the mask (P,)."""
        return int(np.count_nonzero((self.codes[used] >= 0).any(axis=0)))


@dataclass(frozen=True)
class JudgedPatterns:
    """P distinct rows of R annotators, a judge and gold on K categories; -1 is a missing label or no verdict."""

    labels: LabelRows
    judge: Codes
    """(P,)"""
    gold: Codes
    """(P,)"""
    names: tuple[str, ...]
    """The annotators' names."""
    units: Units

    def count_items(self, used: Bools) -> int:
        """Return the number of items whose pattern is in the mask (P,)."""
        return int(self.units.frequencies[used].sum())

    def with_shared_labels(self) -> "JudgedPatterns":
        """Return the same, where patterns with at least two labels stand for all labelled items of a design."""
        draw = self.units.draw
        if draw is None:
            return self
        shared = (self.labels.counts.sum(axis=1) > 1) & (self.judge >= 0)
        units = replace(self.units, draw=draw.calibrated(self.units.frequencies, shared))
        return replace(self, units=units)


def judged_patterns(ratings: Ratings, judge: Codes, gold: Codes) -> JudgedPatterns:
    """Combine the annotators' labels of N items with the judge's verdicts (N,) and the gold labels (N,)."""
    codes = np.column_stack([ratings.codes, judge, gold]).astype(np.int16)
    rows, units = distinct_units(codes, ratings.groups, ratings.sample)
    codes, judge, gold = rows[:, :-2], rows[:, -2], rows[:, -1]
    labels = LabelRows(codes, len(ratings.categories))
    return JudgedPatterns(labels, judge.astype(np.int16), gold.astype(np.int16), ratings.raters, units)
