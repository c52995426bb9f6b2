"""Alignment of judges with annotators, as rows."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from core.statistics import notes
from core.statistics.data.arrays import Bools, Codes, Estimate, Floats
from core.statistics.data.dataset import BY_PEOPLE, Dataset, Frames, JudgeOpinions, source_mix
from core.statistics.data.frames import ALL, as_text, select_rows
from core.statistics.data.patterns import JudgedPatterns, Units, distinct_scores, judged_patterns
from core.statistics.data.ratings import Ratings, mean_scores, to_codes
from core.statistics.measures import bias, causes, continuous, means
from core.statistics.measures.alternative_annotator import (
    EPSILON,
    AlternativeAnnotatorTest,
    human_ceiling,
    numeric_closeness,
    run,
    run_on_patterns,
)
from core.statistics.measures.coefficients import quadratic_weights
from core.statistics.measures.continuous import spearman
from core.statistics.measures.means import AiuCounts, count_aius
from core.statistics.measures.pairwise import MIN_ITEMS_FOR_CORRELATION, cohen_kappa_statistic
from core.statistics.measures.resampling import (
    Resampled,
    Statistic,
    bootstrap,
    difference,
    match_rate,
    mean_by_items,
    on_subset,
    stack_statistics,
    weighted_mean,
)
from core.statistics.reports import judge_findings, weight_distances
from core.wording import format_count, join_notes, list_names, scenario_group

# The accuracies, kappas and correlations to compute: all others are left out, and these are the same. None for all.
Wanted = Collection[str] | None
# Alignment statistics of a judge with categorical verdicts: accuracy, kappa, ceiling, alternative-annotator test.


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
    wanted: Wanted = None,
) -> dict[str, Estimate]:
    """Estimate all statistics of a judge on categories, by name; `patterns` are those of `asked_patterns`."""
    estimates = {
        "no_verdict_rate": no_verdict_rate(opinions, dataset.ratings.groups),
        **measure_estimates(dataset, opinions, patterns, resamples, wanted),
        **unread_ranges(dataset, patterns),
    }
    if wanted is None:
        test = run_on_patterns(patterns, epsilon=epsilon)
        estimates["system_level_agreement"] = system_level_agreement(dataset, opinions)
        estimates |= annotator_test_estimates(test, int(opinions.asked.sum()), resamples)
    return estimates


def measure_estimates(
    dataset: Dataset,
    opinions: JudgeOpinions,
    patterns: JudgedPatterns,
    resamples: int,
    wanted: Wanted = None,
) -> dict[str, Estimate]:
    """Estimate the measures of a judge, or the wanted ones, by name; all from the same resamples."""
    measures = list(judge_measures(dataset, patterns))
    family = stack_statistics([measure.statistic for measure in measures])
    chosen = [place for place, measure in enumerate(measures) if wanted is None or measure.name in wanted]
    resampled = [place for place in chosen if not measures[place].is_share(patterns)]
    found = bootstrap(family, patterns.units, resamples, resampled) if resampled else ()
    results = dict(zip(resampled, found, strict=True))
    asked = int(opinions.asked.sum())
    return {
        measures[place].name: measure_estimate(measures[place], results.get(place), patterns, asked) for place in chosen
    }


def asked_patterns(dataset: Dataset, opinions: JudgeOpinions) -> JudgedPatterns:
    """Return the patterns of the targets that the judge was asked about."""
    asked = opinions.asked
    ratings = dataset.ratings if asked.all() else dataset.ratings.select(targets=asked)
    if not ratings.categories:
        raise TypeError("a scale without categories has no categorical verdicts, see `score_statistics`")
    return judged_patterns(ratings, to_codes(opinions.values[asked]), to_codes(dataset.gold[asked]))


def judge_measures(dataset: Dataset, patterns: JudgedPatterns) -> Iterator[Measure]:
    """Yield the measures that apply to the kind and the scale."""
    has_verdict = patterns.judge >= 0
    not_adjudicated = "" if dataset.adjudicated else "nothing was adjudicated: gold is the majority of annotators"
    split_items = patterns.count_items((patterns.labels.counts.sum(axis=1) > 0) & (patterns.labels.majority < 0))
    no_majority = f"{format_count(split_items, 'item has', 'items have')} no majority, left out" if split_items else ""
    for name, reference, note in (
        ("gold", patterns.gold, not_adjudicated),
        ("majority", patterns.labels.majority, no_majority),
    ):
        used = has_verdict & (reference >= 0)
        n = patterns.count_items(used)
        accuracy = match_rate(patterns.judge, reference, used)
        yield Measure(f"accuracy_{name}", accuracy, used, n, note, patterns.judge == reference)
        yield Measure(f"cohen_kappa_{name}", judge_kappa(patterns, reference), used, n, note)
        if dataset.scale.level != "nominal":
            quadratic = judge_kappa(patterns, reference, quadratic_weights(patterns.labels.n_categories))
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
    return cohen_kappa_statistic(codes, patterns.labels.n_categories, agreement_weights)


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
    references = {"accuracy_gold": patterns.gold, "accuracy_majority": patterns.labels.majority}
    wins = np.empty(0)
    if dataset.kind == "preference":
        wins = _wins(dataset)
        references["win_rate_1"] = patterns.gold
    estimates = {}
    for name, reference in references.items():
        counted = patterns.units.counted * (reference >= 0)
        values = wins[patterns.judge] if name == "win_rate_1" else (patterns.judge == reference).astype(float)
        is_read = patterns.judge >= 0
        total, unread = float(counted.sum()), float((counted * ~is_read).sum())
        if not unread:
            continue
        known = float((counted * is_read) @ values)
        note = f"{unread:g} of {total:g} items have no verdict; all of them count one way"
        for end, limit in (("lowest", known / total), ("highest", (known + unread) / total)):
            estimates[f"{name}_{end}"] = Estimate(limit, None, None, int(total), int(total), 0, 0, 0, note)
    return estimates


def measure_estimate(measure: Measure, result: Resampled | None, patterns: JudgedPatterns, asked: int) -> Estimate:
    """Return the measure's estimate with its reason; without a result it is that of a share."""
    items = patterns.count_items(measure.used)
    raters = patterns.labels.count_raters(measure.used)
    counts = (items, asked, raters, measure.pairs)
    effective = patterns.units.effective(measure.used)
    if result is None:
        assert measure.hit is not None, "only shares have an interval without resamples"
        value, low, high, caveat = means.pattern_share(measure.hit, measure.used, patterns.units)
        return Estimate(value, low, high, *counts, 0, join_notes(measure.note, caveat), effective)
    reason = notes.judge_caveats(measure.name, result, items, measure.note)
    return Estimate(result.value, result.low, result.high, *counts, result.dropped, reason, effective)


