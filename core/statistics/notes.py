"""Reasons and caveats: why a statistic is undefined, and the caveats of its value."""

from dataclasses import dataclass, replace

import numpy as np

from core.statistics import catalogue
from core.statistics.data.arrays import Bools, Estimate, Floats
from core.statistics.data.ratings import Category, Ratings
from core.statistics.measures.alternative_annotator import MIN_ITEMS as MIN_TEST_ITEMS
from core.statistics.measures.pairwise import CORRELATIONS, MIN_ITEMS_FOR_CORRELATION, MIN_ITEMS_FOR_INTERVAL
from core.statistics.measures.resampling import NoInterval, Resampled
from core.wording import format_count
from core.wording import join_notes as join_notes
from core.wording import list_names as list_names

# Below this many items BCa intervals of agreement cover less than 95 % in some designs, see docs/statistics.md.
FEW_ITEMS = 50
# Below this many resampled groups the same holds; groups are also more unequal than items.
FEW_GROUPS = 30
FEW_SHARED = 3.0
"""A mean over pairs of raters has no interval if two raters share fewer than this times sqrt(items) items on average.
The bias of a pair's coefficient is proportional to 1 / (its items), the standard error of the mean to 1 / sqrt(items).
Below, the bias of quadratic kappa in skewed designs is more than half of the standard error, see docs/statistics.md."""
# Statistics that are means over pairs of raters.
PAIR_STATISTICS = catalogue.of_role(catalogue.Role.pairs)


@dataclass(frozen=True)
class LabelSummary:
    """The counts of labels that an estimate and its reason are made from."""

    items: int
    paired_items: int
    """Items with at least two labels."""
    raters: int
    label_pairs: int
    """Pairs of labels on the same item."""
    most_shared: int
    """The largest number of items that two raters share."""
    rater_pairs: int
    overlapping_pairs: int
    """Rater pairs that share an item."""
    only_value: Category | None
    """The value that every label has; None if labels differ."""
    is_unanimous: bool
    """Whether all labels of each item with at least two labels are equal."""
    constant_raters: tuple[str, ...]
    """Raters who gave one and the same value to two items or more."""
    pairs_without_kappa: int
    """Rater pairs that share items but have no kappa."""
    pairs_without_correlation: int
    groups: int | None

    @property
    def mean_shared(self) -> float:
        """The mean number of items that two raters share, of those who share an item."""
        return self.label_pairs / max(1, self.overlapping_pairs)

    @property
    def shares_few_items(self) -> bool:
        """Whether a mean over pairs of raters has too few items for each pair, see `FEW_SHARED`."""
        return self.overlapping_pairs > 1 and self.mean_shared < FEW_SHARED * np.sqrt(self.paired_items)


