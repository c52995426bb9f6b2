"""Designs of labels: which targets are drawn, with which probability, and means over all targets from those drawn.

Every target has a permanent random number from the seed of the design (Brewer, Early & Joyce 1972). A draw takes the
smallest numbers of each stratum, so a draw can be repeated, and a second round that wants more takes the next ones: the
targets of both rounds together are a draw of the larger size, with its probabilities.

Labels without a design can exist mainly for disputed targets, or for some scenarios: figures of them are then not of
all targets. Disputed targets are harder than others and judges err more on them. Labels of every target or of a random
part of them are a sample of all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.sparse import csr_array

from core.designs import permanent_number
from core.statistics.data.arrays import Bools, Floats, Ints, ratio, students_t_cdf, students_t_quantile
from core.statistics.data.sample import Draw

FEWEST_LABELS = 10
"""Below this many labels there is no interval: the variance of a few equal labels is 0, which would look certain."""


def permanent_numbers(seed: int, keys: Sequence[str]) -> Floats:
    """Return a number in (0, 1) for each key, the same on every machine and for every set of other keys."""
    return np.array([permanent_number(seed, key) for key in keys], float)


def allocate(counts: Sequence[int], size: int, spreads: Sequence[float] | None = None) -> list[int]:
    """Return how many of `size` labels each stratum gets: in proportion to its targets, or to targets x spread.

    `spreads` are standard deviations (Neyman 1934). No stratum gets more than its targets or less than two of them.
    Remainders go to the largest fractions, so the sum is `size` if the targets suffice.
    """
    targets = np.asarray(counts, int)
    shares = targets * (np.ones(targets.size) if spreads is None else np.asarray(spreads, float))
    found = np.minimum(targets, 2)
    while (left := min(size, int(targets.sum())) - int(found.sum())) > 0:
        open_strata = found < targets
        weights = np.where(open_strata, shares, 0)
        weights = weights if weights.any() else open_strata.astype(float)
        wanted = np.maximum(found, np.minimum(targets, weights / weights.sum() * (left + found[open_strata].sum())))
        more = np.floor(wanted).astype(int) - found
        if not more.sum():
            more[np.argsort(-np.where(open_strata, wanted - found, -1), kind="stable")[:left]] = 1
        if more.sum() <= left:
            found = found + more
        else:  # one by one to the stratum that is furthest below what it should have
            for _ in range(left):
                found[np.argmax(wanted - found)] += 1
    return [int(number) for number in found]


def effective_labels(weights: Floats) -> float:
    """Return Kish's (1965) effective number of labels: as many with equal weights have as much information."""
    return float(weights.sum() ** 2 / (weights**2).sum()) if weights.size else 0.0


def drawn_mean(
    values: Floats, frequencies: Floats, draw: Draw, clusters: csr_array | None = None
) -> tuple[float, float, int]:
    """Return the mean of P patterns of drawn targets, each counted with its weight, its variance by linearisation
    (Särndal, Swensson & Wretman 1992, ch. 5), and the degrees of freedom: labels less strata, or clusters less one.

    The variance is that within strata, with one degree of freedom less than labels in each, plus that of the sizes of
    the strata in another population of as many targets. With `clusters` (G, P), the number of targets of each cluster
    with each pattern, it is the sum of their squared influences over all strata.
    """
    weights = frequencies * draw.weights
    total = float(weights.sum())
    value = float(weights @ values) / total
    if clusters is not None:
        used = np.where(frequencies > 0, draw.weights, 0)
        sums = np.asarray(clusters @ (used * (values - value) / total))[np.asarray(clusters @ used) > 0]
        number = max(2, sums.size)
        return value, float((sums**2).sum()) * number / (number - 1), sums.size - 1
    strata, size = draw.strata, draw.sizes.size
    labels = np.bincount(strata, frequencies * (draw.weights > 0), minlength=size)
    totals = np.bincount(strata, weights, minlength=size)
    means = np.nan_to_num(ratio(np.bincount(strata, weights * values, minlength=size), totals))
    squares = np.bincount(strata, frequencies * (draw.weights * (values - means[strata])) ** 2, minlength=size)
    within = float((np.nan_to_num(ratio(labels, labels - 1), nan=1.0) * squares).sum()) / total**2
    between = float(totals @ (means - value) ** 2) / total / max(1.0, float(draw.sizes.sum()))
    return value, within + between, draw.degrees(frequencies)


