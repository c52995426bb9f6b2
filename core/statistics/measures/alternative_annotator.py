"""The alternative annotator test of Calderon, Reichart & Dror 2025 ("alt-test").

It tests whether a judge may replace an annotator. Each annotator h is left out in turn. On each item of h the labels
of the judge and of h are scored against the other annotators' labels. The judge has the advantage if it scores at
least as well; rho_f, the "advantage probability", is the share of such items, and rho_h the same share for h. The judge
wins against h if the one-sided t-test rejects rho_f <= rho_h - epsilon, at a false discovery rate of q over all
annotators by Benjamini & Yekutieli 2001, because the tests share their annotators and so depend on each other. The
winning rate omega is the share of annotators that the judge wins against; the judge passes from 0.5 on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from core.statistics.data.arrays import Bools, Floats, Ints, mean_of_defined, ratio, students_t_cdf
from core.statistics.data.patterns import JudgedPatterns, Units
from core.statistics.data.sample import Draw
from core.statistics.measures.comparison import correct_p_values
from core.statistics.measures.designs import drawn_mean
from core.statistics.measures.resampling import Statistic, SumStatistic, difference, pooled_match_rate

# The authors' value for skilled annotators; 0.2 for experts, 0.1 for crowd workers.
EPSILON = 0.15
# Annotators with fewer items are not tested, as in the authors' code: the t-test assumes a normal mean.
MIN_ITEMS = 30
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
    most_items: int
    """The largest number of items that an annotator, another one and the judge have labelled."""
    advantages: tuple[tuple[Ints, Bools], ...]
    """For each tested annotator the rows of its items, and whether the judge is at least as close on each."""
    units: Units

    @cached_property
    def used(self) -> Bools:
        """(N,): whether each row is an item of a tested annotator."""
        used = np.zeros(self.units.frequencies.size, bool)
        for rows, _ in self.advantages:
            used[rows] = True
        return used

    @cached_property
    def mean_advantage(self) -> SumStatistic:
        """Mean of rho_f over annotators, as a function of weights (B, N)."""
        # As truth values, which need an eighth of the memory of numbers: few of them are true.
        features = np.zeros((2 * len(self.advantages), self.units.frequencies.size), bool)
        for number, (rows, is_close) in enumerate(self.advantages):
            features[2 * number, rows], features[2 * number + 1, rows] = is_close, True
        return SumStatistic(features.T, lambda sums: mean_of_defined(ratio(sums[:, ::2], sums[:, 1::2])))

    @property
    def winning_rate(self) -> float | None:
        """omega; None if no annotator could be tested."""
        if not self.tests:
            return None
        return sum(test.won for test in self.tests) / len(self.tests)


def run_on_patterns(patterns: JudgedPatterns, *, epsilon: float = EPSILON) -> AlternativeAnnotatorTest:
    """Test the judge of patterns by the share of the other annotators with the same category."""
    return run(patterns.names, pattern_closeness(patterns), patterns.units, epsilon)


def run(
    names: tuple[str, ...], closeness: "Iterator[Closeness]", units: Units, epsilon: float = EPSILON
) -> AlternativeAnnotatorTest:
    """Test a judge against annotators by how close both are to the others."""
    tests, advantages, skipped, most_items = [], [], [], 0
    for name, (rows, judge_scores, rater_scores) in zip(names, closeness, strict=True):
        frequencies = units.frequencies[rows]
        most_items = max(most_items, int(frequencies.sum()))
        if frequencies.sum() < MIN_ITEMS:
            skipped.append(name)
            continue
        draw = None
        if units.draw is not None:
            used = np.zeros(units.frequencies.size, bool)
            used[rows] = True
            draw = units.draw.calibrated(units.frequencies, used).select(rows)
        tests.append(annotator_test(name, judge_scores, rater_scores, frequencies, epsilon, draw))
        advantages.append((rows, judge_scores >= rater_scores))
    return AlternativeAnnotatorTest(tuple(decide_winners(tests)), tuple(skipped), most_items, tuple(advantages), units)


# The rows that an annotator, another one and the judge have labelled, (M,), and on each how close the judge and the
# annotator are to the other annotators; higher is closer.
Closeness = tuple[Ints, Floats, Floats]


def numeric_closeness(annotators: Floats, judge: Floats) -> Iterator[Closeness]:
    """Yield for each annotator (N, R) and the judge (N,) minus the mean squared differences to the others' numbers."""
    for rater in range(annotators.shape[1]):
        rows = np.flatnonzero(~np.isnan(judge) & ~np.isnan(annotators[:, rater]))
        others = np.delete(annotators[rows], rater, axis=1)
        present = ~np.isnan(others)
        has_others = present.any(axis=1)
        rows, others, present = rows[has_others], others[has_others], present[has_others]
        scores = [
            -ratio(np.where(present, (others - labels[:, None]) ** 2, 0).sum(axis=1), present.sum(axis=1))
            for labels in (judge[rows], annotators[rows, rater])
        ]
        yield rows, scores[0], scores[1]


