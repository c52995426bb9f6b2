"""People, one judge and the gold on the same items, as distinct patterns.

Everything said of a judge on categories is a function of one item's row (what each person chose,
what the judge chose, what is gold), so a bootstrap over items draws distinct rows, as in `patterns`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.statistics.data.arrays import Bools, Codes, Floats, ratio
from core.statistics.data.patterns import Units, patterns_of, tally
from core.statistics.data.ratings import Ratings
from core.statistics.measures import pairwise
from core.statistics.measures.kernels import Statistic


@dataclass(frozen=True)
class Panel:
    """Distinct rows of P patterns, R people and K categories; -1 is missing or no verdict."""

    people: Codes
    """(P, R)"""
    judge: Codes
    """(P,)"""
    gold: Codes
    """(P,)"""
    names: tuple[str, ...]
    kinds: int
    units: Units

    @property
    def counts(self) -> Floats:
        """(P, K): how many people chose each category."""
        return tally(self.people, self.kinds)

    @property
    def majority(self) -> Codes:
        """(P,): what more than half of the people chose; -1 where nothing."""
        return majority(self.counts)

    def others(self, rater: int) -> Codes:
        """(P,): what more than half of the other people chose, where this one judged too."""
        theirs = self.people.copy()
        theirs[:, rater] = -1
        return np.where(self.people[:, rater] >= 0, majority(tally(theirs, self.kinds)), -1)

    def items(self, used: Bools) -> int:
        """The number of items whose pattern is in the mask (P,)."""
        return int(self.units.times[used].sum())


def panel(people: Ratings, judge: Codes, gold: Codes) -> Panel:
    """The judge's verdicts (N,) and the gold (N,) beside the people's labels of N items."""
    codes = np.column_stack([people.codes, judge, gold]).astype(np.int16)
    names = (*people.raters, "judge", "gold")
    together = Ratings(people.items, names, codes, people.categories, people.groups)
    found = patterns_of(together)
    rows = found.codes
    return Panel(rows[:, :-2], rows[:, -2], rows[:, -1], people.raters, len(people.categories), found.units)


def majority(counts: Floats) -> Codes:
    """What more than half chose, from counts (..., K); -1 for a tie, a plurality or nobody."""
    most = counts.argmax(axis=-1)
    clear = 2 * counts.max(axis=-1, initial=0) > counts.sum(axis=-1)
    return np.where(clear, most, -1).astype(np.int16)


def hits(chosen: Codes, reference: Codes, used: Bools) -> Statistic:
    """The share of the items used on which the two are equal."""
    features = np.column_stack([used & (chosen == reference), used]).astype(float)

    def value(weights: Floats) -> Floats:
        sums = weights @ features
        return ratio(sums[:, 0], sums[:, 1])

    return value


def kappa(chosen: Codes, reference: Codes, kinds: int, weighting: Floats | None = None) -> Statistic:
    """Cohen's kappa of the two on the items that have both."""
    return pairwise.cohen_of(np.column_stack([chosen, reference]), kinds, weighting)


def mean_of(parts: Sequence[Statistic]) -> Statistic:
    """The mean of several statistics, of those that are defined."""

    def value(weights: Floats) -> Floats:
        if not parts:
            return np.full(weights.shape[0], np.nan)
        return pairwise.mean_defined(np.stack([part(weights) for part in parts], axis=-1))

    return value


def difference(one: Statistic, other: Statistic) -> Statistic:
    """One less the other, on the same resamples."""

    def value(weights: Floats) -> Floats:
        return one(weights) - other(weights)

    return value
