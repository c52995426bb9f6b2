"""Was the area chair right, by how many of its peers were (ReFeR, Section 5.3 and Figure 3).

A score is right when it lies within a threshold of the people's score; the paper says 25 %, taken here of the length
of the scale. An answer is right when it is the gold answer. What could not be read is not right.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.labels import Scale, Value
from core.statistics.data.estimate import Estimate

THRESHOLD = 0.25
"""The paper's: a quarter."""


@dataclass(frozen=True)
class Reviewed:
    """One trace: what is true, and what everybody said; None where it could not be read."""

    trace: int
    item: str
    truth: Value
    peers: tuple[tuple[str, Value | None], ...]
    """(name, value)."""
    chair: Value | None


@dataclass(frozen=True)
class Case:
    """One trace, judged: which peers were right, and whether the chair was."""

    reviewed: Reviewed
    peers_right: tuple[str, ...]
    chair_right: bool
    chair_read: bool
    """Whether the chair said anything that could be read; where not, it was not right either."""

    @property
    def misled_by(self) -> tuple[str, ...]:
        """The peers that were wrong where the chair was wrong, and said the same as it or lay on its side."""
        if self.chair_right or self.reviewed.chair is None:
            return ()
        wrong = [(name, value) for name, value in self.reviewed.peers if name not in self.peers_right]
        return tuple(name for name, value in wrong if _same_side(value, self.reviewed.chair, self.reviewed.truth))


@dataclass(frozen=True)
class Slice:
    """A slice of Figure 3: so many peers right, the chair right or wrong."""

    peers_right: int
    peers: int
    chair_right: bool
    cases: tuple[Case, ...]
    share: Estimate
    """Of all cases."""


def allowed(scale: Scale, threshold: float = THRESHOLD) -> float | None:
    """How far a score may lie from the truth: a share of the scale's length; None where it has no ends."""
    ends = [float(one) for one in scale.categories if isinstance(one, int | float) and not isinstance(one, bool)]
    low, high = (min(ends), max(ends)) if ends else (scale.low, scale.high)
    return None if low is None or high is None else threshold * (high - low)


def right(value: Value | None, truth: Value, within: float | None = None) -> bool:
    """Whether a value is right: equal to the truth, or at most `within` from it."""
    if value is None:
        return False
    if within is not None and _is_number(value) and _is_number(truth):
        return abs(float(value) - float(truth)) <= within + 1e-9  # type: ignore[arg-type]
    if isinstance(value, str) and isinstance(truth, str):
        return value.strip().casefold() == truth.strip().casefold()
    return value == truth


def cases(reviewed: Iterable[Reviewed], within: float | None = None) -> list[Case]:
    """Every trace, judged; `within` as `allowed` gives it for scores, None for answers."""
    return [
        Case(
            reviewed=one,
            peers_right=tuple(name for name, value in one.peers if right(value, one.truth, within)),
            chair_right=right(one.chair, one.truth, within),
            chair_read=one.chair is not None,
        )
        for one in reviewed
    ]


def slices(judged: Sequence[Case]) -> list[Slice]:
    """The slices of Figure 3, from no peer right to all; for each the chair right, then wrong. Empty ones are left out.

    Traces with other numbers of peers are told apart.
    """
    places: dict[tuple[int, int, bool], list[Case]] = {}
    for case in judged:
        place = (len(case.reviewed.peers), len(case.peers_right), not case.chair_right)
        places.setdefault(place, []).append(case)
    return [
        Slice(right, peers, not wrong, tuple(there), share(len(there), len(judged)))
        for (peers, right, wrong), there in sorted(places.items())
    ]


def share(count: int, total: int) -> Estimate:
    """A share with Wilson's 95 % interval: (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n), z = 1.96."""
    if not total:
        return Estimate(None, None, None, 0, 0, 0, 0, reason="there is nothing to count")
    z, p = 1.959963984540054, count / total
    middle = p + z * z / (2 * total)
    spread = z * math.sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    low, high = ((middle + side * spread) / (1 + z * z / total) for side in (-1, 1))
    return Estimate(p, max(0.0, low), min(1.0, high), count, total, 0, 0)


def findings(judged: Sequence[Case]) -> dict[str, Estimate]:
    """The three shares that Section 5.3 speaks of, each of all cases.

    "some": the chair was right and some but not all peers were; "led astray": it was wrong though at least one peer
    was right; "alone": it was right though no peer was.
    """
    some = sum(c.chair_right and 0 < len(c.peers_right) < len(c.reviewed.peers) for c in judged)
    astray = sum(not c.chair_right and bool(c.peers_right) for c in judged)
    alone = sum(c.chair_right and not c.peers_right for c in judged)
    return {
        name: share(count, len(judged)) for name, count in (("some", some), ("led astray", astray), ("alone", alone))
    }


def misleading(judged: Sequence[Case]) -> Counter[str]:
    """How often each peer misled the chair: wrong itself, in the way in which the chair was."""
    return Counter(name for case in judged for name in case.misled_by)


def _same_side(value: Value | None, chair: Value, truth: Value) -> bool:
    if value is None:
        return False
    if _is_number(value) and _is_number(chair) and _is_number(truth):
        return (float(value) - float(truth)) * (float(chair) - float(truth)) > 0  # type: ignore[arg-type]
    return value == chair


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
