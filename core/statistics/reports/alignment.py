"""Alignment of judges with annotators, as rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from core.statistics import notes
from core.statistics.data.columns import as_text
from core.statistics.data.dataset import BY_PEOPLE, Dataset, JudgeOpinions, build_datasets, source_mix
from core.statistics.data.estimate import Estimate
from core.statistics.data.frames import ALL, Scale, select_rows
from core.statistics.data.judged_patterns import JudgedPatterns
from core.statistics.data.ratings import Ratings
from core.statistics.measures import bias, correlation, critiques, dawid_skene
from core.statistics.measures.alternative_annotator import EPSILON
from core.statistics.measures.critiques import AiuCounts, count_aius
from core.statistics.reports import judge_findings, weight_statistics
from core.statistics.reports.category_alignment import (
    asked_patterns,
    measure_estimates,
    patterns_by_judge,
    to_codes,
    verdict_statistics,
)
from core.statistics.reports.score_alignment import score_statistics
from core.wording import list_names, scenario_group

By = Literal["all", "scenario", "criterion"]
RECALL_BY_KIND = {"aiu_precision": False, "aiu_recall": True}
"""Kinds of AIU labels, and whether their AIUs count for recall."""
OWN_REFERENCES = (
    "no_verdict_rate",
    "human_ceiling",
    "judge_against_others",
    "judge_less_ceiling",
    "advantage_probability",
    "winning_rate",
    "first_shown_preferred",
)
"""Statistics that are not about the reference; the test and the ceiling compare with each annotator's colleagues."""


WITH_GOLD = ("accuracy_gold", "cohen_kappa_gold")


class Basis(NamedTuple):
    """The targets that a statistic compares with the reference."""

    numbers: bool = False
    """Those with a number of the reference, such as a mean between two categories; otherwise those with a value."""
    with_missing: bool = False
    """Whether targets without a verdict count."""


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


def alignment_rows(
    labels: pd.DataFrame,
    opinions: pd.DataFrame,
    *,
    scales: Mapping[tuple[str, str], Scale],
    gold: pd.DataFrame | None = None,
    by: By = "all",
    epsilon: float = EPSILON,
    resamples: int = 1000,
    seed: int = 0,
    datasets: Sequence[Dataset] | None = None,
) -> list[AlignmentRow]:
    """Return how well each judge agrees with annotators, one row for each statistic.

    `labels`: one row for each label of an annotator, columns item, kind, criterion, part, rater, value and, if
    known, scenario and group (document or dialogue). `opinions`: the same with `judge` instead of rater, one row for
    each target that a judge was asked about; a value of None is no verdict; `system` (whose response it is), `critique`
    (which critique an AIU belongs to) and, for preferences, `shown_first`, `longer` and `own` (1 or 2, which response
    that is) are used if present, and run, rater and stage tell which judges are not independent. `gold` is the
    reference: item, kind, criterion, part, value and, if known, number (a mean between two categories), source and
    disputed; without it gold is the annotators' majority or mean. `scales` as in `agreement_rows`. `epsilon` is what
    the alternative-annotator test concedes to a judge for being cheap: .2 if annotators are experts, .15 skilled,
    .1 crowd workers.

    By "scenario" a group is a scenario; otherwise "all". Except by "criterion" the criteria of a kind that share a
    scale are also pooled, as criterion "all". `datasets` are those of `build_datasets`, if the caller has
    them.
    """
    rows = []
    datasets = list(build_datasets(labels, opinions, gold, scales, by)) if datasets is None else datasets
    for dataset in datasets:
        findings = judge_findings.find_repeated(dataset)
        for judge, patterns in patterns_by_judge(dataset):
            people = findings.repeated(judge)
            own = judge_findings.independent_of(dataset, people)
            estimates = judge_statistics(
                own, dataset.judges[judge], epsilon, resamples, seed, None if people else patterns
            )
            rows += name_left_out(judge_rows(own, judge, estimates), people)
        rows += dawid_skene_rows(dataset)
    rows += weight_distance_rows(labels, opinions, by, resamples, seed)
    return rows + critique_rows(datasets, resamples, seed)


