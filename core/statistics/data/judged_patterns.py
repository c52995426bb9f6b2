"""Distinct patterns of the annotators' labels, one judge's verdict and the gold label of an item.

Every statistic of a judge with categorical verdicts is a function of these rows, so a bootstrap over items draws
distinct rows, as in `patterns`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.statistics.data.arrays import Bools, Codes, Floats, Ints, ratio
from core.statistics.data.patterns import Units, category_counts, distinct_units, majority_category
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

    def count_raters(self, used: Bools) -> int:
        """Return the number of annotators with a label in a row of the mask (P,)."""
        rows, raters = self.labelled
        return int(np.count_nonzero(np.bincount(raters[used[rows]])))

    @cached_property
    def compared(self) -> ComparedLabels:
        """The labels whose others in the row have a majority."""
        rows, raters = np.nonzero(self.majorities_of_others >= 0)
        return ComparedLabels(rows, raters, self.codes[rows, raters], self.majorities_of_others[rows, raters])


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


def judged_patterns(ratings: Ratings, judge: Codes, gold: Codes, other: JudgedPatterns | None = None) -> JudgedPatterns:
    """Combine the annotators' labels of N items with the judge's verdicts (N,) and the gold labels (N,).

    What is already computed about the annotators' labels is taken from the patterns of another judge, if their rows of
    labels are the same.
    """
    codes = np.column_stack([ratings.codes, judge, gold]).astype(np.int16)
    names = (*ratings.raters, "judge", "gold")
    rows, units = distinct_units(Ratings(ratings.items, names, codes, ratings.categories, ratings.groups))
    labels = LabelRows(rows[:, :-2], len(ratings.categories))
    if other is not None and has_same_rows(other.labels, labels):
        labels = other.labels
    return JudgedPatterns(labels, rows[:, -2], rows[:, -1], ratings.raters, units)


def has_same_rows(labels: LabelRows, other: LabelRows) -> bool:
    """Return whether all labels and the number of categories are equal."""
    return labels.n_categories == other.n_categories and np.array_equal(labels.codes, other.codes)
