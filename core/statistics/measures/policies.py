"""Which verdicts of a judge, or of a cascade of judges, stand without a person, and whether labels kept aside agree.

A cascade asks its judges one after another: each threshold is found on what the judges before it passed on, at an equal
part of the level, so the risk of everything accepted keeps the promise (Jung, Brahman & Choi 2024).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.statistics.data.arrays import Bools, Floats, Ints
from core.statistics.measures.risk import RiskCurve, ThresholdRisk, risk_curve, threshold_risk, upper_bound

VERIFIED = 0.1
"""The share of labels that no threshold is found with."""
FEWEST_TO_SPLIT = 200
"""With fewer labels none is kept aside: twenty labels cannot contradict a promise."""


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of one judge on N targets."""

    confidence: Floats
    """(N,): nan for a target without a verdict or without a confidence."""
    wrong: Floats
    """(N,): 1 if the verdict differs from people, 0 if not, nan without a label."""


@dataclass(frozen=True)
class Verification:
    """The accepted verdicts whose labels were kept aside."""

    labelled: int
    errors: int
    upper: float
    """The one-sided upper bound of their risk, from these labels alone."""
    contradicts: bool
    """Whether so many errors are less probable than the level if the risk is the promised one."""


@dataclass(frozen=True)
class Cascade:
    """The policy of one judge or several."""

    curves: tuple[RiskCurve, ...]
    """Of each judge, on the targets that those before it passed on."""
    pile: Ints
    """(N,): the number of the judge whose verdict is accepted; the number of judges for targets that go to people."""
    verification: Verification | None
    """None if no label was kept aside."""

    @property
    def accepted(self) -> int:
        """The verdicts that stand."""
        return int((self.pile < len(self.curves)).sum())

    @property
    def upper(self) -> float | None:
        """The largest bound of the judges that accept; None if none does."""
        return max((curve.chosen.upper for curve in self.curves if curve.chosen), default=None)


def kept_aside(numbers: Floats, labelled: Bools) -> Bools:
    """Return which of N targets are for verification only: a share of the labelled ones, by their random numbers."""
    if labelled.sum() < FEWEST_TO_SPLIT:
        return np.zeros(labelled.size, bool)
    limit = np.quantile(numbers[labelled], 1 - VERIFIED)
    aside: Bools = labelled & (numbers > limit)
    return aside


def find_cascade(
    judges: Sequence[Verdicts], probabilities: Floats, numbers: Floats, *, promised: float, level: float, looks: int = 1
) -> Cascade:
    """Find the thresholds with which at most `promised` of the accepted verdicts differ from people.

    `probabilities` (N,) are those of a label, `numbers` (N,) are in (0, 1) and independent of the errors and of the
    draw. The promise is broken with a probability of at most `level` over all `looks` that were planned: each spends an
    equal part.
    """
    labelled = np.any([~np.isnan(judge.wrong) for judge in judges], axis=0)
    aside = kept_aside(numbers, labelled)
    part = level / looks / len(judges)
    pile = np.full(numbers.size, len(judges))
    curves = []
    for place, judge in enumerate(judges):
        own = np.flatnonzero((pile == len(judges)) & ~np.isnan(judge.confidence))
        wrong = np.where(aside, np.nan, judge.wrong)[own]
        curve = risk_curve(
            judge.confidence[own], wrong, probabilities[own], numbers[own], promised=promised, level=part
        )
        curves.append(curve)
        if curve.chosen is not None:
            pile[own[judge.confidence[own] >= curve.chosen.threshold]] = place
    verification = _verify(judges, pile, aside, promised, level)
    return Cascade(tuple(curves), pile, verification)


def at_thresholds(
    judges: Sequence[Verdicts], thresholds: Sequence[float | None], probabilities: Floats, numbers: Floats, level: float
) -> tuple[list[ThresholdRisk | None], Ints]:
    """Return the risk at the threshold of each judge, None for a judge without one, and the pile of each target.

    The labels, the level of each bound and the piles are those of `find_cascade`, which found the thresholds.
    """
    labelled = np.any([~np.isnan(judge.wrong) for judge in judges], axis=0)
    aside = kept_aside(numbers, labelled)
    pile = np.full(numbers.size, len(judges))
    found: list[ThresholdRisk | None] = []
    for place, (judge, threshold) in enumerate(zip(judges, thresholds, strict=True)):
        own = np.flatnonzero((pile == len(judges)) & ~np.isnan(judge.confidence))
        confidence, wrong = judge.confidence[own], np.where(aside, np.nan, judge.wrong)[own]
        if threshold is None:
            found.append(None)
            continue
        bound = level / len(judges)
        found.append(threshold_risk(confidence, wrong, probabilities[own], numbers[own], threshold, bound))
        pile[own[confidence >= threshold]] = place
    return found, pile


def _verify(judges: Sequence[Verdicts], pile: Ints, aside: Bools, promised: float, level: float) -> Verification | None:
    if not aside.any():
        return None
    wrong = np.concatenate([judge.wrong[aside & (pile == place)] for place, judge in enumerate(judges)])
    wrong = wrong[~np.isnan(wrong)]
    errors, n = int(wrong.sum()), int(wrong.size)
    return Verification(n, errors, upper_bound(errors, n, level), tail(errors, n, promised) < level)


def tail(errors: int, n: int, risk: float) -> float:
    """Return the probability of at least this many errors among n if each has the probability `risk`."""
    from scipy.special import betainc  # takes a sixth of a second to import

    return float(betainc(errors, n - errors + 1, risk))


def error_of_one_label(agreement: float, categories: int) -> float:
    """Return how often one annotator errs if two agree on a share `agreement` of the targets, and errors are equal.

    agreement = (1 - q)^2 + q^2 / (K - 1) for q below (K - 1) / K: the model of Dawid & Skene with one parameter.
    """
    others = max(categories, 2) - 1
    root = 1 - (1 + 1 / others) * (1 - agreement)
    return float((1 - max(root, 0.0) ** 0.5) / (1 + 1 / others))


def error_of_majority(error: float, labels: int) -> float:
    """Return how often the majority of an odd number of labels errs, of which each errs with probability `error`.

    Of an even number, the majority of one label fewer: without a majority there is no decision.
    """
    odd = max(1, labels - (labels + 1) % 2)
    return tail(odd // 2 + 1, odd, error)
