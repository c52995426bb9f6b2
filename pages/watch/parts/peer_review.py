"""The view of a peer review: the peers as cards, the area chair's samples, and people's scores."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.items import Item
from core.labels import Kind, Target, Value
from core.protocols.refer import protocol as refer
from core.trace import Event, Turn, Verdict
from pages.parts import numbers, resources, shell
from pages.parts.text import escape_markdown
from pages.watch.parts import turns
from pages.watch.parts.single_judge import draw_samples
from storage.reports import peer_reviews
from storage.runs.traces import Trace

# Scores that are printed alike are the same: the chair's is a mean.
SAME = 0.05


def render(trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], live: bool) -> None:
    """Draw the cards, then the histogram next to one comment of the chair."""
    trace, events, settings = turns.choose_part(trace, events, settings)
    completed, verdict = turns.completed(events), turns.verdict_of(events)
    peers = [(seq, turn) for seq, turn in completed if turn.step == "peer"]
    samples = [(seq, turn) for seq, turn in completed if turn.step == "chair"]
    answered = {turn.speaker for _, turn in peers}
    pending = [str(peer["name"]) for peer in settings.get("peers", ()) if live and peer["name"] not in answered]
    reviews, decision = st.columns(2, gap="large")
    with reviews:
        draw_cards(trace.id, peers, pending, verdict)
    with decision:
        draw_chair(trace, peers, samples, verdict, settings, live)
    turns.draw_problems(events, "review")


def draw_cards(
    trace_id: int, peers: Sequence[turns.NumberedTurn], pending: Sequence[str], verdict: Verdict | None = None
) -> None:
    """Draw one card per peer: its score and how it agrees with the verdict, its comment and its collapsed prompt."""
    for seq, turn in peers:
        agreement = _agreement(turn.reading, verdict.value if verdict else None)
        with st.container(border=True), st.container(key=f"card-peer-{trace_id}-{seq}"):
            st.markdown(f"**{escape_markdown(turn.speaker)}** · {turns.format_reading(turn)}{agreement}")
            with st.container(key=f"collapsible-peer-{trace_id}-{seq}"):
                turns.draw_shortened(_comment(turn))
            turns.draw_whole(_comment(turn), f"{trace_id}-{seq}")
            turns.draw_below(trace_id, seq, turn)
    for name in pending:
        with st.container(border=True):
            st.markdown(f"**{escape_markdown(name)}**")
            st.caption(":material/sync: Waiting for the reply.")


def _agreement(reading: Value | None, verdict: Value | None) -> str:
    """Return how a peer's score or answer agrees with the chair's; empty if there is nothing to compare."""
    if reading is None or verdict is None:
        return ""
    if isinstance(reading, int | float) and isinstance(verdict, int | float):
        difference = reading - verdict
        if abs(difference) >= SAME:
            return f" · {abs(difference):.2g} {'above' if difference > 0 else 'below'} the chair"
    elif reading != verdict:
        return " · ✗ not the chair's answer"
    return " · ✓ as the chair"


def _comment(turn: Turn) -> str:
    return turn.statement.strip().removeprefix("Analysis:").strip() or "*(no comment)*"


def draw_chair(
    trace: Trace,
    peers: Sequence[turns.NumberedTurn],
    samples: Sequence[turns.NumberedTurn],
    verdict: Verdict | None,
    settings: dict[str, Any],
    live: bool,
) -> None:
    """Draw the chair's samples as a histogram with the verdict, and one of their comments."""
    requested = int(settings.get("samples", len(samples)) or 1)
    name = str((settings.get("chair") or {}).get("name") or "area chair")
    st.subheader(f"{escape_markdown(name).capitalize()}, {numbers.format_count(requested, 'sample')}", anchor=False)
    if not samples:
        st.caption(
            ":material/sync: The chair is asked after every peer has answered." if live else "The chair was not asked."
        )
        return
    draw_comment(trace.id, samples, verdict, settings)
    draw_histogram(trace, peers, [turn.reading for _, turn in samples], verdict, settings)
    st.caption(_summary([turn.reading for _, turn in samples], requested, verdict, live))


def draw_histogram(
    trace: Trace,
    peers: Sequence[turns.NumberedTurn],
    readings: Sequence[Value | None],
    verdict: Verdict | None,
    settings: dict[str, Any],
) -> None:
    """Draw the samples with the peers and the people, or the reason why no people are shown."""
    kind: Kind = "score" if settings.get("verdict", "score") == "score" else "answer"
    target = Target(item=trace.item, kind=kind, criterion=trace.criterion)
    labels = resources.read(peer_reviews.visible_labels, trace.study_id, target, shell.current_annotator())
    people = {label.annotator: label.value for label in labels or () if label.value is not None}
    of_peers = {turn.speaker: turn.reading for _, turn in peers if turn.reading is not None}
    scale = (settings.get("criterion") or {}).get("scale")
    draw_samples(readings, {"○ peers": of_peers, "▲ people": people}, verdict, scale, f"samples_{trace.id}")
    if labels is None:
        st.caption(":material/visibility_off: People's scores are shown after you have labelled this item.")
    elif not people:
        st.caption("This item has no labels yet.")


def _summary(readings: Sequence[Value | None], requested: int, verdict: Verdict | None, live: bool) -> str:
    """Return how many samples there are, and how many of them could be read."""
    readable = sum(reading is not None for reading in readings)
    if live and len(readings) < requested:
        return f"{len(readings)} of {requested} samples so far; {readable} could be read."
    if verdict is None:
        return f"{readable} of {len(readings)} samples could be read."
    return f"{escape_markdown(verdict.reason[0].upper() + verdict.reason[1:])}."


def draw_comment(
    trace_id: int, samples: Sequence[turns.NumberedTurn], verdict: Verdict | None, settings: dict[str, Any]
) -> None:
    """Draw the comment of one sample: first the representative one, the others with ‹ and ›."""
    representative = refer.representative_sample([turn for _, turn in samples], verdict.value if verdict else None)
    key = f"sample_{trace_id}"
    index = min(st.session_state.get(key, representative or 0), len(samples) - 1)
    seq, turn = samples[index]
    with st.container(border=True, key=f"card-chair-{trace_id}"):
        with st.container(horizontal=True, vertical_alignment="center", wrap=False):
            st.markdown(f"Comment {index + 1} of {len(samples)} · {turns.format_reading(turn)}", width="stretch")
            for sign, step, help_text in (("‹", -1, "Previous comment"), ("›", 1, "Next comment")):
                st.button(
                    sign,
                    key=f"{key}_{step}",
                    help=help_text,
                    type="tertiary",
                    disabled=len(samples) < 2,
                    on_click=st.session_state.update,
                    args=({key: (index + step) % len(samples)},),
                )
        if index == representative and len(samples) > 1:
            relation = "equal to" if isinstance(turn.reading, str) else "closest to"
            st.caption(f":material/star: Final comment: the first sample {relation} the verdict.")
        turns.draw_markdown(_comment(turn), f"{trace_id}-{seq}")
        turns.draw_below(trace_id, seq, turn)