def pattern_closeness(patterns: JudgedPatterns) -> Iterator[Closeness]:
    """Yield for each annotator the shares of the others with the same category, from the counts of each row."""
    counts, judge = patterns.labels.counts, patterns.judge
    size = counts.sum(axis=1)
    judged = (judge >= 0) & (size > 1)
    for codes in patterns.labels.codes.T:
        rows = np.flatnonzero(judged & (codes >= 0))
        others, own = size[rows] - 1, codes[rows]
        same = counts[rows, judge[rows]] - (judge[rows] == own)
        yield rows, ratio(same, others), ratio(counts[rows, own] - 1, others)


def annotator_test(
    name: str,
    judge_scores: Floats,
    rater_scores: Floats,
    frequencies: Floats,
    epsilon: float,
    draw: Draw | None = None,
) -> AnnotatorTest:
    """Test mean(1[rater >= judge] - 1[judge >= rater]) < epsilon by a one-sided t-test.

    `draw` is how the items of the rows were drawn, if a design is known.
    """
    deficit = (rater_scores >= judge_scores).astype(float) - (judge_scores >= rater_scores)
    n = frequencies.sum()
    counted = frequencies if draw is None else frequencies * draw.weights
    mean, degrees = (counted * deficit).sum() / counted.sum(), n - 1
    variance = (frequencies * (deficit - mean) ** 2).sum() / (n - 1) / n
    if draw is not None:
        _, variance, degrees = drawn_mean(deficit, frequencies, draw)
        degrees = max(1, degrees)
    p = None
    if variance > 0:
        p = students_t_cdf(degrees, (mean - epsilon) / np.sqrt(variance))
    advantage = float((counted * (judge_scores >= rater_scores)).sum() / counted.sum())
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


# The human ceiling: how well each annotator agrees with the others, and the judge on the same test.
#
# For each annotator in turn the reference is the majority of the others, on the items that this annotator labelled, if
# the others have a majority and the judge gave a verdict. The annotator and the judge are scored against the same
# reference on the same items; the shares over all labels are the ceiling and the judge's value. In a mean over
# annotators, one with three labels would have the weight of one with three hundred. A judge near the ceiling agrees
# with annotators as well as they do with each other.


@dataclass(frozen=True)
class Ceiling:
    """The annotators' accuracy, the judge's accuracy, and the judge's minus the annotators'."""

    annotators: Statistic
    judge: Statistic
    difference: Statistic
    used: Bools
    """(P,): patterns that are used in the test of at least one annotator."""
    raters: int
    comparisons: int
    """Labels of one annotator that were compared with the others'."""


def human_ceiling(patterns: JudgedPatterns) -> Ceiling | None:
    """Return the leave-one-annotator-out test; None if no annotator can be left out."""
    frequencies = patterns.units.frequencies
    rows, raters, own, references = patterns.labels.compared((patterns.judge >= 0) & (frequencies > 0))
    if not rows.size:
        return None
    annotators, judge = (
        pooled_match_rate(codes == references, rows, frequencies.size) for codes in (own, patterns.judge[rows])
    )
    used = np.zeros(frequencies.size, bool)
    used[rows] = True
    number = np.unique(raters).size
    return Ceiling(annotators, judge, difference(judge, annotators), used, number, int(frequencies[rows].sum()))
