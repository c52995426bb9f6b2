"""Speed of the statistics, and coverage of their intervals.

    python -m tests.bench.bench_statistics              speed, about two minutes
    python -m tests.bench.bench_statistics crowd        speed and memory of many annotators, about half a minute
    python -m tests.bench.bench_statistics coverage [STUDIES]   coverage of the intervals, about ten minutes

They print tables and are not part of the test run. Times are medians of processor time in one process, so other
work on the machine hardly counts. Slow alternatives are timed on a few real resamples and scaled to 1,000, as the table
states.
"""

import argparse
import resource
import warnings
from collections.abc import Callable
from itertools import product
from statistics import median
from time import process_time

import krippendorff
import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from core.labels import Scale
from core.statistics.data.arrays import Floats
from core.statistics.data.patterns import category_counts, count_patterns, distinct_patterns, distinct_scores
from core.statistics.data.ratings import Ratings, Scores
from core.statistics.measures import agreement, continuous
from core.statistics.measures.resampling import Family, Resampled, bootstrap, stack_statistics
from core.statistics.reports.agreement import agreement_rows

RESAMPLES = 1000
FIVE_STATISTICS = ("percent", "fleiss_kappa", "gwet_ac1", "krippendorff_alpha_nominal", "krippendorff_alpha_interval")
PAIR_STATISTICS = ("cohen_kappa", "pearson", "spearman", "kendall_tau_b")


def make_ratings(items: int, raters: int, n_categories: int, missing: float = 0.0) -> Ratings:
    """Return labels that agree in part."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, n_categories, (items, 1))
    codes = np.where(rng.random((items, raters)) < 0.6, truth, rng.integers(0, n_categories, (items, raters)))
    codes = np.where(rng.random((items, raters)) < missing, -1, codes).astype(np.int16)
    names = tuple(map(str, range(items)))
    return Ratings(names, tuple(map(str, range(raters))), codes, tuple(range(1, n_categories + 1)))


def measure_seconds(work: Callable[[], object], repeats: int) -> float:
    """Return the median processor time of the repeats, after one to warm up if there are several."""
    if repeats > 1:
        work()
    durations = []
    for _ in range(repeats):
        start = process_time()
        work()
        durations.append(process_time() - start)
    return median(durations)


def scale_to_resamples(work: Callable[[int], object], resamples: int) -> float:
    """Return the seconds of 1,000 resamples, scaled from a few real ones."""
    return measure_seconds(lambda: work(resamples), 1) * RESAMPLES / resamples


def count_family(counts: Floats, names: tuple[str, ...] = FIVE_STATISTICS) -> Family:
    """Return the statistics as one function of weights."""
    numbers = np.arange(1.0, counts.shape[1] + 1)
    return stack_statistics([agreement.COUNT_STATISTICS[name](counts, numbers) for name in names])


def evaluate(ratings: Ratings) -> Floats:
    """Compute five statistics from codes, without intervals."""
    patterns = count_patterns(ratings)
    return count_family(patterns.counts)(patterns.units.frequencies[None])


def bootstrap_patterns(ratings: Ratings, resamples: int = RESAMPLES) -> list[Resampled]:
    """Compute five statistics from codes, with intervals."""
    patterns = count_patterns(ratings)
    return bootstrap(count_family(patterns.counts), patterns.units, resamples)


def bootstrap_items(ratings: Ratings, resamples: int) -> None:
    """Resample the same five with one weight for each item instead of each pattern, 50 resamples at a time."""
    counts = category_counts(ratings.codes, len(ratings.categories))
    family, rng, items = count_family(counts), np.random.default_rng(0), len(counts)
    weights = np.empty((50, items))
    for _ in range(resamples // 50):
        for row in weights:
            row[:] = np.bincount(rng.integers(0, items, items, dtype=np.int32), minlength=items)
        family(weights)


def bootstrap_by_library(statistic: Callable[[np.ndarray], object], codes: np.ndarray, resamples: int) -> None:
    """Call a library once for each resample of items."""
    rng = np.random.default_rng(0)
    for _ in range(resamples):
        statistic(codes[rng.integers(0, len(codes), len(codes))])


def krippendorff_alpha(codes: np.ndarray) -> object:
    """Compute alpha by krippendorff from a raters x items array."""
    data = np.where(codes < 0, np.nan, codes + 1.0).T
    return krippendorff.alpha(data, level_of_measurement="nominal")


def statsmodels_fleiss(codes: np.ndarray) -> object:
    """Compute Fleiss' kappa by statsmodels from its own table of counts."""
    return fleiss_kappa(aggregate_raters(codes, n_cat=int(codes.max()) + 1)[0])


