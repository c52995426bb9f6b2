"""Alignment of judges with annotators, as rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from core.statistics import notes
from core.statistics.data.dataset import Dataset, JudgeOpinions, build_datasets
from core.statistics.data.estimate import Estimate
from core.statistics.data.frames import ALL, Scale, as_text, select_rows
from core.statistics.data.ratings import Ratings
from core.statistics.measures import bias, critiques, dawid_skene
from core.statistics.measures.alternative_annotator import EPSILON
from core.statistics.measures.critiques import AiuCounts, count_aius
from core.statistics.reports import weight_statistics
from core.statistics.reports.category_alignment import to_codes, verdict_statistics
from core.statistics.reports.score_alignment import score_statistics

By = Literal["all", "scenario", "criterion"]
RECALL_BY_KIND = {"aiu_precision": False, "aiu_recall": True}
"""Kinds of AIU labels, and whether their AIUs count for recall."""


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
) -> list[AlignmentRow]:
    """Return how well each judge agrees with annotators, one row for each statistic.

    `labels`: one row for each label of an annotator, columns item, kind, criterion, part, rater, value and, where
    known, scenario and group (document or dialogue). `opinions`: the same with `judge` instead of rater, one row for
    each target that a judge was asked about; a value of None is no verdict; `system` (whose response it is), `critique`
    (which critique an AIU belongs to) and, for preferences, `shown_first`, `longer` and `own` (1 or 2, which response
    that is) are used where present. `gold`: item, kind, criterion, part, value of adjudicated labels; without it gold
    is the annotators' majority. `scales` as in `agreement_rows`. `epsilon` is what the alternative-annotator test
    concedes to a judge for being cheap: .2 where annotators are experts, .15 skilled, .1 crowd workers.

    By "scenario" a group is a scenario; otherwise "all". Except by "criterion" the criteria of a kind that share a
    scale are also pooled, as criterion "all".
    """
    rows = []
    datasets = list(build_datasets(labels, opinions, gold, scales, by))
    for dataset in datasets:
        for judge, judge_opinions in dataset.judges.items():
            estimates = judge_statistics(dataset, judge_opinions, epsilon, resamples, seed)
            rows += rows_from_estimates(judge, dataset.kind, dataset.criterion, dataset.group, estimates)
        rows += dawid_skene_rows(dataset)
    rows += weight_rows(labels, opinions, by, resamples, seed)
    return rows + critique_rows(datasets, resamples, seed)


def judge_statistics(
    dataset: Dataset, opinions: JudgeOpinions, epsilon: float, resamples: int, seed: int
) -> dict[str, Estimate]:
    """Estimate the statistics that apply to the scale."""
    estimates: dict[str, Estimate] = {}
    if dataset.scale.categories:
        estimates |= verdict_statistics(dataset, opinions, epsilon=epsilon, resamples=resamples, seed=seed)
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


def dawid_skene_rows(dataset: Dataset) -> list[AlignmentRow]:
    """Return each judge's accuracy as Dawid and Skene estimate it from all annotators and judges, without gold."""
    ratings = dataset.ratings
    if not isinstance(ratings, Ratings) or not len(ratings.items):
        return []
    verdicts = [to_codes(opinions.values) for opinions in dataset.judges.values()]
    codes = np.column_stack([ratings.codes, *verdicts])
    if (codes >= 0).sum(axis=1).max(initial=0) < 2:
        return []
    raters = (*ratings.raters, *dataset.judges)
    fit, _ = dawid_skene.fit_ratings(Ratings(ratings.items, raters, codes, ratings.categories))
    reason = notes.dawid_skene_caveats(len(raters), fit.converged)
    rows = []
    judge_accuracies = fit.accuracy[len(ratings.raters) :]
    for (judge, opinions), accuracy in zip(dataset.judges.items(), judge_accuracies, strict=True):
        items = int((opinions.values >= 0).sum())
        value = float(accuracy) if items else None
        estimate = Estimate(value, None, None, items, len(codes), len(raters), 0, 0, reason)
        named = {"dawid_skene_accuracy": estimate}
        rows += rows_from_estimates(judge, dataset.kind, dataset.criterion, dataset.group, named)
    return rows


def critique_rows(datasets: list[Dataset], resamples: int, seed: int) -> list[AlignmentRow]:
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
            for suffix, counts in zip(("", "_people"), aiu_counts(parts, judge), strict=True):
                estimates = critiques.critique_scores(counts, resamples=resamples, seed=seed)
                named = {name + suffix: estimate for name, estimate in estimates.items()}
                rows += rows_from_estimates(judge, "aiu", criterion, group, named)
    return rows


def aiu_counts(datasets: list[Dataset], judge: str) -> tuple[AiuCounts, AiuCounts]:
    """Count the true AIUs by the judge's verdicts and by gold, where both are present."""
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


def weight_rows(labels: pd.DataFrame, opinions: pd.DataFrame, by: By, resamples: int, seed: int) -> list[AlignmentRow]:
    """Return the distance of each judge's aspect weights from the annotators'; it needs no scale."""
    weight_opinions = opinions[opinions["kind"] == "aspect_weights"] if len(opinions) else opinions
    rows = []
    for (criterion, group, judge), judge_weights in split_weight_opinions(weight_opinions, by):
        criterion_labels = select_rows(labels, "aspect_weights", criterion)
        estimates = weight_statistics.judge_weight_statistics(
            criterion_labels, judge_weights, resamples=resamples, seed=seed
        )
        rows += rows_from_estimates(judge, "aspect_weights", criterion, group, estimates)
    return rows


def split_weight_opinions(opinions: pd.DataFrame, by: By) -> Iterator[tuple[tuple[str, str, str], pd.DataFrame]]:
    """Yield ((criterion, group, judge), rows)."""
    if not len(opinions):
        return
    group = opinions["scenario"] if by == "scenario" else pd.Series(ALL, index=opinions.index)
    for (criterion, name, judge), rows in opinions.groupby(
        [opinions["criterion"].map(as_text), group.map(as_text), opinions["judge"]], sort=True
    ):
        yield (str(criterion), str(name), str(judge)), rows
