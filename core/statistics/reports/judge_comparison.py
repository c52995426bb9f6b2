"""Comparison of judges with each other on the same items, as rows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from core.statistics.data.arrays import Floats
from core.statistics.data.dataset import Dataset, build_datasets
from core.statistics.data.frames import Scale
from core.statistics.data.patterns import Units, distinct_scores
from core.statistics.measures import continuous
from core.statistics.measures.comparison import (
    Comparison,
    Correction,
    bootstrap_p_value,
    compare_scores,
    correct_comparisons,
    williams_test,
)
from core.statistics.measures.intervals import bootstrap
from core.statistics.measures.statistic import difference, stack_statistics
from core.statistics.reports.alignment import By

MIN_ITEMS = 4
"""Williams' test has n - 3 degrees of freedom."""


@dataclass(frozen=True)
class JudgeComparisonRow:
    """One judge minus another in one statistic."""

    kind: str
    criterion: str
    group: str
    statistic: str
    judge: str
    other_judge: str
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


def judge_comparison_rows(
    labels: pd.DataFrame,
    opinions: pd.DataFrame,
    *,
    scales: Mapping[tuple[str, str], Scale],
    gold: pd.DataFrame | None = None,
    by: By = "all",
    correction: Correction = "holm",
    resamples: int = 1000,
    seed: int = 0,
) -> list[JudgeComparisonRow]:
    """Compare every two judges: accuracy with gold on nominal scales, Pearson's r with annotators on others.

    Frames and scales as in `alignment_rows`.
    """
    rows = []
    for dataset in build_datasets(labels, opinions, gold, scales, by):
        is_nominal = dataset.scale.level == "nominal"
        compare = compare_accuracies if is_nominal else compare_correlations
        statistic = "accuracy_gold" if is_nominal else "pearson"
        rows += [
            JudgeComparisonRow(dataset.kind, dataset.criterion, dataset.group, statistic, **vars(comparison))
            for comparison in compare(dataset, correction, resamples, seed)
        ]
    return rows


def compare_accuracies(dataset: Dataset, correction: Correction, resamples: int, seed: int) -> list[Comparison]:
    """Return the paired differences of the judges' accuracies."""
    scores = {
        judge: np.where(np.isnan(opinions.values) | np.isnan(dataset.gold), np.nan, opinions.values == dataset.gold)
        for judge, opinions in dataset.judges.items()
    }
    groups = dataset.ratings.groups
    return compare_scores(scores, groups=groups, correction=correction, resamples=resamples, seed=seed)


def compare_correlations(dataset: Dataset, correction: Correction, resamples: int, seed: int) -> list[Comparison]:
    """Return the differences of the judges' correlations with the reference."""
    reference = dataset.gold_scores
    comparisons = []
    for judge, other_judge in combinations(dataset.judges, 2):
        verdicts = (dataset.to_numbers(dataset.judges[name].values) for name in (judge, other_judge))
        columns = np.column_stack([reference, *verdicts])
        comparisons.append(correlation_difference(judge, other_judge, columns, dataset.ratings.groups, resamples, seed))
    return correct_comparisons(comparisons, correction)


def correlation_difference(
    judge: str, other_judge: str, columns: Floats, groups: tuple[str, ...] | None, resamples: int, seed: int
) -> Comparison:
    """Return the difference of two judges' correlations from the scores (N, 3) of the annotators and both judges."""
    present = ~np.isnan(columns).any(axis=1)
    n = int(present.sum())
    comparison = Comparison(judge, other_judge, None, None, None, n, None, None, None)
    if n < MIN_ITEMS:
        return replace(comparison, reason=f"{MIN_ITEMS} items with all three scores are needed; there are {n}")
    present_groups = None if groups is None else np.array(groups, object)[present].tolist()
    rows, units = distinct_scores(columns[present], present_groups)
    reference, first, second = rows.T
    statistic = difference(continuous.pearson(reference, first), continuous.pearson(reference, second))
    (result,) = bootstrap(stack_statistics([statistic]), units, resamples, seed)
    if result.value is None:
        return replace(comparison, reason="all scores of one side are equal: there is no correlation")
    if result.low is None:  # nothing that a test could use either
        return replace(comparison, difference=result.value, reason=result.problem)
    resampled = np.concatenate([statistic(weights) for weights in units.resample_weights(resamples, seed)])
    return replace(
        comparison, difference=result.value, low=result.low, high=result.high,
        p_bootstrap=bootstrap_p_value(result.value, resampled), p_t=williams_p_value(rows, units, n),
        reason=result.problem,
    )  # fmt: skip


def williams_p_value(rows: Floats, units: Units, n: int) -> float | None:
    """Return p of Williams' test from the scores (P, 3) of the annotators and two judges."""
    r12, r13, r23 = (
        float(continuous.pearson(rows[:, a], rows[:, b])(units.frequencies[None])[0])
        for a, b in ((0, 1), (0, 2), (1, 2))
    )
    test = williams_test(r12, r13, r23, n)
    return None if test is None else test[1]
