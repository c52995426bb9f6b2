"""The default view of a trace: the grid of stances, the turns, and the verdict.

Live, finished and imported traces are drawn alike. Preferences are drawn in the colours of the responses, scores and
answers as their values; a trace of several criteria has a row for each judge and criterion.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from core.aspects import preferred_response
from core.items import Item
from core.labels import Value
from core.protocols.registry import PROTOCOLS
from core.trace import Turn, TurnCompleted, Verdict, VerdictReached
from core.verdicts import Heard, Stance, find_disagreements, stances_of_turns
from pages.parts import colours, paging, shell
from pages.parts.numbers import RESPONSE_NAMES, format_value
from pages.parts.text import escape_markdown
from pages.watch.parts import turns
from pages.watch.parts.turns import NumberedEvent, NumberedTurn
from storage.runs.traces import Trace

# A judge, and the criterion and the order of the responses if there are several.
Row = tuple[str, str]
EVENTS_PER_PAGE = 40
STANCE_NAMES = {1: "1", 2: "2", 0: "0 (neither)"}
SWAPPED = (
    ":material/swap_horiz: The judges read the responses in swapped order: their “Submission 1” is shown as Response 2."
)
BOTH_ORDERS = (
    ":material/swap_horiz: There is one debate in each order of the responses. In the one that reads Response 2 first, "
    "“Submission 1” is shown as Response 2."
)
stance_grid = st.components.v2.component(
    "stances",
    html='<div class="root"></div>',
    css=shell.read_asset("watch/parts/stances.css"),
    js=shell.read_asset("watch/parts/stances.js"),
)


def render(trace: Trace, item: Item, events: Sequence[NumberedEvent], settings: dict[str, Any], live: bool) -> None:
    """Draw the grid and one page of the events, the judges in the order of the settings."""
    answered, preference = turns.completed(events), judges_preference(trace, item, events)
    stances = _stances_by_row(answered, turns.history_of(trace.protocol, settings))
    orders = _orders(answered)
    clicked = _draw_grid(trace.id, _judge_names(settings), stances, dict(answered), preference, live)
    if (2, 1) in orders:
        st.caption(BOTH_ORDERS if len(orders) > 1 else SWAPPED)
    by_seq = {stance.seq: stance for _, stance in stances}

    def heading(seq: int, turn: Turn) -> str:
        """Return `judge A`, `clarity`, `round 1`, the value and the order of the responses, in Markdown."""
        when = "first opinion" if turn.round == 0 else f"round {turn.round}"
        order = _order_name(turn) if len(orders) > 1 else ""
        value = _describe_value(turn, by_seq[seq], preference)
        parts = (f"**{escape_markdown(turn.speaker)}**", escape_markdown(turn.criterion), when, value, order)
        return " · ".join(filter(None, parts))

    draw_events(trace.id, events, heading, preference=preference, clicked=clicked)


def draw_events(
    trace_id: int,
    events: Sequence[NumberedEvent],
    heading: Callable[[int, Turn], str],
    *,
    preference: bool = False,
    clicked: int | None = None,
) -> None:
    """Draw one page of the events, by default the first, otherwise the one with the event that was clicked.

    In the order of the flow: failed attempts before their turn, the verdict last.
    """

    def place(numbered: NumberedEvent) -> tuple[bool, int, bool, int]:
        seq, event = numbered
        ask: int | None = getattr(event, "ask", None)
        return ask is None, ask or 0, isinstance(event, TurnCompleted), seq

    ordered, key = sorted(events, key=place), f"talk_page_{trace_id}"
    page = paging.current_page(key, len(ordered), EVENTS_PER_PAGE)
    if clicked is not None:
        index = next(index for index, (seq, _) in enumerate(ordered) if seq == clicked)
        page = st.session_state[key] = paging.page_of(index, EVENTS_PER_PAGE)
    for seq, event in paging.page_slice(ordered, page, EVENTS_PER_PAGE):
        match event:
            case TurnCompleted(turn=turn):
                turns.draw_turn(trace_id, seq, turn, heading(seq, turn))
            case VerdictReached(verdict=verdict):
                _draw_verdict(trace_id, seq, verdict, preference)
            case _:
                turns.draw_problem(event, "debate")
    paging.draw_pagination(key, len(ordered), EVENTS_PER_PAGE)


def _judge_names(settings: Mapping[str, Any]) -> list[str]:
    """Return the names of the judges in some settings; settings of unknown protocols may have another shape."""
    judges = settings.get("judges") or settings.get("personas") or ()
    return [str(judge["name"]) for judge in judges if isinstance(judge, dict) and "name" in judge]


def judges_preference(trace: Trace, item: Item, events: Sequence[NumberedEvent]) -> bool:
    """Return whether the readings 1, 2 and 0 are responses: by the opinions, otherwise by the protocol."""
    opinions = [
        opinion for _, event in events if isinstance(event, VerdictReached) for opinion in event.verdict.opinions
    ]
    if opinions:
        return any(opinion.kind == "preference" for opinion in opinions)
    if trace.protocol not in PROTOCOLS:
        return len(item.responses) == 2
    return PROTOCOLS[trace.protocol].judges == "pair" and len(item.responses) != 1  # one: a debate about its steps


def _orders(answered: Sequence[NumberedTurn]) -> list[tuple[int, ...]]:
    return sorted({turn.shown for _, turn in answered if turn.shown})


def _stances_by_row(answered: Sequence[NumberedTurn], heard: Heard | None) -> list[tuple[Row, Stance]]:
    """Return (row, stance) of every turn in the order of the flow; changes are tracked within one group of turns."""
    has_orders = len(_orders(answered)) > 1
    groups: dict[str, list[NumberedTurn]] = {}
    for seq, turn in sorted(answered, key=lambda pair: pair[1].shown if has_orders else ()):
        name = " · ".join(filter(None, (turn.criterion, _order_name(turn) if has_orders else "")))
        groups.setdefault(name, []).append((seq, turn))
    stances = [
        ((one.judge, name), one) for name, group in groups.items() for one in stances_of_turns(group, _stance, heard)
    ]
    places = {seq: place for place, (seq, _) in enumerate(answered)}
    return sorted(stances, key=lambda pair: places[pair[1].seq])


def _stance(turn: Turn) -> Value | None:
    """Return the value of a turn; of the scores of two responses, the response that they prefer."""
    if isinstance(turn.reading, dict) and list(turn.reading) == ["1", "2"]:
        return preferred_response(list(turn.reading.values()))
    return turn.reading


def _order_name(turn: Turn) -> str:
    return f"order {', '.join(map(str, turn.shown))}" if turn.shown else ""


def _draw_grid(
    trace_id: int,
    judges: Sequence[str],
    stances: Sequence[tuple[Row, Stance]],
    answered: Mapping[int, Turn],
    preference: bool,
    live: bool,
) -> int | None:
    """Draw stances by judge and round; returns the number of a clicked event on another page.

    While the trace is live, the judges whose turn comes next are marked as pending.
    """
    # Turns that were only discussion have neither a value nor a problem.
    shown = [(row, stance) for row, stance in stances if stance.value is not None or stance.problem]
    criteria = list(dict.fromkeys(criterion for (_, criterion), _ in shown)) or [""]
    names = dict.fromkeys([*judges, *(judge for (judge, _), _ in shown)])
    rows = [(judge, criterion) for criterion in criteria for judge in names]
    given = {(rows.index(row), stance.round) for row, stance in shown}
    last = max((number for _, number in given), default=0)
    pending: list[list[int]] = []
    if live:
        last += all((row, last) in given for row in range(len(rows)))
        pending = [[row, last] for row in range(len(rows)) if (row, last) not in given]
    discussions = [[one for (_, name), one in stances if name == criterion] for criterion in criteria]
    fills = {str(value): colour for value, colour in colours.RESPONSE.items() if preference}
    with st.container(key=f"grid-{trace_id}"):  # stays in view
        grid = stance_grid(
            key=f"stances_{trace_id}",
            data={
                "trace": trace_id,
                "judges": [f"{judge} · {criterion}" if len(criteria) > 1 else judge for judge, criterion in rows],
                "rounds": [_round_name(number) for number in range(last + 1)],
                "stances": [_cell(rows.index(row), one, answered[one.seq], preference) for row, one in shown],
                "pending": pending,
                "disputes": [seq for discussion in discussions for seq in find_disagreements(discussion)],
                "colours": fills,
                "inks": {value: colours.text_colour(colour) for value, colour in fills.items()},
                "title": "Stances" if preference else "Values",
                **({} if preference else {"words": {}}),
            },
            on_goto_change=lambda: None,
        )
    clicked: int | None = grid.goto
    return clicked


def _cell(row: int, stance: Stance, turn: Turn, preference: bool) -> list[Any]:
    """Return seq, row, round, value, change, problem and text; an array is short if there are 10,000 of them."""
    value = stance.value if preference or stance.value is None else format_value(stance.value)
    text = format_value(turn.reading) if preference and isinstance(turn.reading, dict) else None
    return [stance.seq, row, stance.round, value, _describe_change(stance, preference), stance.problem, text]


def _describe_change(stance: Stance, preference: bool) -> str | None:
    """Return `changed from Response 1 to Response 2, as judge B held in round 1`; None if nothing changed."""
    if not stance.changed:
        return None
    values = stance.previous_value, stance.value
    names: Mapping[Any, str] = RESPONSE_NAMES if preference else {}
    before, after = (names.get(value) or format_value(value) for value in values)
    return f"changed from {before} to {after}{turns.describe_order(stance, _round_name)}"


def _round_name(number: int) -> str:
    return "first" if number == 0 else f"round {number}"


def _describe_value(turn: Turn, stance: Stance, preference: bool) -> str:
    is_choice = preference and isinstance(turn.reading, int)
    value = _stance_name(turn.reading, preference) if is_choice else turns.format_reading(turn)
    if not stance.changed:
        return value
    before, after = (_stance_name(value, preference) for value in (stance.previous_value, stance.value))
    change = f"**changed** from {before} to {after}{escape_markdown(turns.describe_order(stance, _round_name))}"
    return f"{value} · {change}" if isinstance(turn.reading, dict) else change


def _stance_name(value: Value | None, preference: bool) -> str:
    if preference and isinstance(value, int):
        return turns.CHIPS[value].format(STANCE_NAMES[value]) if value in STANCE_NAMES else str(value)
    return escape_markdown(format_value(value))


def _draw_verdict(trace_id: int, seq: int, verdict: Verdict, preference: bool) -> None:
    """Draw the outcome, the value and the reason; of several criteria, the value of each."""
    name, icon, colour = colours.STATUS[verdict.outcome]
    value = f": {_stance_name(verdict.value, preference)}" if verdict.value is not None else ""
    values = {one.criterion: _stance_name(one.value, preference) for one in verdict.opinions if one.stage == "verdict"}
    with st.container(key=f"turn-{trace_id}-{seq}"):
        st.markdown(f":{colour}-badge[{icon} {name}]{value} {escape_markdown(verdict.reason)}")
        if len(values) > 1:
            st.markdown(" · ".join(f"{escape_markdown(criterion)}: {text}" for criterion, text in values.items()))
