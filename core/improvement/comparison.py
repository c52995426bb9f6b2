"""The comparison of a variant with the current judge on the same targets, and the rule that accepts it.

A target's score is 1 minus the distance of the verdict from gold: on nominal scales 1 if they are equal, otherwise 0;
on numeric ones their difference as a share of the scale's length. Without a verdict it is 0: a variant that leaves
difficult targets without a verdict does not gain by it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from pydantic import Field

from core.frozen import Frozen
from core.labels import Scale, Value
from core.statistics.measures.comparison import correct_p_values, paired_comparison
from core.statistics.measures.resampling import sign_flip_p_value
from core.verdicts import contention
from core.wording import format_p

LEVEL = 0.05  # two-sided level of the test; an improvement is found by chance in half of it


class AcceptanceRule(Frozen):
    """The rule that accepts a variant. It is fixed together with the split, before a result is known."""

    evaluations: int = Field(default=5, ge=1, le=100)
    """Evaluations on held-out items that are planned for each criterion. p-values are corrected for this number."""
    margin: float = Field(default=0.0, ge=0, lt=1)  # the lower bound of the interval has to be above it


class PairedResult(Frozen):
    """The scores of a variant and of the current judge on the same targets."""

    targets: int
    sets: int  # sets of connected items, which are resampled together
    current: float
    variant: float  # mean scores
    current_missing: int
    variant_missing: int  # targets without a verdict
    difference: float  # variant minus current
    low: float | None
    high: float | None
    """The 95 % interval of the difference, over sets of items; None if it is the same on every target."""
    p: float  # two-sided, of the changes of sign


@dataclass(frozen=True)
class Decision:
    """Whether the rule accepts a variant, with the reason as a sentence."""

    accepted: bool
    p_corrected: float
    reason: str


def score(verdict: Value | None, gold: Value, scale: Scale | None) -> float:
    """Return the score of a verdict, 0 to 1."""
    return 0.0 if verdict is None else 1.0 - (contention([verdict, gold], scale) or 0.0)


def compare(
    current: Sequence[Value | None],
    variant: Sequence[Value | None],
    gold: Sequence[Value],
    sets: Sequence[str],
    scale: Scale | None,
    *,
    resamples: int = 2_000,
) -> PairedResult | None:
    """Compare verdicts on the same targets, one element each; None without a target."""
    if not gold:
        return None
    scores = [[score(v, value, scale) for v, value in zip(side, gold, strict=True)] for side in (current, variant)]
    differences = np.array(scores[1]) - np.array(scores[0])
    interval = paired_comparison("", "", differences, sets, resamples)
    return PairedResult(
        targets=len(gold),
        sets=len(set(sets)),
        current=fmean(scores[0]),
        variant=fmean(scores[1]),
        current_missing=sum(verdict is None for verdict in current),
        variant_missing=sum(verdict is None for verdict in variant),
        difference=float(differences.mean()),
        low=interval.low,
        high=interval.high,
        p=sign_flip_p_value(differences, sets),
    )


def decide(rule: AcceptanceRule, result: PairedResult, others: Sequence[float]) -> Decision:
    """Apply the rule to a result on held-out items; `others` are the p-values of the other evaluations so far.

    p is corrected by Holm's method for all planned evaluations, those to come counting with p = 1. This is never
    smaller than the correction after the last one, so a variant that is accepted now would still be accepted then,
    and the chance that any useless variant is accepted is at most LEVEL / 2.
    """
    planned = max(rule.evaluations, len(others) + 1)
    p_values = [result.p, *others, *[1.0] * (planned - 1 - len(others))]
    corrected = correct_p_values(p_values, "holm")[0]
    low = result.difference if result.low is None else result.low
    is_above, is_significant = low > rule.margin, corrected <= LEVEL
    relation, relation_of_p = "above" if is_above else "not above", "not above" if is_significant else "above"
    reason = (
        f"The lower bound of the difference, {low:.3f}, is {relation} {rule.margin:g}; p, corrected for {planned} "
        f"planned evaluations, is {format_p(corrected)}, {relation_of_p} {LEVEL:g}."
    )
    return Decision(is_above and is_significant, corrected, reason)
