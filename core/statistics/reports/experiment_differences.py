"""Paired differences between the cells of an experiment along an axis, of any statistic of its table, and effects.

A cell's value is the mean over its repeats, as in the table. All cells are computed from the same resamples of items,
so the difference of two cells is paired, whatever the statistic is: a share, kappa or a correlation. The effect of one
level instead of another is the mean of these differences over the combinations of the other levels: a main effect of
the factorial design, with the same resamples in every combination.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np

from core.statistics.data.arrays import Bools, Floats, Ints, mean_of_defined
from core.statistics.data.dataset import Dataset, Frames, build_datasets
from core.statistics.measures import continuous
from core.statistics.measures.comparison import bootstrap_p_value, paired_comparison, with_corrected
from core.statistics.measures.pairwise import MIN_ITEMS_FOR_INTERVAL
from core.statistics.measures.resampling import SAME, NoInterval, Statistic, bca_interval
from core.statistics.reports import experiments
from core.statistics.reports.experiments import CellResult, Levels, RunOfCell, Sample
from core.wording import join_notes

# Two cells whose levels differ in one axis.
Pair = tuple[Levels, Levels]
NO_TEST = "the difference is the same on every item: no test can be made"


@dataclass(frozen=True)
class AxisDifference:
    """One level of an axis minus another, with the levels of the other axes equal; of an effect, the mean over them."""

    axis: str
    level: str
    other_level: str
    fixed: Mapping[str, str]
    """Other axis -> its level; empty for an effect."""
    criterion: str
    statistic: str
    difference: float | None
    low: float | None
    high: float | None
    items: int
    p: float | None
    """Two-sided, of the paired bootstrap over items."""
    p_corrected: float | None
    """Corrected by Holm's method for all differences in this statistic that have a p; see `correct_differences`."""
    reason: str = ""
    combinations: int = 1
    """The combinations of other levels that an effect is the mean over: those with a verdict in both cells."""
    lowest: float | None = None
    highest: float | None = None
    """The bounds for any verdicts in place of the missing ones; None without missing ones."""
    cost: tuple[float | None, float | None, float | None] = (None, None, None)
    """The effect on the cost of 1,000 traces, with its interval."""


def axis_differences(
    frames: Frames,
    runs: Mapping[int, RunOfCell],
    axes: Sequence[str],
    statistic: str,
    *,
    resamples: int = 1000,
    effects: bool = False,
) -> list[AxisDifference]:
    """Return the difference between every two levels of an axis, for each combination of the other levels, or with
    `effects` the mean over these.

    Frames as in `cell_statistics`. Cells that were asked about the same targets are compared, on the targets of the
    table; without criteria for which the statistic is not defined. p is not corrected: see `correct_differences`.
    """
    samples = experiments.cell_samples(frames.opinions, runs)
    named = replace(frames, opinions=frames.opinions.assign(judge=frames.opinions["run"].astype(str)))
    names = experiments.criterion_names(samples)
    found: list[AxisDifference] = []
    for dataset in build_datasets(named, "criterion"):
        of_cells = {key[2]: sample for key, sample in samples.items() if key[:2] == (dataset.kind, dataset.criterion)}
        resampled = _Resampled(dataset, statistic, runs, of_cells, resamples)
        order = [levels for levels in dict.fromkeys(run.levels for run in runs.values()) if levels in resampled.levels]
        rows = [resampled.difference(axes, pairs, place) for pairs, place in _compared(order, effects)]
        found += [replace(row, criterion=names[dataset.kind, dataset.criterion]) for row in rows]
    return sorted(found, key=lambda row: axes.index(row.axis))


