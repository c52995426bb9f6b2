"""Charts of aspects: what each adds to a response's sum, and whose weights are whose. Letters stand for aspects."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.aspects import Scores, Weights, contributions, overall
from pages.parts import colours
from pages.parts.text import short

if TYPE_CHECKING:
    import plotly.graph_objects as go

CONFIG = {"displayModeBar": False}
TINTS = (1.0, 0.8, 0.62)
"""How strong the colour of neighbouring parts is, in turn."""
GROUND = {"light": "#FFFFFF", "dark": "#14171C"}
BAR, LINE = 46, 34
"""Pixels for a response's bar, and for an aspect's line."""


def letter(place: int) -> str:
    """A, B, C ... for the aspects in their order."""
    return chr(ord("A") + place)


def sums(weights: Weights, scores: Sequence[Scores], highest: float, key: str) -> None:
    """A stacked bar of weight x score for each response, its sum at the end."""
    import plotly.graph_objects as go

    figure = go.Figure()
    names = [f"Response {number}" for number in range(1, len(scores) + 1)]
    parts = [contributions(weights, one) for one in scores]
    for place, aspect in enumerate(weights):
        fills = [_tinted(_colour(number), place) for number in range(1, len(scores) + 1)]
        values = [part[aspect] for part in parts]
        figure.add_trace(
            go.Bar(
                x=values,
                y=names,
                orientation="h",
                marker={"color": fills, "line": {"color": _ground(), "width": 1.5}},
                text=[letter(place) if value > highest / 40 else "" for value in values],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                textfont={"color": [colours.on(fill) for fill in fills], "size": 13},
                hovertext=[
                    _hover(aspect, weights[aspect], one[aspect], part[aspect])
                    for one, part in zip(scores, parts, strict=True)
                ],
                hoverinfo="text",
            )
        )
    _ends(figure, names, [overall(weights, one) for one in scores])
    _dressed(figure, "Overall score by aspect", "Weight × score", highest, len(scores))
    st.plotly_chart(figure, key=key, config=CONFIG, alt=_alt(names, [overall(weights, one) for one in scores]))


def overalls(values: Sequence[float], highest: float, key: str) -> None:
    """One bar for each response, where the judge gave the overall scores itself."""
    import plotly.graph_objects as go

    names = [f"Response {number}" for number in range(1, len(values) + 1)]
    fills = [_colour(number) for number in range(1, len(values) + 1)]
    figure = go.Figure(go.Bar(x=list(values), y=names, orientation="h", marker={"color": fills}, hoverinfo="x"))
    _ends(figure, names, values)
    _dressed(figure, "Overall score, as the judge gave it", "Score", highest, len(values))
    st.plotly_chart(figure, key=key, config=CONFIG, alt=_alt(names, values))


def whose(judge: str, weights: Weights, people: Mapping[str, Weights], key: str) -> None:
    """The judge's weights as bars, and each person's as a mark on the same line."""
    import plotly.graph_objects as go

    letters = [letter(place) for place in range(len(weights))]
    figure = go.Figure(
        go.Bar(
            x=list(weights.values()),
            y=letters,
            orientation="h",
            name=escape(short(judge, 24), quote=False),
            marker={"color": colours.JUDGES[0]},
            width=0.55,
            hovertext=[f"{escape(short(judge, 24))}: {weight:.0f} %" for weight in weights.values()],
            hoverinfo="text",
        )
    )
    symbols = ("circle", "diamond", "square", "triangle-up", "cross", "star")
    for place, (person, given) in enumerate(people.items()):
        figure.add_trace(
            go.Scatter(
                x=[given.get(aspect) for aspect in weights],
                y=letters,
                mode="markers",
                name=escape(short(person, 24), quote=False),
                marker={
                    "size": 11,
                    "symbol": symbols[place % len(symbols)],
                    "color": _ink(),
                    "line": {"color": _ground(), "width": 1.5},
                },
                hovertext=[f"{escape(short(person, 24))}: {given.get(aspect, 0):.0f} %" for aspect in weights],
                hoverinfo="text",
            )
        )
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(title="Weight, %", rangemode="tozero")
    title = "Weights: the judge's, and people's" if people else "Weights: the judge's"
    _laid_out(figure, title, 110 + LINE * len(weights), legend=bool(people))
    st.plotly_chart(figure, key=key, config=CONFIG, alt=title)


def _ends(figure: "go.Figure", names: Sequence[str], values: Sequence[float]) -> None:
    for name, value in zip(names, values, strict=True):
        figure.add_annotation(x=value, y=name, text=f"<b>{value:.2f}</b>", showarrow=False, xanchor="left", xshift=6)


def _dressed(figure: "go.Figure", title: str, axis: str, highest: float, responses: int) -> None:
    figure.update_layout(barmode="stack", bargap=0.3)
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(title=f"{axis}, at most {highest:g}", range=[0, highest * 1.08])
    _laid_out(figure, title, 100 + BAR * responses, legend=False)


def _laid_out(figure: "go.Figure", title: str, height: int, *, legend: bool) -> None:
    figure.update_layout(
        title={"text": title, "x": 0, "xanchor": "left", "xref": "paper", "font": {"size": 15}},
        height=height + 34 * legend,
        margin={"l": 8, "r": 8, "t": 44 + 30 * legend, "b": 40},
        showlegend=legend,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        font={"color": _ink()},
    )
    figure.update_xaxes(fixedrange=True, tickangle=0, automargin=True, zeroline=False)
    figure.update_yaxes(fixedrange=True, automargin=True, showgrid=False)


def _hover(aspect: str, weight: float, score: float, adds: float) -> str:
    return f"{escape(short(aspect, 60), quote=False)}<br>{weight:.1f} % × {score:g} = {adds:.2f}"


def _alt(names: Sequence[str], values: Sequence[float]) -> str:
    return ", ".join(f"{name}: {value:.2f}" for name, value in zip(names, values, strict=True))


def _colour(response: int) -> str:
    """The response's own; those beyond the second take the judges' muted ones."""
    return colours.RESPONSE.get(response) or colours.JUDGES[(response - 3) % len(colours.JUDGES)]


def _tinted(colour: str, place: int) -> str:
    """The colour, mixed with the ground by turns."""
    share, ground = TINTS[place % len(TINTS)], _ground()
    channels = [(int(colour[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(strong * share + pale * (1 - share)):02X}" for strong, pale in channels)


def _theme() -> str:
    return st.context.theme.type or "light"


def _ground() -> str:
    return GROUND[_theme()]


def _ink() -> str:
    return str(st.get_option(f"theme.{_theme()}.textColor") or "#1B1F24")
