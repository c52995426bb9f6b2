"""Distinct patterns of the annotators' labels, one judge's verdict and the gold label of an item.

Every statistic of a judge with categorical verdicts is a function of these rows, so a bootstrap over items draws
distinct rows, as in `patterns`. Most statistics ignore which annotator chose which category: they need even fewer rows,
see `JudgedPatterns.merged`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.statistics.data.arrays import Bools, Codes, Floats, Ints, ratio
from core.statistics.data.columns import number_by_appearance
from core.statistics.data.patterns import (
    MERGE_FROM,
    Units,
    category_counts,
    distinct_counts,
    distinct_units,
    has_keys,
    item_units,
    majority_category,
)
from core.statistics.data.ratings import Ratings


@dataclass(frozen=True)
class SharedLabels:
    """The M labels of rows with at least two labels, in the order of the annotators, then of the rows."""

    raters: Ints
    rows: Ints
    codes: Codes
    others: Floats
    """(M,): the number of the other labels in the row."""
    same: Floats
    """(M,): the share of the other labels in the row that are equal."""


@dataclass(frozen=True)
class ComparedLabels:
    """The M labels whose others in the row have a majority."""

    rows: Ints
    raters: Ints
    codes: Codes
    majorities: Codes
    """(M,): the majority category of the others."""


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

    @cached_property
    def shared(self) -> SharedLabels:
        """The labels that have another one in their row."""
        labelled = self.codes >= 0
        raters, rows = np.nonzero((labelled & (labelled.sum(axis=1) > 1)[:, None]).T)
        codes, others = self.codes[rows, raters], self.counts.sum(axis=1)[rows] - 1
        return SharedLabels(raters, rows, codes, others, ratio(self.counts[rows, codes] - 1, others))

    @cached_property
    def majorities_of_others(self) -> Codes:
        """(P, R): for each label of an annotator the majority category of the others; -1 for none, or no label."""
        rows, raters = self.labelled
        others = self.counts[rows]
        others[np.arange(rows.size), self.codes[rows, raters]] -= 1
        majorities = np.full(self.codes.shape, -1, np.int16)
        majorities[rows, raters] = majority_category(others)
        return majorities

    @cached_property
    def labelled(self) -> tuple[Ints, Ints]:
        """The rows and the annotators of all labels, (M,) each."""
        rows, raters = np.nonzero(self.codes >= 0)
        return rows, raters

    @cached_property
    def has_label(self) -> Bools:
        """(P, R): whether each annotator has a label in the row."""
        return np.asarray(self.codes >= 0)

    @cached_property
    def has_compared(self) -> Bools:
        """(P, R): whether each annotator has one of the `compared` labels in the row."""
        return np.asarray(self.majorities_of_others >= 0)

    def count_raters(self, used: Bools) -> int:
        """Return the number of annotators with a label in a row of the mask (P,)."""
        return int(np.count_nonzero(self.has_label[used].any(axis=0)))

    def count_compared_raters(self, used: Bools) -> int:
        """Return the number of annotators with one of the `compared` labels in a row of the mask (P,)."""
        return int(np.count_nonzero(self.has_compared[used].any(axis=0)))

    @cached_property
    def by_counts(self) -> tuple[Ints, Ints]:
        """The first row with each distinct row of `counts`, and the number of the distinct one of each row (P,)."""
        return distinct_counts(self.counts, self.codes.shape[1])

    @cached_property
    def compared(self) -> ComparedLabels:
        """The labels whose others in the row have a majority."""
        rows, raters = np.nonzero(self.majorities_of_others >= 0)
        return ComparedLabels(rows, raters, self.codes[rows, raters], self.majorities_of_others[rows, raters])


@dataclass(frozen=True)
class MergedLabelRows(LabelRows):
    """P of the rows of others, each for all those with equal counts and, of a judge, an equal verdict and gold."""

    merged: LabelRows
    """The Q rows that are merged."""
    places: Ints
    """(Q,): the row that each of them is now."""

    @cached_property
    def has_label(self) -> Bools:
        """(P, R): whether each annotator has a label in one of the merged rows."""
        return self._in_any(*self.merged.labelled)

    @cached_property
    def has_compared(self) -> Bools:
        """(P, R): whether each annotator has one of the `compared` labels in one of the merged rows."""
        return self._in_any(self.merged.compared.rows, self.merged.compared.raters)

    def _in_any(self, rows: Ints, raters: Ints) -> Bools:
        found = np.zeros(self.codes.shape, bool)
        found[self.places[rows], raters] = True
        return found


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

    @property
    def annotators(self) -> Codes:
        """(P, R)"""
        return self.labels.codes

    @property
    def n_categories(self) -> int:
        """K"""
        return self.labels.n_categories

    @property
    def counts(self) -> Floats:
        """(P, K): the number of annotators who chose each category."""
        return self.labels.counts

    @property
    def majority(self) -> Codes:
        """(P,): the category that more than half of the annotators chose; -1 if there is none."""
        return self.labels.majority

    @property
    def majorities_of_others(self) -> Codes:
        """(P, R): for each label of an annotator the majority category of the others; -1 for none, or no label."""
        return self.labels.majorities_of_others

    def count_items(self, used: Bools) -> int:
        """Return the number of items whose pattern is in the mask (P,)."""
        return int(self.units.frequencies[used].sum())

    @cached_property
    def merged(self) -> "JudgedPatterns":
        """The same data for statistics that ignore which annotator chose which category; few or clusters: unchanged.

        Their values and their resamples are those of these patterns: `merge_equal_rows` merges both in the same order.
        """
        if self.units.clusters is not None or self.units.frequencies.size <= MERGE_FROM:
            return self
        first, counts = self.labels.by_counts
        base = self.n_categories + 1  # of the codes from -1 on
        places, keys = number_by_appearance((counts * base + self.judge + 1) * base + self.gold + 1)
        row, codes = np.divmod(keys, base**2)
        judge, gold = np.divmod(codes, base)
        labels = MergedLabelRows(self.labels.codes[first[row]], self.n_categories, self.labels, places)
        units = Units(np.bincount(places, self.units.frequencies, minlength=keys.size).astype(float), merged=True)
        return JudgedPatterns(labels, _as_codes(judge - 1), _as_codes(gold - 1), self.names, units)


def _as_codes(numbers: Ints | Codes) -> Codes:
    return numbers.astype(np.int16)


def judged_patterns(ratings: Ratings, judge: Codes, gold: Codes, other: JudgedPatterns | None = None) -> JudgedPatterns:
    """Combine the annotators' labels of N items with the judge's verdicts (N,) and the gold labels (N,).

    What is already computed about the annotators' labels is taken from the patterns of another judge, if their rows of
    labels are the same.
    """
    names = (*ratings.raters, "judge", "gold")
    if has_keys(len(names), len(ratings.categories)):
        codes = np.column_stack([ratings.codes, judge, gold]).astype(np.int16)
        rows, units = distinct_units(Ratings(ratings.items, names, codes, ratings.categories, ratings.groups))
        codes, judge, gold = rows[:, :-2], rows[:, -2], rows[:, -1]
    else:
        codes, units = ratings.codes, item_units(ratings)
    labels = LabelRows(codes, len(ratings.categories))
    if other is not None and has_same_rows(other.labels, labels):
        labels = other.labels
    return JudgedPatterns(labels, _as_codes(judge), _as_codes(gold), ratings.raters, units)


def has_same_rows(labels: LabelRows, other: LabelRows) -> bool:
    """Return whether all labels and the number of categories are equal."""
    if labels.n_categories != other.n_categories:
        return False
    return labels.codes is other.codes or np.array_equal(labels.codes, other.codes)