def unseen_variance(values: Floats, frequencies: Floats, draw: Draw) -> float:
    """Return the variance of the mean of hits (P,), 0 or 1, with at least one of each unseen in a sampled stratum.

    A stratum of which a part is labelled can have errors although none was found: its share is smoothed by one hit and
    one miss (Laplace), which a stratum without spread needs and others hardly notice.
    """
    weights, size = frequencies * draw.weights, draw.sizes.size
    labels = np.bincount(draw.strata, frequencies * (draw.weights > 0), minlength=size)
    totals = np.bincount(draw.strata, weights, minlength=size)
    shares = np.nan_to_num(ratio(np.bincount(draw.strata, weights * values, minlength=size), totals))
    smoothed = (shares * labels + 1) / (labels + 2)
    own = (labels > 0) & (labels < draw.sizes)
    spread = np.where(own, smoothed * (1 - smoothed), shares * (1 - shares))
    total, mean = float(totals.sum()), float(totals @ shares) / float(totals.sum())
    within = float((totals**2 * np.nan_to_num(ratio(spread, labels))).sum()) / total**2
    return within + float(totals @ (shares - mean) ** 2) / total / max(1.0, float(draw.sizes.sum()))


def expected_half_width(
    targets: Sequence[int], labels: Sequence[float], spreads: Sequence[float] | None = None
) -> float | None:
    """Return half of the 95 % interval that the mean over all strata would have with so many labels in each.

    The variance is that of the stratified mean (`design_mean`), with the standard deviation of the labels in each
    stratum, or 0.5: the largest of a share. None if a stratum with targets has no label.
    """
    counts, drawn = np.asarray(targets, float), np.asarray(labels, float)
    deviations = np.full(counts.size, 0.5) if spreads is None else np.asarray(spreads, float)
    some = counts > 0
    if not some.any() or (drawn[some] <= 0).any():
        return None
    weights = counts[some] / counts.sum()
    return float(1.96 * np.sqrt((weights**2 * deviations[some] ** 2 / drawn[some]).sum()))


def _unseen(left: Floats, probabilities: Floats, strata: Ints, length: float) -> float:
    """Return the variance that strata without spread lack: what is left of labels (N,), nan without, is equal there.

    As `unseen_variance`, on a scale of this length.
    """
    labelled, counts = ~np.isnan(left), np.bincount(strata)
    missing = 0.0
    for stratum, count in enumerate(counts.tolist()):
        own = left[labelled & (strata == stratum)]
        if own.size < count and np.ptp(own) < 1e-9:
            smoothed = 1 / (own.size + 2)
            missing += (count / left.size) ** 2 * smoothed * (1 - smoothed) * length**2 / own.size
    return missing


@dataclass(frozen=True)
class DesignMean:
    """The mean over all targets, estimated from those with a label and from verdicts on all of them."""

    value: float | None
    low: float | None
    high: float | None
    judge_weight: float
    """lambda: 0 ignores the verdicts, 1 uses them fully."""
    labelled: int
    targets: int
    effective: float
    """Kish's effective number of labels."""
    reason: str = ""
    variance: float | None = None
    """Of the value; None without an interval."""


