"""Agreement between people as estimates: value, 95 % interval, what it stands on, and why if not.

The formulas are in `kernels` (many raters), `pairwise` (two) and `continuous` (numbers); here they
are evaluated on the same resamples and put into words.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import krippendorff
import numpy as np

from core.statistics import notes as words
from core.statistics.data.arrays import Codes, Floats
from core.statistics.data.estimate import Estimate
from core.statistics.data.panel import mean_of
from core.statistics.data.patterns import Patterns, distinct_scores, patterns_of
from core.statistics.data.ratings import Ratings, Scores
from core.statistics.measures import continuous, kernels, pairwise
from core.statistics.measures.intervals import Resampled, resample
from core.statistics.measures.kernels import Family, Statistic
from core.statistics.measures.pairwise import OfTable

NOMINAL = ("percent", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha_nominal", "gwet_ac1")
"""What is said of categories without order."""
CORRELATIONS = ("pearson", "spearman", "kendall_tau_b")
ORDERED = (
    *NOMINAL[:4],
    "krippendorff_alpha_ordinal",
    "krippendorff_alpha_interval",
    "gwet_ac1",
    *CORRELATIONS,
)
"""What is said of categories in an order."""
CONTINUOUS = ("krippendorff_alpha_ordinal", "krippendorff_alpha_interval", *CORRELATIONS)
"""What is said of numbers."""
FEW_KINDS = 20
"""Up to so many categories two raters are compared by their K x K table."""
PACKAGE = 100_000
"""The largest items x K x K array that the krippendorff package is asked to make: 800 kB, 4 ms."""

OF_COUNTS: Mapping[str, Callable[[Floats, Floats], Statistic]] = {
    "percent": lambda counts, _: kernels.percent(counts),
    "fleiss_kappa": lambda counts, _: kernels.fleiss(counts),
    "brennan_prediger": lambda counts, _: kernels.brennan_prediger(counts),
    "gwet_ac1": lambda counts, _: kernels.gwet(counts),
    "gwet_ac2_linear": lambda counts, _: kernels.gwet(counts, kernels.linear(counts.shape[1])),
    "gwet_ac2_quadratic": lambda counts, _: kernels.gwet(counts, kernels.quadratic(counts.shape[1])),
    "gwet_ac2_ordinal": lambda counts, _: kernels.gwet(counts, kernels.ordinal(counts.shape[1])),
    "krippendorff_alpha_nominal": lambda counts, _: kernels.alpha_nominal(counts),
    "krippendorff_alpha_ordinal": lambda counts, _: kernels.alpha_ordinal(counts),
    "krippendorff_alpha_interval": kernels.alpha_interval,
    "krippendorff_alpha_ratio": kernels.alpha_ratio,
}
"""Statistics for which it does not matter who chose what, from counts (P, K) and numbers (K,)."""


def of_tables(name: str, numbers: Floats) -> OfTable:
    """The statistic of two raters with this name."""
    if name.startswith("cohen_kappa"):
        return partial(pairwise.cohen, weighting=weighting_of(name, numbers.size))
    correlations: dict[str, OfTable] = {
        "pearson": partial(pairwise.pearson, numbers=numbers),
        "spearman": pairwise.spearman,
        "kendall_tau_b": pairwise.kendall,
    }
    return correlations[name]


def estimates(ratings: Ratings, names: Sequence[str], *, resamples: int = 1000, seed: int = 0) -> dict[str, Estimate]:
    """The named statistics, in the order asked; each name is in `OF_COUNTS` or `of_tables`."""
    numbers = numbers_of(ratings)
    every = patterns_of(ratings)
    patterns, paired = every.with_labels(1).merged(), every.with_labels(2)
    found: dict[str, Resampled] = {}
    by_count = [name for name in names if name in OF_COUNTS]
    if by_count:
        family = kernels.together([OF_COUNTS[name](patterns.counts, numbers) for name in by_count])
        found |= zip(by_count, resample(family, patterns.units, resamples, seed), strict=True)
    by_pair = [name for name in names if name not in OF_COUNTS]
    if by_pair:
        of_pairs = over_pairs(paired.codes, numbers, by_pair)
        found |= zip(by_pair, resample(of_pairs, paired.units, resamples, seed), strict=True)
    found |= {name: by_package(name, one, patterns, numbers) for name, one in found.items()}
    facts = words.facts_of_codes(ratings, every)
    return {name: words.estimate(name, found[name], facts) for name in names}


def over_pairs(codes: Codes, numbers: Floats, names: Sequence[str]) -> Family:
    """The mean over rater pairs of each named statistic, by tables where categories are few."""
    if numbers.size <= FEW_KINDS:
        return pairwise.over_pairs(codes, numbers.size, [of_tables(name, numbers) for name in names])
    return kernels.together([over_pairs_of_many_kinds(codes, numbers, name) for name in names])


def over_pairs_of_many_kinds(codes: Codes, numbers: Floats, name: str) -> Statistic:
    """The mean over rater pairs where a table of categories would be larger than the items."""
    if name in CORRELATIONS:
        scores = np.where(codes < 0, np.nan, numbers[codes] if name == "pearson" else codes)
        family = continuous.over_pairs(scores, [name])
        return lambda weights: family(weights)[0]
    weighting = weighting_of(name, numbers.size)
    pairs = combinations(range(codes.shape[1]), 2)
    shared = [codes[:, pair] for pair in pairs if (codes[:, pair] >= 0).all(axis=1).any()]
    return mean_of([pairwise.cohen_of(pair, numbers.size, weighting) for pair in shared])


def weighting_of(name: str, kinds: int) -> Floats | None:
    """The agreement weights that a kappa's name speaks of."""
    made = {"linear": kernels.linear, "quadratic": kernels.quadratic}
    last = name.rsplit("_", 1)[-1]
    return made[last](kinds) if last in made else None


