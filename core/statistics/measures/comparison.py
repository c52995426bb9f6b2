"""Is one judge better than another? Paired tests on the same items, corrected for how many were made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from scipy.special import stdtr

from core.statistics.data.arrays import Floats, ratio
from core.statistics.data.patterns import Units, grouped
from core.statistics.measures.intervals import interval

Correction = Literal["holm", "benjamini-hochberg", "benjamini-yekutieli"]


@dataclass(frozen=True)
class Comparison:
    """One judge less another on the items that both were scored on."""

    one: str
    other: str
    difference: float | None
    low: float | None
    high: float | None
    items: int
    p_bootstrap: float | None
    """Two-sided, of the paired bootstrap: how often a resample of the centred differences is so far out."""
    p_t: float | None
    """Two-sided, of the paired t-test."""
    p_corrected: float | None
    """`p_bootstrap` corrected for all comparisons made together."""
    reason: str = ""


def compare(
    scores: Mapping[str, Floats],
    *,
    groups: Sequence[str] | None = None,
    correction: Correction = "holm",
    resamples: int = 1000,
    seed: int = 0,
) -> list[Comparison]:
    """Every two judges' scores on the same items, (N,) each, nan where a judge has none.

    A score is what is averaged: 1 where the verdict equals the gold and 0 where not, or minus an
    error. Paired bootstrap (Koehn 2004) over items, or over groups of items; paired t-test beside.
    """
    found = [
        paired(one, other, scores[one] - scores[other], groups, resamples, seed)
        for one, other in combinations(scores, 2)
    ]
    tested = [place for place, one in enumerate(found) if one.p_bootstrap is not None]
    p = corrected([found[place].p_bootstrap or 0.0 for place in tested], correction)
    for place, value in zip(tested, p, strict=True):
        found[place] = replace(found[place], p_corrected=value)
    return found


def paired(
    one: str,
    other: str,
    apart: Floats,
    groups: Sequence[str] | None,
    resamples: int,
    seed: int,
) -> Comparison:
    """The mean of the differences (N,), its interval and its tests."""
    there = ~np.isnan(apart)
    apart = apart[there]
    if apart.size < 2:
        reason = f"{apart.size} items have a score of both"
        return Comparison(one, other, None, None, None, apart.size, None, None, None, reason)
    if np.ptp(apart) < 1e-12:
        same = "the two differ by the same on every item: no test can be made"
        mean = float(apart.mean())
        return Comparison(one, other, mean, None, None, apart.size, None, None, None, same)
    units = Units(np.ones(apart.size), grouped(None if groups is None else np.array(groups, object)[there]))
    mean = float(apart.mean())
    drawn = means(apart, units, resamples, seed)
    left_out, often = units.left_out()
    without = ratio(left_out @ apart, left_out.sum(axis=1))
    ends = interval(mean, drawn, without, often)
    t = mean / (apart.std(ddof=1) / np.sqrt(apart.size))
    p_t = float(2 * stdtr(apart.size - 1, -abs(t)))
    return Comparison(one, other, mean, ends.low, ends.high, apart.size, two_sided(mean, drawn), p_t, None)


def two_sided(value: float, drawn: Floats) -> float:
    """p of the paired bootstrap: how often a resample lies as far from the value as the value from 0.

    The resamples are those of a world without difference once the value is taken off them. One is
    added above and below, so that p is never 0 (Davison & Hinkley 1997, section 4.2).
    """
    defined = drawn[~np.isnan(drawn)]
    beyond = int((np.abs(defined - value) >= abs(value) - 1e-12).sum())
    return (beyond + 1) / (defined.size + 1)


def means(values: Floats, units: Units, resamples: int, seed: int) -> Floats:
    """The mean of the values (N,) in each resample."""
    drawn = [ratio(weights @ values, weights.sum(axis=1)) for weights in units.resamples(resamples, seed)]
    return np.concatenate(drawn)


def corrected(p: Sequence[float], how: Correction = "holm") -> list[float]:
    """p-values corrected for multiple testing, in the order given.

    Holm 1979 keeps the chance of any false finding; Benjamini & Hochberg 1995 the share of false
    ones among the findings; Benjamini & Yekutieli 2001 that share under any dependence.
    """
    values = np.asarray(p, float)
    m = values.size
    order = np.argsort(values)
    place = np.arange(1, m + 1)
    if how == "holm":
        stepped = np.maximum.accumulate(values[order] * (m + 1 - place))
    else:
        spread = (1 / place).sum() if how == "benjamini-yekutieli" else 1.0
        raised = values[order] * m * spread / place
        stepped = np.minimum.accumulate(raised[::-1])[::-1]
    out = np.empty_like(values)
    out[order] = np.minimum(stepped, 1)
    return [float(q) for q in out]


def williams(r12: float, r13: float, r23: float, n: int) -> tuple[float, float] | None:
    """t and two-sided p of r12 = r13, two correlations that share variable 1 (Williams 1959).

    t = (r12 - r13) sqrt((n - 1)(1 + r23) / (2 (n - 1)/(n - 3) |R| + m^2 (1 - r23)^3)) with n - 3
    degrees of freedom, |R| = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23, m = (r12 + r13) / 2
    (Steiger 1980, eq. 7). Variable 1 is people's score, 2 and 3 the two judges'. None for n < 4 or
    where the two judges are one (r23 = 1).
    """
    if n < 4:
        return None
    whole = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    spread = 2 * (n - 1) / (n - 3) * whole + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    if spread <= 1e-12:
        return None
    t = (r12 - r13) * np.sqrt((n - 1) * (1 + r23) / spread)
    return float(t), float(2 * stdtr(n - 3, -abs(t)))