def name_left_out(rows: Sequence[AlignmentRow], people: Sequence[str]) -> list[AlignmentRow]:
    """Return the rows of a judge with the annotators whom it repeats, and whose labels are left out, as a caveat."""
    caveat = f"without the labels of {list_names(people)}, which the judge repeats" if people else ""
    return [replace(row, reason="; ".join(filter(None, (caveat, row.reason)))) for row in rows]


def accuracy_rows(datasets: Iterable[Dataset], *, resamples: int = 1000, seed: int = 0) -> list[AlignmentRow]:
    """Return accuracy and Cohen's kappa with gold alone, as `alignment_rows` does."""
    rows = []
    for dataset in datasets:
        for judge, patterns in patterns_by_judge(dataset):
            if patterns is not None:
                opinions = dataset.judges[judge]
                rows += judge_rows(
                    dataset, judge, measure_estimates(dataset, opinions, patterns, resamples, seed, WITH_GOLD)
                )
    return rows


def judge_rows(dataset: Dataset, judge: str, estimates: Mapping[str, Estimate]) -> list[AlignmentRow]:
    """Return one row for each estimate of a judge, with the reference if the statistic uses it."""
    rows = rows_from_estimates(judge, dataset.kind, dataset.criterion, dataset.group, estimates)
    mix = cache(lambda basis: reference_mix(dataset, dataset.judges[judge], basis))
    return [
        replace(row, reference=mix(reference_basis(dataset, row.statistic))) if uses_reference(row) else row
        for row in rows
    ]


def judge_statistics(
    dataset: Dataset,
    opinions: JudgeOpinions,
    epsilon: float,
    resamples: int,
    seed: int,
    patterns: JudgedPatterns | None = None,
) -> dict[str, Estimate]:
    """Estimate the statistics that apply to the scale; `patterns` are those of `asked_patterns`, if known."""
    estimates: dict[str, Estimate] = {}
    if dataset.scale.categories:
        patterns = patterns or asked_patterns(dataset, opinions)
        estimates |= verdict_statistics(dataset, opinions, patterns, epsilon=epsilon, resamples=resamples, seed=seed)
    if dataset.kind == "preference":
        estimates |= bias.judge_biases(dataset, opinions)
    if dataset.scale.level != "nominal":
        estimates |= score_statistics(dataset, opinions, epsilon=epsilon, resamples=resamples, seed=seed)
    return estimates


def rows_from_estimates(
    judge: str, kind: str, criterion: str, group: str, estimates: Mapping[str, Estimate]
) -> list[AlignmentRow]:
    """Return one row for each estimate."""
    return [
        AlignmentRow(
            judge, kind, criterion, group, statistic, estimate.value, estimate.low, estimate.high,
            estimate.items, estimate.raters, estimate.pairs, estimate.reason,
        )
        for statistic, estimate in estimates.items()
    ]  # fmt: skip


def uses_reference(row: AlignmentRow) -> bool:
    """Return whether a statistic compares the judge with the reference; others need none, or have their own."""
    return not row.statistic.startswith(OWN_REFERENCES) and not row.statistic.endswith("_majority")


def reference_basis(dataset: Dataset, statistic: str) -> Basis:
    """Return which targets of a dataset a statistic compares with the reference."""
    uses_numbers = statistic.startswith(tuple(correlation.FUNCTIONS)) or not dataset.scale.categories
    return Basis(uses_numbers, statistic == "example_level_agreement")


def reference_mix(dataset: Dataset, opinions: JudgeOpinions, basis: Basis) -> str:
    """Return the sources of the reference on the targets of a statistic of the judge, such as "41 by people".

    Says if all of these targets are disputed ones: they are harder than others.
    """
    known = ~np.isnan(dataset.gold_scores if basis.numbers else dataset.gold)
    judged = opinions.asked if basis.with_missing else ~np.isnan(opinions.values)
    return source_mix(dataset, judged & known) or "no item in common"


