"""Why a number is undefined, or should be read with care, in words for a person."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from core.statistics.data.arrays import Bools, Floats
from core.statistics.data.estimate import Estimate
from core.statistics.data.patterns import Patterns
from core.statistics.data.ratings import Category, Ratings, Scores
from core.statistics.measures.intervals import Resampled
from core.statistics.measures.pairwise import FEWEST_FOR_CORRELATION

FEW_ITEMS = 50
FEW_GROUPS = 20
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
        undefined=undefined_pairs(values, there, times),
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


def undefined_pairs(values: Floats, there: Bools, times: Floats) -> tuple[int, int]:
    """How many rater pairs share items but have no kappa, and how many no correlation."""
    kappa = correlation = 0
    for a, b in combinations(range(values.shape[1]), 2):
        both = there[:, a] & there[:, b]
        if not both.any():
            continue
        x, y = values[both, a], values[both, b]
        flat = bool((x == x[0]).all()), bool((y == y[0]).all())
        kappa += all(flat) and bool(x[0] == y[0])
        correlation += any(flat) or times[both].sum() < FEWEST_FOR_CORRELATION
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
        notes.append(few_groups(facts.groups))
    elif facts.paired < FEW_ITEMS:
        notes.append(few_items())
    if name in OF_PAIRS:
        notes += of_pairs(name, facts)
    if found.dropped:
        notes.append(f"{many(found.dropped, 'resample')} undefined and left out")
    return "; ".join(notes)


def many(number: int, noun: str) -> str:
    """`1 item`, `2 items`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def few_items(noun: str = "items") -> str:
    """Why an interval over few items is doubtful."""
    return f"fewer than {FEW_ITEMS} {noun}: the interval may be too narrow"


def few_groups(groups: int) -> str:
    """Why an interval over few groups is doubtful."""
    return f"only {many(groups, 'group')} of items to resample: the interval may be too narrow"


def no_interval(name: str, found: Resampled, facts: Facts) -> str:
    """Why resampling gives no interval."""
    if found.value == 1 and facts.paired > 1:
        return (
            "every item agrees, so that resampling shows no spread; by the rule of three up to "
            f"{min(1.0, 3 / facts.paired):.1%} of items may yet disagree"
        )
    return "every resample gives the same value: no interval"


def of_pairs(name: str, facts: Facts) -> list[str]:
    """What to know of a mean over rater pairs."""
    notes = []
    missing = facts.undefined[1 if name in CORRELATION else 0]
    if facts.rater_pairs > 1:
        defined = facts.shared - missing
        if defined < facts.rater_pairs:
            lost = facts.rater_pairs - defined
            notes.append(f"mean of {many(defined, 'rater pair')}; undefined for {lost} more")
    if name not in CORRELATION and facts.constant:
        who = ", ".join(facts.constant)
        notes.append(f"{who} used one label only")
    return notes
