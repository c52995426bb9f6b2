"""Planning of further labels: the targets whose labels inform most, and how many labels an interval width takes."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.provenance import SEED
from core.statistics import notes
from core.statistics.data.arrays import Floats, Ints, normal_quantile, ratio
from core.statistics.data.patterns import Units, count_patterns
from core.statistics.data.ratings import Ratings, category_numbers
from core.statistics.measures import agreement
from core.statistics.measures.designs import allocate
from core.statistics.measures.resampling import LEVELS, Family, stack_statistics
from core.wording import format_count

# The maximum number of items in a plan: no study labels more.
MAX_ITEMS = 1_000_000
# Ranks targets without votes after every disagreement and before full agreement.
UNKNOWN_ENTROPY = 1e-9


def entropy(counts: Floats) -> Floats:
    """Return the Shannon entropy of the votes on each item, as a share of its maximum ln K, (N, K) -> (N,).

    0 if all votes are equal, 1 if they are evenly spread over the declared categories; nan without votes.
    """
    n_categories = counts.shape[1]
    shares = ratio(counts, counts.sum(axis=1, keepdims=True))
    logs = np.log(np.where(shares > 0, shares, 1))
    return np.asarray(-(shares * logs).sum(axis=1) / np.log(max(n_categories, 2)))


def next_targets(annotators: Floats, judges: Floats) -> list[int]:
    """Return the numbers of the targets, the most informative first.

    `annotators` and `judges` are votes (N, K). Order: highest entropy of both sides' votes together (each side's shares
    weigh the same, so many judges do not outweigh few annotators), then fewest labels of annotators, then the
    order passed. Targets without votes come after every disagreement and before agreement.
    """
    shares = np.nan_to_num(ratio(annotators, annotators.sum(axis=1, keepdims=True)))
    shares += np.nan_to_num(ratio(judges, judges.sum(axis=1, keepdims=True)))
    spread = entropy(shares)
    spread = np.where(np.isnan(spread), UNKNOWN_ENTROPY, spread)
    return list(map(int, np.lexsort((annotators.sum(axis=1), -spread))))


# The caveat of a plan for items in groups.
GROUPED = "items of one group are counted as independent here, so more may be needed"


@dataclass(frozen=True)
class LabelPlan:
    """The number of further items and labels that bring an interval under a target width."""

    width: float | None
    """Width of the 95 % interval now."""
    target_width: float
    items: int | None
    """Further items; 0 if the interval is narrow enough, None if no plan can be made."""
    labels: int | None
    """Further labels, with as many for each item as now."""
    reason: str
    """Why there is no plan, or its caveat."""

    def __str__(self) -> str:
        if self.items is None or self.width is None:
            return self.reason
        caveat = f" ({self.reason})" * bool(self.reason)
        if not self.items:
            return f"the interval is {self.width:.2f} wide, under {self.target_width:g} already{caveat}"
        return (
            f"about {self.labels} more labels ({self.items} items) bring the interval "
            f"under {self.target_width:g}; it is {self.width:.2f} wide now{caveat}"
        )


def plan_labels(ratings: Ratings, name: str, target_width: float, *, resamples: int = 1000) -> LabelPlan:
    """Plan how many more labels bring the interval of one of `agreement.COUNT_STATISTICS` under a width.

    A study with M items of the same kind is a resample of M items from the patterns observed; its interval is as wide
    as that of such resamples. M starts from width ~ 1 / sqrt(M) and is refined by drawing. The plan holds if new items
    are like the present ones and get as many labels each. Items of a group count as independent, which is stated.
    """
    caveat = "" if ratings.groups is None else GROUPED
    family, units, labels = statistic_on_patterns(ratings, name)
    items = int(units.frequencies.sum())
    width = expected_width(family, units, items, resamples) if items > 1 else None
    if width is None:
        return LabelPlan(None, target_width, None, None, "nothing varies yet: label more items first")
    if width <= target_width:
        return LabelPlan(width, target_width, 0, 0, caveat)
    size = find_study_size(family, units, target_width, width, resamples)
    if size is None:
        reason = f"more than {MAX_ITEMS:,} items would be needed to bring the interval under {target_width:g}"
        return LabelPlan(width, target_width, None, None, reason)
    more = size - items
    return LabelPlan(width, target_width, more, int(np.ceil(more * labels / items)), caveat)


def find_study_size(family: Family, units: Units, target_width: float, width: float, resamples: int) -> int | None:
    """Return the number of items whose interval has about the target width; None above `MAX_ITEMS`."""
    size = units.frequencies.sum() * (width / target_width) ** 2
    # Each pass corrects the error of 1 / sqrt(M); three are within the noise of the resamples.
    for _ in range(3):
        if size > MAX_ITEMS:
            return None
        drawn_width = expected_width(family, units, int(np.ceil(size)), resamples)
        if drawn_width is None:
            return None
        size *= (drawn_width / target_width) ** 2
    return int(np.ceil(max(size, units.frequencies.sum() + 1)))


def expected_width(family: Family, units: Units, size: int, resamples: int) -> float | None:
    """Return the width of the middle 95 % of a statistic over samples of `size` items; None without variation."""
    rng = np.random.default_rng(SEED)
    weights = rng.multinomial(size, units.frequencies / units.frequencies.sum(), size=resamples)
    values = family(weights.astype(float))[0]
    values = values[~np.isnan(values)]
    if values.size < resamples / 2 or np.ptp(values) < 1e-12:
        return None
    low, high = np.quantile(values, LEVELS)
    return float(high - low)


def statistic_on_patterns(ratings: Ratings, name: str) -> tuple[Family, Units, int]:
    """Return the statistic as a family of one, the patterns observed, and the number of their labels."""
    patterns = count_patterns(ratings)
    statistic = agreement.COUNT_STATISTICS[name](patterns.counts, category_numbers(ratings.categories))
    labels = int(patterns.units.frequencies @ patterns.counts.sum(axis=1))
    return stack_statistics([statistic]), Units(patterns.units.frequencies), labels


# How many more labels tell which of two judges is more accurate.
#
# Only targets on which the two judges have different verdicts can tell: on the others both are right or both are
# wrong, whatever the label is. So a plan counts labels of such targets.

POWER = 0.8
CONFIDENCE = 0.95
# Labelled targets on which the judges differ: fewer than 6 cannot have p < .05 (2 / 2^5 = .06 in the sign test), and
# the advantage on fewer than 10 is too uncertain for a plan.
MIN_SEPARATED, MIN_PLANNED = 6, 10
# No plan for more targets than this: the two judges are equal for every practical purpose.
MAX_TARGETS = 10_000


@dataclass(frozen=True)
class Separation:
    """The evidence about two judges on the labelled targets on which they differ, and the further ones needed."""

    labelled: int
    """Labelled targets on which the verdicts differ."""
    wins: int
    """Those on which the first judge is right."""
    losses: int
    """Those on which the second one is."""
    advantage: float | None
    """(wins - losses) / (labelled + 2), with one win and one loss added to the counts."""
    separated: bool
    """Whether the 95 % interval of the advantage is on one side of 0."""
    targets: int | None
    """Further targets on which they differ; 0 if they are separated, None if no plan can be made."""
    reason: str = ""


def plan_separation(scores: Floats, groups: Sequence[str] | None = None) -> Separation:
    """Plan the labels that separate two judges, from their differences in score on targets with different verdicts.

    `scores` (N,): 1 if the first judge is right, -1 if the second one is, 0 if neither is. The mean d has the adjusted
    Wald interval of paired proportions: one win and one loss are added (Bonett & Price 2012). With the standard error
    s on N targets, an advantage of d is found with this `POWER` on N' = N ((z_.975 + z_power) s / d)^2. For targets
    in clusters s is that of cluster means, so N' has as many targets a cluster as now.
    """
    n, wins, losses = scores.size, int((scores > 0).sum()), int((scores < 0).sum())
    if not n:
        reason = "no labelled target has different verdicts of the two judges"
        return Separation(0, 0, 0, None, False, None, reason)
    padded = np.concatenate([scores, [1.0, -1.0]])
    advantage = float(padded.mean())
    error = standard_error(padded, None if groups is None else [*groups, "a win", "a loss"])
    confidence = normal_quantile((1 + CONFIDENCE) / 2)
    clusters = n if groups is None else len(set(groups))
    caveat = notes.few_groups(clusters) if clusters < min(n, notes.FEW_GROUPS) else ""
    if n >= MIN_SEPARATED and abs(advantage) > confidence * error:
        return Separation(n, wins, losses, advantage, True, 0, caveat)
    needed = None
    if n < MIN_PLANNED:
        have = format_count(n, "labelled target has", "labelled targets have")
        caveat = f"{have} different verdicts of the two judges, {MIN_PLANNED} are needed for a plan"
    elif wins == losses:
        caveat = "the judges are right equally often, so no number of labels is expected to separate them"
    else:
        size = np.ceil(padded.size * ((confidence + normal_quantile(POWER)) * error / advantage) ** 2)
        if size > MAX_TARGETS:
            caveat = f"more than {MAX_TARGETS:,} targets on which they differ are needed"
        else:
            needed = max(1, int(size) - n)
    return Separation(n, wins, losses, advantage, False, needed, caveat)


def standard_error(values: Floats, groups: Sequence[str] | None) -> float:
    """Return the standard error of the mean; with groups, that of whole groups drawn."""
    if groups is None:
        return float(values.std() / np.sqrt(values.size))
    _, cluster = np.unique(np.array(groups, str), return_inverse=True)
    sums = np.bincount(cluster, weights=values - values.mean())
    return float(np.sqrt(sums @ sums) / values.size)


# How many labels of which stratum bring the interval of a share under a width.


@dataclass(frozen=True)
class StrataPlan:
    """Further labelled targets in each stratum, and how many a random draw from all targets needs."""

    more: tuple[int, ...]
    at_random: int
    width: float | None
    """Expected of the present labels; None if a stratum has none."""


def plan_strata(targets: Ints, labelled: Ints, hits: Ints, target_width: float) -> StrataPlan:
    """Plan the labels for the 95 % interval of a share over all targets, from the strata's (H,) counts.

    Labels are allocated in proportion to targets x spread (Neyman 1934). A stratum's share is (hits + 1) / (labels +
    2), so one without labels counts as the most uncertain. `at_random` is for a draw from all targets.
    """
    shares = (hits + 1) / (labelled + 2)
    spreads = np.sqrt(shares * (1 - shares))
    weights = targets / targets.sum()

    def width_of(sizes: Ints) -> float:
        variances = spreads**2 * (1 - sizes / targets) / sizes
        return float(2 * normal_quantile((1 + CONFIDENCE) / 2) * np.sqrt((weights**2 * variances).sum()))

    def sizes_of(size: int) -> Ints:
        return np.maximum(allocate(targets.tolist(), size, spreads.tolist()), labelled)

    everything, share = int(targets.sum()), float(weights @ shares)
    size = 1 + bisect_left(range(1, everything), True, key=lambda n: width_of(sizes_of(n)) <= target_width)
    variance = share * (1 - share) * (2 * normal_quantile((1 + CONFIDENCE) / 2) / target_width) ** 2
    at_random = int(np.ceil(1 / (1 / variance + 1 / everything)))
    more = sizes_of(size) - labelled if not labelled.all() or width_of(labelled) > target_width else 0 * labelled
    return StrataPlan(
        tuple(int(number) for number in more),
        max(0, at_random - int(labelled.sum())),
        width_of(labelled) if labelled.all() else None,
    )
