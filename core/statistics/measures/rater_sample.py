"""Intervals for annotators as a sample of the people who could label, instead of these annotators alone."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from core.statistics.data.arrays import Estimate, Floats, normal_quantile, students_t_quantile
from core.statistics.data.ratings import Ratings, Scores
from core.statistics.measures.agreement import estimate_score_statistics, estimate_statistics

MIN_RATERS = 5
"""With fewer annotators their variance is not known well enough for an interval, see docs/statistics.md."""
FEW_RATERS = f"no interval with annotators as a sample: fewer than {MIN_RATERS} annotators"
AS_SAMPLE = "annotators as a sample"


def with_raters_as_sample(ratings: Ratings | Scores, estimates: dict[str, Estimate]) -> dict[str, Estimate]:
    """Return estimates of these ratings whose intervals are of items and raters drawn from larger populations.

    The variance is that of the interval over items, half its width over 1.96 squared, plus the jackknife variance over
    raters, (R - 1) / R sum (theta_r - mean theta)^2 with theta_r the statistic without rater r (Efron & Stein 1981).
    Their sum counts the interaction twice, so it is not too small. The ends are those of Student's t with R - 1 degrees
    of freedom, at most 1.
    """
    if len(ratings.raters) < MIN_RATERS:
        return {
            name: replace(one, low=None, high=None, reason=_with(FEW_RATERS, one)) for name, one in estimates.items()
        }
    without = _without_each_rater(ratings, list(estimates))
    return {name: _widened(one, without[:, place]) for place, (name, one) in enumerate(estimates.items())}


def _without_each_rater(ratings: Ratings | Scores, names: Sequence[str]) -> Floats:
    """Return the statistics without each rater, (R, number of names); nan if undefined."""
    values = np.full((len(ratings.raters), len(names)), np.nan)
    for place, rater in enumerate(ratings.raters):
        others = ratings.select(raters=[name for name in ratings.raters if name != rater])
        if isinstance(others, Scores):
            found = estimate_score_statistics(others, resamples=0)
        else:
            found = estimate_statistics(others, names, resamples=0)
        values[place] = [np.nan if found[name].value is None else found[name].value for name in names]
    return values


def _widened(estimate: Estimate, without: Floats) -> Estimate:
    raters = without.size
    if estimate.value is None or estimate.low is None or estimate.high is None or np.isnan(without).any():
        return replace(estimate, low=None, high=None)
    of_items = ((estimate.high - estimate.low) / 2 / normal_quantile(0.975)) ** 2
    of_raters = (raters - 1) / raters * float(((without - without.mean()) ** 2).sum())
    half = students_t_quantile(raters - 1, 0.975) * (of_items + of_raters) ** 0.5
    low, high = max(-1.0, estimate.value - half), min(1.0, estimate.value + half)
    return replace(estimate, low=low, high=high, reason=_with(AS_SAMPLE, estimate))


def _with(note: str, estimate: Estimate) -> str:
    return "; ".join(filter(None, (note, estimate.reason)))
