"""Charts: a title that says the subject, intervals as whiskers, n at each point, and a click that opens the items.

Plotly is imported when the first chart is drawn; it costs a tenth of a second.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.statistics.reports.agreement import Row
from pages.parts import colours, numbers
from pages.parts.text import short

if TYPE_CHECKING:
    import plotly.graph_objects as go

GREY = colours.RESPONSE[0]
ROW, CELL = 34, 74
"""Pixels for a line of points, and for a cell of the heat map."""
TALL = 18
"""Lines beyond which a chart scrolls, with its axis on top."""
LONGEST, WIDEST, NARROW = 34, 13, 9
"""Characters of a name on the vertical axis, and on a line under the heat map, where two or more stand there."""
PALE = {"light": "#E3EAF8", "dark": "#26303F"}
CONFIG = {"displayModeBar": False}


@dataclass(frozen=True)
class Series:
    """Points of one colour: the rows by the name that stands on the axis."""

    name: str
    rows: Mapping[str, Row]
    hollow: bool = False


@dataclass(frozen=True)
class Ceiling:
    """The human value, drawn as a dashed line."""

    name: str
    value: float


def draw(figure: "go.Figure", key: str, alt: str, on_select: Any) -> None:
    """A chart on which points can be clicked."""
    st.plotly_chart(figure, key=key, on_select=on_select, selection_mode="points", config=CONFIG, alt=alt)


def clicked(key: str) -> Any:
    """What the clicked point stands for; None where none is."""
    points = st.session_state[key].selection.points
    return points[0]["customdata"] if points else None


def points(
    series: Sequence[Series],
    *,
    title: str,
    axis: str,
    order: Sequence[str],
    chosen: str | None,
    ceiling: Ceiling | None,
) -> "go.Figure":
    """Values with whiskers on a horizontal axis, one line a name, in the order given from above."""
    import plotly.graph_objects as go

    places = {name: place for place, name in enumerate(reversed(order))}
    figure = go.Figure()
    for number, one in enumerate(series):
        whiskers(figure, one, places, chosen, shift=0.13 * (2 * number - len(series) + 1))
    _sizes(figure, series, places)
    names = list(places)
    figure.update_yaxes(
        tickvals=list(places.values()),
        ticktext=[escape(short(name, LONGEST), quote=False) or "–" for name in names],
        range=[-0.6, len(names) - 0.4],
    )
    figure.update_xaxes(title=axis, range=[_lowest(series), 1.03], tickvals=[-1, -0.5, 0, 0.5, 1])
    if len(names) > TALL:
        figure.update_xaxes(side="top")
    figure.update_xaxes(zeroline=True, zerolinecolor=GREY, showgrid=True)
    if ceiling is not None:
        figure.add_vline(
            ceiling.value,
            line={"dash": "dash", "color": GREY},
            annotation={"text": f"{ceiling.name} {ceiling.value:.2f}", "yanchor": "bottom", "y": 1},
        )
    return dressed(figure, title, 100 + 30 * (len(series) > 1) + ROW * len(names), legend=len(series) > 1)


def whiskers(figure: "go.Figure", series: Series, places: Mapping[str, int], chosen: str | None, shift: float) -> None:
    import plotly.graph_objects as go

    there = {name: row for name, row in series.rows.items() if name in places and row.value is not None}
    values = [row.value or 0.0 for row in there.values()]
    ends = [_ends(row) for row in there.values()]
    heights = [places[name] + shift for name in there]
    colour = GREY if series.hollow else accent()
    figure.add_trace(
        go.Scatter(
            x=values,
            y=heights,
            name=series.name,
            mode="markers",
            marker={"size": 11, "color": colour, "symbol": "circle-open" if series.hollow else "circle"},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [max(0.0, high - value) for (_, high), value in zip(ends, values, strict=True)],
                "arrayminus": [max(0.0, value - low) for (low, _), value in zip(ends, values, strict=True)],
                "color": colour,
                "thickness": 1.5,
                "width": 4,
            },
            customdata=list(there),
            hovertext=[_hover(name, series.name, row) for name, row in there.items()],
            hoverinfo="text",
            selectedpoints=[list(there).index(chosen)] if chosen in there else None,
            unselected={"marker": {"opacity": 0.4}},
        )
    )


def _sizes(figure: "go.Figure", series: Sequence[Series], places: Mapping[str, int]) -> None:
    """n, to the right of the whiskers."""
    import plotly.graph_objects as go

    found = {name: [one.rows[name] for one in series if name in one.rows] for name in places}
    figure.add_trace(
        go.Scatter(
            x=[max(_ends(row)[1] for row in rows) for rows in found.values()],
            y=list(places.values()),
            mode="text",
            text=[f"  n {rows[-1].items:,}" for rows in found.values()],
            textposition="middle right",
            textfont={"size": 11},
            cliponaxis=False,
            hoverinfo="skip",
            showlegend=False,
        )
    )


def _ends(row: Row) -> tuple[float, float]:
    """The ends of the whiskers; the value itself where there is no interval."""
    value = row.value or 0.0
    return (value if row.low is None else row.low, value if row.high is None else row.high)


def _hover(name: str, series: str, row: Row) -> str:
    lines = [f"<b>{escape(name, quote=False)}</b>"] + [series] * bool(series)
    lines += [numbers.estimate(row.value, row.low, row.high), numbers.count(row.items, "item"), "Click: the items"]
    return "<br>".join(lines)


def _lowest(series: Sequence[Series]) -> float:
    """Where the axis begins: below zero only where it is needed."""
    ends = [end for one in series for row in one.rows.values() for end in (row.low, row.value) if end is not None]
    return max(-1.02, min([-0.04, *(end - 0.05 for end in ends)]))


def pairs(
    rows: Mapping[tuple[str, str], Row],
    before: Mapping[tuple[str, str], Row],
    *,
    title: str,
    chosen: tuple[str, ...],
) -> "go.Figure":
    """Raters by raters: the value and n in each cell, and the value `before`, where there is one."""
    import plotly.graph_objects as go

    down = list(dict.fromkeys(b for _, b in rows))
    across = list(dict.fromkeys(a for a, _ in rows))
    figure = go.Figure()
    values = [[_value(rows.get((a, b))) for a in across] for b in down]
    pale = PALE[theme()]
    figure.add_trace(
        go.Heatmap(
            z=values,
            zmin=0,
            zmax=1,
            colorscale=[[0, pale], [1, accent()]],
            showscale=False,
            xgap=3,
            ygap=3,
            hoverinfo="skip",
        )
    )
    cells = [(across.index(a), down.index(b), (a, b), row) for (a, b), row in rows.items()]
    figure.add_trace(
        go.Scatter(
            x=[x for x, _, _, _ in cells],
            y=[y for _, y, _, _ in cells],
            mode="text",
            text=[_cell(row, before.get(pair)) for _, _, pair, row in cells],
            textfont={"color": [colours.on(mixed(pale, accent(), row.value)) for _, _, _, row in cells], "size": 12},
            hoverinfo="skip",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[x for x, _, _, _ in cells],
            y=[y for _, y, _, _ in cells],
            mode="markers",
            marker={"size": CELL - 20, "symbol": "square", "color": "rgba(0,0,0,0)"},
            customdata=[list(pair) for _, _, pair, _ in cells],
            hovertext=[_hover(" × ".join(pair), row.reason, row) for _, _, pair, row in cells],
            hoverinfo="text",
        )
    )
    for x, y, pair, _ in cells:
        if pair == chosen:
            figure.add_shape(
                type="rect",
                x0=x - 0.47,
                x1=x + 0.47,
                y0=y - 0.45,
                y1=y + 0.45,
                line={"color": colours.UNDECIDED, "width": 3},
            )
    figure.update_xaxes(
        tickvals=list(range(len(across))), ticktext=[folded(name, len(across)) for name in across], showgrid=False
    )
    figure.update_yaxes(tickvals=list(range(len(down))), ticktext=[folded(name, 1) for name in down], showgrid=False)
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(zeroline=False).update_yaxes(zeroline=False)
    return dressed(figure, title, 120 + CELL * len(down), points=False)


def _value(row: Row | None) -> float | None:
    return None if row is None else 0.0 if row.value is None else row.value


def _cell(row: Row, before: Row | None) -> str:
    first = [f"first {numbers.estimate(before.value, None, None)}"] if before is not None else []
    return "<br>".join([f"<b>{numbers.estimate(row.value, None, None)}</b>", *first, f"n {row.items:,}"])


def folded(name: str, among: int) -> str:
    """A rater's name over several short lines, so that it is never turned."""
    lines = [""]
    for word in re.findall(r"[^\s-]*-|[^\s-]+\s?", short(name, 40)):
        if lines[-1] and len(lines[-1] + word) > (WIDEST if among < 3 else NARROW):
            lines.append("")
        lines[-1] += word
    return "<br>".join(escape(line.strip(), quote=False) for line in lines)


