"""Ratings, comparisons and refinements of critiques: the critiques as cards, what each judge says below."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from core.critiques import Critique
from core.items import Item
from core.protocols.critique_baselines.protocol import REFINEMENT, Told, asked
from core.protocols.registry import PROTOCOLS
from core.trace import Event, Turn, TurnTaken
from pages.parts.text import plain, safe
from pages.watch.parts import turns
from storage.traces import Trace

CHOSEN = {1: ":material/looks_one: the first", 2: ":material/looks_two: the second", 0: "equally good"}


def render(trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], live: bool) -> None:
    """Critique by critique, or pair by pair."""
    chosen: Any = PROTOCOLS[trace.protocol].settings.model_validate(settings)
    taken = {event.ask: event.turn for _, event in events if isinstance(event, TurnTaken)}
    seq = {event.ask: number for number, event in events if isinstance(event, TurnTaken)}
    for _, event in events:
        turns.trouble(event, "evaluation")
    there = asked(item, chosen, taken)
    refined = {one.critiques[0].id: one for one in there if one.step == "refine"}
    groups: dict[tuple[str, ...], list[Told]] = {}
    for one in there:
        if one.step != "refine":
            groups.setdefault(tuple(critique.id for critique in one.critiques), []).append(one)
    for said in groups.values():
        group(trace, said, refined, seq)
    for one in refined.values():
        if one.turn is not None:
            with st.expander(f"How the answer was refined by the critique of {plain(one.critiques[0].author)}"):
                reply(trace, one.turn, seq[one.number], "refined answer")


def group(trace: Trace, said: Sequence[Told], refined: Mapping[str, Told], seq: Mapping[int, int]) -> None:
    """The critiques, or what they made of the answer, side by side; then one line a judge."""
    critiques = said[0].critiques
    with st.container(border=True):
        for number, (column, critique) in enumerate(zip(st.columns(len(critiques)), critiques, strict=True), 1):
            with column:
                card(trace, critique, number if len(critiques) > 1 else 0, refined.get(critique.id))
        for one in said:
            if one.turn is None:
                st.markdown(f"**{plain(one.judge)}** · :gray[is being asked]")
            else:
                reply(trace, one.turn, seq[one.number], verdict(one.turn))


def card(trace: Trace, critique: Critique, number: int, refined: Told | None) -> None:
    """A critique, or the answer that it led to with the critique folded."""
    place = {0: "", 1: "First: ", 2: "Second: "}[number]
    if trace.protocol != REFINEMENT:
        st.caption(f"**{place}{'critique' if place else 'Critique'} by {plain(critique.author)}**")
        st.markdown(safe(critique.text))
        return
    st.caption(f"**{place}answer refined by the critique of {plain(critique.author)}**")
    text = str(refined.turn.reading) if refined and refined.turn and refined.turn.reading is not None else ""
    st.markdown(safe(text) if text else "*There is none.*")
    with st.expander("The critique"):
        st.markdown(safe(critique.text))


def verdict(turn: Turn) -> str:
    """What a judge says, in words."""
    if turn.reading is None:
        return f"no verdict: {plain(turn.problem)}"
    if turn.step == "rate":
        return f"**{turn.reading} of 7**"
    swapped = " :gray[(read in swapped order)]" if turn.shown == (2, 1) else ""
    return f"**{CHOSEN[int(turn.reading)]}**{swapped}"  # type: ignore[arg-type]


def reply(trace: Trace, turn: Turn, seq: int, said: str) -> None:
    """One turn: who, what, the reply, the prompt folded."""
    with st.container(key=f"turn-{trace.id}-{seq}", gap="small"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown(f"**{plain(turn.speaker)}** · {said}")
            st.caption(turns.cost(turn.usage), width="content")
        with st.container(key=f"card-turn-{trace.id}-{seq}"):
            st.markdown(safe(turn.reply) if turn.reply.strip() else "*(an empty reply)*")
        turns.prompt(trace.id, seq)
