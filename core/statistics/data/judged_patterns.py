"""Distinct patterns of the annotators' labels, one judge's verdict and the gold label of an item.

Every statistic of a judge with categorical verdicts is a function of these rows, so a bootstrap over items draws
distinct rows, as in `patterns`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.statistics.data.arrays import Bools, Codes, Floats
from core.statistics.data.patterns import Units, category_counts, distinct_units, majority_category
from core.statistics.data.ratings import Ratings


@dataclass(frozen=True)
class JudgedPatterns:
    """P distinct rows of R annotators, a judge and gold on K categories; -1 is a missing label or no verdict."""

    annotators: Codes
    """(P, R)"""
    judge: Codes
    """(P,)"""
    gold: Codes
    """(P,)"""
    names: tuple[str, ...]
    """The annotators' names."""
    n_categories: int
    units: Units

    @cached_property
    def counts(self) -> Floats:
        """(P, K): the number of annotators who chose each category."""
        return category_counts(self.annotators, self.n_categories)

    @property
    def majority(self) -> Codes:
        """(P,): the category that more than half of the annotators chose; -1 if there is none."""
        return majority_category(self.counts)

    @cached_property
    def majorities_of_others(self) -> Codes:
        """(P, R): for each label of an annotator the majority category of the others; -1 for none, or no label."""
        rows, raters = np.nonzero(self.annotators >= 0)
        others = self.counts[rows]
        others[np.arange(rows.size), self.annotators[rows, raters]] -= 1
        majorities = np.full(self.annotators.shape, -1, np.int16)
        majorities[rows, raters] = majority_category(others)
        return majorities

    def count_items(self, used: Bools) -> int:
        """Return the number of items whose pattern is in the mask (P,)."""
        return int(self.units.frequencies[used].sum())


def judged_patterns(ratings: Ratings, judge: Codes, gold: Codes) -> JudgedPatterns:
    """Combine the annotators' labels of N items with the judge's verdicts (N,) and the gold labels (N,)."""
    codes = np.column_stack([ratings.codes, judge, gold]).astype(np.int16)
    names = (*ratings.raters, "judge", "gold")
    rows, units = distinct_units(Ratings(ratings.items, names, codes, ratings.categories, ratings.groups))
    return JudgedPatterns(rows[:, :-2], rows[:, -2], rows[:, -1], ratings.raters, len(ratings.categories), units)
