"""Why a number is undefined, or should be read with care, in words for a person."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from core.statistics.arrays import Bools, Floats
from core.statistics.estimate import Estimate
from core.statistics.intervals import Resampled
from core.statistics.patterns import Patterns
from core.statistics.ratings import Category, Ratings, Scores

FEW_ITEMS = 50
FEW_GROUPS = 20
FEWEST_FOR_CORRELATION = 3
FEWEST_FOR_TEST = 30
CORRELATION = ("pearson", "spearman", "kendall_tau_b")
OF_PAIRS = ("cohen_kappa", "cohen_kappa_linear", "cohen_kappa_quadratic", *CORRELATION)
NO_CHANCE = ("percent", "gwet_ac1", "gwet_ac2", "brennan_prediger")


@dataclass(frozen=True)
class Facts:
    """What the words and the counts of an estimate are made from."""

    there: int
    """Items there."""
    paired: int
    """Items with two labels or more."""
    raters: int
    pairs: int
    """Pairs of labels on the same item."""
    most_shared: int
    """The items that the two raters with most in common share."""
    rater_pairs: int
    shared: int
    """Rater pairs that share an item."""
    only: Category | None
    """The one value that every label has; None where labels differ."""
    constant: tuple[str, ...]
    """Raters who gave one and the same value to two items or more."""
    undefined: tuple[int, int]
    """Rater pairs that share items but have no kappa, and no correlation."""
    groups: int | None


def facts_of_codes(ratings: Ratings, patterns: Patterns) -> Facts:
    """Count what is there, from the distinct rows of all items."""
    values = np.where(patterns.codes >= 0, patterns.codes, np.nan)
    return counted(ratings, values, patterns.units.times)


def facts_of_scores(scores: Scores, rows: Floats, times: Floats) -> Facts:
    """Count what is there, from the distinct rows of all items."""
    return counted(scores, rows, times)


def counted(rated: Ratings | Scores, values: Floats, times: Floats) -> Facts:
    """The facts of values (P, R), nan missing, that occur so many times (P,) each."""
    there = ~np.isnan(values)
    size = there.sum(axis=1)
    common = ((there * times[:, None]).T @ there)[np.triu_indices(there.shape[1], 1)]
    found = values[there]
    one = found.size > 0 and bool((found == found[0]).all())
    return Facts(
        there=int(times.sum()),
        paired=int(times[size > 1].sum()),
        raters=int(there.any(axis=0).sum()),
        pairs=int(times @ (size * (size - 1) // 2)),
        most_shared=int(common.max(initial=0)),
        rater_pairs=common.size,
        shared=int((common > 0).sum()),
        only=value_of(rated, found[0]) if one else None,
        constant=constant_raters(rated.raters, values, times),
        undefined=undefined_pairs(values, there),
        groups=None if rated.groups is None else len(set(rated.groups)),
    )


def value_of(rated: Ratings | Scores, found: float) -> Category:
    """The value that a code or a score stands for."""
    return rated.categories[int(found)] if isinstance(rated, Ratings) else float(found)


def constant_raters(names: tuple[str, ...], values: Floats, times: Floats) -> tuple[str, ...]:
    """Raters who gave one and the same value to everything that they judged, two items or more."""
    found = []
    for name, column in zip(names, values.T, strict=True):
        given = ~np.isnan(column)
        if times[given].sum() > 1 and bool((column[given] == column[given][0]).all()):
            found.append(name)
    return tuple(found)


def undefined_pairs(values: Floats, there: Bools) -> tuple[int, int]:
    """How many rater pairs share items but have no kappa, and how many no correlation."""
    kappa = correlation = 0
    for a, b in combinations(range(values.shape[1]), 2):
        both = there[:, a] & there[:, b]
        if not both.any():
            continue
        x, y = values[both, a], values[both, b]
        flat = bool((x == x[0]).all()), bool((y == y[0]).all())
        kappa += all(flat) and bool(x[0] == y[0])
        correlation += any(flat)
    return kappa, correlation


def estimate(name: str, found: Resampled, facts: Facts) -> Estimate:
    """The estimate with its counts and its reason."""
    reason = why_undefined(name, facts) if found.value is None else why_shaky(name, found, facts)
    too_few = name in CORRELATION and facts.most_shared < FEWEST_FOR_CORRELATION
    gone = found.value is None or too_few
    return Estimate(
        value=None if gone else found.value,
        low=None if gone else found.low,
        high=None if gone else found.high,
        items=facts.paired,
        items_there=facts.there,
        raters=facts.raters,
        pairs=facts.pairs,
        dropped=found.dropped,
        reason=why_undefined(name, facts) if gone else reason,
    )


def why_undefined(name: str, facts: Facts) -> str:
    """The reason for no value."""
    if not facts.paired:
        return f"no item was judged by two people ({facts.there} items there): nothing can be compared"
    if facts.only is not None:
        return f"all raters chose {facts.only!r}: there is no variation to correct for; raw agreement 100 %"
    if name in CORRELATION and facts.most_shared < FEWEST_FOR_CORRELATION:
        return f"a correlation needs {FEWEST_FOR_CORRELATION} items judged by the same two raters"
    if name in CORRELATION:
        return "in every pair of raters one gave all items the same score: nothing can be ranked"
    if name in OF_PAIRS:
        return "each two raters used one and the same category on the items they share"
    return "the labels that can be compared are all the same: there is no variation to correct for"


def why_shaky(name: str, found: Resampled, facts: Facts) -> str:
    """What a reader should know before using the value; empty where nothing."""
    notes = []
    if facts.only is not None:
        notes.append(f"one category only: all raters chose {facts.only!r}")
    if found.low is None:
        notes.append(no_interval(name, found, facts))
    elif facts.groups is not None and facts.groups < FEW_GROUPS:
        notes.append(f"only {facts.groups} groups of items were resampled: the interval may be too narrow")
    elif facts.paired < FEW_ITEMS:
        notes.append(f"fewer than {FEW_ITEMS} items: the interval may be too narrow")
    if name in OF_PAIRS:
        notes += of_pairs(name, facts)
    if found.dropped:
        notes.append(f"{found.dropped} resamples were undefined and left out")
    return "; ".join(notes)


def no_interval(name: str, found: Resampled, facts: Facts) -> str:
    """Why resampling gives no interval."""
    if found.value == 1 and facts.paired > 1:
        return (
            "every item agrees, so that resampling shows no spread; by the rule of three up to "
            f"{min(1.0, 3 / facts.paired):.1%} of items may yet disagree"
        )
    return "every resample gives the same value: no interval"


def of_a_mean(found: Resampled, items: int) -> list[str]:
    """What to know of a mean over items."""
    if not items:
        return ["there is no item to average over"]
    if found.low is None:
        return ["every item has the same value: resampling shows no spread"]
    return [f"fewer than {FEW_ITEMS} items: the interval may be too narrow"] * (items < FEW_ITEMS)


def correlation(found: Resampled, items: int, there: int, units: int) -> Estimate:
    """A correlation of a judge with people over items."""
    notes = [] if found.value is not None else ["all scores of one side are equal: nothing can be ranked"]
    if found.value is not None and found.low is None:
        notes.append("every resample gives the same value: no interval")
    if units < items and units < FEW_GROUPS:
        notes.append(f"only {units} groups of items were resampled: the interval may be too narrow")
    elif items < FEW_ITEMS:
        notes.append(f"fewer than {FEW_ITEMS} items: the interval may be too narrow")
    return filled(found, items, there, items, notes)


def mean_of_groups(found: Resampled, kept: int, groups: int, items: int, there: int) -> Estimate:
    """A mean of the correlations within groups."""
    notes = []
    if kept < groups:
        notes.append(f"mean of {kept} of {groups} groups; the others have one item, or all scores of one side equal")
    if 0 < kept < FEW_GROUPS:
        notes.append(f"only {kept} groups were resampled: the interval may be too narrow")
    return filled(found, items, there, items, notes)


def of_systems(found: Resampled, systems: int, items: int, there: int) -> Estimate:
    """A correlation between systems' means."""
    notes = [f"{systems} systems; systems and items were both resampled"]
    if systems < FEW_GROUPS:
        notes.append("few systems: read the interval, not the value")
    if found.value is None:
        notes = ["all systems have the same mean on one side: nothing can be ranked"]
    return filled(found, items, there, items, notes)