class _Resampled:
    """The values of one statistic of all cells on one dataset, from the same resamples."""

    def __init__(
        self,
        dataset: Dataset,
        statistic: str,
        runs: Mapping[int, RunOfCell],
        samples: Mapping[Levels, Sample],
        resamples: int,
    ) -> None:
        self.dataset, self.statistic, self.samples = dataset, statistic, samples
        functions: dict[Levels, list[Statistic]] = {}
        self._used: dict[Levels, Bools] = {}
        counts: dict[Levels, Ints] = {}
        has_reference = ~np.isnan(dataset.gold) | ~np.isnan(dataset.gold_scores)
        for run_id, run in runs.items():
            opinions = dataset.judges.get(str(run_id))
            if opinions is None:
                continue
            known = opinions.asked & has_reference
            own = np.array([opinions.asked.sum(), known.sum(), (known & np.isnan(opinions.values)).sum()])
            counts[run.levels] = counts.get(run.levels, 0) + own
            if statistic not in experiments.WITH_MISSING:
                opinions = samples[run.levels].restrict(opinions, dataset.item, dataset.part)
            function = experiments.run_statistic(dataset, opinions, statistic)
            if function is not None:
                functions.setdefault(run.levels, []).append(function)
                used = self._used.setdefault(run.levels, np.zeros(dataset.item.size, bool))
                used |= experiments.used_targets(dataset, opinions, statistic)
        why_empty = partial(experiments.why_empty, statistic)
        self._empty = {levels: why_empty(samples[levels], *of.tolist()) for levels, of in counts.items()}
        self.means, self.levels = experiments.MeanSamples(dataset, functions, resamples), functions.keys()

    def difference(self, axes: Sequence[str], pairs: Sequence[Pair], place: int) -> AxisDifference:
        """Return the difference of two cells whose levels differ at one place, or the mean over several such pairs.

        A pair with a cell that has judged nothing is left out: an outage is no difference.
        """
        empty = [cell for cell in dict.fromkeys(cell for pair in pairs for cell in pair) if self._empty[cell]]
        left_out = "; ".join(f"without {' · '.join(cell)}: {self._empty[cell]}" for cell in empty)
        kept = [pair for pair in pairs if not {*pair} & {*empty}]
        if not kept:
            row = _row(axes, pairs, place, self.dataset.criterion, self.statistic, 0)
            return replace(row, reason=left_out, combinations=0)
        row = self._tested(axes, kept, place)
        return replace(row, reason=join_notes(left_out, row.reason))

    def _tested(self, axes: Sequence[str], pairs: Sequence[Pair], place: int) -> AxisDifference:
        used = np.logical_and.reduce([self._used[cell] for pair in pairs for cell in pair])
        row = _row(axes, pairs, place, self.dataset.criterion, self.statistic, int(used.sum()))
        if any(self.samples[first].asked != self.samples[second].asked for first, second in pairs):
            return replace(row, reason="the cells were not asked about the same targets")
        difference = float(_mean_difference(self.means.values, pairs)[0])
        if np.isnan(difference):
            return replace(row, reason="the statistic is not defined in all of the cells")
        resampled = _mean_difference(self.means.resampled, pairs)
        defined = resampled[~np.isnan(resampled)]
        if defined.size < 2 or np.ptp(defined) < SAME:
            return replace(row, difference=difference, reason=NO_TEST)
        if self.statistic in continuous.FUNCTIONS and row.items < MIN_ITEMS_FOR_INTERVAL:
            return replace(row, difference=difference, reason=NoInterval.FEW_ITEMS.value)
        jackknife = _mean_difference(self.means.jackknife, pairs)
        interval = bca_interval(difference, resampled, jackknife, self.means.block_frequencies)
        return replace(
            row, difference=difference, low=interval.low, high=interval.high,
            p=bootstrap_p_value(difference, resampled), reason=interval.problem,
        )  # fmt: skip


def _mean_difference(values: Mapping[Levels, Any], pairs: Sequence[Pair]) -> Any:
    """Return the mean over pairs of cells of the first less the second."""
    return np.mean([values[first] - values[second] for first, second in pairs], axis=0)