def dawid_skene_rows(dataset: Dataset) -> list[AlignmentRow]:
    """Return each judge's accuracy as Dawid and Skene estimate it from annotators and other judges, without gold.

    The model assumes independent raters: the judge, the annotators and, of the other judges, one for each
    run; none that has a run or a rater in common with the judge itself.
    """
    ratings = dataset.ratings
    if not isinstance(ratings, Ratings) or not len(ratings.items):
        return []
    rows = []
    fits: dict[tuple[str, ...], dawid_skene.Fit | None] = {}  # independent judges have the same panel
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
        estimate = Estimate(value, None, None, items, len(ratings.items), raters, 0, 0, reason)
        named = {"dawid_skene_accuracy": estimate}
        rows += rows_from_estimates(judge, dataset.kind, dataset.criterion, dataset.group, named)
    return rows


def fit_panel(ratings: Ratings, panel: Sequence[JudgeOpinions]) -> dawid_skene.Fit | None:
    """Fit the model to annotators and judges, in this order; None if no item has two of their labels."""
    codes = np.column_stack([ratings.codes, *(to_codes(member.values) for member in panel)])
    if (codes >= 0).sum(axis=1).max(initial=0) < 2:
        return None
    raters = tuple(map(str, range(codes.shape[1])))
    return dawid_skene.fit_ratings(Ratings(ratings.items, raters, codes, ratings.categories))[0]


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


def critique_rows(datasets: Sequence[Dataset], resamples: int, seed: int) -> list[AlignmentRow]:
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
            mixes = [reference_mix(part, part.judges[judge], Basis()) for part in parts if judge in part.judges]
            reference = "; ".join(dict.fromkeys(mixes))
            for suffix, counts in zip(("", "_people"), aiu_counts(parts, judge), strict=True):
                estimates = critiques.critique_scores(counts, resamples=resamples, seed=seed)
                named = {name + suffix: estimate for name, estimate in estimates.items()}
                of_judge = rows_from_estimates(judge, "aiu", criterion, group, named)
                rows += [replace(row, reference=reference) for row in of_judge]
    return rows


def aiu_counts(datasets: list[Dataset], judge: str) -> tuple[AiuCounts, AiuCounts]:
    """Count the true AIUs by the judge's verdicts and by gold, if both are present."""
    critique, recall, judge_true, gold_true = [], [], [], []
    for dataset in datasets:
        if judge not in dataset.judges:
            continue
        verdicts = dataset.judges[judge].values
        both = ~np.isnan(verdicts) & ~np.isnan(dataset.gold)
        true_code = dataset.scale.categories.index(True)
        critique.append(dataset.critique[both])
        recall.append(np.full(int(both.sum()), RECALL_BY_KIND[dataset.kind]))
        judge_true.append(verdicts[both] == true_code)
        gold_true.append(dataset.gold[both] == true_code)
    names, is_recall = np.concatenate(critique), np.concatenate(recall)
    return (
        count_aius(names, is_recall, np.concatenate(judge_true)),
        count_aius(names, is_recall, np.concatenate(gold_true)),
    )


def weight_distance_rows(
    labels: pd.DataFrame, opinions: pd.DataFrame, by: By, resamples: int, seed: int
) -> list[AlignmentRow]:
    """Return the distance of each judge's aspect weights from the annotators'; it needs no scale."""
    weight_opinions = opinions[opinions["kind"] == "aspect_weights"] if len(opinions) else opinions
    rows = []
    for (criterion, group, judge), judge_weights in split_weight_opinions(weight_opinions, by):
        criterion_labels = select_rows(labels, "aspect_weights", criterion)
        estimates = weight_statistics.judge_weight_statistics(
            criterion_labels, judge_weights, resamples=resamples, seed=seed
        )
        weight_rows = rows_from_estimates(judge, "aspect_weights", criterion, group, estimates)
        rows += [replace(row, reference=f"{row.items} {BY_PEOPLE}") for row in weight_rows]
    return rows


def split_weight_opinions(opinions: pd.DataFrame, by: By) -> Iterator[tuple[tuple[str, str, str], pd.DataFrame]]:
    """Yield ((criterion, group, judge), rows)."""
    if not len(opinions):
        return
    group = pd.Series(ALL, index=opinions.index)
    if by == "scenario":
        group = opinions["scenario"].map(as_text).map(scenario_group)
    for (criterion, name, judge), rows in opinions.groupby(
        [opinions["criterion"].map(as_text), group.map(as_text), opinions["judge"]], sort=True
    ):
        yield (str(criterion), str(name), str(judge)), rows