def design_mean(
    human: Floats,
    probabilities: Floats,
    strata: Ints,
    judge: Floats | None = None,
    *,
    judge_weight: float | None = None,
    limits: tuple[float, float] = (-np.inf, np.inf),
    clusters: Ints | None = None,
) -> DesignMean:
    """Estimate the mean human label of the population that N targets are a sample of, from a designed part of them.

    `human` (N,): nan without a label. `probabilities` (N,): with which a label was wanted; labels that are missing
    although they were wanted are taken as missing at random within their stratum. `judge` (N,): verdicts, without nan.

    theta = sum over strata of N_h / N (lambda mean(judge in h) + weighted mean(human - lambda judge of labels in h)),
    with weights 1 / probability (Hájek 1971; with lambda the active inference of Zrnic & Candès 2024). Its variance is
    the sum over `clusters` (N,), or targets, of their squared summed influence; the lambda of each stratum minimises it
    (Angelopoulos, Duchi & Zrnic 2023; by stratum Fisch et al. 2024). Intervals are Student's t with as many degrees of
    freedom as labels of the strata that the variance is of, or as all clusters, less one for each stratum.
    """
    labelled = ~np.isnan(human)
    n, effective = int(labelled.sum()), effective_labels(1 / probabilities[labelled])
    missing = sorted(set(strata.tolist()) - set(strata[labelled].tolist()))
    if missing or not n:
        reason = f"no label in {len(missing)} of {np.unique(strata).size} strata" if n else "no label"
        return DesignMean(None, None, None, 0.0, n, human.size, effective, reason)
    value, influence = _parts(np.where(labelled, human, 0), labelled, probabilities, strata)
    lam, fitted, total = 0.0, np.zeros(int(strata.max()) + 1), _sum_by(influence, clusters)
    if judge is not None:
        corrections, own_influence = _corrections(judge, labelled, probabilities, strata)
        if judge_weight is None:
            weights = _judge_weights(human, judge, probabilities, strata)
            fitted = (weights > 0) / np.maximum(1, [(weights == one).sum() for one in weights])
        else:
            weights = np.full(corrections.size, judge_weight)
        counts = np.bincount(strata, minlength=corrections.size)
        lam = float(counts @ weights / counts.sum())
        value, total = value + float(weights @ corrections), total + _sum_by(weights[strata] * own_influence, clusters)
    if clusters is None:
        variance, degrees = _with_degrees(total, labelled, strata, fitted)
    else:
        independent = np.unique(clusters[labelled]).size
        variance, degrees = _with_degrees_of_clusters(total, n, independent, np.unique(strata).size, fitted.sum())
    if np.isfinite(limits[1] - limits[0]):
        left = human if judge is None else human - weights[strata] * judge
        variance += _unseen(left, probabilities, strata, limits[1] - limits[0])
    if n < FEWEST_LABELS or degrees < 1 or variance <= 0:
        reason = f"no interval: fewer than {FEWEST_LABELS} labels" if n < FEWEST_LABELS else "no interval: no variance"
        return DesignMean(value, None, None, lam, n, human.size, effective, reason)
    low, high = _interval(value, students_t_quantile(degrees, 0.975) * variance**0.5, limits)
    return DesignMean(value, low, high, lam, n, human.size, effective, variance=variance)


def _with_degrees(influence: Floats, labelled: Bools, strata: Ints, fitted: Floats) -> tuple[float, float]:
    """Return the variance of a mean from the influence (N,) of each target, and its degrees of freedom.

    Those of Satterthwaite (1946), of labels of each stratum less one and less the lambdas (H,) that are fitted to them;
    at most those of all strata: few labels that stand for many targets have nearly all of the variance.
    """
    counts = np.bincount(strata[labelled], minlength=fitted.size)
    own = np.maximum(1.0, counts - 1.0)
    left = np.maximum(1.0, own - fitted)
    parts = np.bincount(strata[labelled], influence[labelled] ** 2, minlength=fitted.size) * own / left
    variance = float(parts.sum() + (influence[~labelled] ** 2).sum())
    spent = float((parts**2 / left).sum())
    most = float(counts.sum() - np.count_nonzero(counts) - fitted.sum())
    return variance, min(most, variance**2 / spent) if spent else most


def _with_degrees_of_clusters(
    influence: Floats, labels: int, clusters: int, strata: int, fitted: float
) -> tuple[float, float]:
    """Return the same from the influence of each cluster: degrees of freedom are those of clusters, not of labels."""
    variance, degrees = float((influence**2).sum()), float(clusters - strata)
    if clusters > 1:
        variance *= clusters / (clusters - 1) * (labels - 1) / labels
    if degrees > fitted:  # each lambda is fitted to the same labels
        variance, degrees = variance * degrees / (degrees - fitted), degrees - fitted
    return variance, degrees


