"""The view of a discussion of personas: scores by turn, then the turns, each with the contributions that its persona
had read.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import Any

import streamlit as st

from core.errors import TiebreakError
from core.items import Item
from core.protocols.chateval.protocol import turns_in_history
from core.protocols.chateval.settings import Settings
from core.protocols.chateval.verdicts import mean_scores, turn_value, turns_by_persona
from core.protocols.registry import PROTOCOLS
from core.protocols.settings_file import validate_settings
from core.trace import (
    Event,
    Turn,
)
from core.verdicts import Heard, Stance, stances_of_turns
from core.wording import join_names
from pages.parts import charts, colours, paging
from pages.parts.chart_files import ChartData
from pages.parts.numbers import RESPONSE_NAMES, VERDICT_NAMES
from pages.parts.text import escape_markdown, text_html
from pages.watch.parts import debate, turns
from pages.watch.parts.single_judge import scale_ends
from pages.watch.parts.turns import NumberedTurn
from storage.runs.traces import Trace

# The scores of a discussion of personas: a grid of personas by turns, and a chart of their means.

# A persona, and the order in which it reads the responses.
Row = tuple[str, tuple[int, ...]]
TITLES = {"scores": "Scores (1 : 2)", "vote": "Votes", "rating": "Ratings"}
# Of the only response of a rating, and of the two of a comparison.
SYMBOLS = ("circle", "circle", "square")


def draw_grid(trace_id: int, numbered_turns: Sequence[NumberedTurn], settings: Settings, live: bool) -> int | None:
    """Draw personas by turns, one row for each order; returns the number of a clicked event on another page."""
    rows = [(persona.name, order) for persona in settings.personas for order in settings.orders]
    stances = stances_by_row(numbered_turns, rows, partial(turns_in_history, settings))
    turn_of = dict(numbered_turns)
    pending = [[index, number] for index, number in pending_cells(stances, rows, settings)] if live else []
    return debate.draw_stance_grid(
        trace_id,
        [name if len(settings.orders) < 2 else f"{name} · {order[0]} read first" for name, order in rows],
        [f"turn {number}" for number in range(1, settings.rounds + 1)],
        [
            _cell_data(stance, index, turn_of[stance.seq], settings)
            for index, stance in stances
            if stance.value is not None or stance.problem  # turns that were only discussion have neither
        ],
        pending,
        [[stance for row, stance in stances if rows[row][1] == order] for order in settings.orders],
        _value_colours(settings),
        {"title": TITLES[settings.outcome], "noun": "discussion"}
        | ({"words": {}} if settings.outcome == "rating" else {}),
    )


def stances_by_row(
    numbered_turns: Sequence[NumberedTurn], rows: Sequence[Row], heard: Heard | None = None
) -> list[tuple[int, Stance]]:
    """Return (row, stance) of every contribution, in the order of the discussion."""
    row_of = {seq: (turn.speaker, turn.shown) for seq, turn in numbered_turns if turn.step == "talk"}
    stances = stances_of_turns(numbered_turns, turn_value, heard)
    return [(rows.index(row), stance) for stance in stances if (row := row_of.get(stance.seq)) in rows]


def pending_cells(
    stances: Sequence[tuple[int, Stance]], rows: Sequence[Row], settings: Settings
) -> list[tuple[int, int]]:
    """Return (row, turn) of the contributions that are being requested now."""
    answered = {(row, stance.round) for row, stance in stances}
    cells = [(row, number) for number in range(settings.rounds) for row in range(len(rows))]
    remaining = [cell for cell in cells if cell not in answered]
    if not remaining:
        return []
    number = remaining[0][1]
    current = [(row, turn) for row, turn in remaining if turn == number]
    if settings.strategy != "one by one":
        return current
    first = rows[current[0][0]][0]
    return [(row, turn) for row, turn in current if rows[row][0] == first]


def format_reading(turn: Turn) -> str:
    """Return scores as `8 : 6`, a vote or a rating."""
    if isinstance(turn.reading, dict):
        return f"{turn.reading['1']:g} : {turn.reading['2']:g}"
    if turn.shown:
        return "neither" if turn.reading == 0 else f"Response {turn.reading}"
    return f"{turn.reading:g}" if isinstance(turn.reading, float) else str(turn.reading)


def draw_chart(trace_id: int, completed_turns: Sequence[Turn], settings: Settings) -> None:
    """Draw the mean scores of each turn with the personas' own; nothing for one turn or for votes."""
    rounds = sorted({turn.round for turn in completed_turns if turn.step == "talk"})
    if len(rounds) < 2 or settings.outcome == "vote":
        return
    import plotly.graph_objects as go

    figure, alt = go.Figure(), []
    for side, name, colour in _series(settings):
        scores = [(turn, value) for turn in completed_turns if (value := _score(turn, side)) is not None]
        means = {number: _mean(completed_turns, number, side, settings) for number in rounds}
        figure.add_scatter(
            x=[turn.round + 1 for turn, _ in scores],
            y=[value for _, value in scores],
            mode="markers",
            marker={"color": colour, "opacity": 0.45, "symbol": SYMBOLS[side]},
            hovertext=[f"{turn.speaker}: {value:g}" for turn, value in scores],
            hoverinfo="text",
            showlegend=False,
        )
        figure.add_scatter(
            x=[number + 1 for number in rounds],
            y=list(means.values()),
            name=name,
            mode="lines+markers",
            line={"color": colour},
            marker={"size": 11, "symbol": SYMBOLS[side]},
            hovertemplate=f"{name}, mean of turn %{{x}}: %{{y:.2f}}<extra></extra>",
        )
        alt += [f"{name}, turn {number + 1}: mean {mean:.2f}" for number, mean in means.items() if mean is not None]
    low, high = (settings.lowest, settings.highest) if settings.outcome == "scores" else scale_ends(settings.scale)
    figure.update_xaxes(title="turn", tickvals=[number + 1 for number in rounds])
    figure.update_yaxes(title=f"score, {low:g} to {high:g}", range=[low - 0.5, high + 0.5], zeroline=False)
    charts.apply_layout(figure, "Mean score by turn", 280, legend=settings.outcome != "rating")
    charts.draw(figure, f"means_{trace_id}", "; ".join(alt), data=ChartData(method="Scores of one trace"))
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
    return {str(value): charts.step_colour(index, len(steps)) for index, value in enumerate(steps)}


