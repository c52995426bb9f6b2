"""The alternative annotator test of Calderon, Reichart & Dror 2025 ("alt-test").

It tests whether a judge may replace an annotator. Each annotator h is left out in turn. On each item of h the labels
of the judge and of h are scored against the other annotators' labels. The judge has the advantage if it scores at
least as well; rho_f, the "advantage probability", is the share of such items, and rho_h the same share for h. The judge
wins against h if the one-sided t-test rejects rho_f <= rho_h - epsilon, at a false discovery rate of q over all
annotators by Benjamini & Yekutieli 2001, because the tests share their annotators and so depend on each other. The
winning rate omega is the share of annotators that the judge wins against; the judge passes from 0.5 on.
"""

from dataclasses import dataclass, replace

import numpy as np

from core.statistics.data.arrays import Bools, Floats, ratio
from core.statistics.data.distributions import students_t_cdf
from core.statistics.data.patterns import Units
from core.statistics.measures.comparison import correct_p_values
from core.statistics.measures.statistic import Statistic, mean_statistic, weighted_mean

EPSILON = 0.15
"""The authors' value for skilled annotators; 0.2 for experts, 0.1 for crowd workers."""
MIN_ITEMS = 30
"""Annotators with fewer items are not tested, as in the authors' code: the t-test assumes a normal mean."""
FALSE_DISCOVERY_RATE = 0.05


@dataclass(frozen=True)
class AnnotatorTest:
    """The test of the judge against one annotator."""

    rater: str
    items: int
    advantage_probability: float
    """rho_f: the share of items where the judge is at least as close to the other annotators."""
    p: float | None
    """Of the t-test; None if the difference is the same on every item, so the test has no variance."""
    won: bool


@dataclass(frozen=True)
class AlternativeAnnotatorTest:
    """The test of one judge."""

    tests: tuple[AnnotatorTest, ...]
    skipped: tuple[str, ...]
    """Annotators with fewer than 30 items that others labelled too."""
    mean_advantage: Statistic
    """Mean of rho_f over annotators, as a function of weights (B, N)."""
    units: Units
    used: Bools

    @property
    def winning_rate(self) -> float | None:
        """omega; None if no annotator could be tested."""
        if not self.tests:
            return None
        return sum(test.won for test in self.tests) / len(self.tests)


def run_alternative_annotator_test(
    annotators: Floats,
    judge: Floats,
    names: tuple[str, ...],
    *,
    numeric: bool,
    units: Units,
    epsilon: float = EPSILON,
    min_items: int = MIN_ITEMS,
) -> AlternativeAnnotatorTest:
    """Test a judge's labels (N,) against the annotators' (N, R), nan missing.

    Categories are scored by the share of the other annotators with the same label, numbers by minus the mean squared
    difference to theirs. `units` gives how often each of the N rows occurs.
    """
    tests, advantages, skipped = [], [], []
    used = np.zeros(judge.size, bool)
    for rater, name in enumerate(names):
        tested, judge_scores, rater_scores = closeness_to_others(annotators, judge, rater, numeric)
        frequencies = units.frequencies[tested]
        if int(frequencies.sum()) < min_items:
            skipped.append(name)
            continue
        tests.append(annotator_test(name, judge_scores[tested], rater_scores[tested], frequencies, epsilon))
        advantages.append(weighted_mean((judge_scores >= rater_scores).astype(float), tested))
        used |= tested
    return AlternativeAnnotatorTest(
        tuple(decide_winners(tests)), tuple(skipped), mean_statistic(advantages), units, used
    )


def closeness_to_others(annotators: Floats, judge: Floats, rater: int, numeric: bool) -> tuple[Bools, Floats, Floats]:
    """Return where the test can be made (N,), and the judge's and the rater's closeness to the others, (N,) each."""
    labelled = np.flatnonzero(~np.isnan(judge) & ~np.isnan(annotators[:, rater]))
    others = np.delete(annotators[labelled], rater, axis=1)
    present = ~np.isnan(others)
    tested, judge_scores, rater_scores = np.zeros(judge.size, bool), *np.full((2, judge.size), np.nan)
    tested[labelled] = present.any(axis=1)
    judge_scores[labelled] = closeness(judge[labelled], others, present, numeric)
    rater_scores[labelled] = closeness(annotators[labelled, rater], others, present, numeric)
    return tested, judge_scores, rater_scores


def closeness(labels: Floats, others: Floats, present: Bools, numeric: bool) -> Floats:
    """Return how close labels (N,) are to the others' labels (N, R - 1); higher is closer."""
    if numeric:
        squared = np.where(present, (others - labels[:, None]) ** 2, 0)
        return -ratio(squared.sum(axis=1), present.sum(axis=1))
    equal = present & (others == labels[:, None])
    return ratio(equal.sum(axis=1), present.sum(axis=1))


def annotator_test(
    name: str, judge_scores: Floats, rater_scores: Floats, frequencies: Floats, epsilon: float
) -> AnnotatorTest:
    """Test mean(1[rater >= judge] - 1[judge >= rater]) < epsilon by a one-sided t-test."""
    deficit = (rater_scores >= judge_scores).astype(float) - (judge_scores >= rater_scores)
    n = frequencies.sum()
    mean = (frequencies * deficit).sum() / n
    variance = (frequencies * (deficit - mean) ** 2).sum() / (n - 1)
    p = None
    if variance > 0:
        p = students_t_cdf(n - 1, (mean - epsilon) / np.sqrt(variance / n))
    advantage = float((frequencies * (judge_scores >= rater_scores)).sum() / n)
    return AnnotatorTest(name, int(n), advantage, p, won=p is None and bool(mean < epsilon))


def decide_winners(tests: list[AnnotatorTest]) -> list[AnnotatorTest]:
    """Return the tests with the winners after the Benjamini-Yekutieli correction.

    A test without variance has p = 0 or 1 and enters the correction as such.
    """
    if not tests:
        return []
    p = [float(not test.won) if test.p is None else test.p for test in tests]
    corrected = correct_p_values(p, "benjamini-yekutieli")
    return [replace(test, won=bool(q <= FALSE_DISCOVERY_RATE)) for test, q in zip(tests, corrected, strict=True)]
