"""Formats numbers the same way on all pages."""

from collections.abc import Collection
from decimal import Decimal

from core.wording import format_count as format_count
from core.wording import format_estimate as format_estimate
from core.wording import format_number as format_number
from core.wording import format_p as format_p

RANGE_HELP = (
    "The range of the figure, with all unreadable replies counted one way or the other. This is not a confidence "
    "interval. Empty if every reply could be read."
)


def format_readable(readable: int, total: int) -> str:
    """Return `97.5 % of 40`; a dash if there is nothing to read."""
    return f"{round(100 * readable / total, 1):g} % of {total:,}" if total else "–"


def format_span(counts: Collection[int]) -> str:
    """Return the count, or the lowest and the highest of several."""
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def format_range(limits: tuple[float, float] | None) -> str:
    """Return `0.52 to 0.61`; empty if there is no range."""
    return "" if limits is None else f"{limits[0]:.2f} to {limits[1]:.2f}"


def format_dollars(amount: float, unpriced: int = 0) -> str:
    """Return `$1.20`, small amounts with two significant digits; calls of unknown price are mentioned."""
    text = "$0" if amount == 0 else f"${amount:,.2f}" if amount >= 0.0995 else f"${Decimal(f'{amount:.2g}'):f}"
    if not unpriced:
        return text
    return (
        f"price unknown ({format_count(unpriced, 'call')})"
        if amount == 0
        else f"{text} and {format_count(unpriced, 'call')} of unknown price"
    )


def format_duration(seconds: float) -> str:
    """Return a duration in seconds as `1.9 s`, `3 min` or `2.1 h`."""
    if seconds < 90:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