def estimate(ratings: Ratings, name: str, *, resamples: int = 1000, seed: int = 0) -> Estimate:
    """One statistic; several together cost little more, see `estimates`."""
    return estimates(ratings, [name], resamples=resamples, seed=seed)[name]


def by_package(name: str, found: Resampled, patterns: Patterns, numbers: Floats) -> Resampled:
    """Alpha's value from the krippendorff package, where the labels are few enough for it.

    It makes an items x K x K array, so that many items or categories go by the closed form of
    `kernels`, which equals it to 1e-9.
    """
    fit = name.startswith("krippendorff_alpha_") and found.value is not None
    if not fit or patterns.units.times.sum() * numbers.size**2 > PACKAGE:
        return found
    each = np.repeat(patterns.counts, patterns.units.times.astype(int), axis=0)
    level = name.removeprefix("krippendorff_alpha_")
    value = krippendorff.alpha(value_counts=each, value_domain=numbers, level_of_measurement=level)
    return replace(found, value=float(value))


def matrix(ratings: Ratings, name: str, *, resamples: int = 1000, seed: int = 0) -> dict[tuple[str, str], Estimate]:
    """The statistic of every two raters, on the items that both judged."""
    return {
        (a, b): estimate(ratings.select(raters=(a, b)).complete(), name, resamples=resamples, seed=seed)
        for a, b in combinations(ratings.raters, 2)
    }


def estimates_of_scores(scores: Scores, *, resamples: int = 1000, seed: int = 0) -> dict[str, Estimate]:
    """The statistics of `CONTINUOUS`."""
    rows, units = distinct_scores(scores.values, scores.groups)
    facts = words.facts_of_scores(scores, rows, units.times)
    if not facts.paired:
        nothing = Resampled(None, None, None, 0)
        return {name: words.estimate(name, nothing, facts) for name in CONTINUOUS}
    alphas = kernels.together([continuous.alpha_ordinal(rows), continuous.alpha_interval(rows)])
    correlations = continuous.over_pairs(rows, CORRELATIONS)

    def family(weights: Floats) -> Floats:
        return np.concatenate([alphas(weights), correlations(weights)])

    found = resample(family, units, resamples, seed)
    return {name: words.estimate(name, one, facts) for name, one in zip(CONTINUOUS, found, strict=True)}


def numbers_of(ratings: Ratings) -> Floats:
    """The number of each category: itself where all are numbers, else its place on the scale."""
    if all(isinstance(category, int | float) for category in ratings.categories):
        return np.array(ratings.categories, float)
    return np.arange(len(ratings.categories), dtype=float)
