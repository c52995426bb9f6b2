"""What every view of a trace shows of a turn: what it cost, its prompt, and what went wrong on the way to it."""

import streamlit as st

from core.trace import CallFailed, Event, ReplyUnreadable, TraceFailed, Usage
from pages.parts import numbers, resources
from pages.parts.text import plain, safe
from storage import database, traces


def cost(usage: Usage) -> str:
    """`214 tokens · 1.9 s · $0.003`, as far as it is known."""
    parts = []
    if usage.completion_tokens is not None:
        parts.append(numbers.count((usage.prompt_tokens or 0) + usage.completion_tokens, "token"))
    if usage.seconds is not None:
        parts.append(numbers.seconds(usage.seconds))
    if usage.dollars is not None:
        parts.append(numbers.dollars(usage.dollars))
    return " · ".join(parts).replace("$", r"\$")


def prompt(trace_id: int, seq: int) -> None:
    """The prompt that an event answers, folded; it is read when it is opened."""
    fold = st.expander("Prompt", key=f"prompt-{trace_id}-{seq}", on_change="rerun")
    if fold.open:
        with fold, database.reading(resources.engine()) as session:
            text = traces.prompt(session, trace_id, seq)
        fold.code(text or "The prompt was not recorded.", language=None, wrap_lines=True)


def trouble(event: Event, what: str) -> None:
    """A reply that could not be read, a call that failed, an end before the verdict; `what` is "debate", "review"..."""
    match event:
        case ReplyUnreadable(turn=turn):
            with st.expander(
                f"{plain(turn.speaker)}'s reply could not be read ({plain(turn.problem)}); asked once more"
            ):
                st.markdown(safe(turn.reply))
        case CallFailed(speaker=speaker, problem=problem, wait=wait):
            again = f"tried again after {numbers.seconds(wait)}" if wait is not None else "given up"
            st.caption(f":material/sync_problem: {plain(speaker)}: {plain(problem)} ({again})")
        case TraceFailed(problem=problem):
            st.error(f"The {what} could not go on: {problem}", icon=":material/error:")
