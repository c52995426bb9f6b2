"""Alignment statistics of a judge with categorical verdicts: accuracy, kappa, ceiling, alternative-annotator test."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from core.statistics import notes
from core.statistics.data.arrays import Bools, Codes, Floats
from core.statistics.data.dataset import Dataset, JudgeOpinions
from core.statistics.data.estimate import Estimate
from core.statistics.data.judged_patterns import JudgedPatterns, judged_patterns
from core.statistics.data.ratings import Ratings
from core.statistics.measures.alternative_annotator import EPSILON, AlternativeAnnotatorTest, run_on_patterns
from core.statistics.measures.ceiling import human_ceiling
from core.statistics.measures.coefficients import quadratic_weights
from core.statistics.measures.intervals import Resampled, bootstrap
from core.statistics.measures.pairwise import cohen_kappa_statistic
from core.statistics.measures.ranges import possible_range
from core.statistics.measures.shares import pattern_share, selected_groups, share_estimate
from core.statistics.measures.statistic import Statistic, match_rate, stack_statistics, weighted_mean
from core.wording import format_count


@dataclass(frozen=True)
class Measure:
    """A statistic of a judge, and the data that it uses."""

    name: str
    statistic: Statistic
    used: Bools
    """(P,): the patterns whose items it uses."""
    pairs: int
    note: str = ""
    hit: Bools | None = None
    """(P,): the hits of a share of items, which has the interval of `shares`."""

    def is_share(self, patterns: JudgedPatterns) -> bool:
        """Return whether its interval is that of a share, which needs no resamples."""
        return self.hit is not None and patterns.count_items(self.used) > 0


def verdict_statistics(
    dataset: Dataset,
    opinions: JudgeOpinions,
    patterns: JudgedPatterns,
    *,
    epsilon: float = EPSILON,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Estimate all statistics of a judge on categories, by name; `patterns` are those of `asked_patterns`."""
    test = run_on_patterns(patterns, epsilon=epsilon)
    return {
        "no_verdict_rate": no_verdict_rate(opinions, dataset.ratings.groups),
        **measure_estimates(dataset, opinions, patterns, resamples, seed),
        **unread_ranges(dataset, patterns.merged),
        "system_level_agreement": system_level_agreement(dataset, opinions),
        **annotator_test_estimates(test, int(opinions.asked.sum()), resamples, seed),
    }


def measure_estimates(
    dataset: Dataset,
    opinions: JudgeOpinions,
    patterns: JudgedPatterns,
    resamples: int,
    seed: int,
    wanted: Collection[str] | None = None,
) -> dict[str, Estimate]:
    """Estimate the measures of a judge, or the wanted ones, by name; all from the same resamples."""
    patterns = patterns.merged
    measures = list(judge_measures(dataset, patterns))
    family = stack_statistics([measure.statistic for measure in measures])
    chosen = [place for place, measure in enumerate(measures) if wanted is None or measure.name in wanted]
    resampled = [place for place in chosen if not measures[place].is_share(patterns)]
    results = dict(zip(resampled, bootstrap(family, patterns.units, resamples, seed, resampled), strict=True))
    asked = int(opinions.asked.sum())
    return {
        measures[place].name: measure_estimate(measures[place], results.get(place), patterns, asked) for place in chosen
    }


def patterns_by_judge(dataset: Dataset) -> Iterator[tuple[str, JudgedPatterns | None]]:
    """Yield each judge with its patterns, None without categories; what depends on labels only is computed once."""
    patterns = None
    for judge, opinions in dataset.judges.items():
        if dataset.scale.categories:
            patterns = asked_patterns(dataset, opinions, patterns)
        yield judge, patterns


def asked_patterns(dataset: Dataset, opinions: JudgeOpinions, other: JudgedPatterns | None = None) -> JudgedPatterns:
    """Return the patterns of the targets that the judge was asked about; `other` are those of another judge."""
    asked = opinions.asked
    ratings = dataset.ratings if asked.all() else dataset.ratings.select(items=asked)
    if not isinstance(ratings, Ratings):
        raise TypeError("a scale without categories has no categorical verdicts, see `score_statistics`")
    return judged_patterns(ratings, to_codes(opinions.values[asked]), to_codes(dataset.gold[asked]), other)


def to_codes(values: Floats) -> Codes:
    """Return category codes with nan as -1."""
    return np.where(np.isnan(values), -1, values).astype(np.int16)