def no_verdict_rate(opinions: JudgeOpinions, groups: Sequence[str] | None) -> Estimate:
    """Estimate the share of the targets asked about that have no verdict; `groups` (N,) are their clusters."""
    missing = np.isnan(opinions.values[opinions.asked])
    return means.share_estimate(missing, means.selected_groups(groups, opinions.asked), reason="never asked")


def system_level_agreement(dataset: Dataset, opinions: JudgeOpinions) -> Estimate:
    """ScaleEval's system-level agreement rate (Chern et al. 2024, eq. 3), averaged over scenarios.

    In each scenario 1 if the judge's most frequent value is the gold labels' most frequent value, otherwise 0; a tie
    for the most frequent has no mode, so the scenario is left out.
    """
    both = ~np.isnan(opinions.values) & ~np.isnan(dataset.gold)
    equal, tied = [], 0
    for scenario in pd.unique(dataset.scenario[both]):
        mask = both & (dataset.scenario == scenario)
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


def annotator_test_estimates(test: AlternativeAnnotatorTest, asked: int, resamples: int) -> dict[str, Estimate]:
    """Return the advantage probability and the winning rate of the alternative-annotator test."""
    if not test.tests:
        reason = notes.why_untested(test.skipped)
        undefined = Estimate(None, None, None, 0, asked, 0, 0, 0, reason)
        return {"advantage_probability": undefined, "winning_rate": undefined}
    (result,) = bootstrap(stack_statistics([test.mean_advantage]), test.units, resamples)
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


# Alignment statistics of a judge whose verdicts are numbers: correlation with annotators, and its ceiling.

