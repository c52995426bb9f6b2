"""A peer review as people watch it: peers as cards, then the area chair's samples, and what people say."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.items import Item
from core.labels import Kind, Label, Scale, Target, Value
from core.protocols import ratings
from core.protocols.refer import protocol as refer
from core.trace import Event, Turn, TurnTaken, Verdict, VerdictReached
from pages.parts import numbers, resources, shell
from pages.parts.text import plain, safe
from pages.watch.parts import peer_charts, turns
from pages.watch.parts.peer_charts import Said
from storage import database
from storage.reports import peer_reviews
from storage.traces import Trace

Told = tuple[int, Turn]
"""The number of an event, and its turn."""
ROW = 3
"""Peers beside each other."""


def render(trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], live: bool) -> None:
    """Cards, histogram and comments; `live` while more is to come."""
    taken = sorted((event.ask, seq, event.turn) for seq, event in events if isinstance(event, TurnTaken))
    peers = [(seq, turn) for _, seq, turn in taken if turn.step == "peer"]
    samples = [(seq, turn) for _, seq, turn in taken if turn.step == "chair"]
    verdict = next((event.verdict for _, event in events if isinstance(event, VerdictReached)), None)
    criterion = str((settings.get("criterion") or {}).get("name") or "")
    cards(trace.id, peers, criterion, _waiting(settings, peers, live))
    chair(trace, peers, samples, verdict, settings, live)
    for _, event in events:
        turns.trouble(event, "review")


def _waiting(settings: dict[str, Any], peers: Sequence[Told], live: bool) -> list[str]:
    """The peers that have not answered yet, while more is to come."""
    there = {turn.speaker for _, turn in peers}
    return [str(peer["name"]) for peer in settings.get("peers", ()) if live and peer["name"] not in there]


def cards(trace_id: int, peers: Sequence[Told], criterion: str, waiting: Sequence[str]) -> None:
    """One card a peer: its score, its comment, and its prompt folded."""
    there: list[Told | str] = [*peers, *waiting]
    for first in range(0, len(there), ROW):
        row = there[first : first + ROW]
        for column, one in zip(st.columns(min(ROW, len(there)), gap="medium"), row, strict=False):
            with column:
                _asked(one) if isinstance(one, str) else _card(trace_id, *one, criterion)


def _card(trace_id: int, seq: int, turn: Turn, criterion: str) -> None:
    with st.container(border=True, key=f"card-peer-{trace_id}-{seq}"):
        st.markdown(f"**{plain(turn.speaker)}** · {_value(turn)}")
        with st.container(key=f"fold-peer-{trace_id}-{seq}"):
            st.markdown(safe(ratings.comment(turn.reply, (criterion,))) or "*(no comment)*")
        st.caption(turns.cost(turn.usage))
        turns.prompt(trace_id, seq)


def _asked(name: str) -> None:
    with st.container(border=True):
        st.markdown(f"**{plain(name)}**")
        st.caption(":material/sync: is being asked")


def _value(turn: Turn) -> str:
    return f"**{told(turn.reading)}**" if turn.reading is not None else f"no verdict: {plain(turn.problem)}"


def told(value: Value | None) -> str:
    """A score or an answer; means with two decimals."""
    if value is None:
        return "–"
    return (
        f"{value:.2f}"
        if isinstance(value, float) and not value.is_integer()
        else plain(f"{value:g}" if isinstance(value, float) else str(value))
    )


def chair(
    trace: Trace,
    peers: Sequence[Told],
    samples: Sequence[Told],
    verdict: Verdict | None,
    settings: dict[str, Any],
    live: bool,
) -> None:
    """The chair's samples as a histogram with their verdict, then one comment of them."""
    wanted = int(settings.get("samples", len(samples)) or 1)
    name = str((settings.get("chair") or {}).get("name") or "area chair")
    st.subheader(f"{plain(name).capitalize()}, {numbers.count(wanted, 'sample')}", anchor=False)
    if not samples:
        st.caption(":material/sync: The chair is asked once every peer has answered." if live else "It was not asked.")
        return
    people, hidden = _people(trace, settings)
    left, right = st.columns([3, 2], gap="large")
    with left:
        said = [Said(turn.speaker, turn.reading) for _, turn in peers if turn.reading is not None]
        human = [Said(label.annotator, label.value) for label in people if label.value is not None]
        readings = [turn.reading for _, turn in samples]
        figure = peer_charts.samples(readings, said, human, verdict.value if verdict else None, _scale(settings))
        peer_charts.draw(figure, f"samples_{trace.id}", _alt(readings, said, human, verdict))
        st.caption(_words(readings, wanted, verdict, live))
        if hidden:
            st.caption(":material/visibility_off: What people say shows once you have labelled this item yourself.")
        elif not human:
            st.caption("Nobody has labelled this item yet.")
    with right:
        comment(trace.id, samples, verdict, settings)