def judge_measures(dataset: Dataset, patterns: JudgedPatterns) -> Iterator[Measure]:
    """Yield the measures that apply to the kind and the scale."""
    has_verdict = patterns.judge >= 0
    not_adjudicated = "" if dataset.adjudicated else "nothing was adjudicated: gold is the majority of annotators"
    split_items = patterns.count_items((patterns.counts.sum(axis=1) > 0) & (patterns.majority < 0))
    no_majority = f"{format_count(split_items, 'item has', 'items have')} no majority, left out" if split_items else ""
    for name, reference, note in (
        ("gold", patterns.gold, not_adjudicated),
        ("majority", patterns.majority, no_majority),
    ):
        used = has_verdict & (reference >= 0)
        n = patterns.count_items(used)
        accuracy = match_rate(patterns.judge, reference, used)
        yield Measure(f"accuracy_{name}", accuracy, used, n, note, patterns.judge == reference)
        yield Measure(f"cohen_kappa_{name}", judge_kappa(patterns, reference), used, n, note)
        if dataset.scale.level != "nominal":
            quadratic = judge_kappa(patterns, reference, quadratic_weights(patterns.n_categories))
            yield Measure(f"cohen_kappa_quadratic_{name}", quadratic, used, n, note)
    has_gold = patterns.gold >= 0
    yield Measure(
        "example_level_agreement",
        match_rate(patterns.judge, patterns.gold, has_gold),
        has_gold,
        patterns.count_items(has_gold),
        "no verdict counts as a disagreement",
        patterns.judge == patterns.gold,
    )
    yield from ceiling_measures(patterns)
    if dataset.kind == "preference":
        yield from win_rates(dataset, patterns)


def judge_kappa(patterns: JudgedPatterns, reference: Codes, agreement_weights: Floats | None = None) -> Statistic:
    """Return Cohen's kappa of the judge with a reference (P,) on the items that have both."""
    codes = np.column_stack([patterns.judge, reference])
    return cohen_kappa_statistic(codes, patterns.n_categories, agreement_weights)


def ceiling_measures(patterns: JudgedPatterns) -> Iterator[Measure]:
    """Yield the annotators' accuracy against each other, the judge's on the same references, and the difference."""
    ceiling = human_ceiling(patterns)
    if ceiling is not None:
        note = f"mean over {ceiling.raters} annotators left out in turn"
        for name, statistic in (
            ("human_ceiling", ceiling.annotators),
            ("judge_against_others", ceiling.judge),
            ("judge_less_ceiling", ceiling.difference),
        ):
            yield Measure(name, statistic, ceiling.used, ceiling.comparisons, note)


def win_rates(dataset: Dataset, patterns: JudgedPatterns) -> Iterator[Measure]:
    """Yield how often response 1 wins, a tie one half: by the judge and by gold, on the same items."""
    wins = _wins(dataset)
    used = (patterns.judge >= 0) & (patterns.gold >= 0)
    for name, codes in (("win_rate_1", patterns.judge), ("win_rate_1_people", patterns.gold)):
        yield Measure(name, weighted_mean(wins[codes], used), used, patterns.count_items(used), "a tie is one half")


def _wins(dataset: Dataset) -> Floats:
    """Return how far response 1 wins by each category of a preference: 1, 0, or one half for a tie."""
    return np.array([{1: 1.0, 2: 0.0}.get(int(category), 0.5) for category in dataset.scale.categories])


def unread_ranges(dataset: Dataset, patterns: JudgedPatterns) -> dict[str, Estimate]:
    """Return the lowest and the highest value that accuracies and win rates can take if verdicts are missing.

    Named as the statistic with "_lowest" and "_highest". On the items of the statistic and those whose reference is
    known and whose verdict is missing, all counted one way or the other; left out if no verdict is missing.
    """
    references = {"accuracy_gold": patterns.gold, "accuracy_majority": patterns.majority}
    wins = np.empty(0)
    if dataset.kind == "preference":
        wins = _wins(dataset)
        references["win_rate_1"] = patterns.gold
    estimates = {}
    for name, reference in references.items():
        counted = patterns.units.frequencies * (reference >= 0)
        values = wins[patterns.judge] if name == "win_rate_1" else (patterns.judge == reference).astype(float)
        is_read = patterns.judge >= 0
        total, unread = float(counted.sum()), float((counted * ~is_read).sum())
        if not unread:
            continue
        known = float((counted * is_read) @ values)
        limits = possible_range(partial(_share_with, known, unread, total))
        note = f"{unread:g} of {total:g} items have no verdict; all of them count one way"
        for end, limit in zip(("lowest", "highest"), limits or (), strict=False):
            estimates[f"{name}_{end}"] = Estimate(limit, None, None, int(total), int(total), 0, 0, 0, note)
    return estimates