def summarize(labels: Ratings, values: Floats, frequencies: Floats) -> LabelSummary:
    """Count the values (P, R), nan missing, of patterns that occur with the given frequencies (P,)."""
    present = ~np.isnan(values)
    size = present.sum(axis=1)
    shared_items = ((present * frequencies[:, None]).T @ present)[np.triu_indices(present.shape[1], 1)]
    all_values = values[present]
    only: Category | None = None
    if all_values.size and bool((all_values == all_values[0]).all()):
        only = labels.categories[int(all_values[0])] if labels.categories else float(all_values[0])
    pairs_without_kappa, pairs_without_correlation = count_undefined_pairs(values, present, frequencies)
    return LabelSummary(
        items=int(frequencies.sum()),
        paired_items=int(frequencies[size > 1].sum()),
        raters=int(present.any(axis=0).sum()),
        label_pairs=int(frequencies @ (size * (size - 1) // 2)),
        most_shared=int(shared_items.max(initial=0)),
        rater_pairs=shared_items.size,
        overlapping_pairs=int((shared_items > 0).sum()),
        only_value=only,
        is_unanimous=is_unanimous(values[size > 1]),
        constant_raters=find_constant_raters(labels.raters, values, frequencies),
        pairs_without_kappa=pairs_without_kappa,
        pairs_without_correlation=pairs_without_correlation,
        groups=None if labels.groups is None else len(set(labels.groups)),
    )


def is_unanimous(values: Floats) -> bool:
    """Return whether each row of values (P, R), nan missing, has one distinct value; False without rows."""
    if not len(values):
        return False
    lowest = np.where(np.isnan(values), np.inf, values).min(axis=1)
    highest = np.where(np.isnan(values), -np.inf, values).max(axis=1)
    return bool((lowest == highest).all())


def find_constant_raters(names: tuple[str, ...], values: Floats, frequencies: Floats) -> tuple[str, ...]:
    """Return the raters who gave one and the same value to all of their items, two items or more."""
    constant = []
    for name, column in zip(names, values.T, strict=True):
        present = ~np.isnan(column)
        if frequencies[present].sum() > 1 and bool((column[present] == column[present][0]).all()):
            constant.append(name)
    return tuple(constant)


def count_undefined_pairs(values: Floats, present: Bools, frequencies: Floats) -> tuple[int, int]:
    """Return the number of rater pairs that share items but have no kappa, and those that have no correlation.

    Kappa is undefined if both raters of a pair gave all shared items one and the same value, a correlation if
    one of them gave all the same value or fewer than three items are shared.
    """
    without_kappa = without_correlation = 0
    for rater in range(values.shape[1] - 1):
        # This rater against all later ones at once: a loop over pairs takes seconds for a hundred raters.
        rows = present[:, rater]
        others, both = values[rows, rater + 1 :], present[rows, rater + 1 :]
        rater_values = np.broadcast_to(values[rows, rater, None], others.shape)
        rater_low, rater_high = column_range(rater_values, both)
        low, high = column_range(others, both)
        overlap = both.any(axis=0)
        rater_constant, constant = rater_low == rater_high, low == high
        without_kappa += int((overlap & rater_constant & constant & (rater_low == low)).sum())
        too_few = frequencies[rows] @ both < MIN_ITEMS_FOR_CORRELATION
        without_correlation += int((overlap & (rater_constant | constant | too_few)).sum())
    return without_kappa, without_correlation


def column_range(values: Floats, mask: Bools) -> tuple[Floats, Floats]:
    """Return the minimum and maximum of each column over the rows in the mask; infinite if there are none."""
    smallest = np.where(mask, values, np.inf).min(axis=0, initial=np.inf)
    return smallest, np.where(mask, values, -np.inf).max(axis=0, initial=-np.inf)


def agreement_estimate(name: str, result: Resampled, summary: LabelSummary, effective: float | None = None) -> Estimate:
    """Return the estimate of an agreement statistic with its counts and its reason."""
    if name in PAIR_STATISTICS and summary.shares_few_items:
        result = replace(result, low=None, high=None, missing=NoInterval.FEW_SHARED_ITEMS)
    result = without_few_items(result, summary.paired_items) if name in CORRELATIONS else result
    too_few_shared = name in CORRELATIONS and summary.most_shared < MIN_ITEMS_FOR_CORRELATION
    is_undefined = result.value is None or too_few_shared
    return Estimate(
        value=None if is_undefined else result.value,
        low=None if is_undefined else result.low,
        high=None if is_undefined else result.high,
        items=summary.paired_items,
        items_total=summary.items,
        raters=summary.raters,
        pairs=summary.label_pairs,
        dropped=result.dropped,
        reason=why_undefined(name, summary) if is_undefined else agreement_caveats(name, result, summary),
        effective=effective,
    )


def why_undefined(name: str, summary: LabelSummary) -> str:
    """Return why an agreement statistic has no value."""
    if not summary.paired_items:
        return f"no item was labelled by two annotators ({summary.items} items in total)"
    if summary.only_value is not None:
        return f"all raters chose {summary.only_value!r}: there is no variation to correct for; raw agreement 100 %"
    if name in CORRELATIONS and summary.most_shared < MIN_ITEMS_FOR_CORRELATION:
        return f"a correlation needs {MIN_ITEMS_FOR_CORRELATION} items labelled by the same two raters"
    if name in CORRELATIONS:
        return "in every pair of raters one gave all items the same score, so they cannot be ranked"
    if name in PAIR_STATISTICS:
        return "the raters of each pair used one and the same category on the items they share"
    return "all labels that can be compared are the same: there is no variation to correct for"


def agreement_caveats(name: str, result: Resampled, summary: LabelSummary) -> str:
    """Return the caveats of an agreement statistic; empty if there are none."""
    one = f"one category only: all raters chose {summary.only_value!r}" if summary.only_value is not None else ""
    interval = ""
    if result.low is None:
        interval = why_no_interval(result, summary)
    elif summary.groups is not None and summary.groups < FEW_GROUPS:
        interval = few_groups(summary.groups)
    elif summary.paired_items < FEW_ITEMS:
        interval = few_items()
    of_pairs = pair_caveats(name, summary) if name in PAIR_STATISTICS else ""
    dropped = f"{format_count(result.dropped, 'resample')} undefined and left out" if result.dropped else ""
    return join_notes(one, interval, of_pairs, dropped)


def why_no_interval(result: Resampled, summary: LabelSummary) -> str:
    """Return why an agreement statistic has a value but no interval."""
    if summary.is_unanimous and summary.paired_items > 1:
        # 1 - .05^(1/n) is about 3/n: with more disagreement than this, n unanimous items are rarer than 5 %.
        upper = 100 * min(1.0, 3 / summary.paired_items)
        return (
            "every item agrees, so the resamples have no spread; by the rule of three up to "
            f"{upper:.1f} % of further items may disagree"
        )
    return result.problem.format(mean_shared=summary.mean_shared)


def pair_caveats(name: str, summary: LabelSummary) -> str:
    """Return the caveats of a mean over pairs of raters."""
    is_correlation = name in CORRELATIONS
    undefined = summary.pairs_without_correlation if is_correlation else summary.pairs_without_kappa
    defined = summary.overlapping_pairs - undefined
    mean = f"mean of {format_count(defined, 'rater pair')}; undefined for {summary.rater_pairs - defined} more"
    some = summary.rater_pairs > 1 and defined < summary.rater_pairs
    constant = "" if is_correlation else list_names(summary.constant_raters)
    return join_notes(mean if some else "", f"{constant} used one label only" if constant else "")


def few_items(noun: str = "items") -> str:
    """Return the caveat of an interval over few items."""
    return f"fewer than {FEW_ITEMS} {noun}: the interval may be too narrow"


def few_groups(groups: int) -> str:
    """Return the caveat of an interval over few groups of items."""
    return f"only {format_count(groups, 'group')} of items to resample: the interval may be too narrow"


def size_caveats(items: int, units: int) -> list[str]:
    """Return the caveat of an interval over items, of which `units` were resampled, if it has one."""
    if units < items and units < FEW_GROUPS:
        return [few_groups(units)]
    return [few_items()] * (items < FEW_ITEMS)


def mean_caveats(result: Resampled, items: int, units: int) -> list[str]:
    """Return the caveats of a mean over items, of which `units` were resampled."""
    if not items:
        return ["no item has a value to average"]
    return [result.problem] if result.low is None else size_caveats(items, units)


def without_few_items(result: Resampled, items: int) -> Resampled:
    """Return a correlation without its interval, if it is over too few items for one."""
    if items >= MIN_ITEMS_FOR_INTERVAL or result.low is None:
        return result
    return replace(result, low=None, high=None, missing=NoInterval.FEW_ITEMS)


def correlation_estimate(result: Resampled, items: int, items_total: int, units: int) -> Estimate:
    """Return the estimate of a judge's correlation with annotators over items, of which `units` were resampled."""
    undefined = "" if result.value is not None else "all scores of one side are equal, so they cannot be ranked"
    result = without_few_items(result, items)
    few = size_caveats(items, units) if result.missing != NoInterval.FEW_ITEMS else []
    return judge_estimate(result, items, items_total, items, undefined, result.problem, *few)


def group_mean_estimate(
    result: Resampled, groups_used: int, groups_total: int, items: int, items_total: int
) -> Estimate:
    """Return the estimate of a mean of the correlations within groups."""
    used = f"mean of {groups_used} of {groups_total} groups; the others have one item, or all scores of one side equal"
    left_out = used if groups_used < groups_total else ""
    few = few_groups(groups_used) if 0 < groups_used < FEW_GROUPS else ""
    return judge_estimate(result, items, items_total, items, left_out, result.problem, few)


def system_estimate(result: Resampled, systems: int, items: int, items_total: int) -> Estimate:
    """Return the estimate of a correlation between systems' means."""
    if result.value is None:
        reason = "all systems have the same mean on one side, so they cannot be ranked"
        return judge_estimate(result, items, items_total, items, reason)
    resampled = f"{format_count(systems, 'system')}; both systems and items were resampled"
    few = "few systems: use the interval rather than the value" if systems < FEW_GROUPS else ""
    return judge_estimate(result, items, items_total, items, resampled, result.problem, few)


def critique_estimate(result: Resampled, used: int, total: int) -> Estimate:
    """Return the estimate of a score over critiques."""
    left_out = f"{total - used} of {total} critiques have no AIU to count and are left out" if used < total else ""
    few = few_items("critiques") if 0 < used < FEW_ITEMS else ""
    return judge_estimate(result, used, total, 0, left_out, result.problem or few)


def judge_caveats(name: str, result: Resampled, items: int, note: str) -> str:
    """Return the caveats of a judge's statistic."""
    if not items:
        return "no item has both a verdict of the judge and a label to compare it with"
    if result.value is None:
        is_kappa = name.startswith("cohen_kappa")
        same = "both used one and the same category: there is no variation to correct for"
        return join_notes(same if is_kappa else "all scores of one side are equal, so they cannot be ranked", note)
    return join_notes(note, result.problem if result.low is None else few_items() if items < FEW_ITEMS else "")


def mode_caveats(compared: int, tied: int) -> str:
    """Return the caveats of ScaleEval's system-level rate."""
    if not compared:
        return "no scenario has a single most frequent value on both sides"
    left_out = f"{format_count(tied, 'scenario')} without a single most frequent value left out" if tied else ""
    return join_notes(f"one yes or no for each of {format_count(compared, 'scenario')}, so no interval", left_out)


def why_untested(skipped: tuple[str, ...]) -> str:
    """Return why the alternative-annotator test was not made."""
    if not skipped:
        return "no annotator's labels to test against"
    return (
        f"the test needs {MIN_TEST_ITEMS} items of an annotator that others labelled too; "
        f"fewer have: {list_names(skipped)}"
    )


def skipped_caveats(skipped: tuple[str, ...]) -> str:
    """Return which annotators the alternative-annotator test left out."""
    return f"{list_names(skipped)} left out: fewer than {MIN_TEST_ITEMS} shared items" if skipped else ""


def winning_caveats(tests: list[tuple[str, bool, float | None]], skipped: tuple[str, ...]) -> str:
    """Return whom the judge won against, from (annotator, won, p) of each test; p is None without variance."""
    winners = [rater for rater, won, _ in tests if won]
    won = f"won against {list_names(winners) if winners else 'none'} of {len(tests)}; no interval"
    certain = [rater for rater, _, p in tests if p is None]
    constant = f"no variance against {list_names(certain)}: a t-test does not apply" if certain else ""
    return join_notes(won, constant, skipped_caveats(skipped))


def dawid_skene_caveats(raters: int, converged: bool) -> str:
    """Return the caveats of a Dawid-Skene accuracy."""
    of_model = f"a model's estimate from {raters} annotators and judges, assumed to err independently; no interval"
    return join_notes(of_model, "" if converged else "the iteration did not converge")


def judge_estimate(result: Resampled, items: int, items_total: int, pairs: int, *notes: str) -> Estimate:
    """Return an estimate of one judge; empty notes are left out."""
    reason = join_notes(*notes)
    return Estimate(result.value, result.low, result.high, items, items_total, 1, pairs, result.dropped, reason)
