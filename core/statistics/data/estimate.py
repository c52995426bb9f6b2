"""The one shape in which a number leaves the statistics."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A number, its 95 % interval, what it stands on, and what a reader should know before using it."""

    value: float | None
    """None where the statistic is undefined; `reason` then says why, in words for a person."""
    low: float | None
    high: float | None
    """Ends of the 95 % interval; None where it cannot be given, and `reason` says why."""
    items: int
    """Items that the value uses."""
    items_there: int
    """Items that were there, used or not."""
    raters: int
    pairs: int
    """Pairs of labels on the same item that were compared."""
    dropped: int = 0
    """Resamples in which the statistic was undefined; the interval stands on the others."""
    reason: str = ""
