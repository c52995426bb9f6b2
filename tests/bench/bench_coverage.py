"""Coverage of the 95 % interval of every kind of statistic that is shown.

    python -m tests.bench.bench_coverage [STUDIES]

The share of simulated studies whose interval holds the value of an unlimited study, in per cent. Each statistic is
computed by the function that the reports call. Raters move from a true category by a rounded normal error.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.statistics.data.arrays import Codes, Floats
from core.statistics.data.patterns import Units, distinct_patterns, distinct_scores, judged_patterns
from core.statistics.data.ratings import Ratings
from core.statistics.measures import agreement, continuous
from core.statistics.measures.alternative_annotator import human_ceiling
from core.statistics.measures.resampling import Family, Resampled, bootstrap, stack_statistics, weighted_mean
from tests.bench.studies import read_arguments

RESAMPLES = 1000
SIZES = (20, 50, 100, 300, 1000)
TRUTH_ITEMS = 400_000
"""Items of the study whose value counts as the truth: its error is a thirtieth of an interval at 300 items."""
PAIR_NAMES = ("percent", "cohen_kappa", "cohen_kappa_linear", "cohen_kappa_quadratic", "krippendorff_alpha_ordinal")


@dataclass(frozen=True)
class Design:
    """How labels on K categories arise: a true category, and raters that move away from it."""

    shares: tuple[float, ...]
    raters: int
    spread: float
    """The standard deviation of a rater's error, in categories."""


DESIGNS = {
    "5 even categories": Design((0.2,) * 5, 3, 0.8),
    "5 categories, skewed": Design((0.04, 0.06, 0.1, 0.25, 0.55), 3, 0.8),
    "5 categories, weak agreement": Design((0.1, 0.2, 0.4, 0.2, 0.1), 3, 1.6),
}


def draw_codes(rng: np.random.Generator, design: Design, items: int) -> Codes:
    """Return the codes (items, raters + 1); the last rater is the judge."""
    highest = len(design.shares) - 1
    truth = rng.choice(highest + 1, (items, 1), p=design.shares)
    errors = rng.normal(0, design.spread, (items, design.raters + 1))
    return np.clip(np.rint(truth + errors), 0, highest).astype(np.int16)


@dataclass(frozen=True)
class Case:
    """A statistic as a family over the patterns of drawn labels."""

    names: tuple[str, ...]
    build: Callable[[Codes, int], tuple[Family, Units]]
    """(codes, number of categories) -> the family and its units."""


def two_raters(codes: Codes, categories: int) -> tuple[Family, Units]:
    """Kappas of the first rater and the judge."""
    pair = Ratings((), (), codes[:, [0, -1]], tuple(range(1, categories + 1)))
    patterns, numbers = distinct_patterns(pair).with_min_labels(2), np.arange(1.0, categories + 1)
    counts = [agreement.COUNT_STATISTICS[n](patterns.counts, numbers) for n in ("percent", "gwet_ac1")]
    kappas = agreement.pair_statistics(patterns.codes, numbers, PAIR_NAMES[1:4])
    shared = stack_statistics(counts)
    return (lambda weights: np.concatenate([shared(weights), kappas(weights)])), patterns.units


def many_raters(codes: Codes, categories: int) -> tuple[Family, Units]:
    """Alphas of all raters, and the mean quadratic kappa and Spearman over pairs."""
    ratings = Ratings((), (), codes[:, :-1], tuple(range(1, categories + 1)))
    patterns, numbers = distinct_patterns(ratings).with_min_labels(2), np.arange(1.0, categories + 1)
    names = ("krippendorff_alpha_ordinal", "krippendorff_alpha_interval")
    alphas = stack_statistics([agreement.COUNT_STATISTICS[n](patterns.counts, numbers) for n in names])
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
    names = tuple(map(str, range(codes.shape[1] - 1)))
    ratings = Ratings(tuple(map(str, range(len(codes)))), names, codes[:, :-1], tuple(range(1, categories + 1)))
    patterns = judged_patterns(ratings, codes[:, -1], codes[:, 0])
    ceiling = human_ceiling(patterns)
    if ceiling is None:
        raise ValueError("no item has a majority of the others")
    return stack_statistics([ceiling.annotators, ceiling.judge, ceiling.difference]), patterns.units


CASES = (
    Case(("percent", "gwet_ac1", *PAIR_NAMES[1:4]), two_raters),
    Case(("alpha ordinal", "alpha interval", "quadratic kappa, 3 pairs", "spearman, 3 pairs"), many_raters),
    Case(("pearson with mean", "spearman with mean", "kendall_tau_b with mean"), judge_correlations),
    Case(("win rate",), win_rate),
    Case(("human_ceiling", "judge_against_others", "judge_less_ceiling"), ceilings),
)


def true_values(case: Case, design: Design) -> Floats:
    """Return the values of a very large study."""
    items = TRUTH_ITEMS if case.build is not judge_correlations else TRUTH_ITEMS // 4
    family, units = case.build(draw_codes(np.random.default_rng(99), design, items), len(design.shares))
    return family(units.frequencies[None])[:, 0]


def holds(result: Resampled, truth: float) -> bool:
    return result.low is not None and result.high is not None and result.low <= truth <= result.high


def measure(case: Case, design: Design, items: int, studies: int) -> Floats:
    """Return how often the interval of each statistic holds the truth."""
    truth = true_values(case, design)
    rng = np.random.default_rng(items)
    held = np.zeros(truth.size)
    for _ in range(studies):
        family, units = case.build(draw_codes(rng, design, items), len(design.shares))
        results = bootstrap(family, units, RESAMPLES)
        held += [holds(result, value) for result, value in zip(results, truth, strict=True)]
    return held / studies


def main(studies: int) -> None:
    """Print the coverage in per cent by statistic and number of items."""
    print(f"{studies} studies each; Monte Carlo error +-{196 * (0.95 * 0.05 / studies) ** 0.5:.1f} points")
    for name, design in DESIGNS.items():
        print(f"\n{name:<44}" + "".join(f"{size:>8}" for size in SIZES))
        for case in CASES:
            percent = np.stack([100 * measure(case, design, size, studies) for size in SIZES], axis=1)
            for statistic, row in zip(case.names, percent, strict=True):
                print(f"  {statistic:<42}" + "".join(f"{value:8.1f}" for value in row), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(read_arguments(__doc__).studies)
