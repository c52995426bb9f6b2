"""Contention: the disagreement between the opinions behind a verdict, from 0 (none) to 1 (maximal)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from core.labels import Kind, Scale, Value
from core.trace import Verdict

UNORDERED_KINDS: frozenset[Kind] = frozenset({"preference", "aiu_precision", "aiu_recall"})
"""Kinds of opinions whose contention needs no scale."""
DISPUTE_THRESHOLD = 0.5
"""The default above which a verdict counts as disputed: scores that differ by more than half of the scale, or votes of
which none has a majority. An odd number of votes with a bare majority, such as two against one, has exactly 0.5."""
ROUNDING = 1e-9


def contention(opinions: Iterable[Value | None], scale: Scale | None = None, *, flipped: bool = False) -> float | None:
    """Return the contention of opinions on one target; None if none can be read.

    Scores, which are numbers on a `scale`: their range divided by the length of the scale. Everything else: one minus
    the share of the most frequent value, divided by its largest possible value 1 - 1/n, so n different values
    give 1.
    `flipped` says that a judge changed its choice with the order of the responses, which gives 1.
    """
    readable = [opinion for opinion in opinions if opinion is not None]
    if flipped:
        return 1.0
    if not readable:
        return None
    length = scale_length(scale)
    numbers = [float(value) for value in readable if isinstance(value, int | float) and not isinstance(value, bool)]
    if length and len(numbers) == len(readable):
        return min(1.0, (max(numbers) - min(numbers)) / length)
    return _division(readable)


def verdict_contention(verdict: Verdict) -> float | None:
    """Return the contention of a verdict: its own, otherwise the largest of its targets by their last opinions.

    Verdicts of earlier versions and imported ones have none of their own. It is computed if a target has two last
    opinions or more that are not numbers on a scale, which is not stored with them; None if there is no such target.
    """
    if verdict.contention is not None:
        return verdict.contention
    by_target: dict[tuple[str, str, str], list[Value | None]] = defaultdict(list)
    for opinion in verdict.opinions:
        if opinion.stage == "last" and opinion.kind in UNORDERED_KINDS:
            by_target[opinion.kind, opinion.criterion, opinion.part].append(opinion.value)
    values = [contention(opinions) for opinions in by_target.values() if len(opinions) > 1]
    return max((value for value in values if value is not None), default=None)


def is_disputed(contention: float | None, threshold: float) -> bool:
    """Return whether the contention is above the threshold."""
    return contention is not None and contention > threshold + ROUNDING


def scale_length(scale: Scale | None) -> float | None:
    """Return the distance between the ends of a numeric scale; None if the scale has no numeric ends."""
    if scale is None or scale.level == "nominal":
        return None
    levels = [value for value in scale.categories if isinstance(value, int | float) and not isinstance(value, bool)]
    low = scale.low if scale.low is not None else min(levels, default=None)
    high = scale.high if scale.high is not None else max(levels, default=None)
    if low is None or high is None or high <= low:
        return None
    return float(high) - float(low)


def _division(values: Sequence[Value]) -> float:
    """Return one minus the modal share, as a share of its largest value: (1 - m/n) / (1 - 1/n), computed exactly."""
    if len(values) < 2:
        return 0.0
    counts = Counter((isinstance(value, bool), repr(value) if isinstance(value, dict) else value) for value in values)
    return (len(values) - max(counts.values())) / (len(values) - 1)
