"""Results of an experiment: each cell's statistic over its repeats and items, and paired differences along an axis.

A cell has a value for each repeat; the result is their mean with the standard deviation between repeats. The interval
is over items: the repeats of an item are judgements of the same item, so they are resampled together with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean, stdev

import numpy as np
import pandas as pd

from core.statistics.data.arrays import Bools, Floats
from core.statistics.data.dataset import Dataset, JudgeOpinions, build_datasets
from core.statistics.data.encoded_opinions import Strings
from core.statistics.data.frames import Scale
from core.statistics.measures.comparison import Comparison, correct_p_values, paired_comparison
from core.statistics.reports.alignment import (
    AlignmentRow,
    judge_statistics,
    reference_basis,
    reference_mix,
    rows_from_estimates,
)
from core.statistics.reports.judge_comparison import correlation_difference

REPEAT_SEPARATOR = "\x1f"
"""Between an item and the number of the repeat in the name of a unit."""
EPSILON = 0.2
Levels = tuple[str, ...]
"""The labels of a cell, in the order of the axes."""


@dataclass(frozen=True)
class CellResult:
    """One statistic of one cell."""

    levels: Levels
    kind: str
    criterion: str
    value: float | None
    """The mean over the repeats that have a value."""
    deviation: float | None
    """The standard deviation between these repeats; None for fewer than two."""
    low: float | None
    high: float | None
    """The 95 % interval over items, of all repeats together."""
    items: int
    """Items that the statistic is computed from in at least one repeat: those of the interval."""
    items_of_repeats: tuple[int, ...]
    """The same of each repeat, in the order of their numbers."""
    reason: str = ""
    reference: str = ""

    @property
    def repeats(self) -> int:
        """The number of repeats, also of those without a value."""
        return len(self.items_of_repeats)


@dataclass(frozen=True)
class AxisDifference:
    """One level of an axis minus another, with the levels of the other axes equal."""

    axis: str
    level: str
    other_level: str
    fixed: Mapping[str, str]
    """Other axis -> its level."""
    criterion: str
    statistic: str
    difference: float | None
    low: float | None
    high: float | None
    items: int
    p: float | None
    """Two-sided, of the paired bootstrap over items."""
    p_corrected: float | None
    """Corrected by Holm's method for all differences of the experiment that have a p; see `correct_differences`."""
    reason: str = ""


@dataclass(frozen=True)
class RunOfCell:
    """The cell and the number of the repeat of a run."""

    levels: Levels
    repeat: int


def cell_statistics(
    labels: pd.DataFrame,
    opinions: pd.DataFrame,
    gold: pd.DataFrame,
    scales: Mapping[tuple[str, str], Scale],
    runs: Mapping[int, RunOfCell],
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, list[CellResult]]:
    """Return statistic -> the results of the cells, in the order of `runs`.

    Frames and scales as in `alignment_rows`; `opinions` has the verdicts of the runs, one per run and target.
    """
    results: dict[str, list[CellResult]] = {}
    for levels in dict.fromkeys(run.levels for run in runs.values()):
        repeats = {run_id: run.repeat for run_id, run in runs.items() if run.levels == levels}
        own = opinions[opinions["run"].isin(repeats)]
        if own.empty:
            continue
        for dataset in _repeat_datasets(labels, own, gold, scales, repeats):
            for statistic, result in _cell_results(dataset, levels, resamples, seed):
                results.setdefault(statistic, []).append(result)
    return results


def _repeat_datasets(
    labels: pd.DataFrame,
    opinions: pd.DataFrame,
    gold: pd.DataFrame,
    scales: Mapping[tuple[str, str], Scale],
    repeats: Mapping[int, int],
) -> Iterator[Dataset]:
    """Yield the datasets of one cell. Each repeat of an item is a target of its own, in the group of the item."""
    number = opinions["run"].map(repeats).astype(str)
    names = sorted(number.unique(), key=int)
    judged = opinions.assign(judge="cell", group=_groups(opinions), item=opinions["item"] + REPEAT_SEPARATOR + number)
    judged_items = set(opinions["item"])
    copies = [
        frame[frame["item"].isin(judged_items)].assign(group=lambda rows: _groups(rows)) for frame in (labels, gold)
    ]
    repeated = [
        pd.concat([rows.assign(item=rows["item"] + REPEAT_SEPARATOR + name) for name in names], ignore_index=True)
        for rows in copies
    ]
    yield from build_datasets(repeated[0], judged, repeated[1], scales, "criterion")


