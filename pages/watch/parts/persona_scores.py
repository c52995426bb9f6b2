"""The scores of a discussion of personas: a grid of personas by turns, and a chart of their means."""

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.protocols.chateval.settings import Settings
from core.protocols.chateval.verdicts import mean_scores, turn_value, turns_by_persona
from core.stances import Stance, find_disagreements
from core.trace import Turn
from pages.parts import charts, colours
from pages.parts.chart_files import ChartData
from pages.watch.parts import debate

if TYPE_CHECKING:
    import plotly.graph_objects as go

NumberedTurn = tuple[int, Turn]
"""The number of an event, and its turn."""
Row = tuple[str, tuple[int, ...]]
"""A persona, and the order in which it reads the responses."""
TITLES = {"scores": "Scores (1 : 2)", "vote": "Votes", "rating": "Ratings"}
SYMBOLS = {1: "circle", 2: "square"}


def draw_grid(trace_id: int, numbered_turns: Sequence[NumberedTurn], settings: Settings, live: bool) -> int | None:
    """Draw personas by turns, one row for each order; returns the number of a clicked event on another page."""
    rows = [(persona.name, order) for persona in settings.personas for order in settings.orders]
    stances = stances_by_row(numbered_turns, rows)
    pending = [[index, number] for index, number in pending_cells(stances, rows, settings)] if live else []
    value_colours = _value_colours(settings)
    grid = debate.stance_grid(
        key=f"scores_{trace_id}",
        data={
            "trace": trace_id,
            "title": TITLES[settings.outcome],
            "noun": "discussion",
            "judges": [_row_name(name, order, settings) for name, order in rows],
            "rounds": [f"turn {number}" for number in range(1, settings.rounds + 1)],
            "stances": [
                _cell_data(stance, index, dict(numbered_turns)[stance.seq])
                for index, stance in stances
                if stance.value is not None or stance.problem  # turns that were only discussion have neither
            ],
            "pending": pending,
            "disputes": [
                seq for order in settings.orders for seq in find_disagreements(_stances_in_order(stances, rows, order))
            ],
            "colours": value_colours,
            "inks": {value: colours.text_colour(colour) for value, colour in value_colours.items()},
            **({"words": {}} if settings.outcome == "rating" else {}),
        },
        on_goto_change=lambda: None,
    )
    clicked: int | None = grid.goto
    return clicked


def stances_by_row(numbered_turns: Sequence[NumberedTurn], rows: Sequence[Row]) -> list[tuple[int, Stance]]:
    """Return (row, stance) of every contribution, in the order of the discussion."""
    last_values: dict[Row, Any] = {}
    stances = []
    for seq, turn in numbered_turns:
        row = (turn.speaker, turn.shown)
        if turn.step == "talk" and row in rows:
            value = turn_value(turn)
            stances.append(
                (rows.index(row), Stance(seq, turn.speaker, turn.round, value, turn.problem, last_values.get(row)))
            )
            last_values[row] = last_values.get(row) if value is None else value
    return stances


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
    figure = _mean_figure(completed_turns, rounds, settings)
    alt = _alt_text(completed_turns, rounds, settings)
    charts.draw(figure, f"means_{trace_id}", alt, data=ChartData(method="Scores of one trace"))
    averaged_over = "the personas and both orders" if len(settings.orders) > 1 else "the personas"
    st.caption(f"Lines are means over {averaged_over}; small marks are the personas.")


def _mean_figure(completed_turns: Sequence[Turn], rounds: Sequence[int], settings: Settings) -> "go.Figure":
    import plotly.graph_objects as go

    figure = go.Figure()
    for side, name, colour in _series(settings):
        scores = [(turn, value) for turn in completed_turns if (value := _score(turn, side)) is not None]
        figure.add_trace(
            go.Scatter(
                x=[turn.round + 1 for turn, _ in scores],
                y=[value for _, value in scores],
                mode="markers",
                marker={"color": colour, "size": 7, "opacity": 0.45, "symbol": SYMBOLS.get(side, "circle")},
                hovertext=[f"{turn.speaker}: {value:g}" for turn, value in scores],
                hoverinfo="text",
                showlegend=False,
            )
        )
        means = [
            (number, mean) for number in rounds if (mean := _mean(completed_turns, number, side, settings)) is not None
        ]
        figure.add_trace(
            go.Scatter(
                x=[number + 1 for number, _ in means],
                y=[mean for _, mean in means],
                name=name,
                mode="lines+markers",
                line={"color": colour, "width": 2},
                marker={"color": colour, "size": 11, "symbol": SYMBOLS.get(side, "circle")},
                cliponaxis=False,
                hovertemplate=f"{name}, mean of turn %{{x}}: %{{y:.2f}}<extra></extra>",
            )
        )
    low, high = _scale_ends(settings)
    figure.update_xaxes(title="turn", tickvals=[number + 1 for number in rounds], range=[0.6, rounds[-1] + 1.4])
    figure.update_yaxes(title=f"score, {low:g} to {high:g}", range=[low - 0.5, high + 0.5], zeroline=False, nticks=5)
    has_legend = len(_series(settings)) > 1
    figure.update_layout(
        title={"text": "Mean score by turn", "font": {"size": 15}, "x": 0, "xref": "container"},
        height=280,
        margin={"l": 8, "r": 24, "t": 48 + 26 * has_legend, "b": 40},
        showlegend=has_legend,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        hovermode="closest",
    )
    figure.update_xaxes(fixedrange=True, tickangle=0)
    figure.update_yaxes(fixedrange=True)
    return figure


def _alt_text(completed_turns: Sequence[Turn], rounds: Sequence[int], settings: Settings) -> str:
    parts = []
    for side, name, _ in _series(settings):
        values = [(number, _mean(completed_turns, number, side, settings)) for number in rounds]
        parts += [f"{name}, turn {number + 1}: mean {mean:.2f}" for number, mean in values if mean is not None]
    return "; ".join(parts)


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


def _scale_ends(settings: Settings) -> tuple[float, float]:
    if settings.outcome == "scores":
        return settings.lowest, settings.highest
    categories = [float(category) for category in settings.scale.categories if isinstance(category, int | float)]
    return (min(categories), max(categories)) if categories else (settings.scale.low or 0.0, settings.scale.high or 1.0)


def _value_colours(settings: Settings) -> dict[str, str]:
    """Return the colours of the responses; for ratings, a colour from pale to dark for each value."""
    if settings.outcome != "rating":
        return {str(value): colour for value, colour in colours.RESPONSE.items()}
    steps = settings.scale.categories
    return {str(value): charts.step_colour(index, len(steps)) for index, value in enumerate(steps)}


def _row_name(name: str, order: tuple[int, ...], settings: Settings) -> str:
    return name if len(settings.orders) < 2 else f"{name} · {order[0]} read first"


def _cell_data(stance: Stance, row: int, turn: Turn) -> list[Any]:
    previous = stance.previous_value if stance.changed else None
    label = format_reading(turn) if isinstance(turn.reading, dict) else None
    return [stance.seq, row, stance.round, stance.value, previous, stance.problem, label]


def _stances_in_order(
    stances: Sequence[tuple[int, Stance]], rows: Sequence[Row], order: tuple[int, ...]
) -> list[Stance]:
    return [stance for row, stance in stances if rows[row][1] == order]
