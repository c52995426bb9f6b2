"""Results of an experiment: each cell's statistic over its repeats and items.

A cell has a value for each repeat; the result is their mean with the standard deviation between repeats. The interval
is over items: the repeats of an item are judgements of the same item, so they are resampled together with it.

Cells that were asked about the same targets are compared on the same targets. Statistics of `WITH_MISSING` count a
target without a verdict; all others are computed from the targets that have a verdict in every cell.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

import numpy as np
import pandas as pd

from core.statistics.data.arrays import Bools, Estimate, Floats, mean_of_defined, ratio
from core.statistics.data.dataset import Dataset, Frames, JudgeOpinions, Strings, build_datasets
from core.statistics.data.frames import as_text
from core.statistics.data.patterns import JudgedPatterns, LabelRows, Units, group_indicator
from core.statistics.data.ratings import to_codes
from core.statistics.measures import continuous, resampling
from core.statistics.measures.pairwise import MIN_ITEMS_FOR_CORRELATION, MIN_ITEMS_FOR_INTERVAL
from core.statistics.measures.resampling import Resampled, Statistic
from core.statistics.reports.alignment import (
    Wanted,
    equal_answers,
    judge_measures,
    judge_statistics,
    reference_basis,
    reference_mix,
)
from core.wording import join_notes

# Between an item and the number of the repeat in the name of a unit.
REPEAT_SEPARATOR = "\x1f"
EPSILON = 0.2
# Statistics of all targets that a cell was asked about.
WITH_MISSING = ("example_level_agreement", "no_verdict_rate")
# The ends of the names of the lowest and the highest value that a statistic can take: see `unread_ranges`.
BOUNDS = ("_lowest", "_highest")
# Statistics with the bounds of another one.
BOUNDED = {"example_level_agreement": "accuracy_gold"}
WITHIN, BETWEEN = "_within_groups", "_between_systems"
# The labels of a cell, in the order of the axes.
Levels = tuple[str, ...]
# (item, part)
Targets = frozenset[tuple[str, str]]


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
    asked: int = 0
    """Targets with a reference that the cell was asked about, over all repeats."""
    no_verdict: int = 0
    """Of these: without a verdict, whether the trace failed or ended without one."""
    failed: int = 0
    """Targets of failed traces, over all repeats."""
    left_out: int = 0
    """Targets with a verdict that are left out, because another cell has none."""
    lowest: float | None = None
    highest: float | None = None
    """The bounds of the value for any verdicts in place of the missing ones; None without missing ones, and for
    statistics that have no bounds."""

    @property
    def repeats(self) -> int:
        """The number of repeats, also of those without a value."""
        return len(self.items_of_repeats)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """`lowest` and `highest`, the value being both without missing verdicts; None if they are unknown."""
        low, high = (self.lowest, self.highest) if self.no_verdict else (self.value, self.value)
        return None if self.value is None or low is None or high is None else (low, high)


@dataclass(frozen=True)
class RunOfCell:
    """The cell and the number of the repeat of a run."""

    levels: Levels
    repeat: int


@dataclass(frozen=True)
class Sample:
    """The targets of a cell on one kind and criterion, in all repeats."""

    asked: Targets
    compared: Targets
    """Those with a verdict, in at least one repeat, in every cell with a verdict that was asked about the same ones."""
    failed: int

    def restrict(self, opinions: JudgeOpinions, items: Iterable[str], parts: Iterable[str]) -> JudgeOpinions:
        """Return the opinions on compared targets; `items` (N,) and `parts` (N,) are the dataset's."""
        kept = np.array([target in self.compared for target in zip(items, parts, strict=True)], bool)
        return replace(opinions, asked=opinions.asked & kept, values=np.where(kept, opinions.values, np.nan))


def cell_samples(opinions: pd.DataFrame, runs: Mapping[int, RunOfCell]) -> dict[tuple[str, str, Levels], Sample]:
    """Return (kind, criterion, levels) -> the targets of the cell; frames as in `cell_statistics`."""
    samples: dict[tuple[str, str, Levels], Sample] = {}
    keys = [opinions["kind"].map(as_text), opinions["criterion"].map(as_text)]
    for (kind, criterion), rows in opinions.groupby(keys):
        found: dict[Levels, tuple[Targets, Targets, int]] = {}
        for _, of_cell in rows.groupby(rows["run"].map({run: str(one.levels) for run, one in runs.items()})):
            decided = of_cell[of_cell["value"].notna()]
            failed = int(of_cell["failed"].sum()) if "failed" in of_cell else 0
            found[runs[int(of_cell["run"].iloc[0])].levels] = (_targets(of_cell), _targets(decided), failed)
        for levels, (asked, _, failed) in found.items():
            same = [decided for others, decided, _ in found.values() if others == asked and decided]
            compared = frozenset.intersection(*same) if same else frozenset()
            samples[str(kind), str(criterion), levels] = Sample(asked, compared, failed)
    return samples


