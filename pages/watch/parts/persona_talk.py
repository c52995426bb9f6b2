"""A talk of personas as people watch it: the scores turn by turn, then who said what, and what each had heard of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import streamlit as st

from core.items import Item
from core.problems import Problem
from core.protocols.chateval.protocol import Settings, heard
from core.protocols.registry import PROTOCOLS
from core.protocols.settings_file import checked
from core.trace import CallFailed, Event, ReplyUnreadable, TraceFailed, Turn, TurnTaken, VerdictReached
from pages.parts.text import plain, safe
from pages.watch.parts import debate, persona_scores, turns
from storage.traces import Trace

Told = tuple[int, Turn]
"""The number of an event, and its turn."""
PAGE = 40
"""Contributions on one page, whole turns at a time."""
INSTEAD = "the contributions themselves were passed on"
SWAPPED = (
    ":material/swap_horiz: In this talk “Assistant 1” is Response 2. The scores beside the names stay in the "
    "item's own order."
)
OUTCOMES = {1: "Response 1 is better", 2: "Response 2 is better", 0: "Neither is better"}


def render(trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], live: bool) -> None:
    """Scores, chart and talk; `live` while more is to come. A run that tells too little of itself is a debate."""
    try:
        told = checked(settings, PROTOCOLS[trace.protocol])
    except Problem:
        return debate.render(trace, item, events, settings, live)
    if not isinstance(told, Settings):
        raise TypeError("this view draws ChatEval's settings only")
    taken = sorted((event.ask, seq, event.turn) for seq, event in events if isinstance(event, TurnTaken))
    said = [(seq, turn) for _, seq, turn in taken]
    conclusion(events, told)
    left, right = st.columns([2, 3], gap="large")
    with left:
        clicked = persona_scores.grid(trace.id, said, told, live)
    with right:
        persona_scores.chart(trace.id, [turn for _, turn in said], told)
    who(told)
    troubles = _troubles(events)
    before = {seq: troubles.pop(ask, []) for ask, seq, _ in taken}
    talk(trace.id, said, told, before, next((turn for seq, turn in said if seq == clicked), None))
    for trouble in [one for several in troubles.values() for one in several]:
        turns.trouble(trouble, "talk")


def _troubles(events: Sequence[tuple[int, Event]]) -> dict[int | None, list[Event]]:
    """What went wrong, by the ask that it went wrong with."""
    found: dict[int | None, list[Event]] = {}
    for _, event in events:
        match event:
            case ReplyUnreadable(ask=ask) | CallFailed(ask=ask):
                found.setdefault(ask, []).append(event)
            case TraceFailed():
                found.setdefault(None, []).append(event)
    return found


def conclusion(events: Sequence[tuple[int, Event]], settings: Settings) -> None:
    """What the talk came to, and how."""
    for _, event in events:
        if isinstance(event, VerdictReached):
            value, reason = event.verdict.value, plain(event.verdict.reason)
            if isinstance(value, int | float):
                named = f"{value:.2f}" if settings.outcome == "rating" else OUTCOMES.get(int(value), str(value))
                st.markdown(f"**{named}** · {reason}")
            else:
                st.markdown(f"{reason[:1].upper()}{reason[1:]}")


def who(settings: Settings) -> None:
    """The personas, and what each is told to be."""
    with st.expander("Who talks", icon=":material/groups:"):
        for persona in settings.personas:
            role = safe(persona.role) if persona.role else "*no role was recorded, or none was given*"
            st.markdown(f"**{plain(persona.name)}** · {plain(persona.spec.model)}  \n{role}")
        if settings.strategy == "simultaneous with summary":
            st.markdown(
                f"**{plain(settings.summing.name)}** · {plain(settings.summing.spec.model)}  \nsums up each turn"
            )


def talk(
    trace_id: int,
    said: Sequence[Told],
    settings: Settings,
    troubles: Mapping[int, Sequence[Event]],
    clicked: Turn | None,
) -> None:
    """What was said, turn by turn; of two orders of the responses, one at a time."""
    order = _order(trace_id, said, settings, clicked)
    mine = [(seq, turn) for seq, turn in said if turn.shown == order]
    rounds = sorted({turn.round for _, turn in mine})
    for number in _page(trace_id, rounds, len(settings.personas), clicked):
        st.subheader(f"Turn {number + 1}" if settings.rounds > 1 else "Each alone", anchor=False)
        for seq, turn in mine:
            if turn.round == number:
                for trouble in troubles.get(seq, ()):
                    turns.trouble(trouble, "talk")
                _turn(trace_id, seq, turn, _heard(settings, turn, [one for _, one in mine]))
    if settings.rounds > 1 and rounds and rounds[0] > 0:
        st.caption("What was said in the turns before was not recorded.")
    _pages(trace_id, rounds, len(settings.personas))


def _order(trace_id: int, said: Sequence[Told], settings: Settings, clicked: Turn | None) -> tuple[int, ...]:
    """The order of the responses whose talk is shown."""
    there = [order for order in settings.orders if any(turn.shown == order for _, turn in said)]
    if len(there) < 2:
        return there[0] if there else settings.orders[0]
    key = f"talk_order_{trace_id}"
    if clicked is not None:
        st.session_state[key] = clicked.shown[0]
    first = st.segmented_control(
        "Two talks, one in each order of the responses",
        [order[0] for order in there],
        format_func=lambda number: f"Response {number} first",
        default=None if key in st.session_state else there[0][0],
        required=True,
        key=key,
    )
    chosen = next((order for order in there if order[0] == first), there[0])
    if chosen == (2, 1):
        st.caption(SWAPPED)
    return chosen


def _page(trace_id: int, rounds: Sequence[int], speakers: int, clicked: Turn | None) -> Sequence[int]:
    """The turns on the page that is open."""
    length, key = max(1, PAGE // max(speakers, 1)), f"talk_page_{trace_id}"
    if clicked is not None and clicked.round in rounds and len(rounds) > length:
        st.session_state[key] = rounds.index(clicked.round) // length + 1
    page = min(int(st.session_state.get(key, 1)), max(1, -(-len(rounds) // length)))
    return rounds[(page - 1) * length : page * length]


def _pages(trace_id: int, rounds: Sequence[int], speakers: int) -> None:
    length = max(1, PAGE // max(speakers, 1))
    if len(rounds) > length:
        st.pagination(-(-len(rounds) // length), key=f"talk_page_{trace_id}")


def _turn(trace_id: int, seq: int, turn: Turn, told: str) -> None:
    with st.container(key=f"turn-{trace_id}-{seq}", gap="small"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown(f"**{plain(turn.speaker)}** · {_says(turn)}")
            st.caption(turns.cost(turn.usage), width="content")
        if told:
            st.caption(f":material/hearing: {told}")
        with st.container(key=f"card-turn-{trace_id}-{seq}"):
            st.markdown(safe(turn.reply) if turn.reply.strip() else "*(an empty reply)*")
        turns.prompt(trace_id, seq)


def _says(turn: Turn) -> str:
    if turn.step == "summary":
        return "sums up" if turn.reading is not None else f"no summary: {plain(turn.problem)}; {INSTEAD}"
    if turn.reading is None:
        return f"no verdict: {plain(turn.problem)}"
    return f"**{persona_scores.written(turn)}**"


def _heard(settings: Settings, turn: Turn, said: Sequence[Turn]) -> str:
    """What a persona had heard before it spoke, in words; empty where nobody hears anybody."""
    if settings.strategy == "alone":
        return ""
    if turn.round > 0 and not any(one.round < turn.round for one in said):
        return "what it had heard was not recorded"
    before = heard(settings, turn, said)
    word = "was given" if turn.step == "summary" else "had heard"
    if not before:
        return f"{word} nobody yet" if turn.round == 0 else f"{word} nobody"
    if before[0].step == "summary":
        return f"{word} the summary of turn {before[0].round + 1}"
    return f"{word} {'; '.join(_by_turn(settings, before))}"


def _by_turn(settings: Settings, before: Sequence[Turn]) -> Iterator[str]:
    """`everybody in turn 1`, `Critic in turn 2`."""
    for number in sorted({turn.round for turn in before}):
        names = [turn.speaker for turn in before if turn.round == number]
        everybody = len(set(names)) == len(settings.personas) > 1
        named = "everybody" if everybody else " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        yield f"{plain(named)} in turn {number + 1}"
