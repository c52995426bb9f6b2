"""The confidence of verdicts: how well it tells right ones from wrong ones, and a threshold on it with a guarantee.

The guarantee limits the risk of verdicts that stand without a person. Thresholds are tested from the highest down, each
by an exact bound of the share of verdicts at or above it that differ from people (Jung, Brahman & Choi 2024, "Trust or
Escalate"). Their order is fixed before errors are looked at, so a sequence of tests that ends at its first failure
needs no correction for their number (fixed-sequence testing). It begins where a single error does not end it, which the
numbers of labels decide, not the errors.

The calibration of a confidence is its reliability, its expected calibration error and its AUROC. Each is
design-weighted: a label counts 1 / its probability, so labels of disputed targets do not count more than they should.
Intervals are percentiles of the bootstrap over labels.
"""

from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile

import numpy as np

from core.provenance import SEED
from core.statistics.data.arrays import Bools, Floats, Ints, ratio

MAX_THRESHOLDS = 12
"""Thresholds that are tested at most: quantiles of the confidences, never of the errors. More end a sequence sooner."""
FEWEST_TO_FORECAST, MOST_GROWTH = 10, 20
"""The labels from which a share of errors is taken as known, and how many times as many labels are forecast."""


@dataclass(frozen=True)
class ThresholdRisk:
    """The verdicts at or above a threshold, and how many of them differ from people."""

    threshold: float
    accepted: int
    """Verdicts at or above the threshold, with and without a label."""
    labelled: int
    """Labels that the bound is computed from: drawn with equal probabilities among the accepted verdicts."""
    errors: int
    """Of these."""
    upper: float
    """The one-sided upper bound of the risk."""

    @property
    def risk(self) -> float | None:
        """The share of errors among the labels."""
        return self.errors / self.labelled if self.labelled else None


@dataclass(frozen=True)
class RiskCurve:
    """The risk at each threshold, from the highest down, and the lowest that keeps the promise."""

    points: tuple[ThresholdRisk, ...]
    chosen: ThresholdRisk | None
    verdicts: int
    """The population: all verdicts with a confidence."""
    more_labels: int | None = None
    """Without a threshold: the further labels that could decide, if the shares of errors stay; None if none could."""
    more_above: float | None = None
    """The confidence that the verdicts have at least which these labels are wanted of."""

    @property
    def coverage(self) -> float:
        """The share of verdicts that are accepted."""
        return self.chosen.accepted / self.verdicts if self.chosen else 0.0


def upper_bound(errors: int, n: int, level: float) -> float:
    """Return the one-sided upper bound of a probability from a number of errors (Clopper & Pearson 1934).

    P(at most `errors` of n) is `level` if the probability has this value; 1 without labels.
    """
    from scipy.special import betaincinv  # takes a sixth of a second to import

    return 1.0 if errors >= n else float(betaincinv(errors + 1, n - errors, 1 - level))


def thresholds_of(confidence: Floats) -> Floats:
    """Return the thresholds to test, from the highest: the distinct confidences (N,), or quantiles of them."""
    distinct = np.unique(confidence)[::-1]
    if distinct.size <= MAX_THRESHOLDS:
        return distinct
    ordered = np.sort(confidence)[::-1]
    places = np.ceil(np.arange(1, MAX_THRESHOLDS + 1) * ordered.size / MAX_THRESHOLDS).astype(int) - 1
    return np.unique(ordered[places])[::-1]


def equal_probability_part(probabilities: Floats, numbers: Floats, least: float) -> Bools:
    """Return which of the labelled targets (n,) are kept so that all have the same probability.

    It is the `least` of the accepted verdicts, with and without a label: a stratum of which no label was drawn by
    chance is accepted too. A target with probability p is kept with least / p. Which ones depends on `numbers` (n,) in
    (0, 1), not on errors: the kept ones are a simple random sample, for which the exact bound holds. Bounds of all
    labels with weights (Waudby-Smith & Ramdas 2024) accept less in most designs; see docs/policy.md.
    """
    kept: Bools = numbers * probabilities < least * (1 + 1e-12)
    return kept


def threshold_risk(
    confidence: Floats, error: Floats, probabilities: Floats, numbers: Floats, threshold: float, level: float
) -> ThresholdRisk:
    """Return the risk at one threshold, with its bound at a level; the arrays are those of `risk_curve`."""
    accepted = confidence >= threshold
    own = np.flatnonzero(accepted & ~np.isnan(error))
    least = float(probabilities[accepted].min(initial=1.0))
    kept = own[equal_probability_part(probabilities[own], numbers[own], least)]
    errors = int(error[kept].sum())
    return ThresholdRisk(threshold, int(accepted.sum()), kept.size, errors, upper_bound(errors, kept.size, level))


@cache
def fewest_labels(promised: float, level: float, errors: int = 0) -> int:
    """Return the fewest labels whose bound is at most the promised risk with this number of errors."""
    n = errors + 1
    while upper_bound(errors, n, level) > promised:
        n += 1
    return n


