"""Speed of the statistics: python -m tests.bench.bench_statistics (about two minutes)

Prints tables. Times are medians of processor time in one process, so other work on the machine hardly counts. Slow
alternatives are timed on a few real resamples and scaled to 1,000, as the table states.
"""

import argparse
import warnings
from collections.abc import Callable, Mapping
from statistics import median
from time import process_time

import krippendorff
import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from core.labels import Scale
from core.statistics.data.arrays import Floats
from core.statistics.data.patterns import category_counts, count_patterns, distinct_scores
from core.statistics.data.ratings import Ratings, Scores
from core.statistics.measures import continuous
from core.statistics.measures.resampling import Resampled, bootstrap, stack_statistics
from tests.bench.bench_coverage import count_family
from tests.bench.studies import RESAMPLES
from tests.core.statistics.builders import random_ratings

FIVE_STATISTICS = ("percent", "fleiss_kappa", "gwet_ac1", "krippendorff_alpha_nominal", "krippendorff_alpha_interval")


def make_ratings(items: int, raters: int, n_categories: int, missing: float = 0.0) -> Ratings:
    """Return labels that agree in part."""
    return random_ratings(np.random.default_rng(0), items, raters, n_categories, missing)


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


def evaluate(ratings: Ratings) -> Floats:
    """Compute five statistics from codes, without intervals."""
    patterns = count_patterns(ratings)
    return count_family(patterns.counts, FIVE_STATISTICS)(patterns.units.frequencies[None])


def bootstrap_patterns(ratings: Ratings) -> list[Resampled]:
    """Compute five statistics from codes, with intervals."""
    patterns = count_patterns(ratings)
    return bootstrap(count_family(patterns.counts, FIVE_STATISTICS), patterns.units, RESAMPLES)


def bootstrap_items(ratings: Ratings, resamples: int) -> None:
    """Resample the same five with one weight for each item instead of each pattern, 50 resamples at a time."""
    counts = category_counts(ratings.codes, len(ratings.categories))
    family, rng, items = count_family(counts, FIVE_STATISTICS), np.random.default_rng(0), len(counts)
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
    print_resamples(ratings, 50, {"fast table": 6, "own table": 4, "krippendorff": 4})


LOOPS: dict[str, tuple[str, Callable[[np.ndarray], object]]] = {
    "fast table": ("loop over statsmodels, fastest table", statsmodels_fleiss_fast_table),
    "own table": ("loop over statsmodels, its own table", statsmodels_fleiss),
    "krippendorff": ("loop over krippendorff", krippendorff_alpha),
}


def print_resamples(ratings: Ratings, of_items: int, of_libraries: Mapping[str, int]) -> None:
    """Print the times of 1,000 resamples; the slow ones are scaled from so many real ones."""
    ours = measure_seconds(lambda: bootstrap_patterns(ratings), 15)
    print_row("ours, five statistics with BCa intervals", ours)
    seconds = scale_to_resamples(lambda n: bootstrap_items(ratings, n), of_items)
    print_row("one weight for each item, five statistics", seconds, ours, f"{of_items} scaled")
    for key, number in of_libraries.items():
        name, statistic = LOOPS[key]
        seconds = scale_to_resamples(lambda n, s=statistic: bootstrap_by_library(s, ratings.codes, n), number)
        print_row(name, seconds, ours, f"{number} scaled")


def bench_ten_thousand_items() -> None:
    print("\n10,000 items x 3 raters x 5 categories: 1,000 resamples")
    print_resamples(make_ratings(10_000, 3, 5), 200, {"fast table": 200, "krippendorff": 60})


def bench_many_patterns() -> None:
    for items, raters, n_categories in ((100_000, 5, 5), (33_000, 30, 5), (20_000, 3, 100)):
        ratings = make_ratings(items, raters, n_categories, 0.1)
        patterns = count_patterns(ratings).units.frequencies.size
        print(f"\n{items:,} x {raters} x {n_categories}, 10 % missing: {patterns:,} patterns, 1,000 resamples")
        print_resamples(ratings, 50, {})


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


SPEED_TABLES = (
    bench_million_labels,
    bench_ten_thousand_items,
    bench_many_patterns,
    bench_continuous_scores,
)

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    argparse.ArgumentParser(description=__doc__).parse_args()
    for print_table in SPEED_TABLES:
        print_table()
