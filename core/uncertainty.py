"""The uncertainty of judges about a trace, the order of traces for labelling: most uncertain first."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from core.labels import Opinion

CHANGE_BONUS = 0.1
"""Bits added if every judge changed its opinion. It orders debates of equal entropy, and is smaller than the
difference between any two entropies of up to five judges."""


def uncertainty(opinions: Sequence[Opinion]) -> float:
    """Return the entropy of the judges' last opinions in bits, plus up to CHANGE_BONUS for changed opinions.

    An unreadable opinion counts as a separate value. Opinions 1, 2 and 0 have log2(3) = 1.58 bits, two against one
    0.92, agreement 0. Of several targets the one with the highest entropy counts. Weights are left out: two judges'
    weights are never exactly equal.
    """
    relevant = [opinion for opinion in opinions if opinion.kind != "aspect_weights"]
    first = {(_target(o), o.judge): repr(o.value) for o in relevant if o.stage == "first"}
    last = {(_target(o), o.judge): repr(o.value) for o in relevant if o.stage == "last"}
    if not last:
        return 0.0
    counts: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for (target, _), value in last.items():
        counts[target][value] += 1
    changed = sum(first.get(key, value) != value for key, value in last.items())
    return max(map(_entropy, counts.values())) + CHANGE_BONUS * changed / len(last)


def _target(opinion: Opinion) -> tuple[str, str, str]:
    return opinion.kind, opinion.criterion, opinion.part


def _entropy(counts: Counter[str]) -> float:
    """Return −Σ p log2 p."""
    total = counts.total()
    return -sum(count / total * math.log2(count / total) for count in counts.values()) + 0.0  # never -0.0
