"""A debate as people watch it: the stance grid, then the talk. Live, finished and imported ones are drawn alike."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.items import Item
from core.stances import Stance, disputes, stances
from core.trace import CallFailed, Event, ReplyUnreadable, Turn, TurnTaken, VerdictReached
from pages.parts import assets, colours
from pages.parts.text import plain, safe
from pages.watch.parts import turns
from storage.traces import Trace

PAGE = 40
"""Events of the talk on one page."""
STANCE = {1: "1", 2: "2", 0: "0 (neither)"}
SWAPPED = (
    ":material/swap_horiz: The judges read the responses in swapped order: their “Submission 1” is Response 2. "
    "Stances are told in the order above."
)
stance_grid = st.components.v2.component(
    "stances",
    html='<div class="root"></div>',
    css=assets.read("watch/parts/stances.css"),
    js=assets.read("watch/parts/stances.js"),
)


def render(trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], live: bool) -> None:
    """Grid and talk, the judges in the order of the settings; `live` while more is to come."""
    trace_id, judges = trace.id, [str(judge["name"]) for judge in settings.get("judges", [])]
    talk = stances(events)
    told = _order(talk, events)
    page = _page(trace_id, len(told))
    clicked = _map(trace_id, talk, judges, live)
    if clicked is not None:
        page = next(place for place, (seq, _) in enumerate(told) if seq == clicked) // PAGE + 1
        st.session_state[f"talk_page_{trace_id}"] = page
    if any(isinstance(event, TurnTaken) and event.turn.shown == (2, 1) for _, event in events):
        st.caption(SWAPPED)
    before = {stance.seq: stance for stance in talk}
    for seq, event in told[(page - 1) * PAGE : page * PAGE]:
        _event(trace_id, seq, event, before.get(seq))
    if len(told) > PAGE:
        st.pagination(-(-len(told) // PAGE), key=f"talk_page_{trace_id}")


def _order(talk: Sequence[Stance], events: Sequence[tuple[int, Event]]) -> list[tuple[int, Event]]:
    """Turns in the order of the flow; trouble stays before the turn that it led to."""
    place = {stance.seq: number for number, stance in enumerate(talk)}
    asks = {event.ask: place[seq] for seq, event in events if isinstance(event, TurnTaken)}

    def key(told: tuple[int, Event]) -> tuple[float, int]:
        seq, event = told
        if isinstance(event, TurnTaken):
            return place[seq], 1
        if isinstance(event, ReplyUnreadable | CallFailed):
            return asks.get(event.ask, len(talk)), 0
        return len(talk) + 1, seq

    return sorted(events, key=key)


def _page(trace_id: int, length: int) -> int:
    last = max(1, -(-length // PAGE))
    return min(int(st.session_state.get(f"talk_page_{trace_id}", 1)), last)


def _map(trace_id: int, talk: Sequence[Stance], judges: Sequence[str], live: bool) -> int | None:
    """The stance grid; the number of the event that was clicked, when it is on another page of the talk."""
    names = list(dict.fromkeys([*judges, *(stance.judge for stance in talk)]))
    last = max((stance.round for stance in talk), default=0)
    places = {name: place for place, name in enumerate(names)}
    asked: list[list[int]] = []
    if live:
        spoken = {(stance.judge, stance.round) for stance in talk}
        now = last + 1 if all((name, last) in spoken for name in names) else last
        asked = [[places[name], now] for name in names if (name, now) not in spoken]
        last = max(last, now)
    found = stance_grid(
        key=f"stances_{trace_id}",
        data={
            "trace": trace_id,
            "judges": names,
            "rounds": ["first", *(f"round {number}" for number in range(1, last + 1))],
            "stances": [_cell(stance, places) for stance in talk],
            "asked": asked,
            "disputes": disputes(talk),
            "colours": {str(value): colour for value, colour in colours.RESPONSE.items()},
            "inks": {str(value): colours.on(colour) for value, colour in colours.RESPONSE.items()},
        },
        on_goto_change=lambda: None,
    )
    return found.goto


def _cell(stance: Stance, places: dict[str, int]) -> list[Any]:
    """A stance in few letters, since there may be ten thousand: seq, judge, round, value, changed from, problem."""
    return [
        stance.seq,
        places[stance.judge],
        stance.round,
        stance.value,
        stance.before if stance.changed else None,
        stance.problem,
    ]


def _event(trace_id: int, seq: int, event: Event, stance: Stance | None) -> None:
    match event:
        case TurnTaken(turn=turn):
            _turn(trace_id, seq, turn, stance)
        case VerdictReached(verdict=verdict):
            word, icon, colour = colours.STATUS[verdict.outcome]
            value = f": {STANCE.get(verdict.value, verdict.value)}" if verdict.value is not None else ""  # type: ignore[arg-type]
            st.markdown(f":{colour}-badge[{icon} {word}{value}] {plain(verdict.reason)}")
        case _:
            turns.trouble(event, "debate")


def _turn(trace_id: int, seq: int, turn: Turn, stance: Stance | None) -> None:
    with st.container(key=f"turn-{trace_id}-{seq}", gap="small"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown(f"**{plain(turn.speaker)}** · {_when(turn)} · {_says(turn, stance)}")
            st.caption(turns.cost(turn.usage), width="content")
        with st.container(key=f"card-turn-{trace_id}-{seq}"):
            st.markdown(safe(turn.reply) if turn.reply.strip() else "*(an empty reply)*")
        turns.prompt(trace_id, seq)


def _when(turn: Turn) -> str:
    return "first opinion" if turn.round == 0 else f"round {turn.round}"


def _says(turn: Turn, stance: Stance | None) -> str:
    if turn.reading is None:
        return f"no verdict: {plain(turn.problem)}"
    now = STANCE.get(turn.reading, str(turn.reading))  # type: ignore[call-overload]
    if stance is not None and stance.changed:
        return f":orange[**from {STANCE.get(stance.before, stance.before)} to {now}**]"  # type: ignore[arg-type]
    return f"**{now}**"
