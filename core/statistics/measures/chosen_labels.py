"""Whether labels exist mainly for disputed targets, or for some scenarios: figures of them are not of all targets.

Disputed targets are harder than others and judges err more on them, so labels that were chosen by dispute are no sample
of all targets. Labels of every target or of a random part of them are.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from core.statistics.data.arrays import Bools, Floats, Ints, students_t_cdf

# The one-sided level of a test. An analysis makes up to six, so at most 0.9 % of random samples are found.
LEVEL = 0.0015
# The share of labelled targets among disputed ones has to be at least this many times the share among the others.
MIN_RATIO = 1.25
# Probabilities at the ends of a distribution that are left out.
NEGLIGIBLE = 1e-14


@dataclass(frozen=True)
class LabelCounts:
    """How many of the disputed targets and of the others have labels."""

    disputed: int
    disputed_labelled: int
    others: int
    others_labelled: int


def count_labels(labelled: Bools, disputed: Bools) -> LabelCounts:
    """Count the targets (N,)."""
    return LabelCounts(
        int(disputed.sum()), int((labelled & disputed).sum()), int((~disputed).sum()), int((labelled & ~disputed).sum())
    )


def dispute_ratio(
    labelled: Bools, disputed: Bools, strata: Ints, clusters: Ints | None = None, *, level: float = LEVEL
) -> float | None:
    """Return how many times more often disputed targets are labelled than others; None unless mainly they are.

    `labelled` and `disputed` are (N,), `strata` (N,) the number of the set of judges that was asked about a target: a
    target can be disputed only by judges that were asked about it, so only targets of one stratum are compared. The
    ratio is Mantel and Haenszel's (1959). It has to be at least MIN_RATIO, and the probability of as many labelled
    disputed targets below `level` if labels are independent of disputes: a sum of hypergeometric variables, for one
    stratum Fisher's exact test. With `clusters` (N,), such as items or documents that are labelled as a whole, a score
    test with their squared sums as the variance (Liang & Zeger 1986) has to be below `level` too.
    """
    _, stratum = np.unique(strata, return_inverse=True)
    total = np.bincount(stratum).astype(float)
    n_labelled, n_disputed, both = (
        np.bincount(stratum[mask], minlength=total.size).astype(float)
        for mask in (labelled, disputed, labelled & disputed)
    )
    ratio = _ratio(total, n_labelled, n_disputed, both)
    if ratio < MIN_RATIO or _exact_p(total, n_labelled, n_disputed, both) >= level:
        return None
    if clusters is not None:
        expected = (n_labelled / total)[stratum], (n_disputed / total)[stratum]
        if _clustered_p((labelled - expected[0]) * (disputed - expected[1]), clusters) >= level:
            return None
    return ratio


def scenarios_without(labelled: Bools, scenarios: Ints, clusters: Ints | None = None) -> tuple[int, ...]:
    """Return the scenarios (N,) whose targets have labels less often than those of the others; () for a random part.

    Each scenario is compared with all others by the tests and the ratio of `dispute_ratio`, without strata, at LEVEL
    over the number of tests (Bonferroni): whether it has fewer labels, and whether it has more, so that the others
    have fewer.
    """
    names = np.unique(scenarios)
    if names.size < 2:
        return ()
    one, level = np.zeros(scenarios.size, np.int64), LEVEL / (2 * names.size)

    def has_more(own: Bools) -> bool:
        return dispute_ratio(labelled, own, one, clusters, level=level) is not None

    more = [int(name) for name in names if has_more(scenarios == name)]
    few = [int(name) for name in names if (more and name not in more) or has_more(scenarios != name)]
    return tuple(few)


def _ratio(total: Floats, labelled: Floats, disputed: Floats, both: Floats) -> float:
    above = float((both * (total - disputed) / total).sum())
    below = float(((labelled - both) * disputed / total).sum())
    return above / below if below else inf * (above > 0) if above else 0.0


def _exact_p(total: Floats, labelled: Floats, disputed: Floats, both: Floats) -> float:
    """Return the probability of at least as many labelled disputed targets, from the counts of each stratum."""
    informative = (labelled > 0) & (labelled < total) & (disputed > 0) & (disputed < total)
    log_factorials = np.append(0.0, np.cumsum(np.log(np.arange(1, total.max(initial=0) + 1))))
    probabilities, start = np.ones(1), 0
    for n, k, m in zip(*(counts[informative].astype(int) for counts in (total, labelled, disputed)), strict=True):
        low, own = _hypergeometric(n, k, m, log_factorials)
        offset, probabilities = _without_ends(np.convolve(probabilities, own))
        start += low + offset
    return float(probabilities[max(0, int(both[informative].sum()) - start) :].sum())


def _hypergeometric(total: int, labelled: int, disputed: int, log_factorials: Floats) -> tuple[int, Floats]:
    """Return the smallest number with a probability worth counting, and the probabilities from it on."""

    def log_choose(n: Ints | int, k: Ints | int) -> Floats:
        values: Floats = log_factorials[n] - log_factorials[k] - log_factorials[np.subtract(n, k)]
        return values

    low = max(0, labelled + disputed - total)
    numbers = np.arange(low, min(labelled, disputed) + 1)
    chances = log_choose(disputed, numbers) + log_choose(total - disputed, labelled - numbers)
    offset, probabilities = _without_ends(np.exp(chances - log_choose(total, labelled)))
    return low + offset, probabilities


def _without_ends(probabilities: Floats) -> tuple[int, Floats]:
    kept = np.flatnonzero(probabilities > NEGLIGIBLE)
    return int(kept[0]), probabilities[kept[0] : kept[-1] + 1]


def _clustered_p(influence: Floats, clusters: Ints) -> float:
    """Return the one-sided p of a sum (N,) with expectation 0 whose terms depend on each other within clusters."""
    _, cluster = np.unique(clusters, return_inverse=True)
    sums = np.bincount(cluster, weights=influence)
    sums = sums[np.abs(sums) > NEGLIGIBLE]
    if sums.size < 2:
        return 1.0
    return students_t_cdf(sums.size - 1, -float(sums.sum() / np.sqrt((sums**2).sum())))
