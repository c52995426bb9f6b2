"""Coverage of the intervals of means, critique scores, ceilings and correlations at other levels.

    python -m tests.bench.bench_coverage_reports [STUDIES [CASE ...]] [--units N ...]

The other half of `bench_coverage`: statistics whose reports return estimates. The truth is the value of a study of
100,000 units.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from core.statistics.data.arrays import Bools, Estimate
from core.statistics.data.patterns import distinct_patterns
from core.statistics.measures import continuous
from core.statistics.measures.designs import design_mean
from core.statistics.measures.means import AiuCounts, critique_scores, mean_estimate, share_estimate
from core.statistics.measures.planning import Separation, plan_separation
from core.statistics.measures.resampling import bootstrap, stack_statistics
from core.statistics.measures.systems import rate_systems
from core.statistics.reports.judge_findings import slice_rows
from tests.bench.bench_coverage import EVEN, draw_codes
from tests.bench.studies import Cases, estimate_of, print_coverage
from tests.core.statistics.builders import ratings_from_codes
from tests.core.statistics.oracles import run_by_category

SIZES = (20, 50, 100, 300)


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
    values = np.concatenate([(rng.random(size) < rate) for size, rate in zip(sizes, rates, strict=True)])
    groups = np.repeat(np.arange(units), sizes).astype(str).tolist()
    return {"share by dialogue": share_estimate(values, groups)}


def critique_f1(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Precision, recall and F1 of critiques with 2 to 9 AIUs; the reference has 4 to 9."""
    quality = rng.beta(4, 2, units)
    own, of_reference = rng.integers(2, 10, units), rng.integers(4, 10, units)
    precision = np.column_stack([rng.binomial(own, quality), own]).astype(float)
    recall = np.column_stack([rng.binomial(of_reference, 0.8 * quality), of_reference]).astype(float)
    return critique_scores(AiuCounts(precision, recall), resamples=resamples)