def criterion_names(samples: Iterable[tuple[str, str, Levels]]) -> dict[tuple[str, str], str]:
    """Return (kind, criterion) -> the criterion's name in results: with the kind if another one has the criterion too.

    Precision and recall of critiques have no criterion: a difference or a front of both together has no meaning.
    """
    places = dict.fromkeys((kind, criterion) for kind, criterion, _ in samples)
    count = Counter(criterion for _, criterion in places)
    return {
        (kind, criterion): " · ".join(filter(None, (criterion, kind))) if count[criterion] > 1 else criterion
        for kind, criterion in places
    }


def _targets(opinions: pd.DataFrame) -> Targets:
    return frozenset(zip(opinions["item"], opinions["part"].map(as_text), strict=True))


def cell_statistics(
    frames: Frames, runs: Mapping[int, RunOfCell], *, resamples: int = 1000, wanted: Wanted = None
) -> dict[str, list[CellResult]]:
    """Return statistic -> the results of the cells, in the order of `runs`.

    The opinions are the verdicts of the runs, one per run and target, and have if known `failed`: whether the trace
    failed, so that there is no verdict.
    """
    if wanted is not None:  # with the statistics that have the bounds of others
        wanted = {*wanted, *(BOUNDED[name] for name in wanted if name in BOUNDED)}
    samples = cell_samples(frames.opinions, runs)
    names = criterion_names(samples)
    results: dict[str, list[CellResult]] = {}
    for levels in dict.fromkeys(run.levels for run in runs.values()):
        repeats = {run_id: run.repeat for run_id, run in runs.items() if run.levels == levels}
        own = frames.opinions[frames.opinions["run"].isin(repeats)]
        if own.empty:
            continue
        for dataset in _repeat_datasets(replace(frames, opinions=own), repeats):
            sample = samples[dataset.kind, dataset.criterion, levels]
            for statistic, result in _cell_results(dataset, sample, levels, resamples, wanted):
                own_name = replace(result, criterion=names[dataset.kind, dataset.criterion])
                results.setdefault(statistic, []).append(own_name)
    return results


def _repeat_datasets(frames: Frames, repeats: Mapping[int, int]) -> Iterator[Dataset]:
    """Yield the datasets of one cell. Each repeat of an item is a target of its own, in the group of the item."""
    opinions = frames.opinions
    number = opinions["run"].map(repeats).astype(str)
    names = sorted(number.unique(), key=int)
    judged = opinions.assign(judge="cell", group=_groups(opinions), item=opinions["item"] + REPEAT_SEPARATOR + number)

    def repeated(frame: pd.DataFrame) -> pd.DataFrame:
        rows = frame[frame["item"].isin(set(opinions["item"]))]
        rows = rows.assign(group=_groups(rows))
        copies = [rows.assign(item=rows["item"] + REPEAT_SEPARATOR + name) for name in names]
        return pd.concat(copies, ignore_index=True)

    gold, design = (None if frame is None else repeated(frame) for frame in (frames.gold, frames.design))
    yield from build_datasets(Frames(repeated(frames.labels), judged, gold, frames.scales, design=design), "criterion")


def _groups(rows: pd.DataFrame) -> "pd.Series":
    """Return the group of each row, otherwise its item."""
    if "group" not in rows.columns:
        return rows["item"]
    return rows["group"].where(rows["group"].notna(), rows["item"])


def _cell_results(
    dataset: Dataset, sample: Sample, levels: Levels, resamples: int, wanted: Wanted
) -> Iterator[tuple[str, CellResult]]:
    opinions = dataset.judges["cell"]
    items = [name.rpartition(REPEAT_SEPARATOR)[0] for name in dataset.item]
    shared = sample.restrict(opinions, items, dataset.part)
    left_out = int((~np.isnan(opinions.values)).sum() - (~np.isnan(shared.values)).sum())
    every = some = dict(_results_on(dataset, levels, resamples, wanted))
    if left_out:
        some = dict(_results_on(replace(dataset, judges={"cell": shared}), levels, resamples, wanted))
    known = opinions.asked & (~np.isnan(dataset.gold) | ~np.isnan(dataset.gold_scores))
    missing = int((known & np.isnan(opinions.values)).sum())
    for statistic in {**every, **some}:
        is_of_all = statistic in WITH_MISSING or statistic.endswith(BOUNDS)
        result = (every if is_of_all else some).get(statistic)
        if result is not None:
            ends = [every.get(BOUNDED.get(statistic, statistic) + end) for end in BOUNDS]
            # Without left-out targets only: the bounds are on all of them.
            lowest, highest = (None if end is None or (left_out and not is_of_all) else end.value for end in ends)
            result = replace(
                result, asked=int(known.sum()), no_verdict=missing, failed=sample.failed,
                left_out=0 if is_of_all else left_out, lowest=lowest, highest=highest,
            )  # fmt: skip
            reason = why_empty(statistic, sample, int(opinions.asked.sum()), result.asked, missing)
            if reason and is_of_all:
                result = replace(
                    result, value=None, deviation=None, low=None, high=None, lowest=None, highest=None, reason=reason
                )  # fmt: skip
            yield statistic, result