CEILING_STATISTICS = ("human_ceiling_spearman", "judge_against_others_spearman", "judge_less_ceiling_spearman")


def score_statistics(
    dataset: Dataset, opinions: JudgeOpinions, *, epsilon: float = EPSILON, resamples: int = 1000, wanted: Wanted = None
) -> dict[str, Estimate]:
    """Estimate all statistics of a judge on numbers, by name; correlations are with the reference."""
    judge = dataset.to_numbers(np.where(opinions.asked, opinions.values, np.nan))
    annotators = dataset.to_numbers(dataset.labels)
    correlations = judge_correlations(dataset, judge, dataset.gold_scores, resamples, wanted)
    asked = int(opinions.asked.sum())
    raters = int((~np.isnan(annotators[~np.isnan(judge)])).any(axis=0).sum())
    estimates = {
        "no_verdict_rate": no_verdict_rate(opinions, dataset.ratings.groups),
        **(answer_accuracies(dataset, opinions, judge) if dataset.kind == "answer" else {}),
        **{name: replace(estimate, items_total=asked, raters=raters) for name, estimate in correlations.items()},
    }
    if wanted is None:
        rows, units = distinct_scores(np.column_stack([annotators, judge]), dataset.ratings.groups, dataset.sample)
        test = run(dataset.ratings.raters, numeric_closeness(rows[:, :-1], rows[:, -1]), units, epsilon)
        estimates |= ceiling_estimates(rows, units, asked, resamples) | annotator_test_estimates(test, asked, resamples)
    return estimates


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
        groups = means.selected_groups(dataset.ratings.groups, used)
        estimates[name] = means.share_estimate(equal[used], groups, total=total, sample=dataset.sample_of(used))
    note = join_notes("no verdict counts as a disagreement", estimates[name].reason)
    return estimates | {name: replace(estimates[name], reason=note)}


def equal_answers(dataset: Dataset, judge: Floats) -> Bools:
    """Return whether each numeric answer (N,) equals the reference."""
    return np.isclose(judge, dataset.gold_scores, rtol=1e-9, atol=0)


def judge_correlations(
    dataset: Dataset, judge: Floats, reference: Floats, resamples: int, wanted: Wanted = None
) -> dict[str, Estimate]:
    """Estimate the correlations of a judge's scores with a reference (N,) at each level that the data has."""
    groups, sample = dataset.ratings.groups, dataset.sample
    options: Any = {"resamples": resamples}
    estimates = continuous.item_level_correlations(judge, reference, groups=groups, sample=sample, **options)
    if wanted is not None and {*wanted} <= {*estimates}:
        return estimates
    options |= {"weights": None if sample is None else sample.weights}
    if groups is not None and len(set(groups)) < len(groups):
        within = continuous.group_level_correlations(judge, reference, groups, **options)
        estimates |= {f"{name}_within_groups": estimate for name, estimate in within.items()}
    if dataset.system is not None:
        between = continuous.system_level_correlations(judge, reference, dataset.system, dataset.item, **options)
        estimates |= {f"{name}_between_systems": estimate for name, estimate in between.items()}
    return estimates


def ceiling_estimates(rows: Floats, units: Units, asked: int, resamples: int) -> dict[str, Estimate]:
    """Estimate Spearman's rho of each annotator with the mean of the others, and of the judge with the same means.

    From distinct rows (P, R + 1) of the annotators' scores and the judge's, on the items that the annotator, another
    annotator and the judge all scored; averaged over annotators, weighted by their items.
    """
    tests = [test for rater in range(rows.shape[1] - 1) if (test := leave_out(rows, rater, units)) is not None]
    if not tests:
        reason = f"no annotator shares {MIN_ITEMS_FOR_CORRELATION} items with another annotator and the judge"
        return dict.fromkeys(CEILING_STATISTICS, Estimate(None, None, None, 0, asked, 0, 0, 0, reason))
    of_annotators, of_judge, tested = zip(*tests, strict=True)
    annotators, judge = mean_by_items(of_annotators, tested), mean_by_items(of_judge, tested)
    family = stack_statistics([annotators, judge, difference(judge, annotators)])
    items = int(units.frequencies[np.any(tested, axis=0)].sum())
    pairs = int(sum(units.frequencies[one].sum() for one in tested))
    note = f"mean over {len(tests)} annotators left out in turn, weighted by their items"
    return {
        name: Estimate(
            result.value, result.low, result.high, items, asked, len(tests), pairs, result.dropped,
            notes.judge_caveats(name, result, items, note),
        )
        for name, result in zip(CEILING_STATISTICS, bootstrap(family, units, resamples), strict=True)
    }  # fmt: skip


