"""Coverage of the 95 % interval of every kind of statistic that is shown.

    python -m tests.bench.bench_coverage [STUDIES [CASE ...]] [--units N ...]

The share of simulated studies whose interval holds the value of a study of very many units, in per cent. Each statistic
is computed by the function that the reports call. `bench_drawn_labels` has figures from labels that a design drew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.statistics.data.arrays import Bools, Codes, Estimate, Floats
from core.statistics.data.patterns import Units, distinct_patterns, distinct_scores, judged_patterns
from core.statistics.data.ratings import Ratings
from core.statistics.measures import agreement, continuous
from core.statistics.measures.agreement import estimate_statistics, pair_statistics, with_raters_as_sample
from core.statistics.measures.alternative_annotator import human_ceiling
from core.statistics.measures.bias import (
    SideEffect,
    preference_beyond_people,
    preference_given_people,
    preference_in_both_orders,
)
from core.statistics.measures.means import AiuCounts, critique_scores, mean_estimate, share_estimate
from core.statistics.measures.planning import Separation, plan_separation
from core.statistics.measures.resampling import Family, bootstrap, stack_statistics, weighted_mean
from core.statistics.reports.alignment import CEILING_STATISTICS, ceiling_estimates
from core.statistics.reports.judge_findings import slice_rows
from core.statistics.reports.judges import ceiling_difference
from core.statistics.reports.systems import SystemRow, rate_by_games, rate_by_scores
from tests.bench.studies import Cases, estimate_of, print_coverage
from tests.core.statistics.builders import count_patterns, estimate_statistic, ratings_from_codes
from tests.core.statistics.oracles import run_by_category

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


def _two_raters(codes: Codes, categories: int) -> tuple[Family, Units]:
    """Kappas of the first rater and the judge."""
    pair = ratings_from_codes(codes[:, [0, -1]], categories)
    patterns, numbers = distinct_patterns(pair).with_min_labels(2), np.arange(1.0, categories + 1)
    kappas = pair_statistics(patterns.codes, numbers, KAPPAS)
    shared = count_family(patterns.counts, ("percent", "gwet_ac1"))
    return (lambda weights: np.concatenate([shared(weights), kappas(weights)])), patterns.units


def _many_raters(codes: Codes, categories: int) -> tuple[Family, Units]:
    """Alphas of all raters, and the mean quadratic kappa and Spearman over pairs."""
    ratings = ratings_from_codes(codes[:, :-1], categories)
    patterns, numbers = distinct_patterns(ratings).with_min_labels(2), np.arange(1.0, categories + 1)
    alphas = count_family(patterns.counts, ("krippendorff_alpha_ordinal", "krippendorff_alpha_interval"))
    pairs = pair_statistics(patterns.codes, numbers, ("cohen_kappa_quadratic", "spearman"))
    return (lambda weights: np.concatenate([alphas(weights), pairs(weights)])), patterns.units


def _judge_correlations(codes: Codes, categories: int) -> tuple[Family, Units]:
    """Correlations of the judge with the mean of the raters."""
    rows, units = distinct_scores(np.column_stack([codes[:, -1], codes[:, :-1].mean(axis=1)]).astype(float), None)
    functions = (continuous.pearson, continuous.spearman, continuous.kendall_tau_b)
    return stack_statistics([function(*rows.T) for function in functions]), units


def _win_rate(codes: Codes, categories: int) -> tuple[Family, Units]:
    """The mean of wins, 1 where the judge equals the first rater; shares are in `shares`."""
    rows, units = distinct_scores((codes[:, -1] == codes[:, 0]).astype(float)[:, None], None)
    return stack_statistics([weighted_mean(rows[:, 0], np.ones(len(rows), bool))]), units


def _ceilings(codes: Codes, categories: int) -> tuple[Family, Units]:
    """Annotators against the majority of the others, the judge against the same, and the difference."""
    patterns = judged_patterns(ratings_from_codes(codes[:, :-1], categories), codes[:, -1], codes[:, 0])
    ceiling = human_ceiling(patterns)
    if ceiling is None:
        raise ValueError("no item has a majority of the others")
    return stack_statistics([ceiling.annotators, ceiling.judge, ceiling.difference]), patterns.units


def draw_figures(rng: np.random.Generator, design: Design, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Return every statistic of the labels of a design."""
    codes, found = draw_codes(rng, design, units), {}
    for build, names in OF_CODES.items():
        family, patterns = build(codes, len(design.shares))
        for statistic, one in zip(names, bootstrap(family, patterns, resamples), strict=True):
            found[statistic] = estimate_of(one.value, one.low, one.high)
    return found


