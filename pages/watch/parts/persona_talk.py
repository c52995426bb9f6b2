"""The view of a discussion of personas: scores by turn, then the turns, each with the contributions that its persona
had read.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from core.errors import TiebreakError
from core.items import Item
from core.protocols.chateval.protocol import turns_in_history
from core.protocols.chateval.settings import Settings
from core.protocols.chateval.verdicts import mean_scores, turn_value, turns_by_persona
from core.protocols.registry import PROTOCOLS
from core.protocols.settings_file import validate_settings
from core.trace import Event, Turn
from core.verdicts import stances_of_turns
from core.wording import join_names
from pages.parts import charts, colours, paging
from pages.parts.numbers import RESPONSE_NAMES, format_value
from pages.parts.text import escape_markdown, text_html
from pages.watch.parts import debate, turns
from pages.watch.parts.single_judge import scale_ends
from pages.watch.parts.turns import NumberedTurn
from storage.runs.traces import Trace

# The scores of a discussion of personas: a grid of personas by turns, and a chart of their means.

TITLES = {"scores": "Scores (1 : 2)", "vote": "Votes", "rating": "Ratings"}
# Of the only response of a rating, and of the two of a comparison.
SYMBOLS = ("circle", "circle", "square")


def draw_grid(trace_id: int, numbered_turns: Sequence[NumberedTurn], settings: Settings, live: bool) -> int | None:
    """Draw personas by turns, one row for each order; returns the number of a clicked event on another page."""
    rows = [(persona.name, order) for persona in settings.personas for order in settings.orders]
    row_of = {seq: (turn.speaker, turn.shown) for seq, turn in numbered_turns if turn.step == "talk"}
    stances = stances_of_turns(numbered_turns, turn_value, partial(turns_in_history, settings))
    return debate.draw_grid(
        trace_id,
        {name if len(settings.orders) < 2 else f"{name} · {order[0]} read first": order for name, order in rows},
        [(rows.index(row), stance) for stance in stances if (row := row_of.get(stance.seq)) in rows],
        _names(settings),
        _value_colours(settings),
        _turn_name,
        live,
        labels={seq: format_value(turn.reading) for seq, turn in numbered_turns if isinstance(turn.reading, dict)},
        rounds=settings.rounds,
        title=TITLES[settings.outcome],
        noun="discussion",
    )


def _names(settings: Settings) -> Mapping[Any, str]:
    return {} if settings.outcome == "rating" else RESPONSE_NAMES


def _turn_name(number: int) -> str:
    return f"turn {number + 1}"


def draw_chart(trace_id: int, completed_turns: Sequence[Turn], settings: Settings) -> None:
    """Draw the mean scores of each turn with the personas' own; nothing for one turn or for votes."""
    rounds = sorted({turn.round for turn in completed_turns if turn.step == "talk"})
    if len(rounds) < 2 or settings.outcome == "vote":
        return
    figure, alt = go.Figure(), []
    for side, name, colour in _series(settings):
        scores = [(turn, value) for turn in completed_turns if (value := _score(turn, side)) is not None]
        means = {number: _mean(completed_turns, number, side, settings) for number in rounds}
        marks = [charts.Point(turn.round + 1, value, (f"{turn.speaker}: {value:g}",)) for turn, value in scores]
        options: Any = {"opacity": 0.45, "marker_size": 6, "showlegend": False}
        figure.add_trace(charts.scatter(marks, colour, symbol=SYMBOLS[side], **options))
        hovers = {number: f"{name}, mean of {_turn_name(number)}: {mean or 0:.2f}" for number, mean in means.items()}
        line = [charts.Point(number + 1, mean, (hovers[number],)) for number, mean in means.items()]
        figure.add_trace(charts.scatter(line, colour, "lines+markers", symbol=SYMBOLS[side], name=name))
        alt += [f"{name}, turn {number + 1}: mean {mean:.2f}" for number, mean in means.items() if mean is not None]
    low, high = (settings.lowest, settings.highest) if settings.outcome == "scores" else scale_ends(settings.scale)
    figure.update_xaxes(title="turn", tickvals=[number + 1 for number in rounds])
    figure.update_yaxes(title=f"score, {low:g} to {high:g}", range=[low - 0.5, high + 0.5], zeroline=False)
    charts.apply_layout(figure, "Mean score by turn", 280, legend=settings.outcome != "rating")
    charts.draw(figure, f"means_{trace_id}", "; ".join(alt), data=charts.ChartData(method="Scores of one trace"))
    averaged_over = "the personas and both orders" if len(settings.orders) > 1 else "the personas"
    st.caption(f"Lines are means over {averaged_over}; small marks are the personas.")


def _series(settings: Settings) -> list[tuple[int, str, str]]:
    """Return (response, name, colour) of each series; response 0 is the only one of a rating."""
    if settings.outcome == "rating":
        return [(0, "Response", charts.accent_colour())]
    return [(number, f"Response {number}", colours.RESPONSE[number]) for number in (1, 2)]


def _score(turn: Turn, side: int) -> float | None:
    if isinstance(turn.reading, dict):
        return turn.reading[str(side)]
    return float(turn.reading) if turn.step == "talk" and isinstance(turn.reading, int | float) else None


def _mean(completed_turns: Sequence[Turn], number: int, side: int, settings: Settings) -> float | None:
    """Return the mean as the verdict computes it: over the personas, then over the orders."""
    ballots = turns_by_persona(completed_turns, number)
    if side:
        response_means = mean_scores(ballots, settings)
        return response_means[side - 1] if response_means else None
    values = [value for turn in ballots.values() if (value := _score(turn, 0)) is not None]
    return fmean(values) if values else None


