"""How numbers are written, everywhere alike."""

from decimal import Decimal


def estimate(value: float | None, low: float | None, high: float | None, digits: int = 2) -> str:
    """`0.62 [0.51, 0.71]`; a dash where it is undefined."""
    if value is None:
        return "–"
    if low is None or high is None:
        return fixed(value, digits)
    return f"{fixed(value, digits)} [{fixed(low, digits)}, {fixed(high, digits)}]"


def fixed(value: float, digits: int = 2) -> str:
    """A number with so many decimals; there is no minus nothing."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """`1 item`, `2,345 items`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def dollars(amount: float, unpriced: int = 0) -> str:
    """`$1.20`; small sums keep two digits that count; what has no known price is said."""
    text = "$0" if amount == 0 else f"${amount:,.2f}" if amount >= 0.0995 else f"${Decimal(f'{amount:.2g}'):f}"
    if not unpriced:
        return text
    return (
        f"price unknown ({count(unpriced, 'call')})"
        if amount == 0
        else f"{text} and {count(unpriced, 'call')} of unknown price"
    )


def seconds(length: float) -> str:
    """`1.9 s`, `3 min`, `2.1 h`."""
    if length < 90:
        return f"{length:.1f} s"
    return f"{length / 60:.0f} min" if length < 5400 else f"{length / 3600:.1f} h"
