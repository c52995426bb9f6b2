"""The default view of a trace: the grid of stances, the turns, and the verdict.

Live, finished and imported traces are drawn alike. Preferences are drawn in the colours of the responses, scores and
answers as their values; a trace of several criteria has a row for each judge and criterion.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import streamlit as st

from core.items import Item
from core.labels import Opinion, Value
from core.protocols.registry import PROTOCOLS
from core.trace import Event, Turn, TurnCompleted, Verdict, VerdictReached
from core.verdicts import Heard, Stance, find_disagreements, list_stances
from pages.parts import colours, paging, shell
from pages.parts.numbers import RESPONSE_NAMES, format_value
from pages.parts.text import escape_markdown
from pages.watch.parts import turns
from pages.watch.parts.turns import NumberedEvent
from storage.runs.traces import Trace

# A judge, and the criterion and the order of the responses if there are several.
Row = tuple[str, str]
EVENTS_PER_PAGE = 40
NO_LABELS: Mapping[int, str] = {}
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
    stances = _stances_by_row(events, turns.history_of(trace.protocol, settings))
    preference = _judges_preference(trace, item, events)
    ordered = _in_flow_order(stances, events)
    page_key = f"talk_page_{trace.id}"
    page = paging.current_page(page_key, len(ordered), EVENTS_PER_PAGE)
    rows = _rows(stances, _judge_names(settings))
    several = len({criterion for _, criterion in rows}) > 1
    clicked = draw_grid(
        trace.id,
        {f"{judge} · {criterion}" if several else judge: criterion for judge, criterion in rows},
        [(rows.index(row), stance) for row, stance in stances],
        RESPONSE_NAMES if preference else {},
        {str(value): colour for value, colour in colours.RESPONSE.items() if preference},
        _round_name,
        live,
        title="Stances" if preference else "Values",
    )
    if clicked is not None:
        index = next(index for index, (seq, _) in enumerate(ordered) if seq == clicked)
        page = st.session_state[page_key] = paging.page_of(index, EVENTS_PER_PAGE)
    orders = _orders(events)
    if (2, 1) in orders:
        st.caption(BOTH_ORDERS if len(orders) > 1 else SWAPPED)
    by_seq = {stance.seq: stance for _, stance in stances}
    for seq, event in paging.page_slice(ordered, page, EVENTS_PER_PAGE):
        _draw_event(trace.id, seq, event, by_seq.get(seq), preference, has_orders=len(orders) > 1)
    paging.draw_pagination(page_key, len(ordered), EVENTS_PER_PAGE)


def _judge_names(settings: Mapping[str, Any]) -> list[str]:
    """Return the names of the judges in some settings; settings of unknown protocols may have another shape."""
    judges = settings.get("judges")
    return [str(judge["name"]) for judge in judges if isinstance(judge, dict) and "name" in judge] if judges else []


def _judges_preference(trace: Trace, item: Item, events: Sequence[NumberedEvent]) -> bool:
    """Return whether the readings 1, 2 and 0 are responses: by the opinions, otherwise by the protocol."""
    opinions = [
        opinion for _, event in events if isinstance(event, VerdictReached) for opinion in event.verdict.opinions
    ]
    if opinions:
        return any(opinion.kind == "preference" for opinion in opinions)
    if trace.protocol not in PROTOCOLS:
        return len(item.responses) == 2
    return PROTOCOLS[trace.protocol].judges == "pair" and len(item.responses) != 1  # one: a debate about its steps


def _orders(events: Sequence[NumberedEvent]) -> list[tuple[int, ...]]:
    return sorted({event.turn.shown for _, event in events if isinstance(event, TurnCompleted) and event.turn.shown})


def _stances_by_row(events: Sequence[NumberedEvent], heard: Heard | None) -> list[tuple[Row, Stance]]:
    """Return (row, stance) of every turn in the order of the flow; changes are tracked within one group of turns."""
    completed = {seq: event for seq, event in events if isinstance(event, TurnCompleted)}
    has_orders = len(_orders(events)) > 1
    groups: dict[str, list[NumberedEvent]] = {}
    for seq, event in sorted(completed.items(), key=lambda pair: pair[1].turn.shown if has_orders else ()):
        groups.setdefault(_group_name(event.turn, has_orders=has_orders), []).append((seq, event))
    stances = [((one.judge, name), one) for name, group in groups.items() for one in list_stances(group, heard)]
    return sorted(stances, key=lambda pair: (completed[pair[1].seq].ask, pair[1].seq))


def _group_name(turn: Turn, *, has_orders: bool) -> str:
    """Return the criterion of a turn, with the order of the responses if there are several."""
    return " · ".join(filter(None, (turn.criterion, _order_name(turn) if has_orders else "")))


def _order_name(turn: Turn) -> str:
    return f"order {', '.join(map(str, turn.shown))}" if turn.shown else ""


def _in_flow_order(stances: Sequence[tuple[Row, Stance]], events: Sequence[NumberedEvent]) -> list[NumberedEvent]:
    """Return the events in the order of the flow: failed attempts before their turn, the verdict last."""
    positions = {stance.seq: position for position, (_, stance) in enumerate(stances)}
    asks = {event.ask: positions[seq] for seq, event in events if isinstance(event, TurnCompleted)}

    def sort_key(numbered: NumberedEvent) -> tuple[int, int]:
        seq, event = numbered
        if isinstance(event, TurnCompleted):
            return positions[seq], 1
        if (ask := getattr(event, "ask", None)) is not None:
            return asks.get(ask, len(stances)), 0
        return len(stances) + 1, seq

    return sorted(events, key=sort_key)


def _rows(stances: Sequence[tuple[Row, Stance]], judges: Sequence[str]) -> list[Row]:
    """Return the rows of the grid: the judges of the settings and all others, by criterion."""
    criteria = list(dict.fromkeys(criterion for (_, criterion), _ in stances)) or [""]
    names = list(dict.fromkeys([*judges, *(judge for (judge, _), _ in stances)]))
    return [(judge, criterion) for criterion in criteria for judge in names]


def draw_grid(
    trace_id: int,
    rows: Mapping[str, Hashable],
    stances: Sequence[tuple[int, Stance]],
    names: Mapping[Any, str],
    fills: Mapping[str, str],
    name_round: Callable[[int], str],
    live: bool,
    *,
    labels: Mapping[int, str] = NO_LABELS,
    rounds: int = 0,
    **texts: str,
) -> int | None:
    """Draw stances of the rows by rounds; returns the number of a clicked event on another page.

    `rows`: name -> its discussion, in which stances can disagree with each other. `names` are those of values, `fills`
    their colours, `labels` the texts of cells by event. While the trace is live, those whose turn comes next are marked
    as pending; a discussion has as many `rounds` if that is known.
    """
    answered = {(row, stance.round) for row, stance in stances}
    last = max((number for _, number in answered), default=0)
    pending: list[list[int]] = []
    if live:
        current = last + 1 if all((row, last) in answered for row in range(len(rows))) else last
        if not rounds or current < rounds:
            pending, last = [[row, current] for row in range(len(rows)) if (row, current) not in answered], current
    groups = list(rows.values())
    discussions = [[one for row, one in stances if groups[row] == group] for group in dict.fromkeys(groups)]
    # Turns that were only discussion have neither a value nor a problem.
    shown = [(row, stance) for row, stance in stances if stance.value is not None or stance.problem]
    with st.container(key=f"grid-{trace_id}"):  # stays in view
        grid = stance_grid(
            key=f"stances_{trace_id}",
            data={
                "trace": trace_id,
                "judges": list(rows),
                "rounds": [name_round(number) for number in range(max(rounds, last + 1))],
                "stances": [[*_cell(row, stance, names, name_round), labels.get(stance.seq)] for row, stance in shown],
                "pending": pending,
                "disputes": [seq for discussion in discussions for seq in find_disagreements(discussion)],
                "colours": fills,
                "inks": {value: colours.text_colour(colour) for value, colour in fills.items()},
                **({} if names else {"words": {}}),
                **texts,
            },
            on_goto_change=lambda: None,
        )
    clicked: int | None = grid.goto
    return clicked


def _cell(row: int, stance: Stance, names: Mapping[Any, str], name_round: Callable[[int], str]) -> list[Any]:
    """Return seq, row, round, value, change and problem; an array is short if there are 10,000 of them."""
    value = stance.value if names or stance.value is None else format_value(stance.value)
    return [stance.seq, row, stance.round, value, describe_change(stance, names, name_round), stance.problem]


def describe_change(stance: Stance, names: Mapping[Any, str], name_round: Callable[[int], str]) -> str | None:
    """Return `changed from Response 1 to Response 2, as judge B held in round 1`; None if nothing changed."""
    if not stance.changed:
        return None
    before, after = (
        names.get(value, format_value(value)) if isinstance(value, int) else format_value(value)
        for value in (stance.previous_value, stance.value)
    )
    return f"changed from {before} to {after}{turns.describe_order(stance, name_round)}"


def _round_name(number: int) -> str:
    return "first" if number == 0 else f"round {number}"


def _draw_event(
    trace_id: int, seq: int, event: Event, stance: Stance | None, preference: bool, *, has_orders: bool
) -> None:
    match event:
        case TurnCompleted(turn=turn):
            order = [_order_name(turn)] if has_orders and turn.shown else []
            turns.draw_turn(trace_id, seq, turn, " · ".join(_heading(turn, stance, preference) + order))
        case VerdictReached(verdict=verdict):
            _draw_verdict(trace_id, seq, verdict, preference)
        case _:
            turns.draw_problem(seq, event, "debate")


def _heading(turn: Turn, stance: Stance | None, preference: bool) -> list[str]:
    """Return `judge A`, `clarity`, `round 1` and the value, in Markdown."""
    criterion = [escape_markdown(turn.criterion)] if turn.criterion else []
    when = "first opinion" if turn.round == 0 else f"round {turn.round}"
    return [f"**{escape_markdown(turn.speaker)}**", *criterion, when, _reading(turn, stance, preference)]


def _reading(turn: Turn, stance: Stance | None, preference: bool) -> str:
    if turn.reading is None or stance is None or not stance.changed:
        is_choice = preference and isinstance(turn.reading, int)
        return _stance_name(turn.reading, preference) if is_choice else turns.format_reading(turn)
    before, after = (_stance_name(value, preference) for value in (stance.previous_value, turn.reading))
    return f"**changed** from {before} to {after}{escape_markdown(turns.describe_order(stance, _round_name))}"


def _stance_name(value: Value | None, preference: bool) -> str:
    if preference and isinstance(value, int):
        return turns.CHIPS[value].format(STANCE_NAMES[value]) if value in STANCE_NAMES else str(value)
    return escape_markdown(format_value(value))


def _draw_verdict(trace_id: int, seq: int, verdict: Verdict, preference: bool) -> None:
    """Draw the outcome, the value and the reason; of several criteria, also a table of opinions."""
    name, icon, colour = colours.STATUS[verdict.outcome]
    value = f": {_stance_name(verdict.value, preference)}" if verdict.value is not None else ""
    with st.container(key=f"turn-{trace_id}-{seq}"):
        st.markdown(f":{colour}-badge[{icon} {name}]{value} {escape_markdown(verdict.reason)}")
    final = [opinion for opinion in verdict.opinions if opinion.stage != "first"]
    criteria = list(dict.fromkeys(opinion.criterion for opinion in final))
    if len(criteria) > 1:
        _draw_opinions(final, criteria)


def _draw_opinions(opinions: Sequence[Opinion], criteria: Sequence[str]) -> None:
    """Draw a table: one row per criterion, one column per judge, and the verdict in the last column."""
    judges = list(dict.fromkeys(opinion.judge for opinion in opinions if opinion.stage == "last"))
    cells = {
        (opinion.criterion, "" if opinion.stage == "verdict" else opinion.judge): _opinion_text(opinion)
        for opinion in opinions
    }
    rows = ([escape_markdown(one), *(cells.get((one, judge), "–") for judge in [*judges, ""])] for one in criteria)
    turns.draw_table(["Criterion", *map(escape_markdown, judges), "Verdict"], rows)


def _opinion_text(opinion: Opinion) -> str:
    if opinion.value is None:
        return f"no verdict: {escape_markdown(opinion.problem)}" if opinion.problem else "no verdict"
    if opinion.kind == "preference" and isinstance(opinion.value, int):
        return RESPONSE_NAMES.get(opinion.value, str(opinion.value))
    return escape_markdown(format_value(opinion.value))
