"""Alignment statistics of a judge whose verdicts are numbers: correlation with annotators, and its ceiling."""

from dataclasses import dataclass, replace

import numpy as np

from core.statistics import notes
from core.statistics.data.arrays import Bools, Floats
from core.statistics.data.dataset import Dataset, JudgeOpinions
from core.statistics.data.estimate import Estimate
from core.statistics.data.patterns import Units, distinct_scores
from core.statistics.data.ratings import mean_scores
from core.statistics.measures import correlation
from core.statistics.measures.alternative_annotator import EPSILON, run_alternative_annotator_test
from core.statistics.measures.continuous import spearman
from core.statistics.measures.intervals import bootstrap
from core.statistics.measures.pairwise import MIN_ITEMS_FOR_CORRELATION
from core.statistics.measures.shares import selected_groups, share_estimate
from core.statistics.measures.statistic import Statistic, difference, mean_by_items, on_subset, stack_statistics
from core.statistics.reports.category_alignment import annotator_test_estimates, no_verdict_rate

CEILING_STATISTICS = ("human_ceiling_spearman", "judge_against_others_spearman", "judge_less_ceiling_spearman")


def score_statistics(
    dataset: Dataset, opinions: JudgeOpinions, *, epsilon: float = EPSILON, resamples: int = 1000, seed: int = 0
) -> dict[str, Estimate]:
    """Estimate all statistics of a judge on numbers, by name; correlations are with the reference."""
    judge = dataset.to_numbers(np.where(opinions.asked, opinions.values, np.nan))
    annotators = dataset.to_numbers(dataset.labels)
    correlations = judge_correlations(dataset, judge, dataset.gold_scores, resamples, seed)
    rows, units = distinct_scores(np.column_stack([annotators, judge]), dataset.ratings.groups)
    names = dataset.ratings.raters
    test = run_alternative_annotator_test(rows[:, :-1], rows[:, -1], names, numeric=True, units=units, epsilon=epsilon)
    asked = int(opinions.asked.sum())
    raters = int((~np.isnan(annotators[~np.isnan(judge)])).any(axis=0).sum())
    return {
        "no_verdict_rate": no_verdict_rate(opinions, dataset.ratings.groups),
        **(answer_accuracies(dataset, opinions, judge) if dataset.kind == "answer" else {}),
        **{name: replace(estimate, items_total=asked, raters=raters) for name, estimate in correlations.items()},
        **ceiling_estimates(rows, units, asked, resamples, seed),
        **annotator_test_estimates(test, asked, resamples, seed),
    }


def answer_accuracies(dataset: Dataset, opinions: JudgeOpinions, judge: Floats) -> dict[str, Estimate]:
    """Estimate the share of a judge's numeric answers that equal the reference: of those given, and of those asked for.

    In `example_level_agreement` a problem without an answer counts as a wrong one, as in published accuracies.
    """
    equal, known = equal_answers(dataset, judge), ~np.isnan(dataset.gold_scores)
    total = int(opinions.asked.sum())
    estimates = {}
    for name, used in (
        ("accuracy_gold", known & ~np.isnan(judge)),
        ("example_level_agreement", known & opinions.asked),
    ):
        groups = selected_groups(dataset.ratings.groups, used)
        estimates[name] = share_estimate(equal[used], groups, total=total)
    note = "; ".join(filter(None, ("no verdict counts as a disagreement", estimates[name].reason)))
    return estimates | {name: replace(estimates[name], reason=note)}


def equal_answers(dataset: Dataset, judge: Floats) -> Bools:
    """Return whether each numeric answer (N,) equals the reference."""
    return np.isclose(judge, dataset.gold_scores, rtol=1e-9, atol=0)


def judge_correlations(
    dataset: Dataset, judge: Floats, reference: Floats, resamples: int, seed: int
) -> dict[str, Estimate]:
    """Estimate the correlations of a judge's scores with a reference (N,) at each level that the data has."""
    groups = dataset.ratings.groups
    estimates = dict(
        correlation.item_level_correlations(judge, reference, groups=groups, resamples=resamples, seed=seed)
    )
    if groups is not None and len(set(groups)) < len(groups):
        within = correlation.group_level_correlations(judge, reference, groups, resamples=resamples, seed=seed)
        estimates |= {f"{name}_within_groups": estimate for name, estimate in within.items()}
    if dataset.system is not None:
        between = correlation.system_level_correlations(
            judge, reference, dataset.system, dataset.item, resamples=resamples, seed=seed
        )
        estimates |= {f"{name}_between_systems": estimate for name, estimate in between.items()}
    return estimates


def ceiling_estimates(rows: Floats, units: Units, asked: int, resamples: int, seed: int) -> dict[str, Estimate]:
    """Estimate Spearman's rho of each annotator with the mean of the others, and of the judge with the same means.

    From distinct rows (P, R + 1) of the annotators' scores and the judge's, on the items that the annotator, another
    annotator and the judge all scored; averaged over annotators, weighted by their items.
    """
    tests = [test for rater in range(rows.shape[1] - 1) if (test := leave_out(rows, rater, units)) is not None]
    if not tests:
        reason = f"no annotator shares {MIN_ITEMS_FOR_CORRELATION} items with another annotator and the judge"
        return dict.fromkeys(CEILING_STATISTICS, Estimate(None, None, None, 0, asked, 0, 0, 0, reason))
    tested = [test.tested for test in tests]
    annotators = mean_by_items([test.annotator for test in tests], tested)
    judge = mean_by_items([test.judge for test in tests], tested)
    family = stack_statistics([annotators, judge, difference(judge, annotators)])
    items = int(units.frequencies[np.any(tested, axis=0)].sum())
    pairs = int(sum(units.frequencies[test.tested].sum() for test in tests))
    note = f"mean over {len(tests)} annotators left out in turn, weighted by their items"
    return {
        name: Estimate(
            result.value, result.low, result.high, items, asked, len(tests), pairs, result.dropped,
            notes.judge_caveats(name, result, items, note),
        )
        for name, result in zip(CEILING_STATISTICS, bootstrap(family, units, resamples, seed), strict=True)
    }  # fmt: skip


@dataclass(frozen=True)
class LeftOutTest:
    """The correlations of one annotator and of the judge with the mean of the other annotators."""

    annotator: Statistic
    judge: Statistic
    tested: Bools


def leave_out(rows: Floats, rater: int, units: Units) -> LeftOutTest | None:
    """Return the test of one annotator; None if fewer than three items can be tested."""
    others = mean_scores(np.delete(rows[:, :-1], rater, axis=1))
    tested = ~np.isnan(others) & ~np.isnan(rows[:, rater]) & ~np.isnan(rows[:, -1])
    if units.frequencies[tested].sum() < MIN_ITEMS_FOR_CORRELATION:
        return None
    annotator, judge = (spearman(rows[tested, column], others[tested]) for column in (rater, -1))
    return LeftOutTest(on_subset(annotator, tested), on_subset(judge, tested), tested)
