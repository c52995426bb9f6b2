"""The human ceiling: how well each annotator agrees with the others, and the judge on the same test.

For each annotator in turn the reference is the majority of the others, on the items that this annotator labelled, if
the others have a majority and the judge gave a verdict. The annotator and the judge are scored against the same
reference on the same items; the shares over all labels are the ceiling and the judge's value. In a mean over
annotators, one with three labels would have the weight of one with three hundred. A judge near the ceiling agrees with
annotators as well as they do with each other.
"""

from dataclasses import dataclass

import numpy as np

from core.statistics.data.arrays import Bools
from core.statistics.data.judged_patterns import JudgedPatterns
from core.statistics.measures.statistic import Statistic, difference, pooled_match_rate


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
    compared, frequencies = patterns.labels.compared, patterns.units.frequencies
    tested = (patterns.judge[compared.rows] >= 0) & (frequencies[compared.rows] > 0)
    rows, references = compared.rows[tested], compared.majorities[tested]
    if not rows.size:
        return None
    annotators, judge = (
        pooled_match_rate(codes == references, rows, frequencies.size)
        for codes in (compared.codes[tested], patterns.judge[rows])
    )
    used = np.zeros(frequencies.size, bool)
    used[rows] = True
    number = patterns.labels.count_compared_raters(used)
    return Ceiling(annotators, judge, difference(judge, annotators), used, number, int(frequencies[rows].sum()))
