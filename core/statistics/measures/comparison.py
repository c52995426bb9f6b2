"""Paired comparison of judges on the same items, with p-values corrected for the number of comparisons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, TypeVar

import numpy as np

from core.statistics.data.arrays import Floats, normal_cdf, ratio, students_t_cdf
from core.statistics.data.patterns import Units, group_indicator, merge_equal_rows
from core.statistics.data.sample import Sample
from core.statistics.measures.designs import drawn_mean
from core.statistics.measures.resampling import SAME, bca_interval
from core.wording import format_count

Row = TypeVar("Row")
Correction = Literal["holm", "benjamini-hochberg", "benjamini-yekutieli"]


@dataclass(frozen=True)
class Comparison:
    """One judge's mean score minus another's on the items that both were scored on."""

    judge: str
    other_judge: str
    difference: float | None
    low: float | None
    high: float | None
    items: int
    p_bootstrap: float | None
    """Two-sided, of the paired bootstrap: how often a resample of the centred differences is as extreme."""
    p_t: float | None
    """Two-sided, of the paired t-test."""
    p_corrected: float | None
    """`p_bootstrap` corrected for all comparisons made together."""
    reason: str = ""
    population: str = "all targets"
    """The targets that it is of: all, or those that labels are mainly of."""


def better_first(comparison: Comparison, judges: Sequence[str]) -> Comparison:
    """Return a comparison with the judge first that is earlier in a ranking; its p-values are two-sided."""
    if judges.index(comparison.judge) < judges.index(comparison.other_judge):
        return comparison
    difference, low, high = (
        None if value is None else -value for value in (comparison.difference, comparison.high, comparison.low)
    )
    first, second = comparison.judge, comparison.other_judge
    return replace(comparison, judge=second, other_judge=first, difference=difference, low=low, high=high)


def compare_scores(
    scores: Mapping[str, Floats],
    *,
    groups: Sequence[str] | None = None,
    resamples: int = 1000,
    sample: Sample | None = None,
) -> list[Comparison]:
    """Compare every two judges' scores on the same items, (N,) each, nan if a judge has none.

    The averaged score is 1 if the verdict equals the gold label and 0 if not, or minus an error. Paired
    bootstrap (Koehn 2004) over items, or over groups of items, and the paired t-test. `sample`: how the items were
    drawn.
    """
    comparisons = [
        paired_comparison(judge, other, scores[judge] - scores[other], groups, resamples, sample)
        for judge, other in combinations(scores, 2)
    ]
    return correct_comparisons(comparisons)


def correct_comparisons(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with `p_corrected` by Holm's method, if a test was made."""
    return with_corrected(comparisons, [comparison.p_bootstrap for comparison in comparisons])


def with_corrected(rows: Sequence[Row], p: Sequence[float | None], correction: Correction = "holm") -> list[Row]:
    """Return frozen rows with `p_corrected`, from their p-values; a row without one is returned unchanged."""
    corrected = iter(correct_p_values([value for value in p if value is not None], correction))
    return [
        row if value is None else replace(row, p_corrected=next(corrected))  # type: ignore[type-var]
        for row, value in zip(rows, p, strict=True)
    ]


