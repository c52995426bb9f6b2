"""The human ceiling: how well each annotator agrees with the others, and the judge on the same test.

For each annotator in turn the reference is the majority of the others, on the items that this annotator labelled, if
the others have a majority and the judge gave a verdict. The annotator and the judge are scored against the same
reference on the same items; the means over annotators are the ceiling and the judge's value. A judge near the ceiling
agrees with annotators as well as they do with each other.
"""

from dataclasses import dataclass

import numpy as np

from core.statistics.data.arrays import Bools
from core.statistics.data.judged_patterns import JudgedPatterns
from core.statistics.measures.statistic import Statistic, difference, match_rate, mean_statistic


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
    annotator_rates, judge_rates, comparisons = [], [], 0
    used = np.zeros(patterns.judge.size, bool)
    for rater in range(patterns.annotators.shape[1]):
        reference = patterns.majority_of_others(rater)
        tested = (reference >= 0) & (patterns.judge >= 0)
        if patterns.count_items(tested):
            annotator_rates.append(match_rate(patterns.annotators[:, rater], reference, tested))
            judge_rates.append(match_rate(patterns.judge, reference, tested))
            comparisons += patterns.count_items(tested)
            used |= tested
    if not annotator_rates:
        return None
    annotators, judge = mean_statistic(annotator_rates), mean_statistic(judge_rates)
    return Ceiling(annotators, judge, difference(judge, annotators), used, len(annotator_rates), comparisons)
