"""How a reply was read: its value, the rule, and the passage that the reading rests on, marked."""

import json
import re

import streamlit as st

from core.trace import Turn
from pages.parts.text import escape_markdown, sanitize_markdown
from pages.parts.values import format_value
from pages.watch.parts.long_texts import draw_whole, marked_html, shorten, to_html, within

CONTEXT = 60
"""Characters of the reply that are shown before and after the marked passage."""
LONGEST = 300
"""A longer passage, such as a whole list, is shown with its beginning and its end."""
RULES = {
    "json": "the field of the structured answer",
    "marked": "marks around the answer",
    "labelled": "a labelled answer",
    "line": "the last line",
    "sentence": "a plain sentence",
    "named": "numbers next to names",
    "row": "a row of numbers",
    "list": "a list",
}
"""The parsers' rules in words."""
_REASONING = re.compile(r'\s*\{\s*"reasoning"\s*:\s*(?=")')
_JSON = json.JSONDecoder(strict=False)


def draw_reply(turn: Turn) -> None:
    """Draw a reply as Markdown with the passage of the reading highlighted; structured output as text, then collapsed.

    A long reply is shortened; `draw_whole_reply` shows all of it.
    `draw_reading` shows the passage again if it cannot be highlighted inside the Markdown.
    """
    if not turn.reply.strip():
        st.markdown("*(empty reply)*")
        return
    statement = turn.statement
    if turn.format == "json" and statement and statement != turn.reply.strip():
        st.markdown(sanitize_markdown(shorten(statement)[0]))
        span = answer_span(turn)
        with st.expander("Structured output"):
            part = marked_html(*shorten(turn.reply, _inside(turn.reply, span)))
            st.html(f'<pre class="reading" dir="auto">{part}</pre>')
        return
    st.markdown(marked_markdown(*shorten(turn.reply, _inside(turn.reply, turn.reading_span))))


def draw_whole_reply(turn: Turn, key: str) -> None:
    """Draw a toggle that shows the whole reply, if it was shortened; once for each `key`."""
    draw_whole(turn.reply, key, answer_span(turn))


def draw_reading(turn: Turn, *, with_passage: bool = False) -> None:
    """Draw the value, the rule and the marked passage with its context; nothing if no value was asked for.

    The passage is left out if `draw_reply` has highlighted it, unless `with_passage` is set.
    """
    if turn.reading is None:
        if turn.problem:
            st.caption(f":material/help: Unreadable: {escape_markdown(turn.problem)}")
        return
    parts = [f"Read as **{escape_markdown(format_value(turn.reading))}**"]
    if turn.shown and list(turn.shown) != sorted(turn.shown):
        parts[0] += " in the item's own order"
    if source := reading_source(turn):
        parts.append(f"**{escape_markdown(source)}**" if turn.read_by else escape_markdown(source))
    st.caption(":material/find_in_page: " + " · ".join(parts))
    span = answer_span(turn)
    if span is not None and (with_passage or turn.format == "json" or not _is_highlighted(turn.reply, span)):
        st.html(f'<div class="reading" dir="auto">{passage_html(turn.reply, span)}</div>')


def reading_source(turn: Turn) -> str:
    """Return who read a reply, or else the parser's rule in words; empty if neither is known."""
    return _reader(turn.read_by) if turn.read_by else RULES.get(turn.reading_rule, turn.reading_rule)


def _is_highlighted(reply: str, span: tuple[int, int]) -> bool:
    part, part_span = shorten(reply, within(reply, span))
    return marked_markdown(part, part_span) != marked_markdown(part, None)


def _inside(reply: str, span: tuple[int, int] | None) -> tuple[int, int] | None:
    return None if span is None else within(reply, span)


def _reader(read_by: str) -> str:
    """Return `stated by ann` or `read by the extractor openai/gpt-5.4-nano`."""
    role, _, name = read_by.partition(": ")
    return f"stated by {name}" if role == "person" else f"read by the {role} {name}".rstrip()


def answer_span(turn: Turn) -> tuple[int, int] | None:
    """Return the span of the reading; of a JSON object with reasoning, only the part after the reasoning."""
    if turn.reading_span is None or turn.reading_rule != "json":
        return turn.reading_span
    start, end = within(turn.reply, turn.reading_span)
    head = _REASONING.match(turn.reply, start)
    if head is None:
        return turn.reading_span
    try:
        _, after = _JSON.raw_decode(turn.reply, head.end())
    except ValueError:
        return turn.reading_span
    rest = turn.reply[after:end]
    fields = rest.strip().removeprefix(",").removesuffix("}").strip()
    begin = after + rest.find(fields)
    return (begin, begin + len(fields)) if fields else turn.reading_span


def passage_html(reply: str, span: tuple[int, int]) -> str:
    """Return the passage in a <mark> with some context, as HTML; the reply is text only."""
    start, end = within(reply, span)
    before, after = max(0, start - CONTEXT), min(len(reply), end + CONTEXT)
    passage = reply[start:end]
    if len(passage) > LONGEST:
        passage = f"{passage[: LONGEST // 2]} … {passage[-LONGEST // 2 :]}"
    return (
        f"{'… ' if before else ''}{to_html(reply[before:start])}<mark>{to_html(passage)}</mark>"
        f"{to_html(reply[end:after])}{' …' if after < len(reply) else ''}"
    )


def marked_markdown(reply: str, span: tuple[int, int] | None) -> str:
    """Return the reply as sanitized Markdown, with the passage highlighted if that breaks nothing around it."""
    return sanitize_markdown(reply, _inside(reply, span))
