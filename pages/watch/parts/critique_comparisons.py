"""The view of critique ratings, comparisons and refinements: the critiques as cards, the judges' replies below."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from core.critiques import Critique
from core.items import Item
from core.protocols.critique_baselines.protocol import CritiqueAsk, list_asks
from core.protocols.registry import PROTOCOLS
from core.trace import Event, Turn, TurnCompleted
from pages.parts.text import escape_markdown
from pages.watch.parts import turns
from storage.runs.traces import Trace

CHOICES = {1: ":material/looks_one: first", 2: ":material/looks_two: second", 0: "equal"}


def render(trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], live: bool) -> None:
    """Draw one group for each critique, or for each pair of critiques."""
    run_settings: Any = PROTOCOLS[trace.protocol].settings.model_validate(settings)
    turns_by_ask = {event.ask: event.turn for _, event in events if isinstance(event, TurnCompleted)}
    seq_by_ask = {event.ask: number for number, event in events if isinstance(event, TurnCompleted)}
    turns.draw_problems(events, "evaluation")
    asked_turns = list_asks(item, run_settings, turns_by_ask)
    refined = {asked_turn.critiques[0].id: asked_turn for asked_turn in asked_turns if asked_turn.step == "refine"}
    groups: dict[tuple[str, ...], list[CritiqueAsk]] = {}
    for asked_turn in asked_turns:
        if asked_turn.step != "refine":
            groups.setdefault(tuple(critique.id for critique in asked_turn.critiques), []).append(asked_turn)
    for group_turns in groups.values():
        draw_group(trace, group_turns, refined, seq_by_ask)
    for asked_turn in refined.values():
        if asked_turn.turn is not None:
            with st.expander(
                f"How the answer was refined by the critique of {escape_markdown(asked_turn.critiques[0].author)}"
            ):
                turns.draw_turn(
                    trace.id,
                    seq_by_ask[asked_turn.number],
                    asked_turn.turn,
                    f"**{escape_markdown(asked_turn.turn.speaker)}** · refined answer",
                )


def draw_group(
    trace: Trace, group_turns: Sequence[CritiqueAsk], refined: Mapping[str, CritiqueAsk], seq_by_ask: Mapping[int, int]
) -> None:
    """Draw the critiques, or the answers refined by them, side by side; then each judge's reply."""
    critiques = group_turns[0].critiques
    with st.container(border=True):
        for number, (column, critique) in enumerate(zip(st.columns(len(critiques)), critiques, strict=True), 1):
            with column:
                draw_card(critique, number if len(critiques) > 1 else 0, refined.get(critique.id))
        for asked_turn in group_turns:
            if asked_turn.turn is None:
                st.markdown(f"**{escape_markdown(asked_turn.judge)}** · :gray[waiting for the reply]")
            else:
                heading = f"**{escape_markdown(asked_turn.judge)}** · {format_reading(asked_turn.turn)}"
                turns.draw_turn(trace.id, seq_by_ask[asked_turn.number], asked_turn.turn, heading)


def draw_card(critique: Critique, number: int, refined: CritiqueAsk | None) -> None:
    """Draw a critique, or the answer refined by it with the critique collapsed."""
    prefix, author = ("", "First: ", "Second: ")[number], escape_markdown(critique.author)
    if refined is None:
        st.caption(f"**{prefix}critique by {author}**")
        turns.draw_text(critique.text)
        return
    st.caption(f"**{prefix}answer refined by the critique of {author}**")
    text = str(refined.turn.reading) if refined.turn and refined.turn.reading is not None else ""
    turns.draw_text(text or "*No refined answer.*")
    with st.expander("Critique"):
        turns.draw_text(critique.text)


def format_reading(turn: Turn) -> str:
    """Return the value of a judge's reply, in Markdown."""
    if turn.step == "rate" and turn.reading is not None:
        return f"**{turn.reading} of 7**"
    swapped = " :gray[(read in swapped order)]" if turn.reading is not None and turn.shown == (2, 1) else ""
    return f"{turns.format_reading(turn, CHOICES)}{swapped}"
