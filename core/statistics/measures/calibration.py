"""How well a confidence tells right verdicts from wrong ones: reliability, expected calibration error and AUROC.

Each is design-weighted: a label counts 1 / its probability, so labels of disputed targets do not count more than they
should. Intervals are percentiles of the bootstrap over labels.
"""

from dataclasses import dataclass

import numpy as np

from core.provenance import SEED
from core.statistics.data.arrays import Floats, Ints, ratio

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