def leave_out(rows: Floats, rater: int, units: Units) -> tuple[Statistic, Statistic, Bools] | None:
    """Return the correlations of an annotator and of the judge with the mean of the others, and the tested patterns.

    None if fewer than three items can be tested.
    """
    others = mean_scores(np.delete(rows[:, :-1], rater, axis=1))
    tested = ~np.isnan(others) & ~np.isnan(rows[:, rater]) & ~np.isnan(rows[:, -1])
    if units.frequencies[tested].sum() < MIN_ITEMS_FOR_CORRELATION:
        return None
    annotator, judge = (spearman(rows[tested, column], others[tested]) for column in (rater, -1))
    return on_subset(annotator, tested), on_subset(judge, tested), tested


By = Literal["all", "scenario", "criterion"]
# Kinds of AIU labels, and whether their AIUs count for recall.
RECALL_BY_KIND = {"aiu_precision": False, "aiu_recall": True}
# Statistics that are not about the reference; the test and the ceiling compare with each annotator's colleagues.
OWN_REFERENCES = (
    "no_verdict_rate",
    "human_ceiling",
    "judge_against_others",
    "judge_less_ceiling",
    "advantage_probability",
    "winning_rate",
    "first_shown_preferred",
)


WITH_GOLD = ("accuracy_gold", "cohen_kappa_gold")


@dataclass(frozen=True)
class AlignmentRow:
    """One statistic of one judge's alignment with annotators."""

    judge: str
    kind: str
    criterion: str
    group: str
    statistic: str
    value: float | None
    low: float | None
    high: float | None
    items: int
    raters: int
    pairs: int
    reason: str
    reference: str = ""
    """The reference of the judge: the number of values by source, on the targets of the statistic."""
    population: str = "all targets"
    """The targets that the statistic is of: all, or "disputed targets" if labels are mainly of these."""
    effective: float | None = None
    """Kish's effective number of the items, if they count differently by the design of the labels."""

    def noted(self, note: str, **changes: Any) -> "AlignmentRow":
        """Return the row with a note before its reason, and with other changes."""
        return replace(self, reason=join_notes(note, self.reason), **changes)


def alignment_rows(
    frames: Frames, datasets: Sequence[Dataset], by: By = "all", *, resamples: int = 1000
) -> list[AlignmentRow]:
    """Return how well each judge agrees with annotators, one row for each statistic.

    `datasets` are those of `build_datasets`: by "scenario" a group is a scenario; otherwise "all". Except by
    "criterion" the criteria of a kind that share a scale are also pooled, as criterion "all".
    """
    rows = []
    for dataset in datasets:
        findings = judge_findings.find_repeated(dataset)
        for judge, opinions in dataset.judges.items():
            people = findings.repeated(judge)
            own = judge_findings.independent_of(dataset, people)
            estimates = judge_statistics(own, opinions, EPSILON, resamples)
            caveat = f"without the labels of {list_names(people)}, which the judge repeats" if people else ""
            rows += [row.noted(caveat) for row in judge_rows(own, judge, estimates)]
        rows += dawid_skene_rows(dataset)
    rows += weight_distance_rows(frames.labels, frames.opinions, by, resamples)
    return rows + critique_rows(datasets, resamples)


def accuracy_rows(datasets: Iterable[Dataset], *, resamples: int = 1000) -> list[AlignmentRow]:
    """Return accuracy and Cohen's kappa with gold alone, as `alignment_rows` does."""
    rows = []
    for dataset in datasets:
        for judge, opinions in dataset.judges.items():
            if dataset.scale.categories:
                patterns = asked_patterns(dataset, opinions)
                rows += judge_rows(dataset, judge, measure_estimates(dataset, opinions, patterns, resamples, WITH_GOLD))
    return rows


