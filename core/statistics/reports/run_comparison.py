"""Runs on the same targets: how each agrees with a reference, and every two of them compared with each other.

The columns of a comparison are the judges of a `Dataset`: a run, or one judge of a run that has several conclusions on
a target.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from core.statistics.data.arrays import Bools, Estimate
from core.statistics.data.dataset import Dataset
from core.statistics.data.ratings import Ratings
from core.statistics.measures.agreement import estimate_score_statistics, estimate_statistics
from core.statistics.measures.alternative_annotator import EPSILON
from core.statistics.measures.comparison import Comparison, correct_comparisons
from core.statistics.measures.means import selected_groups, share_estimate
from core.statistics.reports.alignment import judge_statistics
from core.statistics.reports.judges import compared_statistic, judge_difference

# Statistics of a run against the reference, as `core.statistics.reports.alignment` names them.
WITH_REFERENCE = ("accuracy_gold", "cohen_kappa_gold", "pearson", "spearman")
# Statistics of two runs with each other: on scales with categories, and on those with an order.
OF_CATEGORIES, OF_SCORES = ("cohen_kappa",), ("pearson", "spearman")
# Scores that differ by less are equal: means are sums in different orders.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class RunFigures:
    """One column against the reference."""

    name: str
    targets: int
    """That it was asked about."""
    no_verdict: int
    """Of the targets: without a verdict."""
    estimates: Mapping[str, Estimate]
    """The statistics of `WITH_REFERENCE` that apply to the scale, on targets with a verdict and a reference."""


@dataclass(frozen=True)
class Pair:
    """Two columns on the targets that both were asked about."""

    first: str
    second: str
    targets: int
    changed: int
    """Targets with another verdict; a verdict instead of none is another one."""
    changed_share: Estimate
    estimates: Mapping[str, Estimate]
    """Of their agreement, on targets with a verdict of both."""
    statistic: str
    """The statistic whose difference is tested: accuracy_gold on nominal scales, pearson on others."""
    difference: Comparison
    """The second minus the first, paired, on targets with a reference and both verdicts; p corrected by Holm's method
    for all pairs."""


@dataclass(frozen=True)
class RunComparison:
    """The comparison of columns on one kind and criterion."""

    figures: tuple[RunFigures, ...]
    pairs: tuple[Pair, ...]
    population: str = "all targets"
    """The targets that comparisons with the reference are of: all, or "disputed targets" if it is mainly of these."""


def compare_runs(
    dataset: Dataset,
    pairs: Sequence[tuple[str, str]] | None = None,
    *,
    unmatched: frozenset[str] = frozenset(),
    resamples: int = 1000,
) -> RunComparison:
    """Compare the columns of a dataset; `pairs` are by default all.

    `unmatched` columns are not compared with the reference, because it is their own.
    """
    names = list(dataset.judges)
    alone = replace(dataset, ratings=dataset.ratings.select(raters=()))  # annotators are no part of any figure here
    figures = [_figures(alone, name, name in unmatched, resamples) for name in names]
    chosen = list(combinations(names, 2)) if pairs is None else pairs
    compared = [_pair(alone, first, second, bool({first, second} & unmatched), resamples) for first, second in chosen]
    differences = correct_comparisons([pair.difference for pair in compared])
    return RunComparison(
        tuple(figures),
        tuple(replace(pair, difference=one) for pair, one in zip(compared, differences, strict=True)),
    )


def changed_targets(dataset: Dataset, first: str, second: str) -> Bools:
    """Return whether two columns have different verdicts on a target, (N,), of those that both were asked about."""
    a, b = dataset.judges[first], dataset.judges[second]
    missing = np.isnan(a.values), np.isnan(b.values)
    equal = np.abs(np.where(missing[0], 0, a.values) - np.where(missing[1], 0, b.values)) <= TOLERANCE
    changed: Bools = a.asked & b.asked & (~equal | (missing[0] != missing[1])) & ~(missing[0] & missing[1])
    return changed


def _figures(dataset: Dataset, name: str, is_reference: bool, resamples: int) -> RunFigures:
    opinions = dataset.judges[name]
    estimates: Mapping[str, Estimate] = {}
    if not is_reference:
        found = judge_statistics(dataset, opinions, EPSILON, resamples, wanted=WITH_REFERENCE)
        estimates = {statistic: found[statistic] for statistic in WITH_REFERENCE if statistic in found}
    missing = int(np.isnan(opinions.values[opinions.asked]).sum())
    return RunFigures(name, int(opinions.asked.sum()), missing, estimates)


def _pair(dataset: Dataset, first: str, second: str, is_reference: bool, resamples: int) -> Pair:
    asked = dataset.judges[first].asked & dataset.judges[second].asked
    changed = changed_targets(dataset, first, second)[asked]
    share = share_estimate(changed, selected_groups(dataset.ratings.groups, asked))
    difference = Comparison(
        second, first, None, None, None, 0, None, None, None, "the reference is the verdicts of one of the runs"
    )
    if not is_reference:
        difference = judge_difference(dataset, second, first, resamples)
    return Pair(
        first, second, share.items, int(changed.sum()), share,
        _agreement(dataset, first, second, resamples),
        compared_statistic(dataset), difference,
    )  # fmt: skip


def _agreement(dataset: Dataset, first: str, second: str, resamples: int) -> dict[str, Estimate]:
    values = np.column_stack([dataset.judges[name].values for name in (first, second)])
    both: Bools = np.asarray(~np.isnan(values).any(axis=1))
    if not both.any():
        return {}
    ratings = dataset.ratings.select(targets=both)
    pair = Ratings(("0", "1"), values[both], ratings.categories, ratings.groups)
    if not ratings.categories:
        found = estimate_score_statistics(pair, resamples=resamples)
        return {name: found[name] for name in OF_SCORES}
    wanted = OF_CATEGORIES if dataset.scale.level == "nominal" else (*OF_CATEGORIES, *OF_SCORES)
    return estimate_statistics(pair, wanted, resamples=resamples)