def of_critiques(found: Resampled, used: int, there: int) -> Estimate:
    """A score over critiques."""
    notes = []
    if used < there:
        notes.append(f"{there - used} of {there} critiques have no AIU to count, and are left out")
    if found.low is None and found.value is not None:
        notes.append("every critique has the same score: resampling shows no spread")
    elif 0 < used < FEW_ITEMS:
        notes.append(f"fewer than {FEW_ITEMS} critiques: the interval may be too narrow")
    return filled(found, used, there, 0, notes)


def of_a_judge(name: str, value: float | None, low: float | None, items: int, note: str) -> str:
    """What to know of a judge's number."""
    notes = [note] if note else []
    if not items:
        return "no item has both the judge's verdict and what to compare it with"
    if value is None and name.startswith("cohen_kappa"):
        notes.insert(0, "both used one and the same category: there is no variation to correct for")
    elif value is None:
        notes.insert(0, "all scores of one side are equal: nothing can be ranked")
    elif low is None:
        notes.append("every resample gives the same value: no interval")
    elif items < FEW_ITEMS:
        notes.append(f"fewer than {FEW_ITEMS} items: the interval may be too narrow")
    return "; ".join(notes)


def of_modes(compared: int, tied: int) -> str:
    """What to know of ScaleEval's system-level rate."""
    if not compared:
        return "no scenario has a single most frequent value on both sides"
    notes = [f"one yes or no for each of {compared} scenarios, so no interval"]
    if tied:
        notes.append(f"{tied} scenarios have no single most frequent value and are left out")
    return "; ".join(notes)