def continuous_scores(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Continuous scores of a judge and of people, correlated at .6."""
    quality = rng.normal(size=units)
    judge, people = (quality + rng.normal(0, 0.8, units) for _ in range(2))
    return continuous.item_level_correlations(judge, people, resamples=resamples)


def correlations_in_dialogues(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Mean over dialogues of the correlation within six items."""
    quality = rng.normal(size=(units, 6)) + rng.normal(size=(units, 1))
    judge, people = (np.rint(2 * (quality + rng.normal(0, 0.7, quality.shape))) for _ in range(2))
    groups = np.repeat(np.arange(units), 6).astype(str)
    found = continuous.group_level_correlations(judge.ravel(), people.ravel(), groups, resamples=resamples)
    return {f"{name}_within_groups": estimate for name, estimate in found.items()}


def correlations_of_systems(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Correlation of the mean scores of `units` systems on 30 items each."""
    skill = rng.normal(size=(units, 1))
    judge, people = (skill + rng.normal(0, 1.5, (units, 30)) + rng.normal(0, 0.5, (units, 1)) for _ in range(2))
    systems = np.repeat(np.arange(units), 30).astype(str)
    items = np.tile(np.arange(30), units).astype(str)
    if not resamples:  # the truth: a thousand systems hold it to .01, and n x n signs stay small
        values = continuous.row_correlations(np.stack([judge.mean(axis=1)[None], people.mean(axis=1)[None]]))[:, 0]
        return {f"{n}_between_systems": estimate_of(v) for n, v in zip(continuous.FUNCTIONS, values, strict=True)}
    found = continuous.system_level_correlations(
        judge.ravel(), people.ravel(), systems.tolist(), items.tolist(), resamples=resamples
    )
    return {f"{name}_between_systems": estimate for name, estimate in found.items()}


def shares(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Shares of verdicts with Wilson's interval, such as position, length and consistency in both orders."""
    return {f"share of {rate:.0%}": share_estimate(rng.random(units) < rate) for rate in (0.1, 0.3, 0.5)}


def prediction_powered(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """A win rate of `units` labels and ten times as many verdicts of a judge that is right on four of five."""
    human = rng.choice([0.0, 0.5, 1.0], 11 * units, p=[0.3, 0.1, 0.6])
    judge = np.where(rng.random(human.size) < 0.8, human, rng.choice([0.0, 0.5, 1.0], human.size))
    human[units:] = np.nan
    means = {
        name: design_mean(human, np.ones(human.size), np.zeros(human.size, np.int64), verdicts, limits=(0, 1))
        for name, verdicts in (("labels and verdicts", judge), ("labels alone", None))
    }
    return {name: estimate_of(found.value, found.low, found.high) for name, found in means.items()}


def advantage(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Advantage of the alternative-annotator test, three annotators and five categories."""
    codes = draw_codes(rng, EVEN, units)
    patterns = distinct_patterns(ratings_from_codes(codes, 5)).with_min_labels(2)
    rows = patterns.codes.astype(float)
    test = run_by_category(rows[:, :-1], rows[:, -1], ("a", "b", "c"), units=patterns.units)
    if not resamples:
        return {"advantage": estimate_of(float(np.mean([each.advantage_probability for each in test.tests])))}
    (result,) = bootstrap(stack_statistics([test.mean_advantage]), test.units, resamples)
    return {"advantage": estimate_of(0.0, result.low, result.high)}


def strengths(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Bradley-Terry strengths of four systems from `units` games of each two; a tenth are ties."""
    true = np.array([0.9, 0.2, -0.3, -0.8])
    pairs = np.array([(one, other) for one in range(4) for other in range(one + 1, 4)])
    first, second = np.repeat(pairs, units, axis=0).T
    wins = rng.random(first.size) < 1 / (1 + np.exp(true[second] - true[first]))
    winner = np.where(rng.random(first.size) < 0.1, 0, np.where(wins, 1, 2))
    found = rate_systems(first, second, winner, "abcd", resamples=max(resamples, 2))
    return {
        f"strength of {rating.system}": estimate_of(rating.strength or 0.0, rating.low, rating.high) for rating in found
    }


def slices(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Excess disagreement in a slice of `units` targets or documents, of which there are twice as many outside."""
    single = rng.random(3 * units) < np.repeat([0.35, 0.2], [units, 2 * units])
    documents = np.repeat(rng.beta([[1.4], [0.8]], [[2.6], [3.2]], (2, 3 * units)), 4, axis=1)
    sizes = (4 * units, 8 * units)
    rates = np.concatenate([documents[0, : sizes[0]], documents[1, : sizes[1]]])
    names = np.repeat(np.arange(3 * units), 4).astype(str).tolist()
    return {
        "targets": _excess(single, units, None),
        "documents of four targets": _excess(rng.random(rates.size) < rates, sizes[0], names),
    }


def _excess(differs: Bools, inside: int, groups: Sequence[str] | None) -> Estimate:
    known = np.ones(differs.size, bool)
    (row,) = slice_rows("judge", differs, {("scenario", "a"): (np.arange(differs.size) < inside, known)}, groups)
    return estimate_of(0.15, row.low, row.high)


def equal_judges(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Judges that are equally accurate are not separated by `units` targets on which they differ, or documents."""
    single = rng.choice([1.0, -1.0, 0.0], units, p=[0.45, 0.45, 0.1])
    rates = np.repeat(rng.beta(2, 2, units), 3)
    grouped = np.where(rng.random(rates.size) < rates, 1.0, -1.0)
    documents = np.repeat(np.arange(units), 3).astype(str).tolist()
    return {
        "targets": _separation(plan_separation(single)),
        "documents of three targets": _separation(plan_separation(grouped, documents)),
    }


def _separation(found: Separation) -> Estimate:
    """Return an interval that holds 0 if two judges are not separated."""
    return estimate_of(0.0, float(found.separated), 1.0)


CASES: Cases = {
    means: (SIZES, 100_000),
    grouped_means: (SIZES, 100_000),
    critique_f1: (SIZES, 100_000),
    continuous_scores: (SIZES, 20_000),
    correlations_in_dialogues: (SIZES, 20_000),
    correlations_of_systems: ((5, 10, 20), 2_000),
    shares: (SIZES, 1_000_000),
    prediction_powered: (SIZES, 1_000_000),
    advantage: (SIZES[1:], 400_000),
    strengths: (SIZES, 400_000),  # not the true strengths: a tie is half a win for each, which moves them
    slices: (SIZES, 10),
    equal_judges: (SIZES, 10),
}


if __name__ == "__main__":
    print_coverage(__doc__, CASES)
