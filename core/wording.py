"""Numbers and names in sentences."""

from collections.abc import Sequence


def format_count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: `1 item`, `2,345 items`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def format_minutes(seconds: float) -> str:
    """Return a duration: `45 s`, `12 min`."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:,.0f} min"


PART = " · "
"""Between the parts of a run's name."""


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return name -> the name without the first and last parts that all names have in common."""
    parts = [name.split(PART) for name in dict.fromkeys(names)]
    shortest = min(map(len, parts), default=0)
    first = next((n for n in range(shortest) if len({own[n] for own in parts}) > 1), shortest)
    first = min(first, shortest - 1) if parts else 0
    room = shortest - first - 1
    last = next((n for n in range(room) if len({own[-1 - n] for own in parts}) > 1), room)
    return {PART.join(own): PART.join(own[first : len(own) - last]) for own in parts}
