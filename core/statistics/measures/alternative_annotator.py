"""The alternative annotator test of Calderon, Reichart & Dror 2025 ("alt-test").

May a judge stand in for an annotator? Each annotator h is left out in turn. On each item of h the
judge's and h's labels are scored against the other annotators' labels. The judge has the advantage
where it scores at least as well: rho_f, "advantage probability"; h likewise: rho_h. The judge wins
against h if the one-sided t-test rejects rho_f <= rho_h - epsilon, at a false discovery rate of q
over all annotators by Benjamini & Yekutieli 2001 (the tests share their annotators, so they depend).
The winning rate omega is the share of annotators it wins against; from 0.5 on it passes.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from core.statistics.data.arrays import Bools, Floats, ratio
from core.statistics.data.panel import mean_of
from core.statistics.data.patterns import Units
from core.statistics.measures.comparison import corrected
from core.statistics.measures.kernels import Statistic

EPSILON = 0.15
"""What the authors take for skilled annotators; 0.2 for experts, 0.1 for crowd workers."""
FEWEST_ITEMS = 30
"""Annotators with fewer items are not tested, as in the authors' code."""
RATE = 0.05


@dataclass(frozen=True)
class Contest:
    """The judge against one annotator."""

    rater: str
    items: int
    advantage: float
    """rho_f: the share of items where the judge is at least as near to the others."""
    p: float | None
    """Of the t-test; None where every item comes out alike, so that a t-test claims certainty."""
    won: bool


@dataclass(frozen=True)
class AlternativeTest:
    """The test of one judge."""

    contests: tuple[Contest, ...]
    skipped: tuple[str, ...]
    """Annotators with fewer than 30 items that others judged too."""
    advantage: Statistic
    """Mean of rho_f over annotators, as a function of weights (B, N)."""
    units: Units
    used: Bools

    @property
    def winning_rate(self) -> float | None:
        """omega; None where nobody could be tested."""
        if not self.contests:
            return None
        return sum(contest.won for contest in self.contests) / len(self.contests)


def alternative_test(
    people: Floats,
    judge: Floats,
    names: tuple[str, ...],
    *,
    numeric: bool,
    units: Units,
    epsilon: float = EPSILON,
    fewest: int = FEWEST_ITEMS,
) -> AlternativeTest:
    """Test a judge's labels (N,) against people's (N, R), nan missing.

    Categories are scored by the share of the others who said the same, numbers by minus the root
    mean squared difference to them. `units` tells how often each of the N rows occurs.
    """
    contests, parts, skipped = [], [], []
    used = np.zeros(judge.size, bool)
    for rater, name in enumerate(names):
        tested, ours, theirs = scores(people, judge, rater, numeric)
        items = int(units.times[tested].sum())
        if items < fewest:
            skipped.append(name)
            continue
        contests.append(contest(name, ours[tested], theirs[tested], units.times[tested], epsilon))
        parts.append(advantage(ours, theirs, tested))
        used |= tested
    return AlternativeTest(tuple(decided(contests)), tuple(skipped), mean_of(parts), units, used)


def scores(people: Floats, judge: Floats, rater: int, numeric: bool) -> tuple[Bools, Floats, Floats]:
    """Where the test can be made (N,), and the score of the judge and of the rater there, (N,) each."""
    others = np.delete(people, rater, axis=1)
    there = ~np.isnan(others)
    tested = ~np.isnan(judge) & ~np.isnan(people[:, rater]) & there.any(axis=1)
    ours = score(judge, others, there, numeric)
    return tested, ours, score(people[:, rater], others, there, numeric)


def score(chosen: Floats, others: Floats, there: Bools, numeric: bool) -> Floats:
    """How near a label is to the others' labels, (N,); higher is nearer."""
    if numeric:
        apart = np.where(there, (others - chosen[:, None]) ** 2, 0)
        return -ratio(apart.sum(axis=1), there.sum(axis=1))
    same = there & (others == chosen[:, None])
    return ratio(same.sum(axis=1), there.sum(axis=1))


def contest(name: str, ours: Floats, theirs: Floats, times: Floats, epsilon: float) -> Contest:
    """The t-test of mean(1[theirs >= ours] - 1[ours >= theirs]) < epsilon."""
    lost = (theirs >= ours).astype(float) - (ours >= theirs)
    n = times.sum()
    mean = (times * lost).sum() / n
    variance = (times * (lost - mean) ** 2).sum() / (n - 1)
    p = None
    if variance > 0:
        p = float(stdtr(n - 1, (mean - epsilon) / np.sqrt(variance / n)))
    held = float((times * (ours >= theirs)).sum() / n)
    return Contest(name, int(n), held, p, won=p is None and bool(mean < epsilon))


def decided(contests: list[Contest]) -> list[Contest]:
    """The contests with their winners, by Benjamini-Yekutieli.

    Where all items came out alike the t-test has p = 0 or 1 and enters the correction as that.
    """
    if not contests:
        return []
    p = [float(not c.won) if c.p is None else c.p for c in contests]
    adjusted = corrected(p, "benjamini-yekutieli")
    return [
        Contest(c.rater, c.items, c.advantage, c.p, won=bool(q <= RATE))
        for c, q in zip(contests, adjusted, strict=True)
    ]


def advantage(ours: Floats, theirs: Floats, tested: Bools) -> Statistic:
    """The share of the tested items where ours is at least theirs."""
    features = np.column_stack([tested & (ours >= theirs), tested]).astype(float)

    def value(weights: Floats) -> Floats:
        sums = weights @ features
        return ratio(sums[:, 0], sums[:, 1])

    return value
