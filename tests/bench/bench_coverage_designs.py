"""Coverage of intervals in designs with missing labels, documents, rare tags, pairs of an item, and of effects.

    python -m tests.bench.bench_coverage_designs [STUDIES [CASE ...]] [--units N ...]

As `bench_coverage_reports`; the functions are those that the reports call.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit

from core.statistics.data.arrays import Codes, Estimate, Floats
from core.statistics.data.patterns import distinct_patterns, distinct_scores, judged_patterns
from core.statistics.data.ratings import Ratings
from core.statistics.measures.agreement import estimate_statistics, pair_statistics, with_raters_as_sample
from core.statistics.measures.bias import (
    SideEffect,
    preference_beyond_people,
    preference_given_people,
    preference_in_both_orders,
)
from core.statistics.measures.resampling import bootstrap
from core.statistics.reports.alignment import CEILING_STATISTICS, ceiling_estimates
from core.statistics.reports.judges import ceiling_difference
from core.statistics.reports.systems import SystemRow, rate_by_games, rate_by_scores
from tests.bench.bench_coverage import EVEN, SKEWED, WEAK, Design, draw_codes
from tests.bench.studies import Cases, estimate_of, print_coverage
from tests.core.statistics.builders import estimate_statistic, ratings_from_codes

SIZES = (20, 50, 300)
CROWDS = {
    **{
        f"{number} annotators, {name}": (design, (1.0,) * number)
        for name, design in {"even": EVEN, "skewed": SKEWED, "weak agreement": WEAK}.items()
        for number in (5, 6, 8, 10)
    },
    "8 annotators, the k-th of whom labels 1/k as often": (EVEN, tuple(1 / k for k in range(1, 9))),
}
"""Crowd -> the design of their labels, and how active each annotator is."""
STATISTICS = ("percent", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha_ordinal", "gwet_ac1", "pearson", "spearman")


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
    return estimate_statistics(ratings_from_codes(codes, 5, groups), STATISTICS, resamples=resamples)


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
    if not resamples:
        return _true_win_rates()
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
    rows = {row.system: row for row in rate_by_games(games, resamples=resamples)}
    found = {f"{name} of {system}": one for system in "abc" for name, one in _system(rows[system]).items()}
    strength = {
        f"strength of {s}": estimate_of(rows[s].strength, rows[s].strength_low, rows[s].strength_high) for s in "abc"
    }
    return found | strength


def _true_win_rates() -> dict[str, Estimate]:
    """Return the exact values of `win_rates`: chances of games are means over normal differences of variance 2."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)

    def chance(difference: float) -> float:
        return float(np.average(expit(difference + 2**0.5 * nodes), weights=weights))

    next_to, apart = chance(0.5), chance(1.0)
    rate = (next_to + apart) / 2
    strength = brentq(lambda s: expit(s) + expit(2 * s) - next_to - apart, 0, 2)
    rates = {"a": rate, "b": 0.5, "c": 1 - rate}
    found = {
        f"{name} of {system}": estimate_of(value)
        for system, value in rates.items()
        for name in ("labels and verdicts", "labels alone")
    }
    true_strengths = {"a": strength, "b": 0.0, "c": -strength}
    return found | {f"strength of {system}": estimate_of(value) for system, value in true_strengths.items()}


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


CASES: Cases = {
    crowd: (SIZES, 100_000),
    annotators_as_sample: ((2, 3, 5, 7, 10), 400),
    pairs_of_crowds: ((100, 300, 1000), 1_000_000),
    documents: (SIZES, 100_000),
    tags: (SIZES, 400_000),
    ceilings: (SIZES, 400_000),
    score_ceilings: ((20, 50, 100, 300, 1000), 1_000_000),
    side_effects: (SIZES, 400_000),
    win_rates: (SIZES, 0),
    mean_scores: (SIZES, 100_000),
    mean_scores_with_abstentions: (SIZES, 100_000),
}

if __name__ == "__main__":
    print_coverage(__doc__, CASES)
