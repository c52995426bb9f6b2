"""The view of a discussion of personas: scores by turn, then the turns, each with the contributions that its persona
had read."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import streamlit as st

from core.errors import TiebreakError
from core.items import Item
from core.protocols.chateval.protocol import turns_in_history
from core.protocols.chateval.settings import Settings
from core.protocols.registry import PROTOCOLS
from core.protocols.settings_file import validate_settings
from core.trace import (
    CallFailed,
    Event,
    ReplyUnreadable,
    SchemaRefused,
    TraceFailed,
    Turn,
    TurnCompleted,
    VerdictReached,
)
from pages.parts import paging
from pages.parts.text import escape_markdown, sanitize_markdown
from pages.parts.values import VERDICT_NAMES
from pages.watch.parts import criterion_choice, debate, persona_scores, turns
from storage.traces import Trace

NumberedTurn = tuple[int, Turn]
"""The number of an event, and its turn."""
CONTRIBUTIONS_PER_PAGE = 40
"""Contributions on one page, rounded down to whole turns."""
SUMMARY_FALLBACK = "the contributions were passed on instead"
SWAPPED = (
    ":material/swap_horiz: In this discussion “Assistant 1” is Response 2. The scores next to the names use the item's "
    "own order."
)


def render(trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], live: bool) -> None:
    """Draw scores, chart and discussion; the default view if the settings are incomplete."""
    trace, events, settings = criterion_choice.choose_part(trace, events, settings)
    try:
        run_settings = validate_settings(settings, PROTOCOLS[trace.protocol])
    except TiebreakError:
        return debate.render(trace, item, events, settings, live)
    if not isinstance(run_settings, Settings):
        raise TypeError("this view needs ChatEval's settings")
    completed = sorted((event.ask, seq, event.turn) for seq, event in events if isinstance(event, TurnCompleted))
    numbered_turns = [(seq, turn) for _, seq, turn in completed]
    draw_verdict(events, run_settings)
    left, right = st.columns([2, 3], gap="large")
    with left:
        clicked = persona_scores.draw_grid(trace.id, numbered_turns, run_settings, live)
    with right:
        persona_scores.draw_chart(trace.id, [turn for _, turn in numbered_turns], run_settings)
    draw_personas(run_settings)
    problems = _problems_by_ask(events)
    problems_by_seq = {seq: problems.pop(ask, []) for ask, seq, _ in completed}
    draw_discussion(
        trace.id,
        numbered_turns,
        run_settings,
        problems_by_seq,
        next((turn for seq, turn in numbered_turns if seq == clicked), None),
    )
    for seq, problem in [numbered for problem_events in problems.values() for numbered in problem_events]:
        turns.draw_problem(seq, problem, "discussion")


def _problems_by_ask(events: Sequence[tuple[int, Event]]) -> dict[int | None, list[tuple[int, Event]]]:
    """Return failed attempts and failures by their ask; None for those of the whole trace."""
    problems: dict[int | None, list[tuple[int, Event]]] = {}
    for seq, event in events:
        match event:
            case ReplyUnreadable(ask=ask) | CallFailed(ask=ask) | SchemaRefused(ask=ask):
                problems.setdefault(ask, []).append((seq, event))
            case TraceFailed():
                problems.setdefault(None, []).append((seq, event))
    return problems


def draw_verdict(events: Sequence[tuple[int, Event]], settings: Settings) -> None:
    """Draw the verdict and its reason."""
    for _, event in events:
        if isinstance(event, VerdictReached):
            value, reason = event.verdict.value, escape_markdown(event.verdict.reason)
            if isinstance(value, int | float):
                name = f"{value:.2f}" if settings.outcome == "rating" else VERDICT_NAMES.get(int(value), str(value))
                st.markdown(f"**{name}** · {reason}")
            else:
                st.markdown(f"{reason[:1].upper()}{reason[1:]}")


def draw_personas(settings: Settings) -> None:
    """Draw the personas with their models and roles."""
    with st.expander("Personas", icon=":material/groups:"):
        for persona in settings.personas:
            role = sanitize_markdown(persona.role) if persona.role else "*no role recorded*"
            st.markdown(f"**{escape_markdown(persona.name)}** · {escape_markdown(persona.spec.model)}  \n{role}")
        if settings.strategy == "simultaneous with summary":
            summariser = settings.effective_summariser
            name, model = escape_markdown(summariser.name), escape_markdown(summariser.spec.model)
            st.markdown(f"**{name}** · {model}  \nsummarises each turn")


def draw_discussion(
    trace_id: int,
    numbered_turns: Sequence[NumberedTurn],
    settings: Settings,
    problems: Mapping[int, Sequence[tuple[int, Event]]],
    clicked: Turn | None,
) -> None:
    """Draw the contributions turn by turn, for one order of the responses at a time."""
    order = _choose_order(trace_id, numbered_turns, settings, clicked)
    shown_turns = [(seq, turn) for seq, turn in numbered_turns if turn.shown == order]
    rounds = sorted({turn.round for _, turn in shown_turns})
    for number in _rounds_on_page(trace_id, rounds, len(settings.personas), clicked):
        st.subheader(f"Turn {number + 1}" if settings.rounds > 1 else "Independent answers", anchor=False)
        for seq, turn in shown_turns:
            if turn.round == number:
                for problem_seq, problem in problems.get(seq, ()):
                    turns.draw_problem(problem_seq, problem, "discussion")
                context = _describe_context(settings, turn, [earlier for _, earlier in shown_turns])
                heading = f"**{escape_markdown(turn.speaker)}** · {_reading(turn)}"
                turns.draw_turn(trace_id, seq, turn, heading, f":material/hearing: {context}" if context else "")
    if settings.rounds > 1 and rounds and rounds[0] > 0:
        st.caption("The earlier turns were not recorded.")
    paging.draw_pagination(f"talk_page_{trace_id}", len(rounds), _page_size(len(settings.personas)))


def _choose_order(
    trace_id: int, numbered_turns: Sequence[NumberedTurn], settings: Settings, clicked: Turn | None
) -> tuple[int, ...]:
    """Draw the choice of an order of the responses; returns the order that is shown."""
    orders = [order for order in settings.orders if any(turn.shown == order for _, turn in numbered_turns)]
    if len(orders) < 2:
        return orders[0] if orders else settings.orders[0]
    key = f"talk_order_{trace_id}"
    if clicked is not None:
        st.session_state[key] = clicked.shown[0]
    first = st.segmented_control(
        "One discussion for each order of the responses",
        [order[0] for order in orders],
        format_func=lambda number: f"Response {number} first",
        default=None if key in st.session_state else orders[0][0],
        required=True,
        key=key,
    )
    selected = next((order for order in orders if order[0] == first), orders[0])
    if selected == (2, 1):
        st.caption(SWAPPED)
    return selected


def _rounds_on_page(trace_id: int, rounds: Sequence[int], speakers: int, clicked: Turn | None) -> Sequence[int]:
    """Return the turns on the open page; a clicked turn opens its page."""
    size, key = _page_size(speakers), f"talk_page_{trace_id}"
    if clicked is not None and clicked.round in rounds and len(rounds) > size:
        st.session_state[key] = paging.page_of(rounds.index(clicked.round), size)
    return paging.page_slice(rounds, paging.current_page(key, len(rounds), size), size)


def _page_size(speakers: int) -> int:
    """Return the number of turns on one page."""
    return max(1, CONTRIBUTIONS_PER_PAGE // max(speakers, 1))


def _reading(turn: Turn) -> str:
    if turn.step == "summary":
        return f"no summary: {escape_markdown(turn.problem)}; {SUMMARY_FALLBACK}" if turn.problem else "summary"
    if turn.reading is None:
        return f"no verdict: {escape_markdown(turn.problem)}" if turn.problem else "discussion"
    return f"**{persona_scores.format_reading(turn)}**"


def _describe_context(settings: Settings, turn: Turn, earlier: Sequence[Turn]) -> str:
    """Return the contributions that a persona had read before it answered; empty if all answer independently."""
    if settings.strategy == "independent":
        return ""
    if turn.round > 0 and not any(other.round < turn.round for other in earlier):
        return "the contributions that it read were not recorded"
    context = turns_in_history(settings, turn, earlier)
    verb = "received" if turn.step == "summary" else "had read"
    if not context:
        return f"{verb} no other contribution"
    if context[0].step == "summary":
        return f"{verb} the summary of turn {context[0].round + 1}"
    return f"{verb} {'; '.join(_speakers_by_turn(settings, context))}"


def _speakers_by_turn(settings: Settings, context: Sequence[Turn]) -> Iterator[str]:
    """Yield `all personas in turn 1`, `Critic in turn 2`."""
    for number in sorted({turn.round for turn in context}):
        names = [turn.speaker for turn in context if turn.round == number]
        is_complete = len(set(names)) == len(settings.personas) > 1
        speakers = "all personas" if is_complete else " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        yield f"{escape_markdown(speakers)} in turn {number + 1}"
