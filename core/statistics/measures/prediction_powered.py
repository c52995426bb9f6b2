"""Prediction-powered estimates: people's mean from few human labels and many judgements.

Angelopoulos, Bates, Fannjiang, Jordan & Zrnic 2023; with the power tuning of Angelopoulos, Duchi &
Zrnic 2023 ("PPI++"). The judge may be biased: the labelled items measure its bias and take it out.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from core.statistics.data.arrays import Floats

Z = float(ndtri(0.975))
FEWEST = 30


@dataclass(frozen=True)
class Powered:
    """People's mean as estimated from both, beside what the human labels alone give."""

    value: float | None
    low: float | None
    high: float | None
    human: float | None
    """The mean of the human labels alone, and its 95 % interval."""
    human_low: float | None
    human_high: float | None
    power: float
    """lambda: 0 ignores the judge, 1 trusts its spread fully."""
    labelled: int
    judged: int
    """Items that only the judge saw."""
    worth: float | None
    """How many human labels alone would give so narrow an interval."""
    reason: str = ""


def mean(human: Floats, judge: Floats, more: Floats, power: float | None = None) -> Powered:
    """human (n,) and judge (n,) on the labelled items, more (N,): the judge on the others.

    theta = mean(human) - lambda (mean(judge) - mean(more)). Its variance is
    var(human - lambda judge) / n + lambda^2 var(more) / N, least at
    lambda = cov(human, judge) / ((1 + n / N) var(all judgements)), clipped to [0, 1]. Labelled items
    must be a random sample of all. For a win rate pass 0 / 1.
    """
    n, others = human.size, more.size
    if n < 2:
        reason = f"{n} labelled items: at least two are needed"
        return Powered(None, None, None, None, None, None, 0.0, n, others, None, reason)
    alone = float(human.var(ddof=1) / n)
    lam = (tuned(human, judge, more) if power is None else power) if others else 0.0
    value = human.mean() - lam * (judge.mean() - (more.mean() if others else judge.mean()))
    variance = (human - lam * judge).var(ddof=1) / n
    variance += lam**2 * more.var(ddof=1) / others if others > 1 else 0.0
    half, half_alone = Z * np.sqrt(variance), Z * np.sqrt(alone)
    centre = float(human.mean())
    return Powered(
        float(value),
        float(value - half),
        float(value + half),
        centre,
        float(centre - half_alone),
        float(centre + half_alone),
        float(lam),
        n,
        others,
        float(n * alone / variance) if variance > 0 else None,
        why(n, others, alone),
    )


def tuned(human: Floats, judge: Floats, more: Floats) -> float:
    """The lambda of least variance, between 0 and 1."""
    spread = np.concatenate([judge, more]).var(ddof=1)
    if spread <= 0:
        return 0.0
    shared = np.cov(human, judge)[0, 1]
    return float(np.clip(shared / ((1 + human.size / more.size) * spread), 0, 1))


def why(n: int, others: int, alone: float) -> str:
    """What a reader should know."""
    notes = []
    if not others:
        notes.append("no items that only the judge saw: this is the mean of the human labels")
    if alone == 0:
        notes.append("all human labels are the same: the interval shows no spread")
    if n < FEWEST:
        notes.append(f"fewer than {FEWEST} labelled items: the interval rests on a normal approximation")
    return "; ".join(notes)