def paired_comparison(
    judge: str,
    other_judge: str,
    differences: Floats,
    groups: Sequence[str] | None,
    resamples: int,
    sample: Sample | None = None,
) -> Comparison:
    """Return the mean of the differences (N,), nan missing, with its interval and its tests."""
    present = ~np.isnan(differences) if sample is None else ~np.isnan(differences) & (sample.weights > 0)
    values = differences[present]
    comparison = Comparison(judge, other_judge, None, None, None, values.size, None, None, None)
    if values.size < 2:
        return replace(
            comparison, reason=f"{format_count(values.size, 'item has', 'items have')} a score of both, 2 are needed"
        )
    draw = None if sample is None else sample.select(present)
    mean = float(values.mean() if draw is None else np.average(values, weights=draw.weights))
    if np.ptp(values) < SAME:
        return replace(
            comparison, difference=mean, reason="the difference is the same on every item: no test can be made"
        )
    clusters = group_indicator(None if groups is None else np.array(groups, object)[present])
    items = Units(np.ones(values.size), clusters, draw=draw)
    features, units = merge_equal_rows(np.column_stack([values, np.ones(values.size)]), items)
    means = [ratio(*(weights @ features).T) for weights in units.resample_weights(resamples)]
    resampled = np.concatenate(means)
    weights, block_frequencies = units.jackknife_weights()
    jackknife = ratio(*(weights @ features).T)
    interval = bca_interval(mean, resampled, jackknife, block_frequencies, items.quantile)
    t, degrees = mean / (values.std(ddof=1) / np.sqrt(values.size)), values.size - 1
    if draw is not None:
        _, variance, degrees = drawn_mean(values, np.ones(values.size), draw, clusters)
        t = mean / np.sqrt(variance)
    return replace(
        comparison,
        difference=mean,
        low=interval.low,
        high=interval.high,
        p_bootstrap=bootstrap_p_value(mean, resampled),
        p_t=2 * students_t_cdf(degrees, -abs(t)) if degrees > 0 else None,
        reason=interval.problem,
    )


def bootstrap_p_value(value: float, resampled: Floats) -> float:
    """Return the two-sided p: how often a resample is as far from the value as the value is from 0.

    Subtracting the value from the resamples gives those of a population without difference. One is added above and
    below, so p is never 0 (Davison & Hinkley 1997, section 4.2). If no resample is as extreme, p is that of the
    normal distribution with the resamples' standard error, if it is smaller: the number of resamples would otherwise
    bound it, and after a correction for hundreds of comparisons nothing could be significant.
    """
    defined = resampled[~np.isnan(resampled)]
    as_extreme = int((np.abs(defined - value) >= abs(value) - 1e-12).sum())
    p = (as_extreme + 1) / (defined.size + 1)
    spread = float(defined.std(ddof=1)) if defined.size > 1 else 0.0
    return p if as_extreme or spread < SAME else min(p, 2 * normal_cdf(-abs(value) / spread))


def correct_p_values(p: Sequence[float], correction: Correction = "holm") -> list[float]:
    """Return p-values corrected for multiple testing, in the order passed.

    Holm 1979 controls the chance of any false finding; Benjamini & Hochberg 1995 the share of false ones among the
    findings; Benjamini & Yekutieli 2001 that share under any dependence.
    """
    values = np.asarray(p, float)
    m = values.size
    order = np.argsort(values)
    rank = np.arange(1, m + 1)
    if correction == "holm":
        sorted_corrected = np.maximum.accumulate(values[order] * (m + 1 - rank))
    else:
        dependence_factor = (1 / rank).sum() if correction == "benjamini-yekutieli" else 1.0
        raised = values[order] * m * dependence_factor / rank
        sorted_corrected = np.minimum.accumulate(raised[::-1])[::-1]
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(sorted_corrected, 1)
    return [float(q) for q in corrected]


def williams_test(r12: float, r13: float, r23: float, n: int) -> tuple[float, float] | None:
    """Return t and the two-sided p of r12 = r13, two correlations that share variable 1 (Williams 1959).

    t = (r12 - r13) sqrt((n - 1)(1 + r23) / (2 (n - 1)/(n - 3) |R| + m^2 (1 - r23)^3)) with n - 3 degrees of freedom,
    |R| = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23, m = (r12 + r13) / 2 (Steiger 1980, eq. 7). Variable 1 is the
    annotators' score, 2 and 3 the two judges'. None for n < 4 or if the two judges are identical (r23 = 1).
    """
    if n < 4:
        return None
    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    spread = 2 * (n - 1) / (n - 3) * determinant + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    if spread <= 1e-12:
        return None
    t = (r12 - r13) * np.sqrt((n - 1) * (1 + r23) / spread)
    return float(t), 2 * students_t_cdf(n - 3, -abs(t))
