"""Distinct patterns of the annotators' labels, one judge's verdict and the gold label of an item.

Every statistic of a judge with categorical verdicts is a function of these rows, so a bootstrap over items draws
distinct rows, as in `patterns`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.statistics.data.arrays import Bools, Codes, Floats
from core.statistics.data.patterns import Units, category_counts, distinct_patterns, majority_category
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

    def majority_of_others(self, rater: int) -> Codes:
        """Return the majority category of the other annotators, (P,), for patterns that this annotator labelled too."""
        own = self.annotators[:, rater]
        labelled = np.flatnonzero(own >= 0)
        others = self.counts[labelled]
        others[np.arange(labelled.size), own[labelled]] -= 1
        majority = np.full(own.size, -1, np.int16)
        majority[labelled] = majority_category(others)
        return majority

    def count_items(self, used: Bools) -> int:
        """Return the number of items whose pattern is in the mask (P,)."""
        return int(self.units.frequencies[used].sum())


def judged_patterns(ratings: Ratings, judge: Codes, gold: Codes) -> JudgedPatterns:
    """Combine the annotators' labels of N items with the judge's verdicts (N,) and the gold labels (N,)."""
    codes = np.column_stack([ratings.codes, judge, gold]).astype(np.int16)
    names = (*ratings.raters, "judge", "gold")
    patterns = distinct_patterns(Ratings(ratings.items, names, codes, ratings.categories, ratings.groups))
    rows = patterns.codes
    return JudgedPatterns(
        rows[:, :-2], rows[:, -2], rows[:, -1], ratings.raters, len(ratings.categories), patterns.units
    )
