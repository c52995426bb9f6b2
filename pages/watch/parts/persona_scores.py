"""The scores of a talk of personas: a grid of personas by turns, and their means as a chart."""

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.protocols.chateval.protocol import Settings
from core.protocols.chateval.verdicts import means, spoken, stance
from core.stances import Stance, disputes
from core.trace import Turn
from pages.parts import charts, colours
from pages.watch.parts import debate

if TYPE_CHECKING:
    import plotly.graph_objects as go

Told = tuple[int, Turn]
"""The number of an event, and its turn."""
Row = tuple[str, tuple[int, ...]]
"""A persona, and the order in which it read the responses."""
TITLES = {"scores": "Scores (1 : 2)", "vote": "Votes", "rating": "Ratings"}
SYMBOLS = {1: "circle", 2: "square"}


def grid(trace_id: int, said: Sequence[Told], settings: Settings, live: bool) -> int | None:
    """Personas by turns, each order of the responses for itself; the event that was clicked elsewhere in the talk."""
    rows = [(persona.name, order) for persona in settings.personas for order in settings.orders]
    talk = stances(said, rows)
    asked = [[place, number] for place, number in waiting(talk, rows, settings)] if live else []
    shades = _shades(settings)
    found = debate.stance_grid(
        key=f"scores_{trace_id}",
        data={
            "trace": trace_id,
            "title": TITLES[settings.outcome],
            "talk": "talk",
            "judges": [_row(name, order, settings) for name, order in rows],
            "rounds": [f"turn {number}" for number in range(1, settings.rounds + 1)],
            "stances": [_cell(one, place, dict(said)[one.seq]) for place, one in talk],
            "asked": asked,
            "disputes": [seq for order in settings.orders for seq in disputes(_of(talk, rows, order))],
            "colours": shades,
            "inks": {value: colours.on(colour) for value, colour in shades.items()},
            **({"words": {}} if settings.outcome == "rating" else {}),
        },
        on_goto_change=lambda: None,
    )
    goto: int | None = found.goto
    return goto


def stances(said: Sequence[Told], rows: Sequence[Row]) -> list[tuple[int, Stance]]:
    """(row, stance) of every contribution, in the order of the talk."""
    held: dict[Row, Any] = {}
    found = []
    for seq, turn in said:
        row = (turn.speaker, turn.shown)
        if turn.step == "talk" and row in rows:
            value = stance(turn)
            found.append((rows.index(row), Stance(seq, turn.speaker, turn.round, value, turn.problem, held.get(row))))
            held[row] = held.get(row) if value is None else value
    return found


def waiting(talk: Sequence[tuple[int, Stance]], rows: Sequence[Row], settings: Settings) -> list[tuple[int, int]]:
    """(row, turn) of those that are being asked, as far as the talk has come."""
    spoken = {(place, one.round) for place, one in talk}
    every = [(place, number) for number in range(settings.rounds) for place in range(len(rows))]
    left = [one for one in every if one not in spoken]
    if not left:
        return []
    number = left[0][1]
    now = [(place, turn) for place, turn in left if turn == number]
    if settings.strategy != "one by one":
        return now
    first = rows[now[0][0]][0]
    return [(place, turn) for place, turn in now if rows[place][0] == first]


def written(turn: Turn) -> str:
    """`8 : 6`, a vote or a rating."""
    if isinstance(turn.reading, dict):
        return f"{turn.reading['1']:g} : {turn.reading['2']:g}"
    if turn.shown:
        return "neither" if turn.reading == 0 else f"Response {turn.reading}"
    return f"{turn.reading:g}" if isinstance(turn.reading, float) else str(turn.reading)


def chart(trace_id: int, said: Sequence[Turn], settings: Settings) -> None:
    """The mean scores of each turn with the personas' own around them; only where there are several turns."""
    rounds = sorted({turn.round for turn in said if turn.step == "talk"})
    if len(rounds) < 2 or settings.outcome == "vote":
        return
    figure = _figure(said, rounds, settings)
    st.plotly_chart(figure, key=f"means_{trace_id}", config=charts.CONFIG, alt=_alt(said, rounds, settings))
    over = "the personas and both orders" if len(settings.orders) > 1 else "the personas"
    st.caption(f"Lines are means over {over}; small marks are the personas.")