def _share_with(known: float, unread: float, total: float, value: bool) -> float:
    return (known + unread * value) / total


def measure_estimate(measure: Measure, result: Resampled | None, patterns: JudgedPatterns, asked: int) -> Estimate:
    """Return the measure's estimate with its reason; without a result it is that of a share."""
    items = patterns.count_items(measure.used)
    raters = patterns.labels.count_raters(measure.used)
    counts = (items, asked, raters, measure.pairs)
    if result is None:
        assert measure.hit is not None, "only shares have an interval without resamples"
        value, low, high, caveat = pattern_share(measure.hit, measure.used, patterns.units)
        return Estimate(value, low, high, *counts, 0, "; ".join(filter(None, (measure.note, caveat))))
    reason = notes.judge_caveats(measure.name, result, items, measure.note)
    return Estimate(result.value, result.low, result.high, *counts, result.dropped, reason)


def no_verdict_rate(opinions: JudgeOpinions, groups: Sequence[str] | None) -> Estimate:
    """Estimate the share of the targets asked about that have no verdict; `groups` (N,) are their clusters."""
    missing = np.isnan(opinions.values[opinions.asked])
    return share_estimate(missing, selected_groups(groups, opinions.asked), reason="never asked")


def system_level_agreement(dataset: Dataset, opinions: JudgeOpinions) -> Estimate:
    """ScaleEval's system-level agreement rate (Chern et al. 2024, eq. 3), averaged over scenarios.

    In each scenario 1 if the judge's most frequent value is the gold labels' most frequent value, otherwise 0; a tie
    for the most frequent has no mode, so the scenario is left out.
    """
    both = ~np.isnan(opinions.values) & ~np.isnan(dataset.gold)
    scenarios = np.where(both, dataset.scenario_codes, -1)
    equal, tied = [], 0
    for scenario in np.flatnonzero(np.bincount(scenarios[both])):
        mask = scenarios == scenario
        judge_mode, gold_mode = mode(opinions.values[mask]), mode(dataset.gold[mask])
        if judge_mode is None or gold_mode is None:
            tied += 1
        else:
            equal.append(judge_mode == gold_mode)
    value = float(np.mean(equal)) if equal else None
    reason = notes.mode_caveats(len(equal), tied)
    return Estimate(value, None, None, int(both.sum()), int(opinions.asked.sum()), 0, 0, 0, reason)


def mode(values: Floats) -> float | None:
    """Return the most frequent value; None if two are equally frequent."""
    distinct_values, frequencies = np.unique(values, return_counts=True)
    most_frequent = distinct_values[frequencies == frequencies.max()]
    return float(most_frequent[0]) if most_frequent.size == 1 else None


def annotator_test_estimates(
    test: AlternativeAnnotatorTest, asked: int, resamples: int, seed: int
) -> dict[str, Estimate]:
    """Return the advantage probability and the winning rate of the alternative-annotator test."""
    if not test.tests:
        reason = notes.why_untested(test.skipped)
        undefined = Estimate(None, None, None, 0, asked, 0, 0, 0, reason)
        return {"advantage_probability": undefined, "winning_rate": undefined}
    (result,) = bootstrap(stack_statistics([test.mean_advantage]), test.units, resamples, seed)
    items = int(test.units.frequencies[test.used].sum())
    pairs = sum(annotator_test.items for annotator_test in test.tests)
    counts = (items, asked, len(test.tests), pairs)
    advantage_notes = filter(None, (notes.skipped_caveats(test.skipped), result.problem))
    return {
        "advantage_probability": Estimate(
            result.value, result.low, result.high, *counts, result.dropped, "; ".join(advantage_notes)
        ),
        "winning_rate": Estimate(
            test.winning_rate,
            None,
            None,
            *counts,
            0,
            notes.winning_caveats([(result.rater, result.won, result.p) for result in test.tests], test.skipped),
        ),
    }
