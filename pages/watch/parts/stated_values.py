"""The replies to an ask with every reading, and the controls with which a person states the value or withdraws it."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import streamlit as st

from core.answers.answer import Answer
from core.answers.choice import Choice
from core.answers.number import Rating
from core.answers.option import Option, Truth
from core.attempts import NeedsCalls
from core.errors import TiebreakError, UnreadableReply
from core.trace import Ask, PastReading, Turn, TurnReadings
from pages.parts import permissions, resources, shell
from pages.parts.numbers import format_value
from pages.parts.text import escape_markdown
from pages.watch.parts import turns
from storage.accounts.access import Permission
from storage.db import connections
from storage.runs import readings as stored_readings
from storage.runs import traces

# The control for entering the value of a reply by hand, as the answer type of the ask defines it.


def draw_answer_control(answer: Answer[Any], key: str) -> Any:
    """Draw the control; returns the value, or None as long as it is incomplete.

    An answer with few values is chosen, any other is typed as a judge should have written it, and read by its parser.
    """
    match answer:
        case Choice():
            names = dict(enumerate(answer.names(), 1)) | ({0: "neither"} if answer.neither else {})
            return _draw_options(names, key)
        case Truth():
            return _draw_options({True: "true", False: "false"}, key)
        case Option():
            return _draw_options({letter: letter for letter in answer.letters}, key)
        case Rating(levels=levels) if levels:
            return _draw_options({level: str(level) for level in levels}, key)
    text = st.text_area("The answer", key=key, height=110, help=answer.instruction())
    try:
        return answer.parse(text).value if text.strip() else None
    except UnreadableReply as error:
        st.caption(f":material/help: This cannot be read: {escape_markdown(str(error))}")
        return None


def _draw_options(names: Mapping[Any, str], key: str) -> Any:
    return st.segmented_control(
        "Value",
        list(names),
        format_func=lambda value: escape_markdown(names[value]),
        key=key,
        label_visibility="collapsed",
    )


def draw_replies(replies: TurnReadings, key: str) -> None:
    """Draw the reply with its readings; above it the first reply and the second request, if there were two."""
    if (first := replies.first) is not None:
        st.caption("First reply")
        _draw_reply(first.turn, f"{key}-first")
        asked = (
            f"the same, with at most {first.max_tokens} tokens" if first.max_tokens else "an answer that can be read"
        )
        problem = escape_markdown(first.turn.problem)
        st.caption(f":material/help: Second request: {problem}. It asked for {asked}.")
        st.caption("Second reply")
    _draw_reply(replies.turn, key)
    turns.draw_reading(replies.turn)
    if replies.earlier:
        earlier = "; ".join(map(_describe_past, replies.earlier))
        st.caption(f":material/history: Earlier readings: {earlier}.")


def _draw_reply(turn: Turn, key: str) -> None:
    with st.container(key=f"collapsible-{key}"):
        turns.draw_reply(turn)


def _describe_past(past: PastReading) -> str:
    """Return `**2**, a labelled answer` or `**1**, stated by ann, withdrawn by ben` as Markdown."""
    turn = past.turn
    value = f"**{escape_markdown(format_value(turn.reading))}**" if turn.reading is not None else "unreadable"
    source = escape_markdown(turns.reading_source(turn))
    withdrawn = f"withdrawn by {escape_markdown(past.withdrawn_by)}" if past.withdrawn_by else ""
    return ", ".join(filter(None, (value, source, withdrawn)))


def draw_control(trace_id: int, replies: TurnReadings, key: str, place: str) -> None:
    """Draw the controls for a reply, or the reason why no value can be entered; `place` names the reply."""
    annotator = shell.current_annotator()
    if annotator is None:
        st.caption("Sign in on a label page to enter the value of this reply.")
        return
    turn, ask = replies.turn, _find_ask(trace_id, replies.ask)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if ask is not None and ask.answer is not None:
            value = draw_answer_control(ask.answer, f"value_{key}")
            if st.button("Save", key=f"save_{key}", disabled=value is None, icon=":material/check:"):
                _save(trace_id, replies.ask, annotator, value, place)
            if turn.reading is not None and st.button("No value", key=f"none_{key}", help="The reply states none."):
                _save(trace_id, replies.ask, annotator, None, f"{place}: no value")
        if turn.read_by.startswith(stored_readings.PERSON):
            text = "no value" if turn.reading is None else format_value(turn.reading)
            if st.button(f"Withdraw {text}", key=f"withdraw_{key}", icon=":material/undo:"):
                _withdraw(trace_id, replies.ask)


def _find_ask(trace_id: int, number: int) -> Ask | None:
    """Return the ask of a reply; otherwise draw why no value can be entered, and return None."""
    try:
        ask = resources.read(stored_readings.find_ask, trace_id, number)
    except TiebreakError as error:
        st.caption(f":material/block: No value can be entered: {escape_markdown(str(error))}")
        return None
    if ask.answer is None:
        st.caption(":material/block: This protocol does not declare the answer type of its replies.")
        return None
    st.caption("Enter the value that the reply states, in its own terms. Earlier readings stay stored.")
    return ask


def _save(trace_id: int, ask: int, annotator: str, value: object, sentence: str) -> None:
    """Store a person's reading, None for no value."""
    try:
        with _writing(trace_id) as session:
            if value is None:
                stored_readings.state_unreadable(session, trace_id, ask, annotator)
            else:
                stored_readings.state(session, trace_id, ask, value, annotator)
    except NeedsCalls as error:
        st.warning(f"The value was not saved, since the verdict would need new calls. {error}", icon=":material/block:")
        return
    st.toast(f"Saved for {escape_markdown(sentence)}.", icon=":material/check:")
    st.rerun()


