"""How much a person's decision would tell: the more the judges are divided, the more."""

import math
from collections import Counter
from collections.abc import Sequence

from core.labels import Opinion

WAVERING = 0.1
"""What one change of mind adds, in bits: it orders debates that are equally divided, and never more than that."""


def doubt(opinions: Sequence[Opinion]) -> float:
    """The entropy of the judges' last opinions in bits, an unreadable one being its own; then changes of mind.

    Three judges that say 1, 2 and 0 give log2(3) = 1.58 bits; two against one 0.92; agreement 0.
    """
    first = {(o.judge, o.kind, o.criterion, o.part): repr(o.value) for o in opinions if o.stage == "first"}
    last = {(o.judge, o.kind, o.criterion, o.part): repr(o.value) for o in opinions if o.stage == "last"}
    if not last:
        return 0.0
    changed = sum(first.get(key, value) != value for key, value in last.items())
    return _entropy(Counter(last.values())) + WAVERING * changed / len(last)


def _entropy(counts: Counter[str]) -> float:
    """−Σ p log2 p."""
    total = counts.total()
    return -sum(count / total * math.log2(count / total) for count in counts.values()) + 0.0