OF_CODES = {
    _two_raters: ("percent", "gwet_ac1", *KAPPAS),
    _many_raters: ("alpha ordinal", "alpha interval", "quadratic kappa, 3 pairs", "spearman, 3 pairs"),
    _judge_correlations: ("pearson with mean", "spearman with mean", "kendall_tau_b with mean"),
    _win_rate: ("win rate",),
    _ceilings: ("human_ceiling", "judge_against_others", "judge_less_ceiling"),
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


def nominal(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Nominal categories: raters give the true one or guess."""
    found = {}
    for name, (shares, accuracy, raters, missing) in NOMINAL.items():
        truth = rng.choice(len(shares), (units, 1), p=shares)
        codes = np.where(rng.random((units, raters)) < accuracy, truth, rng.integers(0, len(shares), (units, raters)))
        codes = np.where(rng.random((units, raters)) < missing, -1, codes)
        patterns = count_patterns(ratings_from_codes(codes, len(shares)))
        family = count_family(patterns.counts, list(OF_COUNTS.values()))
        for statistic, one in zip(OF_COUNTS, bootstrap(family, patterns.units, resamples), strict=True):
            found[f"{name}: {statistic}"] = estimate_of(one.value, one.low, one.high)
    return found


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


CROWDS = {
    **{
        f"{number} annotators, {name}": (design, (1.0,) * number)
        for name, design in {"even": EVEN, "skewed": SKEWED, "weak agreement": WEAK}.items()
        for number in (5, 6, 8, 10)
    },
    "8 annotators, the k-th of whom labels 1/k as often": (EVEN, tuple(1 / k for k in range(1, 9))),
}
"""Crowd -> the design of their labels, and how active each annotator is."""
OF_RATINGS = ("percent", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha_ordinal", "gwet_ac1", "pearson", "spearman")


def crowd(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Items with three of eight annotators, as the page shows it: means over pairs have no interval."""
    raters, labels = (8, 3) if resamples else (2, 2)  # every two annotators have the same true value
    return _agreement(_sparse_codes(rng, raters, labels, units), None, resamples)


def annotators_as_sample(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Agreement of `units` annotators on 200 items, for these annotators, and for others like them too.

    The truth is that of 400 annotators on 4,000 items.
    """
    drawn = biased_ratings(rng, units, 200 if resamples else 4_000)
    names = ("percent", "fleiss_kappa", "krippendorff_alpha_nominal", "gwet_ac1")
    these = estimate_statistics(drawn, names, resamples=min(resamples, 400))
    others = with_raters_as_sample(drawn, these) if resamples else these
    return these | {f"{name}, others too": one for name, one in others.items()}


def biased_ratings(rng: np.random.Generator, raters: int, items: int = 200) -> Ratings:
    """Return labels that are 1 if an item's value + the annotator's bias + noise, of sd 1, .6 and .6, is positive."""
    value, bias = rng.normal(size=(items, 1)), 0.6 * rng.normal(size=raters)
    return ratings_from_codes(value + bias + 0.6 * rng.normal(size=(items, raters)) > 0, 2)


def pairs_of_crowds(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Intervals of means over pairs of annotators, also those that are not shown; three annotators of each item."""
    names, found = ("cohen_kappa", "cohen_kappa_quadratic", "pearson", "spearman"), {}
    for crowd_name, (design, activities) in CROWDS.items():
        codes = _crowd_codes(rng, design, np.array(activities) if resamples else np.ones(2), units)
        patterns = distinct_patterns(ratings_from_codes(codes, 5)).with_min_labels(2)
        family = pair_statistics(patterns.codes, np.arange(1.0, 6.0), names)
        for name, one in zip(names, bootstrap(family, patterns.units, min(resamples, 400)), strict=True):
            found[f"{name}, {crowd_name}"] = estimate_of(one.value, one.low, one.high)
    return found


def _crowd_codes(rng: np.random.Generator, design: Design, activities: Floats, items: int) -> Codes:
    """Return codes (items, raters), -1 except for three annotators of each item, or all of two.

    They are drawn without replacement, in proportion to their activities (raters,).
    """
    codes = draw_codes(rng, Design(design.shares, activities.size, design.spread), items)[:, :-1]
    ranks = (rng.exponential(size=codes.shape) / activities).argsort(axis=1).argsort(axis=1)
    return np.where(ranks < 3, codes, -1).astype(np.int16)


def _sparse_codes(rng: np.random.Generator, raters: int, labels: int, items: int) -> Codes:
    """Return codes (items, raters), -1 except for `labels` annotators of each item, drawn at random."""
    codes = draw_codes(rng, Design(EVEN.shares, raters, EVEN.spread), items)[:, :-1]
    order = rng.random(codes.shape).argsort(axis=1)
    return np.where(order < labels, codes, -1).astype(np.int16)


def _agreement(codes: Codes, groups: tuple[str, ...] | None, resamples: int) -> Mapping[str, Estimate]:
    return estimate_statistics(ratings_from_codes(codes, 5, groups), OF_RATINGS, resamples=resamples)


def documents(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Three annotators of documents with four items that have the same category in half of the cases."""
    common = np.repeat(rng.choice(5, units, p=EVEN.shares), 4)
    truth = np.where(rng.random(common.size) < 0.5, common, rng.choice(5, common.size, p=EVEN.shares))
    errors = rng.normal(0, 0.8, (common.size, 3)) * np.repeat(rng.uniform(0.3, 1.7, units), 4)[:, None]
    codes = np.clip(np.rint(truth[:, None] + errors), 0, 4).astype(np.int16)
    names = tuple(np.repeat(np.arange(units), 4).astype(str).tolist())
    return _agreement(codes, names if resamples else None, resamples)


def tags(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Kappa of tags that 20 or 5 % of the reasons of two annotators have."""
    found = {}
    for share in (0.2, 0.05):
        has_tag = rng.random((units, 1)) < share
        codes = np.where(rng.random((units, 2)) < 0.8, has_tag, rng.random((units, 2)) < share)
        ratings = ratings_from_codes(codes, 2)
        found[f"share {share:.0%}"] = estimate_statistic(ratings, "fleiss_kappa", resamples=resamples)
    return found


def ceilings(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """The difference from the human ceiling with two, three or five annotators, and three of eight on each item."""
    found = {}
    for annotators, labels in ((2, 2), (3, 3), (5, 5), (8, 3)):
        codes = draw_codes(rng, Design(EVEN.shares, annotators, EVEN.spread), units)
        missing = rng.random((units, annotators)).argsort(axis=1) >= labels
        ratings = ratings_from_codes(np.where(missing, -1, codes[:, :-1]), 5)
        patterns = judged_patterns(ratings, codes[:, -1], np.zeros(units, np.int16))
        found[f"{labels} of {annotators} annotators"] = ceiling_difference(patterns, max(resamples, 2))
    return found


def score_ceilings(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Spearman's rho of annotators and a judge with the mean of the other annotators, on scores from 1 to 10."""
    quality = rng.normal(5.5, 2, (units, 1))
    noise = rng.normal(0, [1.2, 1.2, 1.2, 1.8], (units, 4))
    rows, weights = distinct_scores(np.clip(np.rint(quality + noise), 1, 10), None)
    found = ceiling_estimates(rows, weights, units, resamples)
    return {name: found[name] for name in CEILING_STATISTICS}


def side_effects(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """A preference of .15 for a side: given one label of people, beyond three labels, and of both orders."""
    people = rng.random(units) < 0.6
    chose = np.where(rng.random(units) < 0.3, True, np.where(rng.random(units) < 0.1, ~people, people))
    labels = np.where(rng.random((units, 3)) < 0.85, people[:, None], ~people[:, None]) * 2.0 - 1
    of_documents = np.repeat(rng.random(units) < 0.6, 4)
    followed = np.repeat(rng.random(units) < 0.3, 4)
    judged = followed | np.where(rng.random(of_documents.size) < 0.1, ~of_documents, of_documents)
    own = np.where(rng.random((of_documents.size, 3)) < 0.85, of_documents[:, None], ~of_documents[:, None]) * 2.0 - 1
    names = np.repeat(np.arange(units), 4).astype(str).tolist()
    first = np.where(
        rng.random((units, 2)) < 0.15, 0, np.where(rng.random((units, 2)) < 0.3, [1, 2], people[:, None] + 1)
    )
    return {
        "given people": _effect(preference_given_people(chose, people)),
        "given people, documents of four": _effect(preference_given_people(judged, of_documents, names)),
        "beyond three labels": _effect(preference_beyond_people(chose, labels)),
        "beyond three labels, documents of four": _effect(preference_beyond_people(judged, own, names)),
        "both orders": _effect(preference_in_both_orders(first.astype(float))),
    }


def _effect(found: SideEffect | None) -> Estimate:
    return estimate_of(None) if found is None else estimate_of(found.value, found.low, found.high)


def win_rates(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """Three systems, of which each item has all pairs; people labelled `units` of eleven times as many items."""
    strengths = np.array([0.5, 0.0, -0.5]) + rng.normal(0, 1, (11 * units, 3))
    pairs = np.array([(0, 1), (0, 2), (1, 2)])
    chances = 1 / (1 + np.exp(strengths[:, pairs[:, 1]] - strengths[:, pairs[:, 0]]))
    people = np.where(rng.random(chances.shape) < chances, 1.0, 2.0)
    judge = np.where(rng.random(chances.shape) < 0.2, 1.0, people)  # prefers the first one too often
    people[units:] = np.nan
    names = np.array(["a", "b", "c"], object)
    games = pd.DataFrame(
        {
            "item": np.repeat(np.arange(11 * units), 3).astype(str),
            "scenario": "",
            "first": np.tile(names[pairs[:, 0]], 11 * units),
            "second": np.tile(names[pairs[:, 1]], 11 * units),
            "people": people.reshape(-1),
            "judge": judge.reshape(-1),
            "asked": True,
            "undecided": False,
        }
    )
    rows = {row.system: row for row in rate_by_games(games, resamples=max(resamples, 2))}
    found = {f"{name} of {system}": one for system in "abc" for name, one in _system(rows[system]).items()}
    strength = {
        f"strength of {s}": estimate_of(rows[s].strength, rows[s].strength_low, rows[s].strength_high) for s in "abc"
    }
    return found | strength


def mean_scores(rng: np.random.Generator, units: int, resamples: int, abstains: float = 0.0) -> Mapping[str, Estimate]:
    """The mean score of a system from 1 to 5, mostly high, from `units` labels and ten times as many verdicts.

    The judge gives no verdict on a share `abstains` of the responses of less than average quality.
    """
    quality = np.minimum(5, rng.normal(4.5, 0.8, 11 * units))
    people, judge = (np.clip(np.rint(quality + rng.normal(shift, 0.5, quality.size)), 1, 5) for shift in (0, 0.3))
    people[units:] = np.nan
    judge[(quality < np.median(quality)) & (rng.random(quality.size) < abstains)] = np.nan
    columns = {"item": np.arange(quality.size).astype(str), "scenario": "", "system": "a"}
    columns |= {"asked": True, "undecided": False}
    (row,) = rate_by_scores(pd.DataFrame(columns | {"people": people, "judge": judge}))
    return _system(row)


def mean_scores_with_abstentions(rng: np.random.Generator, units: int, resamples: int) -> Mapping[str, Estimate]:
    """The same with a judge that gives no verdict on 60 % of the worse half of the responses."""
    return mean_scores(rng, units, resamples, abstains=0.6)


def _system(row: SystemRow) -> Mapping[str, Estimate]:
    truth = row.value
    return {
        "labels and verdicts": estimate_of(truth, row.low, row.high),
        "labels alone": estimate_of(truth, row.people_low, row.people_high),
    }


UP_TO_300 = (20, 50, 100, 300)
FEW_SIZES = (20, 50, 300)
CASES: Cases = {
    even: (SIZES, TRUE_ITEMS),
    skewed: (SIZES, TRUE_ITEMS),
    weak: (SIZES, TRUE_ITEMS),
    nominal: ((20, 50, 200, 1000), TRUE_ITEMS),
    means: (UP_TO_300, 100_000),
    grouped_means: (UP_TO_300, 100_000),
    critique_f1: (UP_TO_300, 100_000),
    continuous_scores: (UP_TO_300, 20_000),
    correlations_in_dialogues: (UP_TO_300, 20_000),
    correlations_of_systems: ((5, 10, 20), 2_000),
    shares: (UP_TO_300, 1_000_000),
    advantage: (UP_TO_300[1:], 400_000),
    slices: (UP_TO_300, 10),
    equal_judges: (UP_TO_300, 10),
    crowd: (FEW_SIZES, 100_000),
    annotators_as_sample: ((2, 3, 5, 7, 10), 400),
    pairs_of_crowds: ((100, 300, 1000), 1_000_000),
    documents: (FEW_SIZES, 100_000),
    tags: (FEW_SIZES, 400_000),
    ceilings: (FEW_SIZES, 400_000),
    score_ceilings: (SIZES, 1_000_000),
    side_effects: (FEW_SIZES, 400_000),
    win_rates: (FEW_SIZES, 20_000),
    mean_scores: (FEW_SIZES, 100_000),
    mean_scores_with_abstentions: (FEW_SIZES, 100_000),
}

if __name__ == "__main__":
    print_coverage(__doc__, CASES)
