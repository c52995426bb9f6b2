"""Highlights the passages that annotators selected in a text, each with the letters of its annotators."""

import itertools
from collections.abc import Sequence
from html import escape


def highlight(text: str, passages: Sequence[tuple[int, int, str]]) -> str:
    """Return the text as HTML with the passages (start, end, letter) marked.

    Positions count Unicode code points. Passages may overlap; parts outside of the text are ignored.
    """
    inside = [(max(0, start), min(end, len(text)), letter) for start, end, letter in passages]
    inside = [passage for passage in inside if passage[0] < passage[1]]
    cuts = sorted({0, len(text), *(cut for start, end, _ in inside for cut in (start, end))})
    parts = []
    for start, end in itertools.pairwise(cuts):
        segment = escape(text[start:end], quote=False)
        letters = sorted({letter for first, last, letter in inside if first <= start and end <= last})
        if letters:
            named = escape(" ".join(letters))
            segment = f'<mark class="evidence" title="Evidence of {named}">{segment}<sup>{named}</sup></mark>'
        parts.append(segment)
    return "".join(parts)


def draw_text(text: str, passages: Sequence[tuple[int, int, str]] = ()) -> str:
    """Return a text as a block of HTML in its own direction, exactly as it is."""
    content = highlight(text, passages) if text.strip() else '<span class="empty-text">(empty)</span>'
    return f'<div class="plain-text" dir="auto">{content}</div>'
