"""Statistics as functions of pattern weights, and ways to combine them.

A statistic maps weights (B, P), how often each of P patterns occurs in each of B samples, to B values, nan if it is
undefined. One row of weights gives the value itself, the others its resamples, so each formula is written once.

Most statistics are functions of weighted sums over patterns: these are `SumStatistic`s. They are combined into one
product of weights and features, and `bootstrap` resamples the features of large data instead of its patterns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from core.provenance import SEED
from core.statistics.data.arrays import Bools, Codes, Floats, Ints, normal_cdf, normal_quantile, ratio
from core.statistics.data.patterns import NORMAL_97_5, Units, merge_equal_rows

# (B, P) weights -> (B,) values.
Statistic = Callable[[Floats], Floats]
# (B, P) weights -> (S, B) values of S statistics.
Family = Callable[[Floats], Floats]

# Numbers in the features of combined statistics: 160 MB.
MAX_FEATURES = 20_000_000


@dataclass(frozen=True)
class SumStatistic:
    """A statistic, or a family of them, that is a function of weighted sums of features."""

    features: Floats | Bools
    """(P, F)"""
    combine: Callable[[Floats], Floats]
    """(B, F) sums -> (B,) values of one statistic, or (S, B) of a family."""

    def __call__(self, weights: Floats) -> Floats:
        return self.combine(weights @ self.features)


def stack_statistics(statistics: Sequence[Statistic]) -> Family:
    """Return several statistics as one family, in their order."""
    return _combined(statistics, np.stack)


def mean_by_items(statistics: Sequence[Statistic], items: Sequence[Bools]) -> Statistic:
    """Return the mean of those statistics that are defined, weighted by their numbers of items.

    `items` has the patterns (P,) that each statistic uses.
    """
    if not statistics:
        return lambda weights: np.full(weights.shape[0], np.nan)
    counts = SumStatistic(np.column_stack(items).astype(float), lambda sums: sums)

    def mean(values: list[Floats]) -> Floats:
        *found, n = values
        stacked = np.stack(found, axis=-1)
        defined = ~np.isnan(stacked)
        return ratio(np.where(defined, stacked * n, 0).sum(axis=-1), np.where(defined, n, 0).sum(axis=-1))

    return _combined([*statistics, counts], mean)


def difference(minuend: Statistic, subtrahend: Statistic) -> Statistic:
    """Return the difference of two statistics of the same resamples."""
    return _combined([minuend, subtrahend], lambda values: values[0] - values[1])


def _combined(statistics: Sequence[Statistic], merge: Callable[[list[Floats]], Floats]) -> Statistic:
    """Return a function of the values of several statistics; of sums too, if all of them are."""
    sums = [statistic for statistic in statistics if isinstance(statistic, SumStatistic)]
    if len(sums) < len(statistics) or not sums or sum(one.features.size for one in sums) > MAX_FEATURES:
        return lambda weights: merge([statistic(weights) for statistic in statistics])
    ends = np.cumsum([statistic.features.shape[1] for statistic in sums])[:-1]

    def combine(totals: Floats) -> Floats:
        parts = np.split(totals, ends, axis=1)
        return merge([statistic.combine(part) for statistic, part in zip(sums, parts, strict=True)])

    features = sums[0].features if len(sums) == 1 else np.concatenate([one.features for one in sums], axis=1)
    return SumStatistic(features, combine)


def weighted_mean(values: Floats, used: Bools) -> Statistic:
    """Return the mean of values (P,) over the patterns used (P,)."""
    features = np.column_stack([np.where(used, values, 0), used]).astype(float)
    return SumStatistic(features, lambda sums: ratio(sums[:, 0], sums[:, 1]))


def match_rate(codes: Codes, reference: Codes, used: Bools) -> Statistic:
    """Return the share of the used items on which two codes (P,) are equal."""
    return weighted_mean((codes == reference).astype(float), used)


def pooled_match_rate(equal: Bools, patterns: Ints, number: int) -> Statistic:
    """Return the share of M labels that equal their reference; `patterns` (M,) are their patterns, of `number`."""
    matches = np.bincount(patterns[equal], minlength=number)
    features = np.column_stack([matches, np.bincount(patterns, minlength=number)]).astype(float)
    return SumStatistic(features, lambda sums: ratio(sums[:, 0], sums[:, 1]))


def on_subset(statistic: Statistic, mask: Bools) -> Statistic:
    """Return a statistic of some of the patterns as a statistic of all."""
    return lambda weights: statistic(weights[:, mask])


# 95 % intervals by resampling items, or the documents they belong to, with replacement.

LEVELS = (0.025, 0.975)
# Resampled values closer than this are equal up to rounding.
SAME = 1e-12
# A value this close to the end of its interval is not outside: closed forms agree to this many digits.
CLOSE = 1e-9


class NoInterval(Enum):
    """Why a defined value has no interval; the value is the sentence for notes."""

    NO_SPREAD = "every resample gives the same value: no interval"
    FEW_RESAMPLES = "fewer than two resamples have a value: no interval"
    VALUE_OUTSIDE = "no interval: the resampled one excludes the value, because repeated items bias this statistic"
    """Rank statistics of continuous scores: a resample has ties that the data does not have."""
    POOLED = "no interval is computed for the mean over repeats"
    FEW_ITEMS = "no interval: that of a correlation over fewer than 6 items holds the truth in at most 86 % of samples"
    FEW_SHARED_ITEMS = (
        "no interval: two annotators share {mean_shared:.1f} items on average, and the mean over such pairs is biased; "
        "Krippendorff's alpha is not"
    )


@dataclass(frozen=True)
class Resampled:
    """A value with its interval; None if undefined."""

    value: float | None
    low: float | None
    high: float | None
    dropped: int
    """Resamples in which the statistic is undefined."""
    missing: NoInterval | None = None

    @property
    def problem(self) -> str:
        """The sentence why a defined value has no interval; empty if it has one."""
        return self.missing.value if self.missing else ""


def bootstrap(family: Family, units: Units, resamples: int, wanted: Sequence[int] | None = None) -> list[Resampled]:
    """Return value and interval of each statistic of the family, all from the same resamples; 0 for values alone.

    `wanted` are the statistics to return, by their places in the family; the resamples are those of the whole family.
    """
    if not units.size:
        undefined = family(np.zeros((1, units.frequencies.size)))
        return [Resampled(None, None, None, 0) for _ in (undefined if wanted is None else wanted)]
    if isinstance(family, SumStatistic):
        features, units = merge_equal_rows(family.features, units)
        family = SumStatistic(features, family.combine)
    values = family(units.counted[None])[:, 0]
    places = range(len(values)) if wanted is None else wanted
    if not resamples:
        return [percentile_interval(float(values[place]), np.empty(0)) for place in places]
    chunks = [family(weights) for weights in units.resample_weights(resamples)]
    weights, block_frequencies = units.jackknife_weights()
    jackknife = family(weights)
    resampled = np.concatenate(chunks, axis=1)
    return [
        bca_interval(float(values[place]), resampled[place], jackknife[place], block_frequencies, units.quantile)
        for place in places
    ]


def bca_interval(
    value: float, resampled: Floats, jackknife: Floats, block_frequencies: Floats, quantile: float = NORMAL_97_5
) -> Resampled:
    """Return the bias-corrected and accelerated interval, BCa (Efron 1987).

    `resampled`: the statistic in each resample; `jackknife`: without each block of items; `block_frequencies`: how
    often each block occurs. z0 corrects the median of the resamples, the acceleration their skewness. `quantile` is
    that of the standard error at the upper end: of Student's t for drawn items (Hesterberg 2015, section 5.3).
    """
    if np.isnan(value):
        return Resampled(None, None, None, 0)
    defined = resampled[~np.isnan(resampled)]
    dropped = resampled.size - defined.size
    if defined.size < 2:
        return Resampled(value, None, None, dropped, NoInterval.FEW_RESAMPLES)
    if np.ptp(defined) < SAME:
        return Resampled(value, None, None, dropped, NoInterval.NO_SPREAD)
    low, high = np.quantile(defined, bca_levels(value, defined, jackknife, block_frequencies, quantile))
    return checked_interval(value, float(low), float(high), dropped)


def percentile_interval(value: float, resampled: Floats) -> Resampled:
    """Return the middle 95 % of the resamples, if there is no jackknife for a correction."""
    defined = resampled[~np.isnan(resampled)]
    dropped = resampled.size - defined.size
    if np.isnan(value):
        return Resampled(None, None, None, dropped)
    if defined.size < 2:
        return Resampled(value, None, None, dropped, NoInterval.FEW_RESAMPLES)
    low, high = np.quantile(defined, LEVELS)
    return checked_interval(value, float(low), float(high), dropped)


def checked_interval(value: float, low: float, high: float, dropped: int) -> Resampled:
    """Return the interval, or none if it excludes its own value."""
    if value < low - CLOSE or value > high + CLOSE:
        return Resampled(value, None, None, dropped, NoInterval.VALUE_OUTSIDE)
    return Resampled(value, low, high, dropped)


def bca_levels(
    value: float, resampled: Floats, jackknife: Floats, block_frequencies: Floats, quantile: float = NORMAL_97_5
) -> Floats:
    """Return the two quantiles of the resamples that bound the 95 % interval."""
    # Resamples equal to the value count half: statistics of few items repeat, and z0 would be biased either way.
    below = (resampled < value - SAME).mean() + (np.abs(resampled - value) <= SAME).mean() / 2
    z0 = normal_quantile(np.clip(below, 1 / resampled.size, 1 - 1 / resampled.size))
    a = acceleration(jackknife, block_frequencies)
    z = z0 + np.array([-quantile, quantile])
    return np.array([normal_cdf(shifted) for shifted in z0 + z / (1 - a * z)])


def acceleration(jackknife: Floats, block_frequencies: Floats) -> float:
    """sum d^3 / (6 (sum d^2)^1.5) with d the mean of the jackknife values minus each of them."""
    defined = ~np.isnan(jackknife)
    values, frequencies = jackknife[defined], block_frequencies[defined]
    if not frequencies.sum():
        return 0.0
    deviations = (frequencies * values).sum() / frequencies.sum() - values
    spread = (frequencies * deviations**2).sum()
    return float((frequencies * deviations**3).sum() / (6 * spread**1.5)) if spread > 1e-24 else 0.0


# The paired test by changes of sign: exact for few pairs, and without a model of the distribution.

# Number of differences up to which all 2**n changes of sign are enumerated.
MAX_EXACT = 14
# Signs that are drawn at once.
CHUNK = 1_000_000


def sign_flip_p_value(differences: Floats, groups: Sequence[str] | None = None, *, resamples: int = 9_999) -> float:
    """Return the two-sided p of paired differences (N,): how often signs at random give a sum as far from 0.

    Under the hypothesis that the two sides of a pair can be exchanged, every change of signs has the same probability
    (Fisher 1935, section 21). The signs of a group's differences change together. Differences of 0 have no effect; for
    more than MAX_EXACT others, signs are drawn, and one is added above and below, so the test never exceeds its level
    (Phipson & Smyth 2010).
    """
    sums = _group_sums(np.asarray(differences, float), groups)
    sums = sums[np.abs(sums) > 1e-12]
    observed = abs(sums.sum()) - 1e-9
    if sums.size <= MAX_EXACT:
        places = np.arange(2**sums.size)[:, None] >> np.arange(sums.size)
        return float((np.abs((1 - 2 * (places & 1)) @ sums) >= observed).mean())
    rng, as_extreme, drawn = np.random.default_rng(SEED), 0, 0
    while drawn < resamples:
        size = min(resamples - drawn, max(1, CHUNK // sums.size))
        signs = 2.0 * rng.integers(0, 2, (size, sums.size), dtype=np.int8) - 1
        as_extreme += int((np.abs(signs @ sums) >= observed).sum())
        drawn += size
    return (as_extreme + 1) / (resamples + 1)


def _group_sums(differences: Floats, groups: Sequence[str] | None) -> Floats:
    if groups is None:
        return differences
    _, places = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    return np.bincount(places, weights=differences).astype(float)
