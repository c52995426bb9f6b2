"""Coverage of the intervals of means, critique scores, ceilings and correlations at other levels.

    python -m tests.bench.bench_coverage_reports

The other half of `bench_coverage`: statistics whose reports return estimates. The truth is the value of a study of
100,000 units.
"""

import sys
import warnings
from collections.abc import Callable, Mapping

import numpy as np

from core.statistics.data.arrays import Floats
from core.statistics.data.estimate import Estimate
from core.statistics.measures import correlation
from core.statistics.measures.critiques import AiuCounts, critique_scores
from core.statistics.measures.means import mean_estimate

SIZES = (20, 50, 100, 300)
RESAMPLES = 1000
Draw = Callable[[np.random.Generator, int, int], Mapping[str, Estimate]]
"""(generator, units, resamples) -> estimates by name."""


def means(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Rank distances, which are skewed, ratings, and the difference of two accuracies on the same items."""
    distances = rng.beta(0.8, 4.0, units)
    ratings = np.clip(np.rint(rng.normal(4.6, 0.6, (units, 3))), 1, 5).mean(axis=1)
    difficulty = rng.random(units)
    first, second = rng.random(units) < 0.5 + 0.4 * difficulty, rng.random(units) < 0.4 + 0.4 * difficulty
    return {
        "mean distance, Kendall's W": mean_estimate(distances, resamples=resamples),
        "mean rating": mean_estimate(ratings, resamples=resamples),
        "difference of accuracies": mean_estimate(first.astype(float) - second, resamples=resamples),
    }


def grouped_means(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """A share over items in dialogues of four to eight items, which are resampled whole."""
    sizes = rng.integers(4, 9, units)
    rates = rng.beta(3, 2, units)
    values = np.concatenate([(rng.random(size) < rate) for size, rate in zip(sizes, rates, strict=True)]).astype(float)
    groups = np.repeat(np.arange(units), sizes).astype(str).tolist()
    return {"share by dialogue": mean_estimate(values, groups=groups, resamples=resamples)}


def critique_f1(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Precision, recall and F1 of critiques with 2 to 9 AIUs; the reference has 4 to 9."""
    quality = rng.beta(4, 2, units)
    own, of_reference = rng.integers(2, 10, units), rng.integers(4, 10, units)
    precision = np.column_stack([rng.binomial(own, quality), own]).astype(float)
    recall = np.column_stack([rng.binomial(of_reference, 0.8 * quality), of_reference]).astype(float)
    names = tuple(map(str, range(units)))
    return critique_scores(AiuCounts(names, precision, recall), resamples=resamples)


def continuous_scores(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Continuous scores of a judge and of people, correlated at .6."""
    quality = rng.normal(size=units)
    judge, people = (quality + rng.normal(0, 0.8, units) for _ in range(2))
    return correlation.item_level_correlations(judge, people, resamples=resamples)


def correlations_in_dialogues(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Mean over dialogues of the correlation within six items."""
    quality = rng.normal(size=(units, 6)) + rng.normal(size=(units, 1))
    judge, people = (np.rint(2 * (quality + rng.normal(0, 0.7, quality.shape))) for _ in range(2))
    groups = np.repeat(np.arange(units), 6).astype(str)
    found = correlation.group_level_correlations(judge.ravel(), people.ravel(), groups, resamples=resamples)
    return {f"{name}_within_groups": estimate for name, estimate in found.items()}


def correlations_of_systems(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Correlation of the mean scores of `units` systems on 30 items each."""
    skill = rng.normal(size=(units, 1))
    judge, people = (skill + rng.normal(0, 1.5, (units, 30)) + rng.normal(0, 0.5, (units, 1)) for _ in range(2))
    systems = np.repeat(np.arange(units), 30).astype(str)
    items = np.tile(np.arange(30), units).astype(str)
    if not resamples:  # the truth: a thousand systems hold it to .01, and n x n signs stay small
        values = correlation.row_correlations(np.stack([judge.mean(axis=1)[None], people.mean(axis=1)[None]]))[:, 0]
        return {f"{n}_between_systems": _value(v) for n, v in zip(correlation.FUNCTIONS, values, strict=True)}
    found = correlation.system_level_correlations(
        judge.ravel(), people.ravel(), systems.tolist(), items.tolist(), resamples=resamples
    )
    return {f"{name}_between_systems": estimate for name, estimate in found.items()}


def _value(value: Floats) -> Estimate:
    return Estimate(float(value), None, None, 0, 0, 0, 0, 0, "")


CASES: Mapping[Draw, tuple[tuple[int, ...], int]] = {
    means: (SIZES, 100_000),
    grouped_means: (SIZES, 100_000),
    critique_f1: (SIZES, 100_000),
    continuous_scores: (SIZES, 20_000),
    correlations_in_dialogues: (SIZES, 20_000),
    correlations_of_systems: ((5, 10, 20), 2_000),
}
"""Case -> the numbers of units, and the units of the study that has the true value."""


def coverage(draw: Draw, units: int, truth: Mapping[str, Estimate], studies: int) -> dict[str, float]:
    """Return the share of studies whose interval holds the true value, in per cent."""
    held = dict.fromkeys(truth, 0)
    rng = np.random.default_rng(units)
    for _ in range(studies):
        for name, estimate in draw(rng, units, RESAMPLES).items():
            value = truth[name].value
            held[name] += value is not None and None not in (estimate.low, estimate.high) and (
                (estimate.low or 0) <= value <= (estimate.high or 0)
            )  # fmt: skip
    return {name: 100 * count / studies for name, count in held.items()}


def main(studies: int = 1000) -> None:
    """Print a table for each case."""
    for draw, (sizes, largest) in CASES.items():
        truth = draw(np.random.default_rng(99), largest, 0)
        columns = [coverage(draw, size, truth, studies) for size in sizes]
        print(f"\n{(draw.__doc__ or '').splitlines()[0]:<60}" + "".join(f"{size:>8}" for size in sizes))
        for name in truth:
            print(f"  {name:<58}" + "".join(f"{column[name]:8.1f}" for column in columns), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