def judge_rows(dataset: Dataset, judge: str, estimates: Mapping[str, Estimate]) -> list[AlignmentRow]:
    """Return one row for each estimate of a judge, with the reference if the statistic uses it."""
    rows = rows_from_estimates(judge, dataset.kind, dataset.criterion, dataset.group, estimates)
    mix = cache(partial(reference_mix, dataset, dataset.judges[judge]))
    return [
        row
        if row.statistic.startswith(OWN_REFERENCES) or row.statistic.endswith("_majority")
        else replace(row, reference=mix(*reference_basis(dataset, row.statistic)))
        for row in rows
    ]


def judge_statistics(
    dataset: Dataset,
    opinions: JudgeOpinions,
    epsilon: float,
    resamples: int,
    wanted: Wanted = None,
) -> dict[str, Estimate]:
    """Estimate the statistics that apply to the scale."""
    estimates: dict[str, Estimate] = {}
    options: Any = {"epsilon": epsilon, "resamples": resamples, "wanted": wanted}
    if dataset.scale.categories:
        estimates |= verdict_statistics(dataset, opinions, asked_patterns(dataset, opinions), **options)
    if dataset.kind == "preference" and wanted is None:
        estimates |= bias.judge_biases(dataset, opinions)
    if dataset.scale.level != "nominal":
        estimates |= score_statistics(dataset, opinions, **options)
    return estimates


def rows_from_estimates(
    judge: str, kind: str, criterion: str, group: str, estimates: Mapping[str, Estimate], reference: str = ""
) -> list[AlignmentRow]:
    """Return one row for each estimate."""
    return [
        AlignmentRow(
            judge, kind, criterion, group, statistic, estimate.value, estimate.low, estimate.high, estimate.items,
            estimate.raters, estimate.pairs, estimate.reason, reference, effective=estimate.effective,
        )
        for statistic, estimate in estimates.items()
    ]  # fmt: skip


def reference_basis(dataset: Dataset, statistic: str) -> tuple[bool, bool]:
    """Return whether a statistic compares with the numbers of the reference, and whether missing verdicts count."""
    uses_numbers = statistic.startswith(tuple(continuous.FUNCTIONS)) or not dataset.scale.categories
    return uses_numbers, statistic == "example_level_agreement"


def reference_mix(
    dataset: Dataset, opinions: JudgeOpinions, uses_numbers: bool = False, with_missing: bool = False
) -> str:
    """Return the sources of the reference on the targets of a statistic of the judge, such as "41 by people".

    Says if all of these targets are disputed ones: they are harder than others. The targets are those of
    `reference_basis`.
    """
    known = ~np.isnan(dataset.gold_scores if uses_numbers else dataset.gold)
    judged = opinions.asked if with_missing else ~np.isnan(opinions.values)
    return source_mix(dataset, judged & known) or "no item in common"


def dawid_skene_rows(dataset: Dataset) -> list[AlignmentRow]:
    """Return each judge's accuracy as Dawid and Skene estimate it from annotators and other judges, without gold.

    The model assumes independent raters: the judge, the annotators and, of the other judges, one for each
    run; none that has a run or a rater in common with the judge itself.
    """
    ratings = dataset.ratings
    if not ratings.categories or not len(ratings.labels):
        return []
    rows = []
    fits: dict[tuple[str, ...], causes.Fit | None] = {}  # independent judges have the same panel
    for judge, opinions in dataset.judges.items():
        panel = tuple(sorted([judge, *independent_judges(dataset, judge)]))
        if panel not in fits:
            fits[panel] = fit_panel(ratings, [dataset.judges[name] for name in panel])
        fit = fits[panel]
        if fit is None:
            continue
        raters, items = len(fit.confusion), int((opinions.values >= 0).sum())
        value = float(fit.accuracy[len(ratings.raters) + panel.index(judge)]) if items else None
        reason = notes.dawid_skene_caveats(raters, fit.converged)
        estimate = Estimate(value, None, None, items, len(ratings.labels), raters, 0, 0, reason)
        named = {"dawid_skene_accuracy": estimate}
        rows += rows_from_estimates(judge, dataset.kind, dataset.criterion, dataset.group, named)
    return rows


