"""A single judge as people watch it: its choice in each order of the responses, or the samples of its score."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.items import Item
from core.labels import Scale
from core.trace import Event, Turn, TurnTaken, Verdict, VerdictReached
from pages.parts import numbers
from pages.parts.text import plain, safe
from pages.watch.parts import peer_charts, turns
from pages.watch.parts.peer_review import told
from storage.traces import Trace

SHOWN = 10
"""Samples on one page."""
VERDICTS = {1: "Response 1 is better", 2: "Response 2 is better", 0: "Neither is better"}
CHOICES = {1: "Response 1", 2: "Response 2", 0: "neither"}


def render(trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], live: bool) -> None:
    """The verdict, the histogram of several samples, and what was said; `live` while more is to come."""
    taken = sorted((event.ask, seq, event.turn) for seq, event in events if isinstance(event, TurnTaken))
    verdict = next((event.verdict for _, event in events if isinstance(event, VerdictReached)), None)
    if verdict is not None:
        concluded(verdict)
    samples = [turn for _, _, turn in taken if turn.step == "rating"]
    if len(samples) > 1:
        histogram(trace, samples, verdict, settings)
    for _, event in events:
        turns.trouble(event, "judgement")
    page = min(int(st.session_state.get(f"samples_page_{trace.id}", 1)), max(1, -(-len(taken) // SHOWN)))
    for number, seq, turn in taken[(page - 1) * SHOWN : page * SHOWN]:
        _turn(trace.id, seq, number + 1 if len(samples) > 1 else 0, turn)
    if len(taken) > SHOWN:
        st.pagination(-(-len(taken) // SHOWN), key=f"samples_page_{trace.id}")
    if live and not taken:
        st.caption(":material/sync: The judge is being asked.")


def concluded(verdict: Verdict) -> None:
    """What it came to, and why."""
    reason = plain(verdict.reason)
    if isinstance(verdict.value, int) and verdict.opinions[0].kind == "preference":
        st.markdown(f"**{VERDICTS.get(verdict.value, str(verdict.value))}** · {reason}")
    elif verdict.value is not None:
        st.markdown(f"**{told(verdict.value)}** · {reason}")
    else:
        st.markdown(reason)


def histogram(trace: Trace, samples: Sequence[Turn], verdict: Verdict | None, settings: dict[str, Any]) -> None:
    """The samples with their mean."""
    scale = (settings.get("criterion") or {}).get("scale")
    readings = [turn.reading for turn in samples]
    mean = verdict.value if verdict else None
    figure = peer_charts.samples(readings, (), (), mean, Scale.model_validate(scale) if scale else None)
    alt = f"samples {', '.join(told(reading) for reading in readings)}; mean {told(mean)}"
    peer_charts.draw(figure, f"samples_{trace.id}", alt)
    read = sum(reading is not None for reading in readings)
    st.caption(f"{read} of {numbers.count(len(readings), 'sample')} could be read.")


def _turn(trace_id: int, seq: int, number: int, turn: Turn) -> None:
    with st.container(key=f"turn-{trace_id}-{seq}", gap="small"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            parts = [f"**{plain(turn.speaker)}**", f"sample {number}" if number else "", _order(turn), _says(turn)]
            st.markdown(" · ".join(filter(None, parts)))
            st.caption(turns.cost(turn.usage), width="content")
        with st.container(key=f"card-turn-{trace_id}-{seq}"):
            st.markdown(safe(turn.reply) if turn.reply.strip() else "*(an empty reply)*")
        turns.prompt(trace_id, seq)


def _order(turn: Turn) -> str:
    """Which response stood first as “Submission 1”."""
    return f"Response {turn.shown[0]} read first" if turn.shown else ""


def _says(turn: Turn) -> str:
    if turn.reading is None:
        return f"no verdict: {plain(turn.problem)}"
    if turn.step == "choice" and isinstance(turn.reading, int):
        return f"**{CHOICES.get(turn.reading, turn.reading)}**"
    return f"**{told(turn.reading)}**"
