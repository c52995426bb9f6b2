"""The view of a peer review: the peers as cards, the area chair's samples, and people's scores."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.items import Item
from core.labels import Kind, Label, Scale, Target, Value
from core.protocols.refer import protocol as refer
from core.trace import Event, Turn, TurnCompleted, Verdict, VerdictReached
from pages.parts import charts, numbers, resources, shell
from pages.parts.chart_files import ChartData
from pages.parts.numbers import format_value
from pages.parts.text import escape_markdown
from pages.watch.parts import sample_charts, turns
from pages.watch.parts.sample_charts import RaterValue
from pages.watch.parts.turns import draw_reading
from storage.db import connections
from storage.reports import peer_reviews
from storage.runs.traces import Trace

NumberedTurn = tuple[int, Turn]
"""The number of an event, and its turn."""
CARDS_PER_ROW = 3
LONGEST_VALUE_LINE = 40
"""Characters of a last line that only states the value."""


def render(trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], live: bool) -> None:
    """Draw the cards, then the histogram next to one comment of the chair."""
    trace, events, settings = turns.choose_part(trace, events, settings)
    completed = sorted((event.ask, seq, event.turn) for seq, event in events if isinstance(event, TurnCompleted))
    peers = [(seq, turn) for _, seq, turn in completed if turn.step == "peer"]
    samples = [(seq, turn) for _, seq, turn in completed if turn.step == "chair"]
    verdict = next((event.verdict for _, event in events if isinstance(event, VerdictReached)), None)
    draw_cards(trace.id, peers, _pending_peers(settings, peers) if live else [])
    draw_chair(trace, peers, samples, verdict, settings, live)
    for seq, event in events:
        turns.draw_problem(seq, event, "review")


def _pending_peers(settings: dict[str, Any], peers: Sequence[NumberedTurn]) -> list[str]:
    """Return the names of the peers that have not answered yet."""
    answered = {turn.speaker for _, turn in peers}
    return [str(peer["name"]) for peer in settings.get("peers", ()) if peer["name"] not in answered]


def draw_cards(trace_id: int, peers: Sequence[NumberedTurn], pending: Sequence[str]) -> None:
    """Draw one card per peer: its score, its comment and its collapsed prompt."""
    cards: list[NumberedTurn | str] = [*peers, *pending]
    for start in range(0, len(cards), CARDS_PER_ROW):
        row = cards[start : start + CARDS_PER_ROW]
        for column, card in zip(st.columns(min(CARDS_PER_ROW, len(cards)), gap="medium"), row, strict=False):
            with column:
                if isinstance(card, str):
                    _draw_pending_card(card)
                else:
                    _draw_card(trace_id, *card)


def _draw_card(trace_id: int, seq: int, turn: Turn) -> None:
    with st.container(border=True, key=f"card-peer-{trace_id}-{seq}"):
        st.markdown(f"**{escape_markdown(turn.speaker)}** · {_reading(turn)}")
        with st.container(key=f"collapsible-peer-{trace_id}-{seq}"):
            turns.draw_shortened(_comment(turn) or "*(no comment)*")
        turns.draw_whole(_comment(turn), f"{trace_id}-{seq}")
        draw_reading(turn, with_passage=True)
        st.caption(turns.format_usage(turn))
        turns.draw_prompt(trace_id, seq)


def _draw_pending_card(name: str) -> None:
    with st.container(border=True):
        st.markdown(f"**{escape_markdown(name)}**")
        st.caption(":material/sync: Waiting for the reply.")


def _comment(turn: Turn) -> str:
    """Return the reply without a last line that states the value, which the heading shows."""
    lines = turn.statement.splitlines()
    if lines and turn.reading is not None and len(lines[-1]) <= LONGEST_VALUE_LINE:
        lines = lines[:-1] if format_value(turn.reading) in lines[-1] else lines
    return "\n".join(lines).strip().removeprefix("Analysis:").strip()


def _reading(turn: Turn) -> str:
    if turn.reading is None:
        return f"no verdict: {escape_markdown(turn.problem)}"
    return f"**{escape_markdown(format_value(turn.reading))}**"


def draw_chair(
    trace: Trace,
    peers: Sequence[NumberedTurn],
    samples: Sequence[NumberedTurn],
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
    left, right = st.columns([3, 2], gap="large")
    with left:
        draw_histogram(trace, peers, [turn.reading for _, turn in samples], verdict, settings)
        st.caption(_summary([turn.reading for _, turn in samples], requested, verdict, live))
    with right:
        draw_comment(trace.id, samples, verdict, settings)


def draw_histogram(
    trace: Trace,
    peers: Sequence[NumberedTurn],
    readings: Sequence[Value | None],
    verdict: Verdict | None,
    settings: dict[str, Any],
) -> None:
    """Draw the samples with the peers and the people, or the reason why no people are shown."""
    labels, hidden = _load_labels(trace, settings)
    peer_values = [RaterValue(turn.speaker, turn.reading) for _, turn in peers if turn.reading is not None]
    people = [RaterValue(label.annotator, label.value) for label in labels if label.value is not None]
    value = verdict.value if verdict else None
    figure = sample_charts.sample_figure(readings, peer_values, people, value, _scale(settings))
    alt = _alt(readings, peer_values, people, verdict)
    charts.draw(figure, f"samples_{trace.id}", alt, data=ChartData(method="Samples of one trace"))
    if hidden:
        st.caption(":material/visibility_off: People's scores are shown after you have labelled this item.")
    elif not people:
        st.caption("This item has no labels yet.")


def _load_labels(trace: Trace, settings: dict[str, Any]) -> tuple[list[Label], bool]:
    """Return people's labels of the trace's target, and whether they are hidden from this annotator."""
    kind: Kind = "score" if settings.get("verdict", "score") == "score" else "answer"
    target = Target(item=trace.item, kind=kind, criterion=trace.criterion)
    with connections.reading(resources.engine()) as session:
        labels = peer_reviews.visible_labels(session, trace.study_id, target, shell.current_annotator())
    return labels or [], labels is None


def _scale(settings: dict[str, Any]) -> Scale | None:
    scale = (settings.get("criterion") or {}).get("scale")
    return Scale.model_validate(scale) if scale else None


def _summary(readings: Sequence[Value | None], requested: int, verdict: Verdict | None, live: bool) -> str:
    """Return how many samples there are, and how many of them could be read."""
    readable = sum(reading is not None for reading in readings)
    if live and len(readings) < requested:
        return f"{len(readings)} of {requested} samples so far; {readable} could be read."
    if verdict is None:
        return f"{readable} of {len(readings)} samples could be read."
    return f"{escape_markdown(verdict.reason[0].upper() + verdict.reason[1:])}."


def _alt(
    readings: Sequence[Value | None], peers: Sequence[RaterValue], people: Sequence[RaterValue], verdict: Verdict | None
) -> str:
    """Return the chart in words."""
    parts = [f"samples {', '.join(format_value(reading) for reading in readings)}"]
    parts += [f"verdict {format_value(verdict.value)}"] if verdict else []
    for name, rated in (("peers", peers), ("people", people)):
        parts += (
            [f"{name} {', '.join(f'{opinion.rater} {format_value(opinion.value)}' for opinion in rated)}"]
            if rated
            else []
        )
    return "; ".join(parts)


def draw_comment(
    trace_id: int, samples: Sequence[NumberedTurn], verdict: Verdict | None, settings: dict[str, Any]
) -> None:
    """Draw the comment of one sample: first the representative one, the others with ‹ and ›."""
    representative = refer.representative_sample([turn for _, turn in samples], verdict.value if verdict else None)
    key = f"sample_{trace_id}"
    index = min(st.session_state.get(key, representative or 0), len(samples) - 1)
    seq, turn = samples[index]
    with st.container(border=True, key=f"card-chair-{trace_id}"):
        with st.container(horizontal=True, vertical_alignment="center", wrap=False):
            st.markdown(f"Comment {index + 1} of {len(samples)} · {_reading(turn)}", width="stretch")
            for sign, step, help_text in (("‹", -1, "Previous comment"), ("›", 1, "Next comment")):
                st.button(
                    sign,
                    key=f"{key}_{step}",
                    help=help_text,
                    type="tertiary",
                    disabled=len(samples) < 2,
                    on_click=_select_sample,
                    args=(key, (index + step) % len(samples)),
                )
        if index == representative and len(samples) > 1:
            relation = "equal to" if isinstance(turn.reading, str) else "closest to"
            st.caption(f":material/star: Final comment: the first sample {relation} the verdict.")
        turns.draw_markdown(_comment(turn) or "*(no comment)*", f"{trace_id}-{seq}")
        draw_reading(turn, with_passage=True)
        st.caption(turns.format_usage(turn))
        turns.draw_prompt(trace_id, seq)


def _select_sample(key: str, index: int) -> None:
    st.session_state[key] = index