def risk_curve(
    confidence: Floats,
    error: Floats,
    probabilities: Floats,
    numbers: Floats,
    *,
    promised: float,
    level: float = 0.05,
) -> RiskCurve:
    """Find the lowest threshold at which at most `promised` of the accepted verdicts differ from people.

    All are (N,), over the verdicts with a confidence: `error` is 1, 0, or nan without a label, `probabilities` are
    those of a label, `numbers` are in (0, 1) and independent of the errors. The promise is broken with a probability
    of at most `level` over draws of the labels.

    The first threshold that is tested has so many labels that the bound allows one error, 93 for 5 % and 5 %; if none
    has, so many that it allows no error, 59.
    """
    points = [
        threshold_risk(confidence, error, probabilities, numbers, float(threshold), level)
        for threshold in thresholds_of(confidence)
    ]
    accepted = takewhile(lambda point: point.upper <= promised, _tested(points, promised, level))
    chosen = max(accepted, key=lambda point: point.accepted, default=None)
    more, above = (None, None) if chosen else _more_labels(points, promised, level)
    return RiskCurve(tuple(points), chosen, confidence.size, more, above)


def _tested(points: list[ThresholdRisk], promised: float, level: float) -> list[ThresholdRisk]:
    for errors in (1, 0):
        fewest = fewest_labels(promised, level, errors)
        if found := [point for point in points if point.labelled >= fewest]:
            return found
    return []


def _grown(point: ThresholdRisk, scale: float) -> ThresholdRisk:
    """Return a point with so many times as many labels, at most those of all accepted verdicts."""
    labelled = min(round(point.labelled * scale), max(point.accepted, point.labelled))
    return replace(point, labelled=labelled, errors=int(np.ceil(point.errors * labelled / point.labelled)))


def _more_labels(points: list[ThresholdRisk], promised: float, level: float) -> tuple[int | None, float | None]:
    """Return the further labels at the first threshold that would succeed, and it, if all labels grow in proportion.

    The shares of errors are those of the labels that there are; thresholds with fewer than ten tell none.
    """
    known = [point for point in points if point.labelled >= FEWEST_TO_FORECAST]
    most, extra = max((point.labelled for point in known), default=0), 1
    while extra <= MOST_GROWTH * most:
        scale = 1 + extra / most
        grown = [_grown(point, scale) for point in known]
        start = next(iter(_tested(grown, promised, level)), None)
        if start is not None and upper_bound(start.errors, start.labelled, level) <= promised:
            return start.labelled - known[grown.index(start)].labelled, start.threshold
        extra = max(extra + 1, int(extra * 1.02))
    return None, None


# The calibration of a confidence.

BINS = 10
RESAMPLES = 1_000
LEVELS = (0.025, 0.975)


@dataclass(frozen=True)
class ReliabilityBin:
    """The labels whose confidence is in one of the bins, which have equally many labels."""

    confidence: float
    """The weighted mean confidence."""
    correct: float
    """The weighted share of right verdicts."""
    labels: int


@dataclass(frozen=True)
class Calibration:
    """The calibration of a confidence in [0, 1]."""

    bins: tuple[ReliabilityBin, ...]
    error: float | None
    """The expected calibration error: the mean distance of confidence and correctness over the bins."""
    error_low: float | None
    error_high: float | None
    auroc: float | None
    """The probability that a right verdict has more confidence than a wrong one; None if all are right, or wrong."""
    auroc_low: float | None
    auroc_high: float | None
    labels: int


def calibrate(confidence: Floats, correct: Floats, probabilities: Floats) -> Calibration:
    """Return the calibration of n labelled verdicts; all are (n,), `correct` is 1 or 0."""
    n = confidence.size
    if not n:
        return Calibration((), None, None, None, None, None, None, 0)
    weights = 1 / probabilities
    order = np.argsort(confidence, kind="stable")
    number = np.empty(n, int)
    number[order] = np.arange(n) * min(BINS, n) // n
    bins = tuple(
        ReliabilityBin(
            float(np.average(confidence[own], weights=weights[own])),
            float(np.average(correct[own], weights=weights[own])),
            int(own.sum()),
        )
        for own in (number == bin_number for bin_number in range(min(BINS, n)))
    )
    rng = np.random.default_rng(SEED)
    samples = weights * rng.multinomial(n, np.full(n, 1 / n), RESAMPLES)
    every = np.concatenate([weights[None], samples])
    errors = calibration_errors(confidence, correct, every, number)
    areas = aurocs(confidence, correct, every)
    return Calibration(bins, *_with_interval(errors), *_with_interval(areas), n)


def calibration_errors(confidence: Floats, correct: Floats, weights: Floats, number: Ints) -> Floats:
    """Return the expected calibration errors (B,) for weights (B, n): Naeini, Cooper & Hauskrecht 2015.

    `number` (n,) is the bin of each label.
    """
    in_bin = number[:, None] == np.unique(number)
    gaps = np.abs(weights @ ((confidence - correct)[:, None] * in_bin))
    return ratio(gaps.sum(axis=1), weights.sum(axis=1))


def aurocs(confidence: Floats, correct: Floats, weights: Floats) -> Floats:
    """Return the areas under the ROC curve (B,) for weights (B, n), ties one half (Mann & Whitney 1947)."""
    levels, level = np.unique(confidence, return_inverse=True)
    at_level = (level[:, None] == np.arange(levels.size)).astype(float)
    right, wrong = (weights * correct) @ at_level, (weights * (1 - correct)) @ at_level
    below = np.cumsum(wrong, axis=1) - wrong
    return ratio((right * (below + wrong / 2)).sum(axis=1), right.sum(axis=1) * wrong.sum(axis=1))


def _with_interval(values: Floats) -> tuple[float | None, float | None, float | None]:
    """Return the first value and the interval of the others."""
    if np.isnan(values[0]):
        return None, None, None
    resampled = values[1:][~np.isnan(values[1:])]
    low, high = np.quantile(resampled, LEVELS) if resampled.size else (np.nan, np.nan)
    return float(values[0]), float(low), float(high)