def statsmodels_fleiss_fast_table(codes: np.ndarray) -> object:
    """Compute Fleiss' kappa by statsmodels from the fastest table that numpy makes."""
    return fleiss_kappa(category_counts(codes, int(codes.max()) + 1))


def print_row(name: str, seconds: float, ours: float | None = None, note: str = "") -> None:
    ratio = "" if ours is None else f"{seconds / ours:10,.0f}x"
    print(f"  {name:<58}{1000 * seconds:14,.2f} ms {ratio:>12}  {note}")


def bench_million_labels() -> None:
    ratings = make_ratings(333_000, 3, 5)
    codes = ratings.codes
    table = category_counts(codes, 5)
    print("\n333,000 items x 3 raters x 5 categories: one evaluation, from codes in memory")
    ours = measure_seconds(lambda: evaluate(ratings), 15)
    print_row("ours, five statistics together", ours)
    print_row("statsmodels.fleiss_kappa, table already built", measure_seconds(lambda: fleiss_kappa(table), 5), ours)
    print_row("krippendorff.alpha(reliability_data)", measure_seconds(lambda: krippendorff_alpha(codes), 3), ours)
    print("\nthe same: 1,000 resamples of the items")
    ours = measure_seconds(lambda: bootstrap_patterns(ratings), 15)
    print_row("ours, five statistics with BCa intervals", ours)
    of_items = scale_to_resamples(lambda n: bootstrap_items(ratings, n), 50)
    print_row("one weight for each item, five statistics", of_items, ours, "50 scaled")
    bench_libraries(codes, ours, {"fast table": 6, "own table": 4, "krippendorff": 4})


def bench_libraries(codes: np.ndarray, ours: float, resamples: dict[str, int]) -> None:
    """Print the loops over libraries, each from its number of real resamples."""
    loops = {
        "fast table": ("loop over statsmodels, fastest table", statsmodels_fleiss_fast_table),
        "own table": ("loop over statsmodels, its own table", statsmodels_fleiss),
        "krippendorff": ("loop over krippendorff", krippendorff_alpha),
    }
    for key, number in resamples.items():
        name, statistic = loops[key]
        seconds = scale_to_resamples(lambda n, s=statistic: bootstrap_by_library(s, codes, n), number)
        print_row(name, seconds, ours, f"{number} scaled")


def bench_ten_thousand_items() -> None:
    ratings = make_ratings(10_000, 3, 5)
    print("\n10,000 items x 3 raters x 5 categories: 1,000 resamples")
    ours = measure_seconds(lambda: bootstrap_patterns(ratings), 25)
    print_row("ours, five statistics with BCa intervals", ours)
    of_items = scale_to_resamples(lambda n: bootstrap_items(ratings, n), 200)
    print_row("one weight for each item, five statistics", of_items, ours, "200 scaled")
    bench_libraries(ratings.codes, ours, {"fast table": 200, "krippendorff": 60})


def bench_many_patterns() -> None:
    print("\nWhere there are many patterns: 1,000 resamples, 10 % of labels missing")
    for items, raters, n_categories in ((100_000, 5, 5), (33_000, 30, 5), (20_000, 3, 100)):
        ratings = make_ratings(items, raters, n_categories, 0.1)
        patterns = count_patterns(ratings).units.frequencies.size
        ours = scale_to_resamples(lambda n, r=ratings: bootstrap_patterns(r, n), 1000)
        print_row(f"ours, {items:,} x {raters} x {n_categories}: {patterns:,} patterns", ours)
        of_items = scale_to_resamples(lambda n, r=ratings: bootstrap_items(r, n), 50)
        print_row("  one weight for each item", of_items, ours, "50 scaled")


def make_scores(items: int) -> Scores:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(items, 1)) + rng.normal(size=(items, 3))
    return Scores(tuple(map(str, range(items))), ("a", "b", "c"), values)


