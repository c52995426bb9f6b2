"""Why a number is undefined, or should be read with care, in words for a person."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from core.statistics.arrays import Bools
from core.statistics.estimate import Estimate
from core.statistics.intervals import Resampled
from core.statistics.ratings import Category, Ratings, Scores

FEW_ITEMS = 50
FEW_GROUPS = 20
FEWEST_FOR_CORRELATION = 3
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


def facts_of(rated: Ratings | Scores) -> Facts:
    """Count what is there."""
    values = rated.codes if isinstance(rated, Ratings) else rated.values
    there = values >= 0 if isinstance(rated, Ratings) else ~np.isnan(values)
    size = there.sum(axis=1, dtype=np.int64)
    together = there.T.astype(float) @ there
    common = together[np.triu_indices(there.shape[1], 1)]
    found = values[there]
    one = found.size > 0 and bool((found == found[0]).all())
    return Facts(
        there=there.shape[0],
        paired=int((size > 1).sum()),
        raters=int(there.any(axis=0).sum()),
        pairs=int((size * (size - 1) // 2).sum()),
        most_shared=int(common.max(initial=0)),
        rater_pairs=common.size,
        shared=int((common > 0).sum()),
        only=value_of(rated, found[0]) if one else None,
        constant=constant_raters(rated, there),
        undefined=undefined_pairs(values, there),
        groups=None if rated.groups is None else len(set(rated.groups)),
    )


def value_of(rated: Ratings | Scores, found: np.number) -> Category:
    """The value that a code or a score stands for."""
    return rated.categories[int(found)] if isinstance(rated, Ratings) else float(found)


def constant_raters(rated: Ratings | Scores, there: Bools) -> tuple[str, ...]:
    """Raters who gave one and the same value to everything that they judged, two items or more."""
    values = rated.codes if isinstance(rated, Ratings) else rated.values
    return tuple(
        name
        for name, column, given in zip(rated.raters, values.T, there.T, strict=True)
        if given.sum() > 1 and bool((column[given] == column[given][0]).all())
    )


def undefined_pairs(values: np.ndarray[tuple[int, ...], np.dtype[np.number]], there: Bools) -> tuple[int, int]:
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
