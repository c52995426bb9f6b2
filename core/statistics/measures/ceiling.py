"""The human ceiling: how well each person does against the others, beside the judge on the same test.

For each person in turn the reference is the majority of the others, on the items that person judged
where the others have a majority and the judge gave a verdict. The person and the judge are scored
against that same reference on those same items; the mean over people is the ceiling and what the
judge reaches. A judge near its ceiling agrees with people as well as people do.
"""

from dataclasses import dataclass

from core.statistics.data.arrays import Bools
from core.statistics.data.panel import Panel, difference, hits, mean_of
from core.statistics.measures.kernels import Statistic


@dataclass(frozen=True)
class Ceiling:
    """What people reach, what the judge reaches, and the judge less people."""

    people: Statistic
    judge: Statistic
    above: Statistic
    used: Bools
    """(P,): patterns that stand in the test of at least one person."""
    raters: int
    tests: int
    """Labels of one person that were compared with the others'."""


def ceiling(panel: Panel) -> Ceiling | None:
    """The leave-one-annotator-out test; None where nobody can be left out."""
    people, judges, tests = [], [], 0
    used = panel.judge < -1
    for rater in range(panel.people.shape[1]):
        reference = panel.others(rater)
        tested = (reference >= 0) & (panel.judge >= 0)
        if panel.items(tested):
            people.append(hits(panel.people[:, rater], reference, tested))
            judges.append(hits(panel.judge, reference, tested))
            tests += panel.items(tested)
            used |= tested
    if not people:
        return None
    of_people, of_judge = mean_of(people), mean_of(judges)
    return Ceiling(of_people, of_judge, difference(of_judge, of_people), used, len(people), tests)
