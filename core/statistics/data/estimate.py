"""The form in which every statistic is reported."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval, the data behind it, and the caveats of its interpretation."""

    value: float | None
    """None if the statistic is undefined; `reason` then states why."""
    low: float | None
    high: float | None
    """Ends of the 95 % interval; None if no interval can be given, and `reason` states why."""
    items: int
    """Items that the value uses."""
    items_total: int
    """Items available, used or not."""
    raters: int
    pairs: int
    """Pairs of labels on the same item that were compared."""
    dropped: int = 0
    """Resamples in which the statistic was undefined; the interval is computed from the others."""
    reason: str = ""