def _people(trace: Trace, settings: dict[str, Any]) -> tuple[list[Label], bool]:
    """What people say of the same, and whether it is held back."""
    kind: Kind = "score" if settings.get("verdict", "score") == "score" else "answer"
    target = Target(item=trace.item, kind=kind, criterion=trace.criterion)
    with database.reading(resources.engine()) as session:
        found = peer_reviews.people(session, trace.study_id, target, shell.annotator())
    return found or [], found is None


def _scale(settings: dict[str, Any]) -> Scale | None:
    told = (settings.get("criterion") or {}).get("scale")
    return Scale.model_validate(told) if told else None


def _words(readings: Sequence[Value | None], wanted: int, verdict: Verdict | None, live: bool) -> str:
    """How many samples there are, and how many of them could be read."""
    read = sum(reading is not None for reading in readings)
    if live and len(readings) < wanted:
        return f"{len(readings)} of {wanted} samples so far; {read} could be read."
    if verdict is None:
        return f"{read} of {len(readings)} samples could be read."
    return f"{plain(verdict.reason[0].upper() + verdict.reason[1:])}."


def _alt(
    readings: Sequence[Value | None], peers: Sequence[Said], people: Sequence[Said], verdict: Verdict | None
) -> str:
    parts = [f"samples {', '.join(told(reading) for reading in readings)}"]
    parts += [f"verdict {told(verdict.value)}"] if verdict else []
    for name, said in (("peers", peers), ("people", people)):
        parts += [f"{name} {', '.join(f'{one.who} {told(one.value)}' for one in said)}"] if said else []
    return "; ".join(parts)


def comment(trace_id: int, samples: Sequence[Told], verdict: Verdict | None, settings: dict[str, Any]) -> None:
    """One of the samples' comments; the final one first, the others by ‹ ›."""
    final = refer.shown([turn for _, turn in samples], verdict.value if verdict else None)
    key = f"sample_{trace_id}"
    place = min(st.session_state.get(key, final or 0), len(samples) - 1)
    seq, turn = samples[place]
    with st.container(border=True, key=f"card-chair-{trace_id}"):
        with st.container(horizontal=True, vertical_alignment="center", wrap=False):
            st.markdown(f"Comment {place + 1} of {len(samples)} · {_value(turn)}", width="stretch")
            for sign, step, words in (("‹", -1, "The comment before"), ("›", 1, "The next comment")):
                st.button(
                    sign,
                    key=f"{key}_{step}",
                    help=words,
                    type="tertiary",
                    disabled=len(samples) < 2,
                    on_click=_turn_to,
                    args=(key, (place + step) % len(samples)),
                )
        if place == final and len(samples) > 1:
            near = "gives" if isinstance(samples[place][1].reading, str) else "is nearest to"
            st.caption(f":material/star: the final comment: the first that {near} the verdict")
        name = str((settings.get("criterion") or {}).get("name") or "")
        st.markdown(safe(ratings.comment(turn.reply, (name,))) or "*(no comment)*")
        st.caption(turns.cost(turn.usage))
        turns.prompt(trace_id, seq)


def _turn_to(key: str, place: int) -> None:
    st.session_state[key] = place