def bench_continuous_scores() -> None:
    scores = make_scores(10_000)
    print("\nContinuous scores, 10,000 x 3: nothing repeats, so the gain is small")
    rows, units = distinct_scores(scores.values, None)
    seconds = measure_seconds(lambda: continuous.alpha_interval(rows)(units.frequencies[None]), 9)
    print_row("ours, interval alpha, one value", seconds)
    few = make_scores(300)
    seconds = measure_seconds(lambda: krippendorff.alpha(few.values.T, level_of_measurement="interval"), 3)
    print_row("krippendorff, interval alpha, one value at 300 x 3", seconds, None, "items x values^2 array")
    interval = stack_statistics([continuous.alpha_interval(rows)])
    seconds = measure_seconds(lambda: bootstrap(interval, units, RESAMPLES), 3)
    print_row("ours, interval alpha, 1,000 resamples", seconds)
    for name, statistic in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        family = continuous.mean_over_pairs(rows, [name])
        ours = measure_seconds(lambda f=family: bootstrap(f, units, RESAMPLES), 1)
        print_row(f"ours, {name}, mean of 3 pairs, 1,000 resamples", ours)
        seconds = scale_to_resamples(lambda n, s=statistic: [correlate_pairs(scores.values, s) for _ in range(n)], 20)
        print_row("  loop over scipy", seconds, ours, "20 scaled")


def correlate_pairs(values: Floats, statistic: Callable[..., object]) -> list[object]:
    return [statistic(values[:, a], values[:, b]) for a, b in ((0, 1), (0, 2), (1, 2))]


def make_frame(ratings: Ratings) -> pd.DataFrame:
    """Return complete ratings in long form."""
    items, raters = ratings.codes.shape
    return pd.DataFrame(
        {
            "item": np.repeat([f"item {number}" for number in range(items)], raters),
            "scenario": "",
            "kind": "likert",
            "criterion": "",
            "part": None,
            "rater": np.tile(ratings.raters, items),
            "value": pd.Series((ratings.codes + 1).reshape(-1).tolist(), dtype=object),
        }
    )


LIKERT = {("likert", ""): Scale(level="ordinal", categories=(1, 2, 3, 4, 5))}


def bench_agreement_rows() -> None:
    print("\nThe agreement page, from a data frame of labels: all statistics with intervals")
    for items in (1_000, 333_000):
        frame = make_frame(make_ratings(items, 3, 5))
        seconds = measure_seconds(lambda f=frame: agreement_rows(f, by="all", scales=LIKERT), 3)
        print_row(f"agreement_rows, {3 * items:,} labels, ten statistics", seconds)


def bench_crowd() -> None:
    """Many annotators: each statistic of two raters is a mean over all of their pairs."""
    print("\nCrowds, 350 items on an ordinal scale of 5: all statistics with intervals, from a data frame")
    sizes = (10, 30, 100, 123)
    for raters in sizes:
        frame = make_frame(make_ratings(350, raters, 5))
        seconds = measure_seconds(lambda f=frame: agreement_rows(f, by="all", scales=LIKERT), 1)
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        print_row(f"agreement_rows, {raters} annotators", seconds, None, f"peak memory so far {megabytes:.0f} MB")
    for raters in sizes:  # last, because the reference takes more memory than what is measured
        check_pair_statistics(make_ratings(350, raters, 5))


def check_pair_statistics(ratings: Ratings) -> None:
    """Raise AssertionError unless tables in chunks and the path pair by pair give the same values."""
    patterns, numbers = distinct_patterns(ratings).with_min_labels(2), np.arange(1.0, len(ratings.categories) + 1)
    weights = patterns.units.frequencies[None]
    values = agreement.pair_statistics(patterns.codes, numbers, PAIR_STATISTICS)(weights)
    for name, value in zip(PAIR_STATISTICS, values, strict=True):
        expected = agreement.pair_statistic_without_tables(patterns.codes, numbers, name)(weights)
        np.testing.assert_allclose(value, expected, atol=1e-9, err_msg=name)


