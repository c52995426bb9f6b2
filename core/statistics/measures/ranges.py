"""The range of a figure if some replies are unreadable."""

from collections.abc import Callable

Range = tuple[float, float]
"""The lowest and the highest value."""


def possible_range(statistic: Callable[[bool], float | None]) -> Range | None:
    """Return the lowest and the highest value that a figure can take; None if it is undefined.

    `statistic(value)` returns the figure with every unreadable reply counted as `value`: right or wrong, true or false,
    a win or a loss. If the figure never falls when a single reply is changed from False to True, as a share, a mean
    of shares and the F1 of shares do, no other reading of the unreadable replies gives a value outside of the range:
    Manski's worst-case bounds for missing values (Partial Identification of Probability Distributions, 2003, ch. 1). It
    is not an interval: it says nothing about the sample, and assumes nothing about why replies are unreadable.
    """
    values = [statistic(value) for value in (False, True)]
    defined = [value for value in values if value is not None]
    return (min(defined), max(defined)) if len(defined) == len(values) else None