def _figure(said: Sequence[Turn], rounds: Sequence[int], settings: Settings) -> "go.Figure":
    import plotly.graph_objects as go

    figure = go.Figure()
    for side, name, colour in _sides(settings):
        each = [(turn, value) for turn in said if (value := _score(turn, side)) is not None]
        figure.add_trace(
            go.Scatter(
                x=[turn.round + 1 for turn, _ in each],
                y=[value for _, value in each],
                mode="markers",
                marker={"color": colour, "size": 7, "opacity": 0.45, "symbol": SYMBOLS.get(side, "circle")},
                hovertext=[f"{turn.speaker}: {value:g}" for turn, value in each],
                hoverinfo="text",
                showlegend=False,
            )
        )
        there = [(number, mean) for number in rounds if (mean := _mean(said, number, side, settings)) is not None]
        figure.add_trace(
            go.Scatter(
                x=[number + 1 for number, _ in there],
                y=[mean for _, mean in there],
                name=name,
                mode="lines+markers",
                line={"color": colour, "width": 2},
                marker={"color": colour, "size": 11, "symbol": SYMBOLS.get(side, "circle")},
                cliponaxis=False,
                hovertemplate=f"{name}, mean of turn %{{x}}: %{{y:.2f}}<extra></extra>",
            )
        )
    low, high = _ends(settings)
    figure.update_xaxes(title="turn", tickvals=[number + 1 for number in rounds], range=[0.6, rounds[-1] + 1.4])
    figure.update_yaxes(title=f"score, {low:g} to {high:g}", range=[low - 0.5, high + 0.5], zeroline=False, nticks=5)
    several = len(_sides(settings)) > 1
    figure.update_layout(
        title={"text": "Mean score by turn", "font": {"size": 15}, "x": 0, "xref": "container"},
        height=280,
        margin={"l": 8, "r": 24, "t": 48 + 26 * several, "b": 40},
        showlegend=several,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        hovermode="closest",
    )
    figure.update_xaxes(fixedrange=True, tickangle=0)
    figure.update_yaxes(fixedrange=True)
    return figure


def _alt(said: Sequence[Turn], rounds: Sequence[int], settings: Settings) -> str:
    parts = []
    for side, name, _ in _sides(settings):
        values = [(number, _mean(said, number, side, settings)) for number in rounds]
        parts += [f"{name}, turn {number + 1}: mean {mean:.2f}" for number, mean in values if mean is not None]
    return "; ".join(parts)


def _sides(settings: Settings) -> list[tuple[int, str, str]]:
    """(response, its name, its colour); 0 is the only one there is."""
    if settings.outcome == "rating":
        return [(0, "Response", charts.accent())]
    return [(number, f"Response {number}", colours.RESPONSE[number]) for number in (1, 2)]


def _score(turn: Turn, side: int) -> float | None:
    if isinstance(turn.reading, dict):
        return turn.reading[str(side)]
    return float(turn.reading) if turn.step == "talk" and isinstance(turn.reading, int | float) else None


def _mean(said: Sequence[Turn], number: int, side: int, settings: Settings) -> float | None:
    """As the verdict takes it: over the personas, then over the orders."""
    ballots = spoken(said, number)
    if side:
        both = means(ballots, settings)
        return both[side - 1] if both else None
    values = [value for turn in ballots.values() if (value := _score(turn, 0)) is not None]
    return fmean(values) if values else None


def _ends(settings: Settings) -> tuple[float, float]:
    if settings.outcome == "scores":
        return settings.lowest, settings.highest
    ends = [float(one) for one in settings.scale.categories if isinstance(one, int | float)]
    return (min(ends), max(ends)) if ends else (settings.scale.low or 0.0, settings.scale.high or 1.0)


def _shades(settings: Settings) -> dict[str, str]:
    """Colours of responses; on a scale of ratings, from pale to strong."""
    if settings.outcome != "rating":
        return {str(value): colour for value, colour in colours.RESPONSE.items()}
    steps = settings.scale.categories
    return {str(value): charts.step(place, len(steps)) for place, value in enumerate(steps)}


def _row(name: str, order: tuple[int, ...], settings: Settings) -> str:
    return name if len(settings.orders) < 2 else f"{name} · {order[0]} read first"


def _cell(one: Stance, place: int, turn: Turn) -> list[Any]:
    before = one.before if one.changed else None
    label = written(turn) if isinstance(turn.reading, dict) else None
    return [one.seq, place, one.round, one.value, before, one.problem, label]


def _of(talk: Sequence[tuple[int, Stance]], rows: Sequence[Row], order: tuple[int, ...]) -> list[Stance]:
    return [one for place, one in talk if rows[place][1] == order]
