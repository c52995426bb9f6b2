"""Prediction-powered estimates: the mean human label from few human labels and many judge verdicts.

Angelopoulos, Bates, Fannjiang, Jordan & Zrnic 2023; with the power tuning of Angelopoulos, Duchi & Zrnic 2023
("PPI++"). The judge may be biased: the labelled items measure its bias and correct for it.
"""

from dataclasses import dataclass

import numpy as np

from core.statistics.data.arrays import Floats, Ints
from core.statistics.data.distributions import students_t_quantile
from core.wording import format_count

FEWEST_LABELS = 10
"""Below this many labels there is no interval: the variance of a few equal labels is 0, which would look certain."""
FEWEST_VERDICTS = 10
"""Below this many items with only a verdict there are no effective labels: the variance of the verdicts is unknown."""
FEW_LABELS = 100
"""Below this many labelled items the interval can be too narrow, see docs/statistics.md."""


@dataclass(frozen=True)
class PredictionPoweredMean:
    """The mean human label estimated from labels and verdicts, and from the labels alone."""

    value: float | None
    low: float | None
    high: float | None
    human: float | None
    """The mean of the human labels alone, and its 95 % interval."""
    human_low: float | None
    human_high: float | None
    judge_weight: float
    """lambda: 0 ignores the judge, 1 uses its verdicts fully."""
    labelled: int
    judged: int
    """Items with only the judge's verdict."""
    effective_labels: float | None
    """The number of human labels that alone would give an interval as narrow, at most labelled + judged."""
    reason: str = ""


def prediction_powered_mean(
    human: Floats,
    judge: Floats,
    unlabelled: Floats,
    judge_weight: float | None = None,
    limits: tuple[float, float] = (-np.inf, np.inf),
    clusters: tuple[Ints, Ints] | None = None,
) -> PredictionPoweredMean:
    """Estimate from human (n,) and judge (n,) on the labelled items, and the judge on the unlabelled items, (N,).

    theta = mean(human) - lambda (mean(judge) - mean(unlabelled)). Its variance is
    var(human - lambda judge) / n + lambda^2 var(unlabelled) / N, least at
    lambda = cov(human, judge) / ((1 + n / N) var(all verdicts)), clipped to [0, 1]. Labelled items must be a random
    sample of all. For a win rate pass 0, .5 and 1. Intervals end at `limits`, the ends of the scale.

    The intervals are those of Student's t with the number of labels, or of their clusters, less one as degrees of
    freedom: with 20 labels the normal distribution covers 1 to 2 points less.

    `clusters`: numbers (n,) and (N,) of what the values belong to, such as items with several pairs; None if they are
    independent. The variance is then the sum over clusters of their squared summed influence (Liang & Zeger 1986).
    """
    n, n_unlabelled = human.size, unlabelled.size
    if n < 2:
        reason = f"at least two labelled items are required, not {n}"
        return PredictionPoweredMean(None, None, None, None, None, None, 0.0, n, n_unlabelled, None, reason)
    human_variance = _variance(human, np.empty(0), clusters)
    lam = 0.0
    if n_unlabelled:
        lam = optimal_judge_weight(human, judge, unlabelled) if judge_weight is None else judge_weight
    correction = judge.mean() - unlabelled.mean() if n_unlabelled else 0.0
    value = human.mean() - lam * correction
    variance = _variance(human - lam * judge, lam * unlabelled, clusters)
    human_mean = float(human.mean())
    independent = n if clusters is None else np.unique(clusters[0]).size
    return PredictionPoweredMean(
        float(value),
        *_interval(float(value), float(variance), n, independent, limits),
        human_mean,
        *_interval(human_mean, human_variance, n, independent, limits),
        float(lam),
        n,
        n_unlabelled,
        _effective_labels(n, n_unlabelled, human_variance, variance),
        caveats(n, n_unlabelled, independent, human_variance),
    )


def _effective_labels(n: int, n_unlabelled: int, human_variance: float, variance: float) -> float | None:
    """Return the effective labels; None if there is no interval, or for few items with only a verdict.

    A verdict is worth one label at most: a larger value is an error of the estimated variances.
    """
    if n < FEWEST_LABELS or 0 < n_unlabelled < FEWEST_VERDICTS or variance <= 0:
        return None
    return float(min(n * human_variance / variance, n + n_unlabelled))


def _interval(
    value: float, variance: float, n: int, independent: int, limits: tuple[float, float]
) -> tuple[float | None, float | None]:
    """Return the 95 % interval of a mean; None for few labels, those of one cluster, or labels without a difference."""
    if n < FEWEST_LABELS or independent < 2 or variance <= 0:
        return None, None
    half = students_t_quantile(independent - 1, 0.975) * variance**0.5
    return max(value - half, limits[0]), min(value + half, limits[1])


def _variance(labelled: Floats, unlabelled: Floats, clusters: tuple[Ints, Ints] | None) -> float:
    """Return the variance of mean(labelled) + mean(unlabelled), which are independent between clusters."""
    if clusters is None:
        spread = unlabelled.var(ddof=1) / unlabelled.size if unlabelled.size > 1 else 0.0
        return float(labelled.var(ddof=1) / labelled.size + spread)
    parts = [values for values in (labelled, unlabelled) if values.size]
    influence = np.concatenate([(values - values.mean()) / values.size for values in parts])
    _, numbers = np.unique(np.concatenate(clusters[: len(parts)]), return_inverse=True)
    few = np.unique(clusters[0]).size  # clusters of labels: those of verdicts are more
    return float((np.bincount(numbers, influence) ** 2).sum() * few / max(1, few - 1))


def optimal_judge_weight(human: Floats, judge: Floats, unlabelled: Floats) -> float:
    """Return the lambda of least variance, between 0 and 1."""
    spread = np.concatenate([judge, unlabelled]).var(ddof=1)
    if spread <= 0:
        return 0.0
    covariance = np.cov(human, judge)[0, 1]
    return float(np.clip(covariance / ((1 + human.size / unlabelled.size) * spread), 0, 1))


def caveats(n: int, n_unlabelled: int, independent: int, human_variance: float) -> str:
    """Return the caveats of the estimate; `independent` is the number of labels, or of their clusters."""
    notes = []
    if not n_unlabelled:
        notes.append("no items that only the judge saw: this is the mean of the human labels")
    elif n_unlabelled < FEWEST_VERDICTS:
        notes.append(
            f"no estimate of the labels saved: {format_count(n_unlabelled, 'item')} that only the judge saw, "
            f"{FEWEST_VERDICTS} needed"
        )
    if human_variance == 0:
        notes.append("no interval: all human labels are the same")
    if n < FEWEST_LABELS:
        notes.append(f"no interval: fewer than {FEWEST_LABELS} labelled items")
    elif independent < FEW_LABELS:
        notes.append(f"fewer than {FEW_LABELS} labelled items: the interval may be too narrow")
    return "; ".join(notes)