def _writing(trace_id: int) -> AbstractContextManager[connections.Session]:
    """Open a session that changes readings of a trace; raises Forbidden."""
    study_id = resources.read(traces.get, trace_id).study_id
    return permissions.writing(study_id, Permission.edit, f"reading of trace {trace_id}")


def _withdraw(trace_id: int, ask: int) -> None:
    annotator = shell.require_annotator()
    with _writing(trace_id) as session:
        stored_readings.withdraw(session, trace_id, ask, annotator)
    st.rerun()


def draw_section(trace: traces.Trace) -> None:
    """Draw the readings of a finished trace: the selected reply with its history and controls; loaded when opened."""
    expander = st.expander("Readings", key=f"readings-{trace.id}", on_change="rerun", icon=":material/edit_note:")
    if not expander.open:
        return
    answered = resources.read(stored_readings.of_trace, trace.id)
    # Whether a value was requested, whether or not it could be read.
    asked = {
        ask: replies
        for ask, replies in answered.items()
        if replies.turn.reading is not None or replies.turn.is_unreadable
    }
    with expander:
        if not asked:
            st.caption("No reply of this trace was requested to state a value.")
            return
        st.caption("Every value that was read from a reply. A person can state another value; figures then use it.")
        number = st.selectbox(
            "Reply", list(asked), format_func=lambda ask: _title(asked[ask]), key=f"reading_of_{trace.id}"
        )
        draw_replies(asked[number], f"reading-{trace.id}-{number}")
        turn = asked[number].turn
        draw_control(trace.id, asked[number], f"{trace.id}_{number}", f"{turn.speaker}, item {trace.name}")


def _title(replies: TurnReadings) -> str:
    """Return `3. judge A · opinion, round 0 · 2 · stated by ann`."""
    turn = replies.turn
    value = "unreadable" if turn.reading is None else format_value(turn.reading)
    source = turns.reading_source(turn) if turn.read_by else ""
    place = [f"{replies.ask + 1}. {turn.speaker}", f"{turn.step}, round {turn.round}", turn.criterion, value, source]
    return " · ".join(filter(None, place))
