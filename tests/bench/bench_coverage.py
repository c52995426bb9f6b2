"""Coverage of the 95 % interval of every kind of statistic that is shown.

    python -m tests.bench.bench_coverage [STUDIES [CASE ...]] [--units N ...]

The share of simulated studies whose interval holds the value of an unlimited study, in per cent. Each statistic is
computed by the function that the reports call. In `even`, `skewed` and `weak`, raters move from a true category by a
rounded normal error; in `nominal` they give the true category or guess, and the truth is exact.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from core.statistics.data.arrays import Codes, Estimate, Floats
from core.statistics.data.patterns import (
    Units,
    category_counts,
    count_patterns,
    distinct_patterns,
    distinct_scores,
    judged_patterns,
)
from core.statistics.measures import agreement, continuous
from core.statistics.measures.alternative_annotator import human_ceiling
from core.statistics.measures.resampling import Family, bootstrap, stack_statistics, weighted_mean
from tests.bench.studies import Cases, estimate_of, print_coverage
from tests.core.statistics.builders import ratings_from_codes

SIZES = (20, 50, 100, 300, 1000)
TRUE_ITEMS = 400_000
"""Items of the study whose value counts as the truth: its error is a thirtieth of an interval at 300 items."""
KAPPAS = ("cohen_kappa", "cohen_kappa_linear", "cohen_kappa_quadratic")


@dataclass(frozen=True)
class Design:
    """How labels on K categories arise: a true category, and raters that move away from it."""

    shares: tuple[float, ...]
    raters: int
    spread: float
    """The standard deviation of a rater's error, in categories."""


EVEN = Design((0.2,) * 5, 3, 0.8)
SKEWED = Design((0.04, 0.06, 0.1, 0.25, 0.55), 3, 0.8)
WEAK = Design((0.1, 0.2, 0.4, 0.2, 0.1), 3, 1.6)


def draw_codes(rng: np.random.Generator, design: Design, items: int) -> Codes:
    """Return the codes (items, raters + 1); the last rater is the judge."""
    highest = len(design.shares) - 1
    truth = rng.choice(highest + 1, (items, 1), p=design.shares)
    errors = rng.normal(0, design.spread, (items, design.raters + 1))
    return np.clip(np.rint(truth + errors), 0, highest).astype(np.int16)


def count_family(counts: Floats, names: Sequence[str]) -> Family:
    """Return statistics of counts of categories as one function of weights."""
    numbers = np.arange(1.0, counts.shape[1] + 1)
    return stack_statistics([agreement.COUNT_STATISTICS[name](counts, numbers) for name in names])


def two_raters(codes: Codes, categories: int) -> tuple[Family, Units]:
    """Kappas of the first rater and the judge."""
    pair = ratings_from_codes(codes[:, [0, -1]], categories)
    patterns, numbers = distinct_patterns(pair).with_min_labels(2), np.arange(1.0, categories + 1)
    kappas = agreement.pair_statistics(patterns.codes, numbers, KAPPAS)
    shared = count_family(patterns.counts, ("percent", "gwet_ac1"))
    return (lambda weights: np.concatenate([shared(weights), kappas(weights)])), patterns.units


def many_raters(codes: Codes, categories: int) -> tuple[Family, Units]:
    """Alphas of all raters, and the mean quadratic kappa and Spearman over pairs."""
    ratings = ratings_from_codes(codes[:, :-1], categories)
    patterns, numbers = distinct_patterns(ratings).with_min_labels(2), np.arange(1.0, categories + 1)
    alphas = count_family(patterns.counts, ("krippendorff_alpha_ordinal", "krippendorff_alpha_interval"))
    pairs = agreement.pair_statistics(patterns.codes, numbers, ("cohen_kappa_quadratic", "spearman"))
    return (lambda weights: np.concatenate([alphas(weights), pairs(weights)])), patterns.units


def judge_correlations(codes: Codes, categories: int) -> tuple[Family, Units]:
    """Correlations of the judge with the mean of the raters."""
    rows, units = distinct_scores(np.column_stack([codes[:, -1], codes[:, :-1].mean(axis=1)]).astype(float), None)
    functions = (continuous.pearson, continuous.spearman, continuous.kendall_tau_b)
    return stack_statistics([function(*rows.T) for function in functions]), units


def win_rate(codes: Codes, categories: int) -> tuple[Family, Units]:
    """The mean of wins, 1 where the judge equals the first rater; shares are in bench_coverage_reports."""
    rows, units = distinct_scores((codes[:, -1] == codes[:, 0]).astype(float)[:, None], None)
    return stack_statistics([weighted_mean(rows[:, 0], np.ones(len(rows), bool))]), units


def ceilings(codes: Codes, categories: int) -> tuple[Family, Units]:
    """Annotators against the majority of the others, the judge against the same, and the difference."""
    patterns = judged_patterns(ratings_from_codes(codes[:, :-1], categories), codes[:, -1], codes[:, 0])
    ceiling = human_ceiling(patterns)
    if ceiling is None:
        raise ValueError("no item has a majority of the others")
    return stack_statistics([ceiling.annotators, ceiling.judge, ceiling.difference]), patterns.units


