"""Where the next label is worth most, and how many more make an interval narrow enough."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.statistics.data.arrays import Floats, ratio
from core.statistics.data.patterns import Units, by_counts, by_rows
from core.statistics.data.ratings import Ratings
from core.statistics.measures import agreement, kernels
from core.statistics.measures.kernels import Family

MOST = 1_000_000


def entropy(counts: Floats) -> Floats:
    """Shannon entropy of the votes on each item, as a share of its maximum ln K: (N, K) -> (N,).

    0 all alike, 1 evenly spread over the declared categories; nan where nobody voted.
    """
    kinds = counts.shape[1]
    shares = ratio(counts, counts.sum(axis=1, keepdims=True))
    logs = np.log(np.where(shares > 0, shares, 1))
    bits = -(shares * logs).sum(axis=1)
    return np.asarray(bits / np.log(max(kinds, 2)))


def next_targets(people: Floats, judges: Floats, wanted: int) -> list[int]:
    """The targets that still want labels, the most informative first: their numbers.

    `people` and `judges` are votes (N, K). Order: highest entropy of people's and judges' votes
    together (each side's shares weigh the same, so that many judges do not drown few people), then
    fewest human labels, then as given. Targets with `wanted` human labels are done. Where nobody
    has voted nothing is known: such targets come after every disagreement and before agreement.
    """
    labels = people.sum(axis=1)
    both = np.nan_to_num(ratio(people, people.sum(axis=1, keepdims=True)))
    both += np.nan_to_num(ratio(judges, judges.sum(axis=1, keepdims=True)))
    spread = entropy(both)
    spread = np.where(np.isnan(spread), 1e-9, spread)
    order = np.lexsort((labels, -spread))
    return [int(at) for at in order if labels[at] < wanted]


@dataclass(frozen=True)
class Plan:
    """How many more items and labels bring an interval under a width."""

    width: float | None
    """Width of the 95 % interval now."""
    wanted: float
    items: int | None
    """More items; 0 where it is narrow enough, None where it cannot be said."""
    labels: int | None
    """More labels, at as many for each item as now."""
    expected: float | None
    """The width to expect with them."""
    reason: str

    def __str__(self) -> str:
        if self.items is None or self.width is None:
            return self.reason
        if not self.items:
            return f"the interval is {self.width:.2f} wide, under {self.wanted:g} already"
        return (
            f"about {self.labels} more labels ({self.items} items) bring the interval "
            f"under {self.wanted:g}; it is {self.width:.2f} wide now"
        )


def plan(ratings: Ratings, name: str, wanted: float, *, resamples: int = 1000, seed: int = 0) -> Plan:
    """How many more labels bring the interval of a statistic of `agreement` under `wanted`.

    A study with M items of the same kind is a resample of M items from the patterns seen; its
    interval's width is that of such resamples. M starts from width ~ 1 / sqrt(M) and is settled by
    drawing. It holds if new items are like the old ones and get as many labels each.
    """
    family, units, labels = of_statistic(ratings, name)
    now = int(units.times.sum())
    width = width_at(family, units, now, resamples, seed) if now > 1 else None
    if width is None:
        return Plan(None, wanted, None, None, None, "nothing varies yet: label more items first")
    if width <= wanted:
        return Plan(width, wanted, 0, 0, width, "")
    size = settle(family, units, wanted, width, resamples, seed)
    if size is None:
        reason = f"more than {MOST:,} items would be needed to bring the interval under {wanted:g}"
        return Plan(width, wanted, None, None, None, reason)
    more = size - now
    expected = width_at(family, units, size, resamples, seed)
    return Plan(width, wanted, more, int(np.ceil(more * labels / now)), expected, "")


def settle(family: Family, units: Units, wanted: float, width: float, resamples: int, seed: int) -> int | None:
    """The size of a study whose interval is about as wide as wanted."""
    size = units.times.sum() * (width / wanted) ** 2
    for _ in range(3):
        if size > MOST:
            return None
        found = width_at(family, units, int(np.ceil(size)), resamples, seed)
        if found is None:
            return None
        size *= (found / wanted) ** 2
    return int(np.ceil(max(size, units.times.sum() + 1)))


def widths(
    ratings: Ratings, name: str, sizes: Sequence[int], *, resamples: int = 1000, seed: int = 0
) -> list[float | None]:
    """The width of the 95 % interval to expect with each number of items."""
    family, units, _ = of_statistic(ratings, name)
    return [width_at(family, units, size, resamples, seed) for size in sizes]


def width_at(family: Family, units: Units, size: int, resamples: int, seed: int) -> float | None:
    """The width of the middle 95 % of a statistic over samples of `size` items; None if flat."""
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(size, units.times / units.times.sum(), size=resamples)
    values = family(weights.astype(float))[0]
    values = values[~np.isnan(values)]
    if values.size < resamples / 2 or np.ptp(values) < 1e-12:
        return None
    low, high = np.quantile(values, (0.025, 0.975))
    return float(high - low)


def of_statistic(ratings: Ratings, name: str) -> tuple[Family, Units, int]:
    """The statistic on the patterns seen, and how many labels they hold."""
    numbers = agreement.numbers_of(ratings)
    if name in agreement.OF_COUNTS:
        patterns = by_counts(ratings)
        made = agreement.OF_COUNTS[name](patterns.counts, numbers)
        family = kernels.together([made])
    else:
        patterns = by_rows(ratings)
        family = agreement.over_pairs(patterns.codes, numbers, [name])
    labels = int(patterns.units.times @ patterns.counts.sum(axis=1))
    return family, Units(patterns.units.times), labels