def _groups(rows: pd.DataFrame) -> "pd.Series":
    """Return the group of each row, otherwise its item."""
    if "group" not in rows.columns:
        return rows["item"]
    return rows["group"].where(rows["group"].notna(), rows["item"])


def _cell_results(dataset: Dataset, levels: Levels, resamples: int, seed: int) -> Iterator[tuple[str, CellResult]]:
    """Yield (statistic, result) of a cell whose repeats are in one dataset."""
    opinions = dataset.judges["cell"]
    numbers = np.array([item.rpartition(REPEAT_SEPARATOR)[2] for item in dataset.item], object)
    repeats = sorted(set(numbers[opinions.asked]), key=int)
    pooled = _rows(dataset, resamples, seed)
    if len(repeats) > 1:
        single = [_rows(dataset.subset("all", numbers == name), 0, seed) for name in repeats]
        distinct = dataset.subset("all", _first_verdicts(dataset, opinions, numbers))
        of_items = _rows(distinct, 0, seed)
    else:
        single, distinct, of_items = [pooled], dataset, pooled
    for statistic, row in pooled.items():
        of_repeats = [rows.get(statistic) for rows in single]
        counts = tuple(0 if one is None else one.items for one in of_repeats)
        values = [one.value for one in of_repeats if one is not None and one.value is not None]
        items = max(0, *counts, of_items[statistic].items if statistic in of_items else 0)
        yield (
            statistic,
            CellResult(
                levels,
                dataset.kind,
                dataset.criterion,
                fmean(values) if values else None,
                stdev(values) if len(values) > 1 else None,
                row.low,
                row.high,
                items,
                counts,
                "; ".join(filter(None, [_missing_repeats(len(values), len(counts)), row.reason])),
                reference_mix(distinct, distinct.judges["cell"], reference_basis(distinct, statistic)),
            ),
        )


def _missing_repeats(defined: int, repeats: int) -> str:
    return f"{defined} of {repeats} repeats have a value" if 0 < defined < repeats else ""


def _first_verdicts(dataset: Dataset, opinions: JudgeOpinions, numbers: Strings) -> Bools:
    """Return whether a target is of the first repeat of its item with a verdict, otherwise of the first asked, (N,)."""
    rank = np.where(opinions.asked, np.where(np.isnan(opinions.values), 1, 0), 2)
    names = [item.rpartition(REPEAT_SEPARATOR)[0] for item in dataset.item]
    rows = pd.DataFrame({"item": names, "part": dataset.part, "rank": rank, "repeat": numbers.astype(int)})
    first = rows.sort_values(["rank", "repeat"]).drop_duplicates(["item", "part"]).index
    chosen = np.zeros(len(rows), bool)
    chosen[first] = True
    return chosen


def _rows(dataset: Dataset, resamples: int, seed: int) -> dict[str, AlignmentRow]:
    estimates = judge_statistics(dataset, dataset.judges["cell"], EPSILON, resamples, seed)
    rows = rows_from_estimates("cell", dataset.kind, dataset.criterion, dataset.group, estimates)
    return {row.statistic: row for row in rows}