def draw_figures(rng: np.random.Generator, design: Design, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Return every statistic of the labels of a design."""
    codes, found = draw_codes(rng, design, units), {}
    for build, names in STATISTICS.items():
        family, patterns = build(codes, len(design.shares))
        for statistic, one in zip(names, bootstrap(family, patterns, resamples), strict=True):
            found[statistic] = estimate_of(one.value, one.low, one.high)
    return found


STATISTICS = {
    two_raters: ("percent", "gwet_ac1", *KAPPAS),
    many_raters: ("alpha ordinal", "alpha interval", "quadratic kappa, 3 pairs", "spearman, 3 pairs"),
    judge_correlations: ("pearson with mean", "spearman with mean", "kendall_tau_b with mean"),
    win_rate: ("win rate",),
    ceilings: ("human_ceiling", "judge_against_others", "judge_less_ceiling"),
}


def even(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """5 even categories."""
    return draw_figures(rng, EVEN, units, resamples)


def skewed(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """5 categories, skewed."""
    return draw_figures(rng, SKEWED, units, resamples)


def weak(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """5 categories, weak agreement."""
    return draw_figures(rng, WEAK, units, resamples)


NOMINAL = {
    "3 even categories, 3 raters": ((1 / 3, 1 / 3, 1 / 3), 0.65, 3, 0.0),
    "3 even categories, 3 raters, 30 % missing": ((1 / 3, 1 / 3, 1 / 3), 0.65, 3, 0.3),
    "3 skewed categories, 3 raters": ((0.7, 0.2, 0.1), 0.75, 3, 0.0),
    "3 skewed categories, 3 raters, 30 % missing": ((0.7, 0.2, 0.1), 0.75, 3, 0.3),
    "5 categories, 5 raters, 40 % missing": ((0.1, 0.2, 0.4, 0.2, 0.1), 0.6, 5, 0.4),
    "2 skewed categories, 3 raters, high agreement": ((0.8, 0.2), 0.95, 3, 0.0),
}
"""True shares of the categories, how often a rater gives the true one (else guesses), raters, share missing."""
OF_COUNTS = {"alpha": "krippendorff_alpha_nominal", "Fleiss": "fleiss_kappa", "AC1": "gwet_ac1"}
NominalDesign = tuple[tuple[float, ...], float, int, float]
Ends = tuple[float | None, float | None, float | None]
"""A value and its interval."""


def nominal(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Nominal categories, by BCa as used, and by the percentile interval of the same resamples."""
    found = {}
    for name, design in NOMINAL.items():
        intervals = nominal_intervals(rng, design, units, resamples) if resamples else exact_values(design)
        for statistic, bca, percentile in zip(OF_COUNTS, *intervals, strict=True):
            found[f"{name}: {statistic}"] = estimate_of(*bca)
            found[f"{name}: {statistic}, percentile"] = estimate_of(*percentile)
    return found


def nominal_intervals(
    rng: np.random.Generator, design: NominalDesign, units: int, resamples: int
) -> tuple[list[Ends], list[Ends]]:
    shares, accuracy, raters, missing = design
    truth = rng.choice(len(shares), (units, 1), p=shares)
    codes = np.where(rng.random((units, raters)) < accuracy, truth, rng.integers(0, len(shares), (units, raters)))
    codes = np.where(rng.random((units, raters)) < missing, -1, codes)
    patterns = count_patterns(ratings_from_codes(codes, len(shares)))
    family = count_family(patterns.counts, list(OF_COUNTS.values()))
    bca = [(one.value, one.low, one.high) for one in bootstrap(family, patterns.units, resamples)]
    values = np.concatenate([family(chunk) for chunk in patterns.units.resample_weights(resamples)], axis=1)
    low, high = np.nanquantile(values, (0.025, 0.975), axis=1)
    return bca, [(None, *ends) for ends in zip(low, high, strict=True)]


def exact_values(design: NominalDesign) -> tuple[list[Ends], list[Ends]]:
    """Return the statistics of an infinite study: every row of labels, weighted by its probability."""
    shares, accuracy, raters, missing = design
    rows = np.array(list(product(range(-1, len(shares)), repeat=raters)), np.int16)
    probability = np.zeros(len(rows))
    for truth, share in enumerate(shares):
        of_label = (1 - missing) * (accuracy * (rows == truth) + (1 - accuracy) / len(shares))
        probability += share * np.where(rows < 0, missing, of_label).prod(axis=1)
    labelled = (rows >= 0).any(axis=1)
    counts = category_counts(rows, len(shares))[labelled]
    # The large factor makes corrections for small samples vanish.
    values = count_family(counts, list(OF_COUNTS.values()))(1e9 * probability[labelled][None])[:, 0]
    return ([(value, None, None) for value in values],) * 2


CASES: Cases = {
    even: (SIZES, TRUE_ITEMS),
    skewed: (SIZES, TRUE_ITEMS),
    weak: (SIZES, TRUE_ITEMS),
    nominal: ((20, 50, 200, 1000), 0),
}

if __name__ == "__main__":
    print_coverage(__doc__, CASES)