def _cell_data(stance: Stance, row: int, turn: Turn, settings: Settings) -> list[Any]:
    label = format_reading(turn) if isinstance(turn.reading, dict) else None
    return [stance.seq, row, stance.round, stance.value, describe_change(stance, settings), stance.problem, label]


def describe_change(stance: Stance, settings: Settings) -> str | None:
    """Return `changed from Response 1 to Response 2, as Critic held in turn 1`; None if nothing changed."""
    names = {} if settings.outcome == "rating" else RESPONSE_NAMES
    return debate.describe_change(stance, names, lambda number: f"in turn {number + 1}")


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
    if not isinstance(run_settings, Settings):
        raise TypeError("this view needs ChatEval's settings")
    if run_settings.outcome == "step":  # the grid has a colour for each response
        return debate.render(trace, item, events, settings, live)
    numbered_turns = turns.completed(events)
    with st.container(key=f"outcome-{trace.id}-verdict"):
        draw_verdict(events, run_settings)
    clicked = draw_grid(trace.id, numbered_turns, run_settings, live)
    with st.container(key=f"outcome-{trace.id}-chart"):
        draw_chart(trace.id, [turn for _, turn in numbered_turns], run_settings)
    draw_personas(run_settings)
    draw_discussion(trace.id, numbered_turns, run_settings, clicked)
    turns.draw_problems(events, "discussion")


def draw_verdict(events: Sequence[tuple[int, Event]], settings: Settings) -> None:
    """Draw the verdict and its reason."""
    verdict = turns.verdict_of(events)
    if verdict is None:
        return
    value, reason = verdict.value, escape_markdown(verdict.reason)
    if isinstance(value, int | float):
        name = f"{value:.2f}" if settings.outcome == "rating" else VERDICT_NAMES.get(int(value), str(value))
        st.markdown(f"**{name}** · {reason}")
    else:
        st.markdown(f"{reason[:1].upper()}{reason[1:]}")


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
    changes = {stance.seq: describe_change(stance, settings) for stance in stances}
    for seq, turn in paging.page_slice(ordered, page, CONTRIBUTIONS_PER_PAGE):
        context = _describe_context(settings, turn, [other for _, other in ordered if other.shown == turn.shown])
        place = [f"turn {turn.round + 1}"] if settings.rounds > 1 else []
        place += [f"response {turn.shown[0]} first"] if has_orders else []
        change = changes.get(seq)
        changed = [f"**changed** {escape_markdown(change.removeprefix('changed '))}"] if change else []
        heading = " · ".join([f"**{escape_markdown(turn.speaker)}**", _reading(turn), *place, *changed])
        turns.draw_turn(trace_id, seq, turn, heading, f":material/hearing: {context}" if context else "")
    paging.draw_pagination(key, len(ordered), CONTRIBUTIONS_PER_PAGE)


def _reading(turn: Turn) -> str:
    if turn.step == "summary":
        return f"no summary: {escape_markdown(turn.problem)}; {SUMMARY_FALLBACK}" if turn.problem else "summary"
    if turn.reading is None:
        return f"no verdict: {escape_markdown(turn.problem)}" if turn.problem else "discussion"
    return f"**{format_reading(turn)}**"


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