def why_empty(statistic: str, sample: Sample, asked: int, known: int, missing: int) -> str:
    """Return why a cell judged nothing, which is no share of 0; empty if it has a verdict.

    Of its `asked` targets, over all repeats, `known` have a reference, and `missing` of these no verdict.
    """
    if sample.failed and sample.failed >= asked:
        return "every trace failed"
    is_empty = statistic != "no_verdict_rate" and 0 < missing == known
    return f"none of {missing:,} targets has a readable verdict" if is_empty else ""


def _results_on(dataset: Dataset, levels: Levels, resamples: int, wanted: Wanted) -> Iterator[tuple[str, CellResult]]:
    opinions = dataset.judges["cell"]
    numbers = np.array([item.rpartition(REPEAT_SEPARATOR)[2] for item in dataset.item], object)
    repeats = sorted(set(numbers[opinions.asked]), key=int)
    pooled = _estimates(dataset, resamples, wanted)
    if len(repeats) > 1:
        single = [_estimates(dataset.subset("all", numbers == name), 0, wanted) for name in repeats]
        distinct = dataset.subset("all", _first_verdicts(dataset, opinions, numbers))
        of_items = _estimates(distinct, 0, wanted)
    else:
        single, distinct, of_items = [pooled], dataset, pooled
    for statistic, row in pooled.items():
        known = next((statistic.removesuffix(end) for end in BOUNDS if statistic.endswith(end)), statistic)
        if wanted is not None and known not in wanted:
            continue
        of_repeats = [rows.get(statistic, rows.get(known)) for rows in single]  # a complete repeat has no bounds
        counts = tuple(0 if one is None else one.items for one in of_repeats)
        values = [one.value for one in of_repeats if one is not None and one.value is not None]
        has_some = 0 < len(values) < len(counts)
        missing = f"{len(values)} of {len(counts)} repeats have a value" if has_some else ""
        items = max(0, *counts, of_items[statistic].items if statistic in of_items else 0)
        mean, deviation = fmean(values) if values else None, stdev(values) if len(values) > 1 else None
        low, high, problem = row.low, row.high, ""
        if mean is not None and low is not None and abs(mean - (row.value or 0)) > resampling.CLOSE:
            interval = _interval_of_mean(dataset, numbers, statistic, mean, resamples)
            low, high, problem = interval.low, interval.high, interval.problem
        if statistic in continuous.FUNCTIONS and items < MIN_ITEMS_FOR_INTERVAL and low is not None:
            low, high, problem = None, None, resampling.NoInterval.FEW_ITEMS.value
        yield statistic, CellResult(
            levels, dataset.kind, dataset.criterion, mean, deviation, low, high, items, counts,
            join_notes(missing, row.reason, problem),
            reference_mix(distinct, distinct.judges["cell"], *reference_basis(distinct, statistic)),
        )  # fmt: skip


class MeanSamples:
    """Means over repeats by key: on all targets, in resamples of items with all their repeats, without each block."""

    def __init__(self, dataset: Dataset, functions: Mapping[Levels, Sequence[Statistic]], resamples: int) -> None:
        groups = dataset.ratings.groups
        units = Units(
            np.ones(dataset.item.size),
            group_indicator(None if groups is None else np.array(groups, object)),
            draw=dataset.sample,
        )

        def means(weights: Floats) -> dict[Levels, Floats]:
            values = {key: [function(weights) for function in of] for key, of in functions.items()}
            return {key: mean_of_defined(np.stack(of, axis=-1)) for key, of in values.items()}

        jackknife, self.block_frequencies = units.jackknife_weights()
        self.values, self.jackknife = means(units.counted[None]), means(jackknife)
        chunks = [means(weights) for weights in units.resample_weights(resamples)]
        self.resampled = {key: np.concatenate([chunk[key] for chunk in chunks]) for key in functions}