def mixed(pale: str, strong: str, share: float | None) -> str:
    """The colour of a cell, as the colour scale makes it."""
    part = min(1.0, max(0.0, share or 0.0))
    channels = [(int(pale[i : i + 2], 16), int(strong[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(low + part * (high - low)):02X}" for low, high in channels)


def dressed(figure: "go.Figure", title: str, height: int, *, points: bool = True, legend: bool = False) -> "go.Figure":
    figure.update_layout(
        title={
            "text": title,
            "x": 0,
            "xanchor": "left",
            "xref": "container",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"l": 6, "t": 8},
            "font": {"size": 15},
        },
        height=height,
        margin={"l": 8, "r": 44 if points else 8, "t": 48 + 26 * legend + 40 * (height > TALL * ROW), "b": 40},
        showlegend=legend,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        hovermode="closest",
    )
    figure.update_xaxes(fixedrange=True, tickangle=0, automargin=True)
    figure.update_yaxes(fixedrange=True, automargin=True)
    return figure


def step(place: int, count: int) -> str:
    """The colour of a step on a scale of `count`, from pale to the accent; the same in light and dark."""
    return mixed("#C7D5F2", colours.ACCENT, place / max(count - 1, 1))


def theme() -> str:
    """Light or dark, as the visitor has it now."""
    return st.context.theme.type or "light"


def accent() -> str:
    """The accent colour on that ground."""
    return str(st.get_option(f"theme.{theme()}.primaryColor") or colours.ACCENT)