def _interval(value: float, half: float, limits: tuple[float, float]) -> tuple[float, float]:
    """Return the interval of a mean; between two limits on the logit scale, where it is nearer to symmetric.

    With 50 labels of which two thirds are 1, intervals of the mean itself cover one to two points less.
    """
    low, high = limits
    if not np.isfinite(high - low) or not low < value < high:
        return max(value - half, low), min(value + half, high)
    share = (value - low) / (high - low)
    logit, spread = np.log(share / (1 - share)), half / (high - low) / (share * (1 - share))
    ends = 1 / (1 + np.exp(-(logit + np.array([-spread, spread]))))
    return float(low + (high - low) * ends[0]), float(low + (high - low) * ends[1])


def _parts(values: Floats, labelled: Bools, probabilities: Floats, strata: Ints) -> tuple[float, Floats]:
    """Return the stratified Hájek mean of the labelled values, and the influence (N,) of each target on it.

    A target moves the share of its stratum; a labelled one also the mean of the stratum.
    """
    weights = np.where(labelled, 1 / probabilities, 0.0)
    totals = np.bincount(strata, weights)
    means = ratio(np.bincount(strata, weights * values), totals)
    counts, labels = np.bincount(strata), np.bincount(strata, labelled)
    value = float((counts * np.nan_to_num(means)).sum() / values.size)
    # A stratum's variance has one degree of freedom less than labels.
    factor = np.sqrt(labels / np.maximum(labels - 1.0, 1))
    within = weights * ratio(counts, totals)[strata] * (values - means[strata]) * factor[strata]
    return value, (means[strata] - value + within) / values.size


def _corrections(judge: Floats, labelled: Bools, probabilities: Floats, strata: Ints) -> tuple[Floats, Floats]:
    """Return what the verdicts without a label add to the mean of the labelled ones: by stratum (H,), influence (N,).

    The share of the stratum times the mean verdict of its targets less that of its labelled ones.
    """
    weights = np.where(labelled, 1 / probabilities, 0.0)
    counts, labels = np.bincount(strata), np.bincount(strata, labelled)
    means = np.bincount(strata, judge) / counts
    totals = np.bincount(strata, weights)
    of_labelled = ratio(np.bincount(strata, weights * judge), totals)
    factor = np.sqrt(labels / np.maximum(labels - 1.0, 1))
    within = weights * (counts / totals * factor)[strata] * (judge - of_labelled[strata])
    return counts / judge.size * (means - of_labelled), (judge - means[strata] - within) / judge.size


def _judge_weights(human: Floats, judge: Floats, probabilities: Floats, strata: Ints) -> Floats:
    """Return the lambda of each stratum (H,) with the least variance; of all strata for those of few labels.

    cov(human, judge) / var(judge) with the variance of all verdicts, so it does not vary with the labelled ones.
    """

    def optimum(mask: Bools) -> float:
        own = mask & ~np.isnan(human)
        # Verdicts on targets that all have labels add nothing.
        variance = float(judge[mask].var(ddof=1)) if 1 < own.sum() < mask.sum() else 0.0
        if variance <= 0:
            return 0.0
        covariance = np.cov(human[own], judge[own], aweights=1 / probabilities[own])[0, 1]
        return float(np.clip(covariance / variance, 0, 1))

    pooled, counts = optimum(np.ones(judge.size, bool)), np.bincount(strata, ~np.isnan(human))
    return np.array([optimum(strata == place) if n >= FEWEST_LABELS else pooled for place, n in enumerate(counts)])


def _sum_by(influence: Floats, clusters: Ints | None) -> Floats:
    if clusters is None:
        return influence
    return np.bincount(np.unique(clusters, return_inverse=True)[1], influence).astype(float)


# Whether labels exist mainly for disputed targets, or for some scenarios.

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
    times = _ratio(total, n_labelled, n_disputed, both)
    if times < MIN_RATIO or _exact_p(total, n_labelled, n_disputed, both) >= level:
        return None
    if clusters is not None:
        expected = (n_labelled / total)[stratum], (n_disputed / total)[stratum]
        if _clustered_p((labelled - expected[0]) * (disputed - expected[1]), clusters) >= level:
            return None
    return times


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