def axis_differences(
    labels: pd.DataFrame,
    opinions: pd.DataFrame,
    gold: pd.DataFrame,
    scales: Mapping[tuple[str, str], Scale],
    runs: Mapping[int, RunOfCell],
    axes: Sequence[str],
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> list[AxisDifference]:
    """Return the difference between every two levels of an axis, for each combination of the other levels.

    On nominal scales it is that of the accuracies, an item's score being its mean over repeats; on others that of
    Pearson's r with the reference, of the mean scores over repeats. Only cells on the same targets are compared. p is
    not corrected.
    """
    judges = {f"{run.levels} {run.repeat}": run for run in runs.values()}
    names = {run_id: f"{run.levels} {run.repeat}" for run_id, run in runs.items()}
    named = opinions.assign(judge=opinions["run"].map(names))
    found: list[tuple[AxisDifference, Comparison]] = []
    for dataset in build_datasets(labels, named, gold, scales, "criterion"):
        scores = _mean_scores(dataset, judges)
        for first, second in combinations(scores, 2):
            differing = [place for place, pair in enumerate(zip(first, second, strict=True)) if pair[0] != pair[1]]
            if len(differing) == 1:
                comparison = _compare(dataset, scores[first], scores[second], resamples, seed)
                found.append((_difference(dataset, axes, first, second, differing[0]), comparison))
    found.sort(key=lambda pair: axes.index(pair[0].axis))
    return [
        replace(
            axis, difference=c.difference, low=c.low, high=c.high, items=c.items,
            p=c.p_bootstrap, reason=c.reason,
        )
        for axis, c in found
    ]  # fmt: skip


def correct_differences(differences: Sequence[AxisDifference]) -> tuple[AxisDifference, ...]:
    """Return the differences with `p_corrected`, by Holm's method over those that have a p."""
    corrected = iter(correct_p_values([row.p for row in differences if row.p is not None], "holm"))
    return tuple(row if row.p is None else replace(row, p_corrected=next(corrected)) for row in differences)


def describe_correction(differences: Sequence[AxisDifference]) -> str:
    """Return what p is and for how many of the differences of an experiment it is corrected."""
    tested = sum(row.p is not None for row in differences)
    if not tested:
        return "none of the differences has a p"
    count = f"{len(differences):,} differences"
    tests = f"all {count}" if tested == len(differences) else f"the {tested:,} of {count} that have a p"
    return "p: paired bootstrap" + (f", corrected by Holm's method for {tests}" if tested > 1 else "")


def _mean_scores(dataset: Dataset, judges: Mapping[str, RunOfCell]) -> dict[Levels, Floats]:
    """Return levels -> the mean over repeats of each target, (N,): whether the verdict is right, or its number."""
    by_cell: dict[Levels, list[Floats]] = {}
    for name, opinions in dataset.judges.items():
        values = opinions.values
        if dataset.scale.level == "nominal":
            scores = np.where(np.isnan(values) | np.isnan(dataset.gold), np.nan, values == dataset.gold)
        else:
            scores = dataset.to_numbers(values)
        by_cell.setdefault(judges[name].levels, []).append(scores)
    order = dict.fromkeys(run.levels for run in judges.values())
    return {levels: _mean_of_defined(np.stack(by_cell[levels])) for levels in order if levels in by_cell}


def _mean_of_defined(values: Floats) -> Floats:
    """Return the mean over the first axis without nan; nan if there is no value."""
    defined = ~np.isnan(values)
    counts = defined.sum(axis=0)
    sums = np.where(defined, values, 0).sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _compare(dataset: Dataset, first: Floats, second: Floats, resamples: int, seed: int) -> Comparison:
    groups = dataset.ratings.groups
    if dataset.scale.level == "nominal":
        return paired_comparison("", "", first - second, groups, resamples, seed)
    columns = np.column_stack([dataset.gold_scores, first, second])
    return correlation_difference("", "", columns, groups, resamples, seed)


def _difference(dataset: Dataset, axes: Sequence[str], first: Levels, second: Levels, place: int) -> AxisDifference:
    return AxisDifference(
        axis=axes[place],
        level=first[place],
        other_level=second[place],
        fixed={name: level for name, level in zip(axes, first, strict=True) if name != axes[place]},
        criterion=dataset.criterion,
        statistic="accuracy_gold" if dataset.scale.level == "nominal" else "pearson",
        difference=None,
        low=None,
        high=None,
        items=0,
        p=None,
        p_corrected=None,
    )