DESIGNS = {
    "3 even categories, 3 raters": ((1 / 3, 1 / 3, 1 / 3), 0.65, 3, 0.0),
    "3 even categories, 3 raters, 30 % missing": ((1 / 3, 1 / 3, 1 / 3), 0.65, 3, 0.3),
    "3 skewed categories, 3 raters": ((0.7, 0.2, 0.1), 0.75, 3, 0.0),
    "3 skewed categories, 3 raters, 30 % missing": ((0.7, 0.2, 0.1), 0.75, 3, 0.3),
    "5 categories, 5 raters, 40 % missing": ((0.1, 0.2, 0.4, 0.2, 0.1), 0.6, 5, 0.4),
    "2 skewed categories, 3 raters, high agreement": ((0.8, 0.2), 0.95, 3, 0.0),
}
"""True shares of the categories, how often a rater gives the true one (else guesses), raters, share missing."""
COVERED_STATISTICS = ("krippendorff_alpha_nominal", "fleiss_kappa", "gwet_ac1")
Design = tuple[tuple[float, ...], float, int, float]


def draw_study(rng: np.random.Generator, design: Design, items: int) -> Ratings:
    shares, accuracy, raters, missing = design
    n_categories = len(shares)
    truth = rng.choice(n_categories, (items, 1), p=shares)
    guess = rng.integers(0, n_categories, (items, raters))
    codes = np.where(rng.random((items, raters)) < accuracy, truth, guess)
    codes = np.where(rng.random((items, raters)) < missing, -1, codes).astype(np.int16)
    return Ratings((), (), codes, tuple(range(n_categories)))


def true_values(design: Design) -> Floats:
    """Return the statistics of an infinite study: every row of labels, weighted by its probability."""
    shares, accuracy, raters, missing = design
    n_categories = len(shares)
    rows = np.array(list(product(range(-1, n_categories), repeat=raters)), np.int16)
    probability = np.zeros(len(rows))
    for truth, share in enumerate(shares):
        of_label = (1 - missing) * (accuracy * (rows == truth) + (1 - accuracy) / n_categories)
        probability += share * np.where(rows < 0, missing, of_label).prod(axis=1)
    labelled = (rows >= 0).any(axis=1)
    counts = category_counts(rows, n_categories)[labelled]
    # The large factor makes corrections for small samples vanish.
    return count_family(counts, COVERED_STATISTICS)(1e9 * probability[labelled][None])[:, 0]


def measure_coverage(design: Design, items: int, studies: int) -> Floats:
    """Return how often the BCa and the percentile interval cover the truth, (3 statistics, 2)."""
    rng, truth = np.random.default_rng(items), true_values(design)[:, None]
    covered = []
    for _ in range(studies):
        patterns = count_patterns(draw_study(rng, design, items))
        family = count_family(patterns.counts, COVERED_STATISTICS)
        results = bootstrap(family, patterns.units, RESAMPLES)
        bca = np.array([[result.low, result.high] for result in results], float)
        weights = patterns.units.resample_weights(RESAMPLES)
        values = np.concatenate([family(chunk) for chunk in weights], axis=1)
        percentile = np.nanquantile(values, (0.025, 0.975), axis=1).T
        covered.append([(ends[:, :1] <= truth) & (truth <= ends[:, 1:]) for ends in (bca, percentile)])
    return np.concatenate(np.array(covered, float).mean(axis=0), axis=1)


def bench_coverage(studies: int) -> None:
    """Print the share of simulated studies whose 95 % interval covers the truth, in per cent."""
    error = 196 * (0.95 * 0.05 / studies) ** 0.5
    print(f"{studies} studies each; Monte Carlo error of a figure: +-{error:.1f} points")
    print(f"{'':<48}{'items':>6}   " + "".join(f"{name:>15}" for name in ("alpha", "Fleiss", "AC1")))
    for name, design in DESIGNS.items():
        for items in (20, 50, 200, 1000):
            percent = 100 * measure_coverage(design, items, studies)
            cells = "".join(f"  {bca:5.1f} ({percentile:4.1f})" for bca, percentile in percent)
            print(f"{name:<48}{items:>6}   {cells}", flush=True)
    print("BCa, as used; in brackets the percentile interval of the same resamples")


SPEED_TABLES = (
    bench_million_labels,
    bench_ten_thousand_items,
    bench_many_patterns,
    bench_continuous_scores,
    bench_agreement_rows,
)

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subject", nargs="?", choices=("speed", "crowd", "coverage"), default="speed")
    parser.add_argument("studies", nargs="?", type=int, default=2000, help="of each size, for coverage")
    options = parser.parse_args()
    if options.subject == "coverage":
        bench_coverage(options.studies)
    elif options.subject == "crowd":
        bench_crowd()
    else:
        for print_table in SPEED_TABLES:
            print_table()
