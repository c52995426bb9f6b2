"""Alignment of judges with people, as rows: what the alignment page and the command line ask for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from core.statistics import remarks
from core.statistics.data import dataset
from core.statistics.data.arrays import Codes
from core.statistics.data.dataset import Joined, Judged
from core.statistics.data.estimate import Estimate
from core.statistics.data.frames import Scale, text
from core.statistics.data.ratings import Ratings
from core.statistics.measures import bias, critiques, dawid_skene
from core.statistics.measures.alternative_annotator import EPSILON
from core.statistics.reports import category_alignment, score_alignment, weights

By = Literal["all", "scenario", "criterion"]
TASKS = {"aiu_precision": False, "aiu_recall": True}


@dataclass(frozen=True)
class AlignmentRow:
    """One number of one judge's alignment with people."""

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


def alignment(
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
    """How well each judge agrees with people, one row a statistic.

    `labels`: one row a human label, columns item, kind, criterion, part, rater, value and, where they
    are known, scenario and group (document or dialogue). `opinions`: the same with `judge` for
    rater, one row for each target that a judge was asked about; a value of None is no verdict;
    `system` (whose response it is), `critique` (which critique an AIU belongs to) and, for
    preferences, `shown_first`, `longer` and `own` (1 or 2, which response that is) are used where
    they are there. `gold`: item, kind, criterion, part, value of what was adjudicated or otherwise
    stands; without it gold is the people's majority. `scales` as in `agreement`. `epsilon` is what
    the alternative-annotator test allows a judge for being cheap: .2 where people are experts, .15
    skilled, .1 crowd workers.

    By "scenario" a group is a scenario; otherwise "all". Except by "criterion" the criteria of a kind
    that share a scale are also pooled, as criterion "all".
    """
    rows = []
    for part in parts(labels, opinions, gold, scales, by):
        for judge, judged in part.judges.items():
            estimates = of_judge(part, judged, epsilon, resamples, seed)
            rows += told(judge, part.kind, part.criterion, part.group, estimates)
        rows += estimated(part)
    rows += of_weights(labels, opinions, by, resamples, seed)
    return rows + of_critiques(labels, opinions, gold, scales, by, resamples, seed)


def parts(
    labels: pd.DataFrame,
    opinions: pd.DataFrame,
    gold: pd.DataFrame | None,
    scales: Mapping[tuple[str, str], Scale],
    by: By,
) -> Iterator[Joined]:
    """The targets of each kind, criterion and group."""
    for whole in wholes(labels, opinions, gold, scales, by):
        if by == "scenario":
            names = whole.scenario.astype(str)
            yield from (whole.part(name, names == name) for name in np.unique(names).tolist())
        else:
            yield whole


def wholes(
    labels: pd.DataFrame,
    opinions: pd.DataFrame,
    gold: pd.DataFrame | None,
    scales: Mapping[tuple[str, str], Scale],
    by: By,
) -> Iterator[Joined]:
    """The targets of each kind and criterion, then of the criteria that are pooled."""
    yield from dataset.join(labels, opinions, gold, scales)
    if by != "criterion":
        yield from dataset.pooled(labels, opinions, gold, scales)


def of_judge(part: Joined, judged: Judged, epsilon: float, resamples: int, seed: int) -> dict[str, Estimate]:
    """The statistics that make sense for the scale."""
    found: dict[str, Estimate] = {}
    how = {"resamples": resamples, "seed": seed}
    if part.scale.categories:
        found |= category_alignment.of_verdicts(part, judged, epsilon=epsilon, **how)
    if part.kind == "preference":
        found |= bias.of_judge(part, judged)
    if part.scale.level != "nominal":
        found |= score_alignment.of_scores(part, judged, epsilon=epsilon, **how)
    return found


def told(judge: str, kind: str, criterion: str, group: str, estimates: Mapping[str, Estimate]) -> list[AlignmentRow]:
    """Estimates as rows."""
    return [
        AlignmentRow(
            judge, kind, criterion, group, statistic, one.value, one.low, one.high,
            one.items, one.raters, one.pairs, one.reason,
        )
        for statistic, one in estimates.items()
    ]  # fmt: skip


def estimated(part: Joined) -> list[AlignmentRow]:
    """Each judge's accuracy as Dawid and Skene estimate it from all people and judges, without gold."""
    if not isinstance(part.people, Ratings) or not len(part.people.items):
        return []
    codes = np.column_stack([part.people.codes, *map(of_judged, part.judges.values())])
    everyone = Ratings(part.people.items, (*part.people.raters, *part.judges), codes, part.people.categories)
    if (codes >= 0).sum(axis=1).max(initial=0) < 2:
        return []
    fit, _ = dawid_skene.of_ratings(everyone)
    reason = remarks.of_dawid_skene(len(everyone.raters), fit.settled)
    rows = []
    for judge, accuracy in zip(part.judges, fit.accuracy[len(part.people.raters) :], strict=True):
        items = int((part.judges[judge].values >= 0).sum())
        value = float(accuracy) if items else None
        one = Estimate(value, None, None, items, len(codes), len(everyone.raters), 0, 0, reason)
        rows += told(judge, part.kind, part.criterion, part.group, {"dawid_skene_accuracy": one})
    return rows


def of_judged(judged: Judged) -> Codes:
    """A judge's verdicts as codes, -1 for none."""
    return category_alignment.coded(judged.values)


def of_critiques(
    labels: pd.DataFrame,
    opinions: pd.DataFrame,
    gold: pd.DataFrame | None,
    scales: Mapping[tuple[str, str], Scale],
    by: By,
    resamples: int,
    seed: int,
) -> list[AlignmentRow]:
    """MetaCritique's precision, recall and F1 by each judge's AIU verdicts and by the gold's.

    Rows of kind "aiu"; names as in `critiques.NAMES`, with "_people" for the gold's, on the AIUs that
    have both.
    """
    tasks = [part for part in parts(labels, opinions, gold, scales, by) if part.kind in TASKS]
    rows = []
    for criterion, group in dict.fromkeys((part.criterion, part.group) for part in tasks):
        here = [part for part in tasks if (part.criterion, part.group) == (criterion, group)]
        for judge in dict.fromkeys(name for part in here for name in part.judges):
            for suffix, side in zip(("", "_people"), aius(here, judge), strict=True):
                found = critiques.scores(side, resamples=resamples, seed=seed)
                named = {name + suffix: one for name, one in found.items()}
                rows += told(judge, "aiu", criterion, group, named)
    return rows


def of_weights(labels: pd.DataFrame, opinions: pd.DataFrame, by: By, resamples: int, seed: int) -> list[AlignmentRow]:
    """The distance of each judge's aspect weights from people's; no scale is needed for them."""
    theirs = opinions[opinions["kind"] == "aspect_weights"] if len(opinions) else opinions
    rows = []
    for (criterion, group, judge), said in grouped(theirs, by):
        mine = dataset.chosen(labels, "aspect_weights", criterion)
        found = weights.with_people(mine, said, resamples=resamples, seed=seed)
        rows += told(judge, "aspect_weights", criterion, group, found)
    return rows


def grouped(said: pd.DataFrame, by: By) -> Iterator[tuple[tuple[str, str, str], pd.DataFrame]]:
    """The opinions of each criterion, group and judge."""
    if not len(said):
        return
    group = said["scenario"] if by == "scenario" else pd.Series("all", index=said.index)
    for (criterion, name, judge), part in said.groupby(
        [said["criterion"].map(text), group.map(text), said["judge"]], sort=True
    ):
        yield (str(criterion), str(name), str(judge)), part


def aius(here: list[Joined], judge: str) -> tuple[critiques.Critiques, critiques.Critiques]:
    """The AIU verdicts of the judge and of the gold, where both are."""
    names, recall, said, true = [], [], [], []
    for part in here:
        if judge not in part.judges:
            continue
        both = ~np.isnan(part.judges[judge].values) & ~np.isnan(part.gold)
        names.append(part.critique[both])
        recall.append(np.full(int(both.sum()), TASKS[part.kind]))
        yes = part.scale.categories.index(True)
        said.append(part.judges[judge].values[both] == yes)
        true.append(part.gold[both] == yes)
    critique, tasks = np.concatenate(names), np.concatenate(recall)
    return (
        critiques.critiques(critique, tasks, np.concatenate(said)),
        critiques.critiques(critique, tasks, np.concatenate(true)),
    )
