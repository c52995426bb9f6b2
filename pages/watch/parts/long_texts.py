"""Texts of models that may be very long: only a part is drawn, and the whole text on request.

A browser needs minutes to lay out one megabyte of Markdown, and seconds as plain text.
"""

from html import escape

import streamlit as st

from pages.parts import numbers
from pages.parts.text import sanitize_markdown

LONGEST_WHOLE = 5_000
"""Characters; a longer text is shortened."""
SHORTENED = 2_000
"""Characters of a longer text that are drawn from its start, and around a marked passage behind them."""
GAP = "\n\n…\n\n"


def shorten(text: str, span: tuple[int, int] | None = None) -> tuple[str, tuple[int, int] | None]:
    """Return the part of a text that is drawn, and the part of the span inside it.

    Of a long text these are its first characters and, if the span ends behind them, the characters around the span.
    """
    if len(text) <= LONGEST_WHOLE:
        return text, span
    if span is None or span[1] <= SHORTENED:
        return f"{text[:SHORTENED]}{GAP.rstrip()}", span
    half = SHORTENED // 2
    begin = max(half, span[0] - half // 2)
    end = min(len(text), begin + half)
    shift = half + len(GAP) - begin
    part = f"{text[:half]}{GAP}{text[begin:end]}{GAP.rstrip() if end < len(text) else ''}"
    return part, (max(begin, span[0]) + shift, min(end, span[1]) + shift)


def draw_markdown(text: str, key: str) -> None:
    """Draw a text as sanitized Markdown, shortened if it is long, with the toggle that shows all of it."""
    draw_shortened(text)
    draw_whole(text, key)


def draw_shortened(text: str) -> None:
    """Draw a text as sanitized Markdown, shortened if it is long."""
    st.markdown(sanitize_markdown(shorten(text)[0]))


def draw_code(text: str, key: str) -> None:
    """Draw a text in a code block, shortened if it is long."""
    st.code(shorten(text)[0], language=None, wrap_lines=True)
    draw_whole(text, key)


def draw_whole(text: str, key: str, span: tuple[int, int] | None = None) -> None:
    """Draw a toggle that shows the whole text without formatting; nothing if the text was not shortened.

    The toggle is drawn once for each `key`, outside of containers that are collapsed.
    """
    if len(text) <= LONGEST_WHOLE:
        return
    if st.toggle(f"Show the whole text ({numbers.format_count(len(text), 'character')})", key=f"whole-{key}"):
        st.html(f'<pre class="reading whole-text" dir="auto">{marked_html(text, span)}</pre>')


def marked_html(text: str, span: tuple[int, int] | None) -> str:
    """Return the whole text as HTML with the passage in a <mark>; the text is text only."""
    if span is None:
        return to_html(text)
    start, end = within(text, span)
    return f"{to_html(text[:start])}<mark>{to_html(text[start:end])}</mark>{to_html(text[end:])}"


def within(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """Return the span inside the text: an imported trace may have any numbers."""
    start = min(max(span[0], 0), len(text))
    return start, min(max(span[1], start), len(text))


def to_html(text: str) -> str:
    """Return plain text as HTML for an element that preserves line breaks; as elements they would be slow."""
    return escape(text).replace("\n", "&#10;")