def untested(skipped: tuple[str, ...]) -> str:
    """Why the alternative-annotator test could not be made."""
    if not skipped:
        return "no people's labels to test against"
    return (
        f"the test needs {FEWEST_FOR_TEST} items of an annotator that others judged too; "
        f"{', '.join(skipped)} have fewer"
    )


def of_test(skipped: tuple[str, ...]) -> str:
    """Who was left out of the alternative-annotator test."""
    return f"fewer than {FEWEST_FOR_TEST} shared items: {', '.join(skipped)} left out" if skipped else ""


def of_contests(contests: list[tuple[str, bool, float | None]], skipped: tuple[str, ...]) -> str:
    """Whom the judge won against: who, whether, and p, None where the t-test claims certainty."""
    won = [rater for rater, yes, _ in contests if yes]
    notes = [f"won against {', '.join(won) if won else 'nobody'} of {len(contests)}; no interval"]
    sure = [rater for rater, _, p in contests if p is None]
    if sure:
        notes.append(f"every item came out alike against {', '.join(sure)}: a t-test cannot weigh that")
    return "; ".join([*notes, *filter(None, [of_test(skipped)])])


def of_dawid_skene(raters: int, settled: bool) -> str:
    """What to know of a Dawid-Skene accuracy."""
    notes = [f"a model's estimate from {raters} people and judges, taken to err independently; no interval"]
    return "; ".join(notes + ["it did not come to rest"] * (not settled))


def filled(found: Resampled, items: int, there: int, pairs: int, notes: list[str]) -> Estimate:
    """An estimate of one judge."""
    return Estimate(found.value, found.low, found.high, items, there, 1, pairs, found.dropped, "; ".join(notes))


def of_pairs(name: str, facts: Facts) -> list[str]:
    """What to know of a mean over rater pairs."""
    notes = []
    missing = facts.undefined[1 if name in CORRELATION else 0]
    if facts.rater_pairs > 1:
        defined = facts.shared - missing
        if defined < facts.rater_pairs:
            notes.append(f"mean of {defined} rater pairs; {facts.rater_pairs - defined} are undefined")
    if name not in CORRELATION and facts.constant:
        who = ", ".join(facts.constant)
        notes.append(f"{who} used one label only")
    return notes