def fit_panel(ratings: Ratings, panel: Sequence[JudgeOpinions]) -> causes.Fit | None:
    """Fit the model to annotators and judges, in this order; None if no item has two of their labels."""
    labels = np.column_stack([ratings.labels, *(member.values for member in panel)])
    if (~np.isnan(labels)).sum(axis=1).max(initial=0) < 2:
        return None
    raters = tuple(map(str, range(labels.shape[1])))
    return causes.fit_ratings(Ratings(raters, labels, ratings.categories))[0]


def independent_judges(dataset: Dataset, judge: str) -> list[str]:
    """Return other judges without a common origin with the judge or with each other, verdicts first."""
    chosen: list[str] = []
    known = dataset.judges[judge].origins
    others = [(opinions.stage, name, opinions) for name, opinions in dataset.judges.items() if name != judge]
    for _, name, opinions in sorted(others, key=lambda other: other[:2]):
        if not known & opinions.origins:
            chosen.append(name)
            known = known | opinions.origins
    return chosen


def critique_rows(datasets: Sequence[Dataset], resamples: int) -> list[AlignmentRow]:
    """Return MetaCritique's precision, recall and F1 by each judge's AIU verdicts and by the gold labels.

    Rows of kind "aiu"; names as in `critiques.SCORE_NAMES`, with "_people" for those of gold, on the AIUs that have
    both.
    """
    by_group: dict[tuple[str, str], list[Dataset]] = {}
    for dataset in datasets:
        if dataset.kind in RECALL_BY_KIND:
            by_group.setdefault((dataset.criterion, dataset.group), []).append(dataset)
    rows = []
    for (criterion, group), parts in by_group.items():
        for judge in dict.fromkeys(name for part in parts for name in part.judges):
            mixes = [reference_mix(part, part.judges[judge]) for part in parts if judge in part.judges]
            reference = "; ".join(dict.fromkeys(mixes))
            for suffix, counts in zip(("", "_people"), aiu_counts(parts, judge), strict=True):
                estimates = means.critique_scores(counts, resamples=resamples)
                named = {name + suffix: estimate for name, estimate in estimates.items()}
                rows += rows_from_estimates(judge, "aiu", criterion, group, named, reference)
    return rows


def aiu_counts(datasets: list[Dataset], judge: str) -> tuple[AiuCounts, AiuCounts]:
    """Count the true AIUs by the judge's verdicts and by gold, if both are present."""
    parts = []
    for dataset in datasets:
        if judge in dataset.judges:
            verdicts, true_code = dataset.judges[judge].values, dataset.scale.categories.index(True)
            both = ~np.isnan(verdicts) & ~np.isnan(dataset.gold)
            is_recall = np.full(int(both.sum()), RECALL_BY_KIND[dataset.kind])
            true = [values[both] == true_code for values in (verdicts, dataset.gold)]
            parts.append((dataset.critique[both], is_recall, *true))
    names, is_recall, judge_true, gold_true = map(np.concatenate, zip(*parts, strict=True))
    return count_aius(names, is_recall, judge_true), count_aius(names, is_recall, gold_true)


def weight_distance_rows(labels: pd.DataFrame, opinions: pd.DataFrame, by: By, resamples: int) -> list[AlignmentRow]:
    """Return the distance of each judge's aspect weights from the annotators'; it needs no scale."""
    given = opinions[opinions["kind"] == "aspect_weights"] if len(opinions) else opinions
    if not len(given):
        return []
    groups = given["scenario"].map(as_text).map(scenario_group) if by == "scenario" else ALL
    keys = {"criterion": given["criterion"].map(as_text), "name": groups, "of": given["judge"].astype(str)}
    rows = []
    key: Any
    for key, weights in given.assign(**keys).groupby([*keys], sort=True):
        criterion, group, judge = map(str, key)
        own = select_rows(labels, "aspect_weights", criterion)
        estimates = weight_distances.judge_weight_statistics(own, weights, resamples=resamples)
        weight_rows = rows_from_estimates(judge, "aspect_weights", criterion, group, estimates)
        rows += [replace(row, reference=f"{row.items} {BY_PEOPLE}") for row in weight_rows]
    return rows