def _interval_of_mean(dataset: Dataset, numbers: Strings, statistic: str, value: float, resamples: int) -> Resampled:
    """Return the interval of the mean over repeats, not of all repeats pooled; `numbers` (N,) are theirs."""
    given = dataset.judges["cell"]
    repeats = [numbers == name for name in np.unique(numbers.astype(str))]
    own = [replace(given, asked=given.asked & of, values=np.where(of, given.values, np.nan)) for of in repeats]
    known = [of for of in (run_statistic(dataset, one, statistic) for one in own) if of is not None]
    if not known or statistic.endswith(BETWEEN):  # the latter resamples systems too
        return Resampled(value, None, None, 0, resampling.NoInterval.POOLED)
    means = MeanSamples(dataset, {(): known}, resamples)
    return resampling.bca_interval(value, means.resampled[()], means.jackknife[()], means.block_frequencies)


def used_targets(dataset: Dataset, opinions: JudgeOpinions, statistic: str) -> Bools:
    """Return the targets that a statistic of a run is computed from, (N,)."""
    if statistic == "no_verdict_rate":
        return opinions.asked
    known: Bools = ~np.isnan(dataset.gold_scores if _correlation(statistic) else dataset.gold)
    return known & (opinions.asked if statistic in WITH_MISSING else ~np.isnan(opinions.values))


def _correlation(statistic: str) -> str:
    """Return the name of a correlation without its level; empty for other statistics."""
    name = statistic.removesuffix(WITHIN).removesuffix(BETWEEN)
    return name if name in continuous.FUNCTIONS else ""


def run_statistic(dataset: Dataset, opinions: JudgeOpinions, name: str) -> Statistic | None:
    """Return a statistic of a run as a function of the weights of the N targets; None if it has no such function."""
    if name == "no_verdict_rate":
        return resampling.weighted_mean(np.isnan(opinions.values).astype(float), opinions.asked)
    if _correlation(name):
        return None if dataset.scale.level == "nominal" else _correlation_statistic(dataset, opinions, name)
    if dataset.scale.categories:
        gold = np.where(opinions.asked, dataset.gold, np.nan)
        rows = LabelRows(np.where(opinions.asked[:, None], dataset.ratings.codes, -1), len(dataset.ratings.categories))
        units = Units(np.ones(gold.size))
        patterns = JudgedPatterns(rows, to_codes(opinions.values), to_codes(gold), dataset.ratings.raters, units)
        return next((one.statistic for one in judge_measures(dataset, patterns) if one.name == name), None)
    if dataset.kind == "answer" and name in ("accuracy_gold", "example_level_agreement"):
        equal = equal_answers(dataset, opinions.values).astype(float)
        return resampling.weighted_mean(equal, used_targets(dataset, opinions, name))
    return None


def _correlation_statistic(dataset: Dataset, opinions: JudgeOpinions, name: str) -> Statistic:
    judge, reference = dataset.to_numbers(opinions.values), dataset.gold_scores
    both: Bools = ~np.isnan(judge) & ~np.isnan(reference)
    function = continuous.FUNCTIONS[_correlation(name)]
    if name.endswith(WITHIN):
        groups = np.array(dataset.ratings.groups or dataset.item, object)
        first = [int(np.flatnonzero(groups == group)[0]) for group in dict.fromkeys(groups.tolist())]
        members = [both & (groups == groups[place]) for place in first]
        values = np.array([continuous.correlate(function, judge[of], reference[of]) for of in members])
        defined = ~np.isnan(values)
        features = np.zeros((groups.size, 2))  # whole groups are resampled: the first target counts for its group
        features[first] = np.column_stack([np.where(defined, values, 0), defined])
        return lambda weights: ratio(*(weights @ features).T)
    if name.endswith(BETWEEN):
        system = np.unique(np.array(dataset.system, object)[both].astype(str), return_inverse=True)[1]
        place = list(continuous.FUNCTIONS).index(_correlation(name))
        scores = np.stack([judge[both], reference[both]])
        return lambda weights: continuous.row_correlations(continuous.system_means(weights[:, both], system, scores))[
            place
        ]
    if both.sum() < MIN_ITEMS_FOR_CORRELATION:
        return lambda weights: np.full(len(weights), np.nan)
    return resampling.on_subset(function(judge[both], reference[both]), both)


def _first_verdicts(dataset: Dataset, opinions: JudgeOpinions, numbers: Strings) -> Bools:
    """Return whether a target is of the first repeat of its item with a verdict, otherwise of the first asked, (N,)."""
    rank = np.where(opinions.asked, np.where(np.isnan(opinions.values), 1, 0), 2)
    names = [item.rpartition(REPEAT_SEPARATOR)[0] for item in dataset.item]
    rows = pd.DataFrame({"item": names, "part": dataset.part, "rank": rank, "repeat": numbers.astype(int)})
    first = rows.sort_values(["rank", "repeat"]).drop_duplicates(["item", "part"])
    return np.asarray(rows.index.isin(first.index), bool)


def _estimates(dataset: Dataset, resamples: int, wanted: Wanted) -> dict[str, Estimate]:
    return judge_statistics(dataset, dataset.judges["cell"], EPSILON, resamples, wanted=wanted)