def trace_differences(
    values: Mapping[int, Mapping[str, float]],
    runs: Mapping[int, RunOfCell],
    axes: Sequence[str],
    statistic: str,
    *,
    effects: bool = False,
) -> list[AxisDifference]:
    """Return the differences, or effects, along the axes in a mean over items; `values`: run -> item -> value.

    On the items that both cells have, an item's value being its mean over repeats. p is not corrected.
    """
    items = sorted({item for of_run in values.values() for item in of_run})
    by_cell: dict[Levels, list[Floats]] = {}
    for run_id, run in runs.items():
        if of_run := values.get(run_id):
            by_cell.setdefault(run.levels, []).append(np.array([of_run.get(item, np.nan) for item in items]))
    means = {levels: mean_of_defined(np.stack(of_cell, axis=-1)) for levels, of_cell in by_cell.items()}
    found = []
    for pairs, place in _compared(list(means), effects):
        c = paired_comparison("", "", _mean_difference(means, pairs), None, 1000)
        row = _row(axes, pairs, place, "", statistic, c.items)
        found.append(replace(row, difference=c.difference, low=c.low, high=c.high, p=c.p_bootstrap, reason=c.reason))
    return sorted(found, key=lambda row: axes.index(row.axis))


def _compared(cells: Sequence[Levels], effects: bool) -> Iterator[tuple[list[Pair], int]]:
    """Yield every two cells whose levels differ in one axis, and its place; for `effects` the pairs with the same two
    levels together."""
    by_levels: dict[tuple[int, str, str], list[Pair]] = {}
    for first, second in combinations(cells, 2):
        differing = [place for place, pair in enumerate(zip(first, second, strict=True)) if pair[0] != pair[1]]
        if len(differing) != 1:
            continue
        place = differing[0]
        if effects:
            by_levels.setdefault((place, first[place], second[place]), []).append((first, second))
        else:
            yield [(first, second)], place
    for (place, _, _), pairs in by_levels.items():
        yield pairs, place


def _row(
    axes: Sequence[str], pairs: Sequence[Pair], place: int, criterion: str, statistic: str, items: int
) -> AxisDifference:
    """Return a difference without its values."""
    (first, second), *others = pairs
    fixed = {name: level for name, level in zip(axes, first, strict=True) if name != axes[place]}
    return AxisDifference(
        axes[place], first[place], second[place], {} if others else fixed, criterion, statistic, None, None, None,
        items, None, None, combinations=len(pairs),
    )  # fmt: skip


def with_bounds(row: AxisDifference, cells: Sequence[CellResult], axes: Sequence[str]) -> AxisDifference:
    """Return a difference or an effect with its `lowest` and `highest`, from the bounds of the cells."""
    place = list(axes).index(row.axis)
    bounds = {of.levels: of.bounds for of in cells if of.criterion == row.criterion and of.value is not None}
    ends = []
    for levels, first in bounds.items():
        other = (*levels[:place], row.other_level, *levels[place + 1 :])
        is_own = all(level == row.fixed.get(axis, level) for axis, level in zip(axes, levels, strict=True))
        if levels[place] == row.level and other in bounds and is_own:
            ends.append((first, bounds[other]))
    known = [(first[0] - second[1], first[1] - second[0]) for first, second in ends if first and second]
    if not known or len(known) < len(ends) or row.difference is None:
        return row
    low, high = (fmean(of) for of in zip(*known, strict=True))
    return replace(row, lowest=low, highest=high) if low < high else row


def correct_differences(differences: Sequence[AxisDifference]) -> tuple[AxisDifference, ...]:
    """Return the differences with `p_corrected`, by Holm's method over those that have a p."""
    return tuple(with_corrected(differences, [row.p for row in differences]))


def describe_correction(differences: Sequence[AxisDifference]) -> str:
    """Return what p is and for how many of the differences of an experiment it is corrected."""
    tested = sum(row.p is not None for row in differences)
    if not tested:
        return "none of the differences has a p"
    count = f"{len(differences):,} differences"
    tests = f"all {count}" if tested == len(differences) else f"the {tested:,} of {count} that have a p"
    return "p: paired bootstrap" + (f", corrected by Holm's method for {tests}" if tested > 1 else "")