def _value_colours(settings: Settings) -> dict[str, str]:
    """Return the colours of the responses; for ratings, a colour from pale to dark for each value."""
    if settings.outcome != "rating":
        return {str(value): colour for value, colour in colours.RESPONSE.items()}
    steps = settings.scale.categories
    last = max(len(steps) - 1, 1)
    shades = [colours.mix_colours("#C7D5F2", colours.ACCENT, index / last) for index in range(len(steps))]
    return dict(zip(map(format_value, steps), shades, strict=True))


# Contributions on one page.
CONTRIBUTIONS_PER_PAGE = 40
SUMMARY_FALLBACK = "the contributions were passed on instead"
SWAPPED = (
    ":material/swap_horiz: Where response 2 is first, “Assistant 1” is shown as Response 2. The scores next to the "
    "names use the item's own order."
)


def render(trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], live: bool) -> None:
    """Draw scores, chart and discussion; the default view if the settings are incomplete."""
    trace, events, settings = turns.choose_part(trace, events, settings)
    try:
        run_settings = validate_settings(settings, PROTOCOLS[trace.protocol])
    except TiebreakError:
        return debate.render(trace, item, events, settings, live)
    assert isinstance(run_settings, Settings), "this view needs ChatEval's settings"
    if run_settings.outcome == "step":  # the grid has a colour for each response
        return debate.render(trace, item, events, settings, live)
    numbered_turns = turns.completed(events)
    with st.container(key=f"outcome-{trace.id}-verdict"):
        turns.draw_verdict(turns.verdict_of(events))
    clicked = draw_grid(trace.id, numbered_turns, run_settings, live)
    with st.container(key=f"outcome-{trace.id}-chart"):
        draw_chart(trace.id, [turn for _, turn in numbered_turns], run_settings)
    draw_personas(run_settings)
    draw_discussion(trace.id, numbered_turns, run_settings, clicked)
    turns.draw_problems(events, "discussion")


def draw_personas(settings: Settings) -> None:
    """Draw the personas with their models and roles."""
    with st.expander("Personas", icon=":material/groups:"):
        for persona in settings.personas:
            st.markdown(f"**{escape_markdown(persona.name)}** · {escape_markdown(persona.spec.model)}")
            st.html(text_html(persona.role or "*no role recorded*"))
        if settings.strategy == "simultaneous with summary":
            summariser = settings.effective_summariser
            name, model = escape_markdown(summariser.name), escape_markdown(summariser.spec.model)
            st.markdown(f"**{name}** · {model}  \nsummarises each turn")


def draw_discussion(
    trace_id: int, numbered_turns: Sequence[NumberedTurn], settings: Settings, clicked: int | None
) -> None:
    """Draw one page of the contributions, those of each order of the responses after one another."""
    ordered = sorted(numbered_turns, key=lambda pair: pair[1].shown)
    has_orders, key = len({turn.shown for _, turn in ordered}) > 1, f"talk_page_{trace_id}"
    page = paging.current_page(key, len(ordered), CONTRIBUTIONS_PER_PAGE)
    if clicked is not None:
        index = next(index for index, (seq, _) in enumerate(ordered) if seq == clicked)
        page = st.session_state[key] = paging.page_of(index, CONTRIBUTIONS_PER_PAGE)
    if any(turn.shown == (2, 1) for _, turn in ordered):
        st.caption(SWAPPED)
    if ordered and min(turn.round for _, turn in ordered) > 0:
        st.caption("The earlier turns were not recorded.")
    stances = stances_of_turns(numbered_turns, turn_value, partial(turns_in_history, settings))
    changes = {stance.seq: debate.describe_change(stance, _names(settings), _turn_name) for stance in stances}
    for seq, turn in paging.page_slice(ordered, page, CONTRIBUTIONS_PER_PAGE):
        context = _describe_context(settings, turn, [other for _, other in ordered if other.shown == turn.shown])
        place = [_turn_name(turn.round)] if settings.rounds > 1 else []
        place += [f"response {turn.shown[0]} first"] if has_orders else []
        change = changes.get(seq)
        changed = [f"**changed** {escape_markdown(change.removeprefix('changed '))}"] if change else []
        heading = " · ".join([f"**{escape_markdown(turn.speaker)}**", _reading(turn), *place, *changed])
        turns.draw_turn(trace_id, seq, turn, heading, f":material/hearing: {context}" if context else "")
    paging.draw_pagination(key, len(ordered), CONTRIBUTIONS_PER_PAGE)


def _reading(turn: Turn) -> str:
    if turn.step == "summary":
        return f"no summary: {escape_markdown(turn.problem)}; {SUMMARY_FALLBACK}" if turn.problem else "summary"
    if turn.reading is None and not turn.problem:
        return "discussion"
    return turns.format_reading(turn, RESPONSE_NAMES if turn.shown else None)


def _describe_context(settings: Settings, turn: Turn, earlier: Sequence[Turn]) -> str:
    """Return the contributions that a persona had read before it answered; empty if all answer independently."""
    if settings.strategy == "independent":
        return ""
    earlier = earlier[: earlier.index(turn)]
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
        speakers = "all personas" if is_complete else join_names(names)
        yield f"{escape_markdown(speakers)} in turn {number + 1}"
