"""The area chair's samples as a histogram, with the mean, the peers and people on the same axis."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.labels import Scale, Value
from core.statistics.reports.peer_errors import Case, Slice
from pages.parts import charts, colours

if TYPE_CHECKING:
    import plotly.graph_objects as go

BINS = 20
"""Bars on a continuous scale."""
TRIANGLE, CIRCLE = "triangle-up", "circle-open"


@dataclass(frozen=True)
class Said:
    """Who gave which score or answer."""

    who: str
    value: Value


def draw(figure: "go.Figure", key: str, alt: str) -> None:
    """The chart; there is nothing to click on it."""
    st.plotly_chart(figure, key=key, config=charts.CONFIG, alt=alt)


def samples(
    readings: Sequence[Value | None],
    peers: Sequence[Said],
    people: Sequence[Said],
    verdict: Value | None,
    scale: Scale | None,
) -> "go.Figure":
    """Bars for the samples; under them ▲ people and ○ peers at what they said."""
    from plotly.subplots import make_subplots

    read = [reading for reading in readings if reading is not None]
    numeric = all(isinstance(one, int | float) for one in [*read, *(said.value for said in [*peers, *people])])
    options = None if numeric and scale is not None else _options(read, peers, people)
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.68, 0.32], vertical_spacing=0.05)
    _bars(figure, read, scale, options)
    _points(figure, "people", people, TRIANGLE, 1, options, mean=options is None)
    _points(figure, "peers", peers, CIRCLE, 0, options, mean=False)
    if isinstance(verdict, int | float) and options is None:
        line = {"color": charts.GREY, "width": 2, "dash": "dash"}
        label = {"text": f"<b>mean {verdict:.2f}</b>", "yanchor": "bottom", "y": 1}
        figure.add_vline(verdict, line=line, annotation=label, row=1, col=1)
    _axes(figure, scale, options)
    names = [_row("○ peers", peers, options is None), _row("▲ people", people, options is None)]
    figure.update_yaxes(ticktext=names, row=2, col=1)
    return figure


def _row(name: str, said: Sequence[Said], numeric: bool) -> str:
    """`▲ people 2.33 (3)`: their mean, and how many they are."""
    scores = [float(one.value) for one in said if isinstance(one.value, int | float)]
    mean = f" {fmean(scores):.2f}" if numeric and scores else ""
    return f"{name}{mean} ({len(said)})" if said else name


def _options(read: Sequence[Value], peers: Sequence[Said], people: Sequence[Said]) -> list[str]:
    """Every answer that anybody gave, in order."""
    given = {*read, *(said.value for said in (*peers, *people))}
    return [_text(value) for value in sorted(given, key=lambda value: (not isinstance(value, int | float), value))]


def _bars(figure: "go.Figure", read: Sequence[Value], scale: Scale | None, options: list[str] | None) -> None:
    import plotly.graph_objects as go

    step = _step(scale)
    counts = Counter(_text(one) if options is not None else _binned(one, scale, step) for one in read)
    figure.add_trace(
        go.Bar(
            x=list(counts),
            y=list(counts.values()),
            width=0.6 if options is not None else 0.8 * step,
            marker={"color": charts.accent()},
            text=list(counts.values()),
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{y} samples say %{x}<extra></extra>",
        ),
        row=1,
        col=1,
    )


def _points(
    figure: "go.Figure",
    name: str,
    said: Sequence[Said],
    symbol: str,
    row: int,
    options: list[str] | None,
    *,
    mean: bool,
) -> None:
    """One mark for each value, with the number of those who gave it where they are several."""
    import plotly.graph_objects as go

    if not said:
        return
    by: dict[Any, list[str]] = {}
    for one in said:
        by.setdefault(_text(one.value) if options is not None else one.value, []).append(one.who)
    figure.add_trace(
        go.Scatter(
            x=list(by),
            y=[row] * len(by),
            mode="markers+text",
            marker={"size": 13, "symbol": symbol, "color": _ink(name), "line": {"width": 2, "color": _ink(name)}},
            text=[f"  ×{len(names)}" if len(names) > 1 else "" for names in by.values()],
            textposition="middle right",
            cliponaxis=False,
            hovertext=[
                f"{escape(', '.join(names), quote=False)}: {escape(_text(value), quote=False)}"
                for value, names in by.items()
            ],
            hoverinfo="text",
        ),
        row=2,
        col=1,
    )
    if mean and len(said) > 1:
        middle = fmean(float(one.value) for one in said if isinstance(one.value, int | float))
        line = {"size": 20, "symbol": "line-ns", "line": {"width": 2, "color": _ink(name)}}
        figure.add_trace(
            go.Scatter(
                x=[middle],
                y=[row],
                mode="markers",
                marker=line,
                hovertext=[f"people's mean {middle:.2f}"],
                hoverinfo="text",
            ),
            row=2,
            col=1,
        )


def _ink(name: str) -> str:
    return colours.TRUE if name == "people" else colours.JUDGES[0]


def _axes(figure: "go.Figure", scale: Scale | None, options: list[str] | None) -> None:
    figure.update_layout(
        height=330,
        margin={"l": 8, "r": 8, "t": 34, "b": 40},
        showlegend=False,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        bargap=0.2,
    )
    figure.update_yaxes(title="samples", rangemode="tozero", nticks=4, fixedrange=True, row=1, col=1)
    figure.update_yaxes(
        tickvals=[0, 1],
        range=[-0.6, 1.6],
        showgrid=False,
        zeroline=False,
        fixedrange=True,
        row=2,
        col=1,
    )
    figure.update_xaxes(fixedrange=True, tickangle=0, zeroline=False, showgrid=False)
    figure.update_xaxes(title="answer" if options is not None else "score", row=2, col=1)
    if options is not None:
        figure.update_xaxes(type="category", categoryorder="array", categoryarray=options)
    elif scale is not None:
        low, high = _ends(scale)
        ticks = {"tickvals": list(scale.categories)} if scale.categories else {}
        edge = max(0.6 * _step(scale), 0.04 * (high - low))
        figure.update_xaxes(range=[low - edge, high + edge], **ticks)


def _ends(scale: Scale) -> tuple[float, float]:
    if scale.categories:
        ends = [float(one) for one in scale.categories if isinstance(one, int | float)]
        return min(ends), max(ends)
    return scale.low or 0.0, scale.high if scale.high is not None else 1.0


def _step(scale: Scale | None) -> float:
    """The width of a bar's place."""
    if scale is None:
        return 1.0
    low, high = _ends(scale)
    if scale.categories:
        ordered = sorted(float(one) for one in scale.categories if isinstance(one, int | float))
        return min((b - a for a, b in pairwise(ordered)), default=1.0)
    return (high - low) / BINS


