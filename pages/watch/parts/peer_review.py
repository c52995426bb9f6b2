"""The view of a peer review: the peers' comments, the area chair's samples, and people's scores."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.items import Item
from core.labels import Kind, Target, Value
from core.protocols.refer import protocol as refer
from core.trace import Verdict
from pages.parts import numbers, paging, resources, shell
from pages.parts.text import escape_markdown
from pages.watch.parts import turns
from pages.watch.parts.single_judge import draw_samples
from pages.watch.parts.turns import NumberedEvent, NumberedTurn
from storage.reports import peer_reviews
from storage.runs.traces import Trace


def render(trace: Trace, item: Item, events: Sequence[NumberedEvent], settings: dict[str, Any], live: bool) -> None:
    """Draw the peers, then the histogram of the chair's samples below one of its comments."""
    trace, events, settings = turns.choose_part(trace, events, settings)
    completed, verdict = turns.completed(events), turns.verdict_of(events)
    peers = [(seq, turn) for seq, turn in completed if turn.step == "peer"]
    samples = [(seq, turn) for seq, turn in completed if turn.step == "chair"]
    answered = {turn.speaker for _, turn in peers}
    reviews, decision = st.columns(2, gap="large")
    with reviews:
        for seq, turn in peers:
            with st.container(border=True):
                agreement = _agreement(turn.reading, verdict.value if verdict else None)
                heading = f"**{escape_markdown(turn.speaker)}** · {turns.format_reading(turn)}{agreement}"
                turns.draw_turn(trace.id, seq, turn, heading)
        for peer in settings.get("peers", ()) if live else ():
            if peer["name"] not in answered:
                st.caption(f":material/sync: Waiting for the reply of {escape_markdown(str(peer['name']))}.")
    with decision:
        _draw_chair(trace, peers, samples, verdict, settings, live)
    turns.draw_problems(events, "review")


def _agreement(reading: Value | None, verdict: Value | None) -> str:
    """Return how a peer's score or answer agrees with the chair's; empty if there is nothing to compare."""
    if reading is None or verdict is None:
        return ""
    if isinstance(reading, int | float) and isinstance(verdict, int | float):
        difference = reading - verdict
        if abs(difference) >= 0.05:  # scores that are printed alike are the same: the chair's is a mean
            return f" · {abs(difference):.2g} {'above' if difference > 0 else 'below'} the chair"
    elif reading != verdict:
        return " · ✗ not the chair's answer"
    return " · ✓ as the chair"


def _draw_chair(
    trace: Trace,
    peers: Sequence[NumberedTurn],
    samples: Sequence[NumberedTurn],
    verdict: Verdict | None,
    settings: dict[str, Any],
    live: bool,
) -> None:
    """Draw one of the chair's comments, at first the one that represents the verdict, and its samples."""
    requested = int(settings.get("samples", len(samples)) or 1)
    name = str((settings.get("chair") or {}).get("name") or "area chair")
    st.subheader(f"{escape_markdown(name).capitalize()}, {numbers.format_count(requested, 'sample')}", anchor=False)
    if not samples:
        st.caption(
            ":material/sync: The chair is asked after every peer has answered." if live else "The chair was not asked."
        )
        return
    first = refer.representative_sample([turn for _, turn in samples], verdict.value if verdict else None)
    ordered = sorted(samples, key=lambda pair: first is not None and pair != samples[first])
    key = f"sample_{trace.id}"
    seq, turn = ordered[paging.current_page(key, len(ordered), 1) - 1]
    with st.container(border=True):
        place = samples.index((seq, turn)) + 1
        turns.draw_turn(trace.id, seq, turn, f"Comment {place} of {len(samples)} · {turns.format_reading(turn)}")
        paging.draw_pagination(key, len(ordered), 1)
    _draw_histogram(trace, peers, [turn.reading for _, turn in samples], verdict, settings)
    st.caption(_summary([turn.reading for _, turn in samples], requested, verdict, live))


def _draw_histogram(
    trace: Trace,
    peers: Sequence[NumberedTurn],
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
    draw_samples(readings, {"peers": of_peers, "people": people}, verdict, scale, f"samples_{trace.id}")
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
