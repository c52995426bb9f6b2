"""How fast the statistics are, and whether their intervals hold what they promise.

    python -m tests.bench.bench_statistics              speed, about two minutes
    python -m tests.bench.bench_statistics coverage     coverage of the intervals, about ten minutes

Both print tables; neither is part of the test run. Times are medians of processor time in one
process, so that other work on the machine hardly counts. The slow sides are timed on a few real
resamples and scaled to 1,000; the table says so.
"""

import sys
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
from core.statistics.data.patterns import by_counts, distinct_scores, tally
from core.statistics.data.ratings import Ratings, Scores
from core.statistics.measures import agreement, continuous, kernels
from core.statistics.measures.intervals import resample
from core.statistics.measures.kernels import Family
from core.statistics.reports.agreement import agreement as agreement_rows

RESAMPLES = 1000
FIVE = ("percent", "fleiss_kappa", "gwet_ac1", "krippendorff_alpha_nominal", "krippendorff_alpha_interval")


def labels(items: int, raters: int, kinds: int, missing: float = 0.0) -> Ratings:
    """Labels that agree in part."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, kinds, (items, 1))
    codes = np.where(rng.random((items, raters)) < 0.6, truth, rng.integers(0, kinds, (items, raters)))
    codes = np.where(rng.random((items, raters)) < missing, -1, codes).astype(np.int16)
    names = tuple(map(str, range(items)))
    return Ratings(names, tuple(map(str, range(raters))), codes, tuple(range(1, kinds + 1)))


def seconds(work: Callable[[], object], times: int) -> float:
    """The median of so many runs, after one to warm up where it is repeated."""
    if times > 1:
        work()
    taken = []
    for _ in range(times):
        start = process_time()
        work()
        taken.append(process_time() - start)
    return median(taken)


def family_of(counts: Floats, names: tuple[str, ...] = FIVE) -> Family:
    """The statistics as one function of weights."""
    numbers = np.arange(1.0, counts.shape[1] + 1)
    return kernels.together([agreement.OF_COUNTS[name](counts, numbers) for name in names])


def evaluate(rated: Ratings) -> Floats:
    """Five statistics from codes, without intervals."""
    patterns = by_counts(rated)
    return family_of(patterns.counts)(patterns.units.times[None])


def bootstrap(rated: Ratings, resamples: int = RESAMPLES) -> object:
    """Five statistics from codes, with intervals."""
    patterns = by_counts(rated)
    return resample(family_of(patterns.counts), patterns.units, resamples, 0)


def item_weights(rated: Ratings, resamples: int) -> object:
    """The same five with one weight for each item instead of each pattern, 50 resamples at a time."""
    counts = tally(rated.codes, len(rated.categories))
    family, rng, items = family_of(counts), np.random.default_rng(0), len(counts)
    weights = np.empty((50, items))
    for _ in range(resamples // 50):
        for row in weights:
            row[:] = np.bincount(rng.integers(0, items, items, dtype=np.int32), minlength=items)
        family(weights)
    return None


def looped(of: Callable[[np.ndarray], object], codes: np.ndarray, resamples: int) -> None:
    """A library asked once for each resample of items."""
    rng = np.random.default_rng(0)
    for _ in range(resamples):
        of(codes[rng.integers(0, len(codes), len(codes))])


def by_package(codes: np.ndarray) -> object:
    """krippendorff from a raters x items array."""
    data = np.where(codes < 0, np.nan, codes + 1.0).T
    return krippendorff.alpha(data, level_of_measurement="nominal")


def by_statsmodels(codes: np.ndarray) -> object:
    """statsmodels from the table of counts, which is made here."""
    return fleiss_kappa(aggregate_raters(codes, n_cat=int(codes.max()) + 1)[0])


def by_table(codes: np.ndarray) -> object:
    """statsmodels with the fastest table that numpy makes."""
    return fleiss_kappa(tally(codes, int(codes.max()) + 1))


def line(name: str, took: float, ours: float | None = None, note: str = "") -> None:
    """One line of the table."""
    times = "" if ours is None else f"{took / ours:10,.0f}x"
    print(f"  {name:<58}{1000 * took:14,.2f} ms {times:>12}  {note}")


def scaled(work: Callable[[int], object], few: int) -> float:
    """Seconds for 1,000 resamples, from a few real ones."""
    return seconds(lambda: work(few), 1) * RESAMPLES / few


def million() -> None:
    rated = labels(333_000, 3, 5)
    codes = rated.codes
    table = tally(codes, 5)
    print("\n333,000 items x 3 raters x 5 categories: one evaluation, from codes in memory")
    ours = seconds(lambda: evaluate(rated), 15)
    line("ours, five statistics together", ours)
    line("statsmodels.fleiss_kappa, table already built", seconds(lambda: fleiss_kappa(table), 5), ours)
    line("krippendorff.alpha(reliability_data)", seconds(lambda: by_package(codes), 3), ours)
    print("\nthe same: 1,000 resamples of the items")
    ours = seconds(lambda: bootstrap(rated), 15)
    line("ours, five statistics with BCa intervals", ours)
    line("one weight for each item, five statistics", scaled(lambda n: item_weights(rated, n), 50), ours, "50 scaled")
    line("loop over statsmodels, fastest table", scaled(lambda n: looped(by_table, codes, n), 6), ours, "6 scaled")
    line(
        "loop over statsmodels, its own table", scaled(lambda n: looped(by_statsmodels, codes, n), 4), ours, "4 scaled"
    )
    line("loop over krippendorff", scaled(lambda n: looped(by_package, codes, n), 4), ours, "4 scaled")


def ten_thousand() -> None:
    rated = labels(10_000, 3, 5)
    print("\n10,000 items x 3 raters x 5 categories: 1,000 resamples")
    ours = seconds(lambda: bootstrap(rated), 25)
    line("ours, five statistics with BCa intervals", ours)
    line("one weight for each item, five statistics", scaled(lambda n: item_weights(rated, n), 200), ours, "200 scaled")
    line(
        "loop over statsmodels, fastest table",
        scaled(lambda n: looped(by_table, rated.codes, n), 200),
        ours,
        "200 scaled",
    )
    line("loop over krippendorff", scaled(lambda n: looped(by_package, rated.codes, n), 60), ours, "60 scaled")


def where_it_pays_less() -> None:
    print("\nWhere there are many patterns: 1,000 resamples, 10 % of labels missing")
    for items, raters, kinds in ((100_000, 5, 5), (33_000, 30, 5), (20_000, 3, 100)):
        rated = labels(items, raters, kinds, 0.1)
        number = by_counts(rated).units.times.size
        ours = scaled(lambda n, r=rated: bootstrap(r, n), 1000)
        line(f"ours, {items:,} x {raters} x {kinds}: {number:,} patterns", ours)
        few = scaled(lambda n, r=rated: item_weights(r, n), 50)
        line("  one weight for each item", few, ours, "50 scaled")


def scores_of(items: int) -> Scores:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(items, 1)) + rng.normal(size=(items, 3))
    return Scores(tuple(map(str, range(items))), ("a", "b", "c"), values)


def continuous_scores() -> None:
    scores = scores_of(10_000)
    print("\nContinuous scores, 10,000 x 3: nothing repeats, so the gain is small")
    rows, units = distinct_scores(scores.values, None)
    ours = seconds(lambda: continuous.alpha_interval(rows)(units.times[None]), 9)
    line("ours, interval alpha, one value", ours)
    few = scores_of(300)
    ours = seconds(lambda: krippendorff.alpha(few.values.T, level_of_measurement="interval"), 3)
    line("krippendorff, interval alpha, one value at 300 x 3", ours, None, "items x values^2 array")
    interval = kernels.together([continuous.alpha_interval(rows)])
    line("ours, interval alpha, 1,000 resamples", seconds(lambda: resample(interval, units, RESAMPLES, 0), 3))
    for kind, statistic in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        family = continuous.over_pairs(rows, [kind])
        ours = seconds(lambda f=family: resample(f, units, RESAMPLES, 0), 1)
        line(f"ours, {kind}, mean of 3 pairs, 1,000 resamples", ours)
        theirs = scaled(lambda n, s=statistic: [pairs(scores.values, s) for _ in range(n)], 20)
        line("  loop over scipy", theirs, ours, "20 scaled")


def pairs(values: Floats, statistic: Callable[..., object]) -> list[object]:
    return [statistic(values[:, a], values[:, b]) for a, b in ((0, 1), (0, 2), (1, 2))]


def report() -> None:
    print("\nWhat the agreement page asks for, from a data frame of labels: all statistics with intervals")
    for items in (1_000, 333_000):
        codes = labels(items, 3, 5).codes
        frame = pd.DataFrame(
            {
                "item": np.repeat([f"item {number}" for number in range(items)], 3),
                "scenario": "",
                "kind": "likert",
                "criterion": "",
                "part": None,
                "rater": np.tile(["a", "b", "c"], items),
                "value": pd.Series((codes + 1).reshape(-1).tolist(), dtype=object),
            }
        )
        scale = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))
        work = lambda f=frame, s=scale: agreement_rows(f, by="all", scales={("likert", ""): s})  # noqa: E731
        line(f"agreement(), {3 * items:,} labels, ten statistics", seconds(work, 3))


DESIGNS = {
    "3 even categories, 3 raters": ((1 / 3, 1 / 3, 1 / 3), 0.65, 3, 0.0),
    "3 even categories, 3 raters, 30 % missing": ((1 / 3, 1 / 3, 1 / 3), 0.65, 3, 0.3),
    "3 skewed categories, 3 raters": ((0.7, 0.2, 0.1), 0.75, 3, 0.0),
    "3 skewed categories, 3 raters, 30 % missing": ((0.7, 0.2, 0.1), 0.75, 3, 0.3),
    "5 categories, 5 raters, 40 % missing": ((0.1, 0.2, 0.4, 0.2, 0.1), 0.6, 5, 0.4),
    "2 skewed categories, 3 raters, high agreement": ((0.8, 0.2), 0.95, 3, 0.0),
}
"""True shares of the categories, how often a rater sees the truth (else guesses), raters, missing."""
MEASURED = ("krippendorff_alpha_nominal", "fleiss_kappa", "gwet_ac1")
Design = tuple[tuple[float, ...], float, int, float]


def drawn(rng: np.random.Generator, design: Design, items: int) -> Ratings:
    """A study of the design."""
    shares, sees, raters, missing = design
    kinds = len(shares)
    truth = rng.choice(kinds, (items, 1), p=shares)
    guess = rng.integers(0, kinds, (items, raters))
    codes = np.where(rng.random((items, raters)) < sees, truth, guess)
    codes = np.where(rng.random((items, raters)) < missing, -1, codes).astype(np.int16)
    return Ratings((), (), codes, tuple(range(kinds)))


def truth_of(design: Design) -> Floats:
    """The statistics of an endless study: every row of labels with its probability."""
    shares, sees, raters, missing = design
    kinds = len(shares)
    rows = np.array(list(product(range(-1, kinds), repeat=raters)), np.int16)
    chance = np.zeros(len(rows))
    for truth, share in enumerate(shares):
        said = (1 - missing) * (sees * (rows == truth) + (1 - sees) / kinds)
        chance += share * np.where(rows < 0, missing, said).prod(axis=1)
    labelled = (rows >= 0).any(axis=1)
    counts = tally(rows, kinds)[labelled]
    return family_of(counts, MEASURED)(1e9 * chance[labelled][None])[:, 0]


def covered(design: Design, items: int, studies: int) -> Floats:
    """(3 statistics, 2): how often the BCa and the plain percentile interval hold the truth."""
    rng, truth = np.random.default_rng(items), truth_of(design)[:, None]
    held = []
    for study in range(studies):
        patterns = by_counts(drawn(rng, design, items))
        family = family_of(patterns.counts, MEASURED)
        bca = resample(family, patterns.units, RESAMPLES, study)
        ends = np.array([[one.low, one.high] for one in bca], float)
        values = np.concatenate([family(w) for w in patterns.units.resamples(RESAMPLES, study)], axis=1)
        plain = np.nanquantile(values, (0.025, 0.975), axis=1).T
        held.append([(e[:, :1] <= truth) & (truth <= e[:, 1:]) for e in (ends, plain)])
    return np.concatenate(np.array(held, float).mean(axis=0), axis=1)


def coverage(studies: int = 2000) -> None:
    """Share of simulated studies whose 95 % interval holds the truth, in per cent."""
    error = 196 * (0.95 * 0.05 / studies) ** 0.5
    print(f"{studies} studies each; Monte Carlo error of a figure: +-{error:.1f} points")
    print(f"{'':<48}{'items':>6}   " + "".join(f"{name:>15}" for name in ("alpha", "Fleiss", "AC1")))
    for name, design in DESIGNS.items():
        for items in (20, 50, 200, 1000):
            found = 100 * covered(design, items, studies)
            cells = "".join(f"  {bca:5.1f} ({plain:4.1f})" for bca, plain in found)
            print(f"{name:<48}{items:>6}   {cells}", flush=True)
    print("BCa, as used; in brackets the plain percentile interval of the same resamples")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if "coverage" in sys.argv:
        coverage()
    else:
        for table in (million, ten_thousand, where_it_pays_less, continuous_scores, report):
            table()
