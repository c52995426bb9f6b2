"""Numbers in sentences."""


def format_count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: `1 item`, `2,345 items`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