def _binned(value: Value, scale: Scale | None, step: float) -> Any:
    """The middle of the bar that a score falls into; on a scale of steps, the score itself."""
    if scale is None or scale.categories or not isinstance(value, int | float):
        return value
    low, high = _ends(scale)
    place = min(int((value - low) / step), BINS - 1)
    return round(low + (place + 0.5) * step, 6) if high > low else value


def _text(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def name_of(case: Case) -> str:
    """The slice of a case, as the address names it: `2 of 3, chair right`."""
    return _slice(len(case.peers_right), len(case.reviewed.peers), case.chair_right)


def _slice(right: int, peers: int, chair: bool) -> str:
    return f"{right} of {peers}, chair {'right' if chair else 'wrong'}"


def draw_errors(figure: "go.Figure", key: str, alt: str, on_select: Any) -> None:
    """The chart of errors; a click chooses a slice."""
    charts.draw(figure, key, alt, on_select)


def errors(slices: Sequence[Slice], chosen: str | None, several: bool) -> "go.Figure":
    """One bar for each number of right peers, split by whether the chair was right; heights are numbers of traces."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for right, name, colour, sign in (
        (True, "chair right", colours.TRUE, "✓"),
        (False, "chair wrong", colours.FALSE, "✗"),
    ):
        there = [one for one in slices if one.chair_right == right]
        names = [_slice(one.peers_right, one.peers, right) for one in there]
        figure.add_trace(
            go.Bar(
                x=[_place(one, several) for one in there],
                y=[len(one.cases) for one in there],
                name=f"{sign} {name}",
                marker={"color": colour},
                text=[f"<b>{sign} {len(one.cases)}</b><br>{100 * (one.share.value or 0):.0f} %" for one in there],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                textfont={"color": colours.on(colour), "size": 13},
                customdata=names,
                hovertext=[_hovered(one) for one in there],
                hoverinfo="text",
                selectedpoints=[names.index(chosen)] if chosen in names else [] if chosen else None,
                unselected={"marker": {"opacity": 0.45}},
            )
        )
    peers = sorted({one.peers for one in slices})
    order = [f"{right} of {count}" if several else str(right) for count in peers for right in range(count + 1)]
    figure.update_layout(
        barmode="stack",
        showlegend=True,
        height=400,
        margin={"l": 8, "r": 8, "t": 40, "b": 40},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        bargap=0.25,
        uniformtext={"minsize": 10, "mode": "show"},
    )
    figure.update_xaxes(
        title="peers that were right", type="category", categoryorder="array", categoryarray=order, fixedrange=True
    )
    figure.update_xaxes(range=[-0.5, len(order) - 0.5])
    figure.update_yaxes(title="traces", rangemode="tozero", fixedrange=True, tickformat="d", nticks=6)
    return figure


def _place(one: Slice, several: bool) -> str:
    return f"{one.peers_right} of {one.peers}" if several else str(one.peers_right)


def _hovered(one: Slice) -> str:
    low, high = 100 * (one.share.low or 0), 100 * (one.share.high or 0)
    share = f"{100 * (one.share.value or 0):.0f} % [{low:.0f}, {high:.0f}] of {one.share.items_there} traces"
    return (
        f"{_slice(one.peers_right, one.peers, one.chair_right)}<br>{len(one.cases)} traces, {share}<br>Click: the items"
    )
