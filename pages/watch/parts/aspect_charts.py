"""Charts of aspects: weighted scores by aspect, and weights by rater. Aspects are identified by letters."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.aspects import Scores, Weights, overall_score, weighted_scores
from pages.parts import charts, colours
from pages.parts.chart_files import ChartData
from pages.parts.text import truncate
from pages.parts.values import aspect_letter

if TYPE_CHECKING:
    import plotly.graph_objects as go

ONE_TRACE = ChartData(method="Scores of one trace")
TINTS = (1.0, 0.8, 0.62)
"""Opacity of neighbouring segments, in turn, so they can be distinguished."""
BACKGROUNDS = {"light": "#FFFFFF", "dark": "#14171C"}
BAR_HEIGHT, LINE_HEIGHT = 46, 34
"""Pixels for a response's bar, and for an aspect's row."""


def draw_weighted_sums(weights: Weights, scores: Sequence[Scores], highest: float, key: str) -> None:
    """Draw a stacked bar of weight x score for each response, with its overall score at the end."""
    import plotly.graph_objects as go

    figure = go.Figure()
    names = [f"Response {number}" for number in range(1, len(scores) + 1)]
    parts = [weighted_scores(weights, response_scores) for response_scores in scores]
    for index, aspect in enumerate(weights):
        fills = [_tint(_response_colour(number), index) for number in range(1, len(scores) + 1)]
        values = [response_parts[aspect] for response_parts in parts]
        figure.add_trace(
            go.Bar(
                x=values,
                y=names,
                orientation="h",
                marker={"color": fills, "line": {"color": _background(), "width": 1.5}},
                text=[aspect_letter(index) if value > highest / 40 else "" for value in values],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                textfont={"color": [colours.text_colour(fill) for fill in fills], "size": 13},
                hovertext=[
                    _hover(aspect, weights[aspect], response_scores[aspect], response_parts[aspect])
                    for response_scores, response_parts in zip(scores, parts, strict=True)
                ],
                hoverinfo="text",
            )
        )
    _add_totals(figure, names, [overall_score(weights, response_scores) for response_scores in scores])
    _format_score_axes(figure, "Overall score by aspect", "Weight × score", highest, len(scores))
    sums = [overall_score(weights, response_scores) for response_scores in scores]
    charts.draw(figure, key, _alt(names, sums), data=ONE_TRACE)


def draw_overall_scores(values: Sequence[float], highest: float, key: str) -> None:
    """Draw one bar for each response, if the judge gave the overall scores itself."""
    import plotly.graph_objects as go

    names = [f"Response {number}" for number in range(1, len(values) + 1)]
    fills = [_response_colour(number) for number in range(1, len(values) + 1)]
    figure = go.Figure(go.Bar(x=list(values), y=names, orientation="h", marker={"color": fills}, hoverinfo="x"))
    _add_totals(figure, names, values)
    _format_score_axes(figure, "Overall score, given by the judge", "Score", highest, len(values))
    charts.draw(figure, key, _alt(names, values), data=ONE_TRACE)


def draw_weights(judge: str, weights: Weights, people_weights: Mapping[str, Weights], key: str) -> None:
    """Draw the judge's weights as bars, and each person's as markers on the same rows."""
    import plotly.graph_objects as go

    letters = [aspect_letter(index) for index in range(len(weights))]
    figure = go.Figure(
        go.Bar(
            x=list(weights.values()),
            y=letters,
            orientation="h",
            name=escape(truncate(judge, 24), quote=False),
            marker={"color": colours.JUDGES[0]},
            width=0.55,
            hovertext=[f"{escape(truncate(judge, 24))}: {weight:.0f} %" for weight in weights.values()],
            hoverinfo="text",
        )
    )
    symbols = ("circle", "diamond", "square", "triangle-up", "cross", "star")
    for index, (person, person_weights) in enumerate(people_weights.items()):
        figure.add_trace(
            go.Scatter(
                x=[person_weights.get(aspect) for aspect in weights],
                y=letters,
                mode="markers",
                name=escape(truncate(person, 24), quote=False),
                marker={
                    "size": 11,
                    "symbol": symbols[index % len(symbols)],
                    "color": _text_colour(),
                    "line": {"color": _background(), "width": 1.5},
                },
                hovertext=[
                    f"{escape(truncate(person, 24))}: {person_weights.get(aspect, 0):.0f} %" for aspect in weights
                ],
                hoverinfo="text",
            )
        )
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(title="Weight, %", rangemode="tozero")
    title = "Weights of the judge and of people" if people_weights else "Weights of the judge"
    _apply_layout(figure, title, 110 + LINE_HEIGHT * len(weights), legend=bool(people_weights))
    charts.draw(figure, key, title, data=ONE_TRACE)


def _add_totals(figure: "go.Figure", names: Sequence[str], values: Sequence[float]) -> None:
    for name, value in zip(names, values, strict=True):
        figure.add_annotation(x=value, y=name, text=f"<b>{value:.2f}</b>", showarrow=False, xanchor="left", xshift=6)


def _format_score_axes(figure: "go.Figure", title: str, axis: str, highest: float, responses: int) -> None:
    figure.update_layout(barmode="stack", bargap=0.3)
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(title=f"{axis}, at most {highest:g}", range=[0, highest * 1.08])
    _apply_layout(figure, title, 100 + BAR_HEIGHT * responses, legend=False)


def _apply_layout(figure: "go.Figure", title: str, height: int, *, legend: bool) -> None:
    figure.update_layout(
        title={"text": title, "x": 0, "xanchor": "left", "xref": "paper", "font": {"size": 15}},
        height=height + 34 * legend,
        margin={"l": 8, "r": 8, "t": 44 + 30 * legend, "b": 40},
        showlegend=legend,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        font={"color": _text_colour()},
    )
    figure.update_xaxes(fixedrange=True, tickangle=0, automargin=True, zeroline=False)
    figure.update_yaxes(fixedrange=True, automargin=True, showgrid=False)


def _hover(aspect: str, weight: float, score: float, contribution: float) -> str:
    return f"{escape(truncate(aspect, 60), quote=False)}<br>{weight:.1f} % × {score:g} = {contribution:.2f}"


def _alt(names: Sequence[str], values: Sequence[float]) -> str:
    return ", ".join(f"{name}: {value:.2f}" for name, value in zip(names, values, strict=True))


def _response_colour(response: int) -> str:
    """Return the colour of a response; those after the second use the judges' muted colours."""
    return colours.RESPONSE.get(response) or colours.JUDGES[(response - 3) % len(colours.JUDGES)]


def _tint(colour: str, index: int) -> str:
    """Return the colour mixed with the background, by the tint of its segment."""
    weight, background = TINTS[index % len(TINTS)], _background()
    channels = [(int(colour[i : i + 2], 16), int(background[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(strong * weight + pale * (1 - weight)):02X}" for strong, pale in channels)


def _theme() -> str:
    return st.context.theme.type or "light"


def _background() -> str:
    return BACKGROUNDS[_theme()]


def _text_colour() -> str:
    return str(st.get_option(f"theme.{_theme()}.textColor") or "#1B1F24")
