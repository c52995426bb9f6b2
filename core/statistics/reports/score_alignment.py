"""What is said of one judge whose verdicts are numbers: correlation with people, and its ceiling."""

from dataclasses import dataclass, replace

import numpy as np

from core.statistics import remarks
from core.statistics.data.arrays import Bools, Floats
from core.statistics.data.dataset import Joined, Judged, mean_of_people
from core.statistics.data.estimate import Estimate
from core.statistics.data.panel import difference, mean_of
from core.statistics.data.patterns import Units, distinct_scores
from core.statistics.measures import correlation, kernels
from core.statistics.measures.alternative_annotator import EPSILON, alternative_test
from core.statistics.measures.continuous import spearman
from core.statistics.measures.intervals import resample
from core.statistics.measures.kernels import Statistic
from core.statistics.measures.pairwise import FEWEST_FOR_CORRELATION
from core.statistics.reports.category_alignment import no_verdict, of_test


def of_scores(
    joined: Joined, judged: Judged, *, epsilon: float = EPSILON, resamples: int = 1000, seed: int = 0
) -> dict[str, Estimate]:
    """Everything said of a judge on numbers, by name; people's score is the mean of theirs."""
    judge = joined.numbers(np.where(judged.asked, judged.values, np.nan))
    people = joined.numbers(joined.labels)
    mean = mean_of_people(people)
    groups = joined.people.groups
    how = {"resamples": resamples, "seed": seed}
    found = dict(correlation.item_level(judge, mean, groups=groups, **how))
    if groups is not None and len(set(groups)) < len(groups):
        inside = correlation.group_level(judge, mean, groups, **how)
        found |= {f"{kind}_within_groups": one for kind, one in inside.items()}
    if joined.system is not None:
        between = correlation.system_level(judge, mean, joined.system, joined.item, **how)
        found |= {f"{kind}_between_systems": one for kind, one in between.items()}
    rows, units = distinct_scores(np.column_stack([people, judge]), groups)
    test = alternative_test(rows[:, :-1], rows[:, -1], joined.people.raters, numeric=True, units=units, epsilon=epsilon)
    asked = int(judged.asked.sum())
    raters = int((~np.isnan(people[~np.isnan(judge)])).any(axis=0).sum())
    return {
        "no_verdict_rate": no_verdict(judged),
        **{name: replace(one, items_there=asked, raters=raters) for name, one in found.items()},
        **ceiling(rows, units, asked, resamples, seed),
        **of_test(test, asked, resamples, seed),
    }


CEILING = ("human_ceiling_spearman", "judge_against_others_spearman", "judge_less_ceiling_spearman")


def ceiling(rows: Floats, units: Units, asked: int, resamples: int, seed: int) -> dict[str, Estimate]:
    """Spearman of each person with the mean of the others, and of the judge with the same means.

    From distinct rows (P, R + 1) of people's scores and the judge's, on the items that the person,
    another person and the judge all scored; averaged over people.
    """
    tests = [test for rater in range(rows.shape[1] - 1) if (test := left_out(rows, rater, units)) is not None]
    if not tests:
        reason = f"nobody shares {FEWEST_FOR_CORRELATION} items with another person and the judge"
        return dict.fromkeys(CEILING, Estimate(None, None, None, 0, asked, 0, 0, 0, reason))
    people, judge = mean_of([test.person for test in tests]), mean_of([test.judge for test in tests])
    family = kernels.together([people, judge, difference(judge, people)])
    items = int(units.times[np.any([test.tested for test in tests], axis=0)].sum())
    pairs = int(sum(units.times[test.tested].sum() for test in tests))
    note = f"mean over {len(tests)} people left out in turn"
    return {
        name: Estimate(
            one.value, one.low, one.high, items, asked, len(tests), pairs, one.dropped,
            remarks.of_a_judge(name, one.value, one.low, items, note),
        )
        for name, one in zip(CEILING, resample(family, units, resamples, seed), strict=True)
    }  # fmt: skip


@dataclass(frozen=True)
class LeftOut:
    """One person and the judge against the mean of the others."""

    person: Statistic
    judge: Statistic
    tested: Bools


def left_out(rows: Floats, rater: int, units: Units) -> LeftOut | None:
    """The test of one person; None where fewer than three items can be tested."""
    others = mean_of_people(np.delete(rows[:, :-1], rater, axis=1))
    tested = ~np.isnan(others) & ~np.isnan(rows[:, rater]) & ~np.isnan(rows[:, -1])
    if units.times[tested].sum() < FEWEST_FOR_CORRELATION:
        return None
    person, judge = (spearman(rows[tested, side], others[tested]) for side in (rater, -1))
    return LeftOut(inside(person, tested), inside(judge, tested), tested)


def inside(statistic: Statistic, mask: Bools) -> Statistic:
    """A statistic of some of the rows as one of all."""

    def value(weights: Floats) -> Floats:
        return statistic(weights[:, mask])

    return value
