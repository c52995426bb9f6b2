"""Numbers in sentences."""


def format_count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: `1 item`, `2,345 items`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def format_minutes(seconds: float) -> str:
    """Return a duration: `45 s`, `12 min`."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:,.0f} min"
