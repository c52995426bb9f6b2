"""How much a person's decision would tell: the more the judges are divided, the more."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from core.labels import Opinion

WAVERING = 0.1
"""What one change of mind adds, in bits: it orders debates that are equally divided, and never more than that."""


def doubt(opinions: Sequence[Opinion]) -> float:
    """The entropy of the judges' last opinions in bits, an unreadable one being its own; then changes of mind.

    Three judges that say 1, 2 and 0 give log2(3) = 1.58 bits; two against one 0.92; agreement 0. Where a trace speaks
    of several targets, the one that divides the judges most counts. Weights do not count: no two are ever equal.
    """
    told = [opinion for opinion in opinions if opinion.kind != "aspect_weights"]
    first = {(_about(o), o.judge): repr(o.value) for o in told if o.stage == "first"}
    last = {(_about(o), o.judge): repr(o.value) for o in told if o.stage == "last"}
    if not last:
        return 0.0
    by_target: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for (about, _), value in last.items():
        by_target[about][value] += 1
    changed = sum(first.get(key, value) != value for key, value in last.items())
    return max(_entropy(counts) for counts in by_target.values()) + WAVERING * changed / len(last)


def _about(opinion: Opinion) -> tuple[str, str, str]:
    return opinion.kind, opinion.criterion, opinion.part


def _entropy(counts: Counter[str]) -> float:
    """−Σ p log2 p."""
    total = counts.total()
    return -sum(count / total * math.log2(count / total) for count in counts.values()) + 0.0
