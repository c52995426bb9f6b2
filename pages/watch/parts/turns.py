"""The parts of a turn that every view draws: its usage, its reply, its prompt, and earlier failures."""

import streamlit as st

from core.trace import (
    CallFailed,
    Event,
    ReadingReplaced,
    ReadingWithdrawn,
    ReplyExtracted,
    ReplyUnreadable,
    SchemaRefused,
    TraceFailed,
    TraceRestarted,
    Turn,
)
from pages.parts import numbers, resources
from pages.parts.text import escape_markdown
from pages.parts.values import format_value
from pages.watch.parts import long_texts, readings
from storage import database, traces

NOT_BLIND = (
    ":material/visibility: You have seen the judges' opinions. Labels that you give from now on are recorded as not "
    "blind."
)


def format_usage(turn: Turn) -> str:
    """Return `214 tokens · 1.9 s · $0.003`, without unknown values; first the run that paid it if it was reused."""
    usage = turn.usage
    parts = [f"reused from {escape_markdown(turn.reused)}"] if turn.reused else []
    if usage.completion_tokens is not None:
        parts.append(numbers.format_count((usage.prompt_tokens or 0) + usage.completion_tokens, "token"))
    if usage.seconds is not None:
        parts.append(numbers.format_duration(usage.seconds))
    if usage.dollars is not None:
        parts.append(numbers.format_dollars(usage.dollars))
    return " · ".join(parts).replace("$", r"\$")


def draw_turn(trace_id: int, seq: int, turn: Turn, heading: str, note: str = "") -> None:
    """Draw a turn: `heading` in Markdown next to its usage, an optional note, the reply, and the collapsed prompt."""
    with st.container(key=f"turn-{trace_id}-{seq}", gap="small"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown(heading)
            st.caption(format_usage(turn), width="content")
        if note:
            st.caption(note)
        with st.container(key=f"card-turn-{trace_id}-{seq}"):
            readings.draw_reply(turn)
        readings.draw_whole_reply(turn, f"{trace_id}-{seq}")
        readings.draw_reading(turn)
        for sentence in turn.notes:
            st.caption(escape_markdown(sentence))
        draw_prompt(trace_id, seq)


def draw_prompt(trace_id: int, seq: int) -> None:
    """Draw the prompt of an event in an expander; it is loaded when the expander is opened."""
    expander = st.expander("Prompt", key=f"prompt-{trace_id}-{seq}", on_change="rerun")
    if expander.open:
        with expander, database.reading(resources.engine()) as session:
            text = traces.prompt(session, trace_id, seq)
        with expander:
            long_texts.draw_code(text or "The prompt was not recorded.", f"prompt-{trace_id}-{seq}")


def draw_problem(seq: int, event: Event, name: str) -> None:
    """Draw an unreadable reply, a failed call or a failed trace; `name` is the failed unit: "debate", "review"...

    `seq` is the number of the event in the trace.
    """
    match event:
        case ReplyUnreadable(turn=turn, max_tokens=limit):
            speaker, problem = escape_markdown(turn.speaker), escape_markdown(turn.problem)
            again = f"asked once more with a limit of {limit} tokens" if limit else "asked once more"
            with st.expander(f"{speaker}: the reply could not be read ({problem}); {again}"):
                long_texts.draw_markdown(turn.reply, f"problem-{seq}")
        case CallFailed() | SchemaRefused():
            _draw_unanswered(event)
        case ReplyExtracted(turn=turn):
            result = "the extractor found no value" if turn.reading is None else "read by the extractor"
            with st.expander(f"{escape_markdown(turn.speaker)}: {result} ({escape_markdown(turn.model)})"):
                long_texts.draw_markdown(turn.reply, f"problem-{seq}")
                st.caption(format_usage(turn))
        case ReadingReplaced(read_by=read_by, reading=value):
            reader = escape_markdown(read_by.partition(": ")[2]) or "the parsers of a later version"
            result = "no value" if value is None else escape_markdown(format_value(value))
            st.caption(f":material/edit: A reply was read again by {reader}: {result}. The earlier reading is stored.")
        case ReadingWithdrawn(by=by):
            st.caption(f":material/undo: {escape_markdown(by)} withdrew a reading.")
        case TraceRestarted(reason=reason):
            st.caption(f":material/restart_alt: {escape_markdown(reason)}")
        case TraceFailed(problem=problem):
            st.error(f"The {name} stopped: {escape_markdown(problem)}", icon=":material/error:")


def _draw_unanswered(event: CallFailed | SchemaRefused) -> None:
    text = f"{escape_markdown(event.speaker)}: {escape_markdown(event.problem)}"
    if isinstance(event, SchemaRefused):
        st.caption(f":material/info: {text}")
        return
    outcome = "no more retries" if event.wait is None else f"retried after {numbers.format_duration(event.wait)}"
    st.caption(f":material/sync_problem: {text} ({outcome})")
