"""Judges against each other on the same items, as rows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from core.statistics.data.arrays import Floats
from core.statistics.data.dataset import Joined, mean_of_people
from core.statistics.data.frames import Scale
from core.statistics.data.panel import difference
from core.statistics.data.patterns import Units, distinct_scores
from core.statistics.measures import continuous, kernels
from core.statistics.measures.comparison import Comparison, Correction, compare, corrected, two_sided, williams
from core.statistics.measures.intervals import resample
from core.statistics.reports.alignment import By, parts

FEWEST = 4


@dataclass(frozen=True)
class VersusRow:
    """One judge less another in one statistic."""

    kind: str
    criterion: str
    group: str
    statistic: str
    one: str
    other: str
    difference: float | None
    low: float | None
    high: float | None
    items: int
    p_bootstrap: float | None
    p_t: float | None
    """Of the paired t-test for accuracy, of Williams' test for Pearson's r."""
    p_corrected: float | None
    """`p_bootstrap`, corrected for all comparisons of the kind, criterion and group."""
    reason: str


def versus(
    labels: pd.DataFrame,
    opinions: pd.DataFrame,
    *,
    scales: Mapping[tuple[str, str], Scale],
    gold: pd.DataFrame | None = None,
    by: By = "all",
    correction: Correction = "holm",
    resamples: int = 1000,
    seed: int = 0,
) -> list[VersusRow]:
    """Every two judges: accuracy with gold on nominal scales, Pearson's r with people on others.

    Frames and scales as in `alignment`.
    """
    rows = []
    for part in parts(labels, opinions, gold, scales, by):
        nominal = part.scale.level == "nominal"
        found = (
            by_accuracy(part, correction, resamples, seed)
            if nominal
            else by_correlation(part, correction, resamples, seed)
        )
        name = "accuracy_gold" if nominal else "pearson"
        rows += [
            VersusRow(
                part.kind,
                part.criterion,
                part.group,
                name,
                c.one,
                c.other,
                c.difference,
                c.low,
                c.high,
                c.items,
                c.p_bootstrap,
                c.p_t,
                c.p_corrected,
                c.reason,
            )
            for c in found
        ]
    return rows


def by_accuracy(part: Joined, correction: Correction, resamples: int, seed: int) -> list[Comparison]:
    """The paired difference of accuracies."""
    scores = {
        name: np.where(np.isnan(judged.values) | np.isnan(part.gold), np.nan, judged.values == part.gold)
        for name, judged in part.judges.items()
    }
    groups = part.people.groups
    return compare(scores, groups=groups, correction=correction, resamples=resamples, seed=seed)


def by_correlation(part: Joined, correction: Correction, resamples: int, seed: int) -> list[Comparison]:
    """The difference of two judges' correlations with the mean of people."""
    people = mean_of_people(part.numbers(part.labels))
    found = []
    for one, other in combinations(part.judges, 2):
        sides = (part.numbers(part.judges[name].values) for name in (one, other))
        columns = np.column_stack([people, *sides])
        found.append(correlated(one, other, columns, part.people.groups, resamples, seed))
    tested = [at for at, c in enumerate(found) if c.p_bootstrap is not None]
    p = corrected([found[at].p_bootstrap or 0.0 for at in tested], correction)
    for at, value in zip(tested, p, strict=True):
        found[at] = replace(found[at], p_corrected=value)
    return found


def correlated(
    one: str, other: str, columns: Floats, groups: tuple[str, ...] | None, resamples: int, seed: int
) -> Comparison:
    """People's, one judge's and another's scores (N, 3): the difference of the two correlations."""
    there = ~np.isnan(columns).any(axis=1)
    n = int(there.sum())
    nothing = Comparison(one, other, None, None, None, n, None, None, None)
    if n < FEWEST:
        return replace(nothing, reason=f"{FEWEST} items with all three scores are needed, here are {n}")
    kept = None if groups is None else np.array(groups, object)[there].tolist()
    rows, units = distinct_scores(columns[there], kept)
    people, first, second = rows.T
    apart = difference(continuous.pearson(people, first), continuous.pearson(people, second))
    (ends,) = resample(kernels.together([apart]), units, resamples, seed)
    if ends.value is None:
        return replace(nothing, reason="all scores of one side are equal: nothing can be correlated")
    drawn = np.concatenate([apart(weights) for weights in units.resamples(resamples, seed)])
    return replace(
        nothing, difference=ends.value, low=ends.low, high=ends.high,
        p_bootstrap=two_sided(ends.value, drawn), p_t=by_williams(rows, units, n),
    )  # fmt: skip


def by_williams(rows: Floats, units: Units, n: int) -> float | None:
    """p of Williams' test from people's and two judges' scores (P, 3)."""
    r12, r13, r23 = (
        float(continuous.pearson(rows[:, a], rows[:, b])(units.times[None])[0]) for a, b in ((0, 1), (0, 2), (1, 2))
    )
    test = williams(r12, r13, r23, n)
    return None if test is None else test[1]
