"""Scales of scores: the answer type that asks for a value of one, its description, and whether it is numeric."""

from core.answers import Rating
from core.labels import Scale


def is_numeric(scale: Scale | None) -> bool:
    """Return whether scores on the scale can be averaged: all categories are numbers, or it has two numeric ends."""
    if scale is None or not (scale.categories or (scale.low is not None and scale.high is not None)):
        return False
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in scale.categories)


def rating_answer(scale: Scale, criterion: str, *, reasoning: bool = True) -> Rating:
    """Return the answer type that asks for a value of a numeric scale; `criterion` may label it in a reply."""
    names = (criterion,) if criterion else ()
    levels = tuple(value for value in scale.categories if isinstance(value, int | float))
    if levels:
        return Rating(levels=levels, names=names, reasoning=reasoning)
    low, high = (0.0 if end is None else end for end in (scale.low, scale.high))
    return Rating(low=low, high=high, names=names, reasoning=reasoning)


def describe_scale(scale: Scale) -> str:
    """Return `1, 2 or 3`, or `a number from 0 to 100`."""
    if scale.categories:
        *most, last = [
            f"{category:g}" if isinstance(category, float) else str(category) for category in scale.categories
        ]
        return f"{', '.join(most)} or {last}" if most else last
    low, high = (None if end is None else f"{end:g}" for end in (scale.low, scale.high))
    return "a number" + (f" from {low}" if low else "") + (f" to {high}" if high else "")
