"""What is said of one judge whose verdicts are numbers: correlation with people, and its ceiling."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from core.statistics import correlation, kernels, words
from core.statistics.alternative import alternative_test
from core.statistics.arrays import Bools, Floats
from core.statistics.continuous import spearman
from core.statistics.estimate import Estimate
from core.statistics.intervals import resample
from core.statistics.joined import Joined, Judged, mean_of_people
from core.statistics.kernels import Statistic
from core.statistics.panel import difference, mean_of
from core.statistics.patterns import distinct_scores
from core.statistics.verdicts import no_verdict, of_test


def of_scores(joined: Joined, judged: Judged, *, resamples: int = 1000, seed: int = 0) -> dict[str, Estimate]:
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
    test = alternative_test(rows[:, :-1], rows[:, -1], joined.people.raters, numeric=True, units=units)
    asked = int(judged.asked.sum())
    raters = int((~np.isnan(people[~np.isnan(judge)])).any(axis=0).sum())
    return {
        "no_verdict_rate": no_verdict(judged),
        **{name: replace(one, items_there=asked, raters=raters) for name, one in found.items()},
        **ceiling(people, judge, groups, asked, resamples, seed),
        **of_test(test, asked, resamples, seed),
    }


def ceiling(
    people: Floats,
    judge: Floats,
    groups: Sequence[str] | None,
    asked: int,
    resamples: int,
    seed: int,
) -> dict[str, Estimate]:
    """Spearman of each person with the mean of the others, and of the judge with the same means.

    On the items that the person, another person and the judge all scored; averaged over people.
    """
    rows, units = distinct_scores(np.column_stack([people, judge]), groups)
    theirs, ours, used, tests = [], [], np.zeros(rows.shape[0], bool), 0
    for rater in range(people.shape[1]):
        others = mean_of_people(np.delete(rows[:, :-1], rater, axis=1))
        tested = ~np.isnan(others) & ~np.isnan(rows[:, rater]) & ~np.isnan(rows[:, -1])
        items = int(units.times[tested].sum())
        if items >= correlation.FEWEST:
            theirs.append(inside(spearman(rows[tested, rater], others[tested]), tested))
            ours.append(inside(spearman(rows[tested, -1], others[tested]), tested))
            used, tests = used | tested, tests + items
    names = ("human_ceiling_spearman", "judge_against_others_spearman", "judge_less_ceiling_spearman")
    if not theirs:
        reason = f"nobody shares {correlation.FEWEST} items with another person and the judge"
        return dict.fromkeys(names, Estimate(None, None, None, 0, asked, 0, 0, 0, reason))
    both = mean_of(theirs), mean_of(ours)
    family = kernels.together([*both, difference(both[1], both[0])])
    items = int(units.times[used].sum())
    note = f"mean over {len(theirs)} people left out in turn"
    return {
        name: Estimate(
            one.value,
            one.low,
            one.high,
            items,
            asked,
            len(theirs),
            tests,
            one.dropped,
            words.of_a_judge(name, one.value, one.low, items, note),
        )
        for name, one in zip(names, resample(family, units, resamples, seed), strict=True)
    }


def inside(statistic: Statistic, mask: Bools) -> Statistic:
    """A statistic of some of the rows as one of all."""

    def value(weights: Floats) -> Floats:
        return statistic(weights[:, mask])

    return value
