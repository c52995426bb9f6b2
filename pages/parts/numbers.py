"""Formats numbers the same way on all pages."""

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

import streamlit as st

from core.labels import Value
from core.wording import format_count as format_count
from core.wording import format_estimate as format_estimate
from core.wording import format_number as format_number
from core.wording import format_p as format_p
from pages.parts.text import escape_markdown


def format_interval(estimate: Any, digits: int = 2, *, sign: bool = False) -> str:
    """Return the value of an estimate with its interval."""
    return format_estimate(estimate.value, estimate.low, estimate.high, digits, sign=sign)


def format_span(counts: Collection[int]) -> str:
    """Return the count, or the lowest and the highest of several."""
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


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


# Names and formats the values of verdicts and labels.

RESPONSE_NAMES = {1: "Response 1", 2: "Response 2", 0: "Neither"}
# The values of a preference as names, and as sentences.
VERDICT_NAMES = {value: f"{name} is better" for value, name in RESPONSE_NAMES.items()}


def format_value(value: Value | None) -> str:
    """Return a value as text: `2`, `2.33`, `B`, `8 : 6`, `clarity 4, brevity 3.50`; a dash for None."""
    match value:
        case None:
            return "–"
        case float():
            return f"{value:g}" if value.is_integer() else f"{value:.2f}"
        case Mapping():
            return _format_scores(value)
        case _:
            return str(value)


def _format_scores(scores: Mapping[str, float]) -> str:
    """Return scores as text: those of two responses as a ratio, all others with their names."""
    if list(scores) == ["1", "2"]:
        return " : ".join(format_value(score) for score in scores.values())
    return ", ".join(f"{name} {format_value(score)}" for name, score in scores.items())


def aspect_letter(index: int) -> str:
    """Return A, B, C ... for the aspects in their order."""
    return chr(ord("A") + index)


# Why figures of a chart or a table are undefined, below it: a column of sentences would not fit a screen.


def draw_reasons(reasons: Mapping[str, str]) -> None:
    """Draw each name with its reason, without those that have none."""
    known = {name: reason for name, reason in reasons.items() if reason}
    if not known:
        return
    with st.expander(f"Undefined values: {len(known):,}", icon=":material/info:"):
        for name, reason in known.items():
            st.caption(f"**{escape_markdown(name)}** – {escape_markdown(reason)}")
