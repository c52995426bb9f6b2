"""Charts of judges beside people: points with the human ceiling behind them, tables of values, and scores by pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from core.statistics.reports.agreement import Row
from pages.parts import charts, colours, numbers
from pages.parts.charts import Series
from pages.parts.text import short
from storage.reports.disagreements import DIVIDED, SILENT, Matrix, Pair

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW, CELL, LINE = 84, 64, 20
"""Pixels for a judge with its name and details, for a row of a table, and for a line of the legend."""
AT = -0.2
"""Where the whiskers of a judge are, below its name."""
LONGEST = 44
BAND = 0.16
"""How dark the interval of the ceiling is."""


@dataclass(frozen=True)
class Judges:
    """What is drawn of each judge, or of a judge in each scenario: all by the name that stands above the point."""

    points: Mapping[str, Row]
    beside: Mapping[str, Row]
    """Hollow: the judge on the same test as the ceiling."""
    ceilings: Mapping[str, Row]
    details: Mapping[str, str]


def judges(told: Judges, *, title: str, axis: str, names: tuple[str, str], chosen: str | None) -> "go.Figure":
    """Each judge in the order given: its name and details, and below them its point with whiskers over the ceiling."""
    import plotly.graph_objects as go

    order = list(told.points)
    places = {name: place for place, name in enumerate(reversed(order))}
    figure = go.Figure()
    several = bool(told.beside)
    charts.whiskers(figure, Series(names[0], told.points), places, chosen, shift=AT + 0.08 * several)
    if several:
        charts.whiskers(figure, Series(names[1], told.beside, hollow=True), places, chosen, shift=AT - 0.08)
    _ceilings(figure, told.ceilings, places)
    for name, place in places.items():
        _heading(figure, name, told.details[name], place + 0.25)
    ends = [end for row in (*told.points.values(), *told.beside.values()) for end in (row.low, row.value)]
    below = min(end for end in ends if end is not None) < 0
    figure.update_yaxes(showticklabels=False, range=[-0.5, len(order) - 0.4], showgrid=False, zeroline=False)
    figure.update_xaxes(title=axis, range=[-1.02 if below else -0.02, 1.02], zeroline=below, showgrid=True)
    figure.update_xaxes(tickvals=[-1, -0.5, 0, 0.5, 1] if below else [0, 0.25, 0.5, 0.75, 1])
    lines = several + bool(told.ceilings) + several
    charts.dressed(figure, title, 100 + LINE * lines + ROW * len(order), legend=bool(lines))
    legend = {"orientation": "v", "x": 0, "y": 1, "yanchor": "bottom"}
    return figure.update_layout(legend=legend, margin={"t": 44 + LINE * lines, "r": 8})


def _heading(figure: "go.Figure", name: str, details: str, height: float) -> None:
    """Above the point, so that a phone has the whole width for both."""
    small = f"<span style='font-size:11px;color:{charts.GREY}'>{escape(details, quote=False)}</span>"
    words = f"<b>{escape(short(name, LONGEST), quote=False)}</b><br>{small}"
    place = {"x": 0, "xref": "paper", "xanchor": "left", "y": height, "align": "left"}
    figure.add_annotation(text=words, showarrow=False, **place)


def _ceilings(figure: "go.Figure", ceilings: Mapping[str, Row], places: Mapping[str, int]) -> None:
    """A dashed line and a band at each judge: every judge decided other items, so that its ceiling is its own."""
    import plotly.graph_objects as go

    there = {place: ceilings[name] for name, place in places.items() if name in ceilings}
    for place, row in there.items():
        edges = {"y0": place + AT - 0.24, "y1": place + AT + 0.24, "layer": "below"}
        if row.low is not None and row.high is not None:
            band = {"fillcolor": charts.GREY, "opacity": BAND, "line_width": 0}
            figure.add_shape(type="rect", x0=row.low, x1=row.high, **edges, **band)
        line = {"dash": "dash", "color": charts.GREY, "width": 2}
        figure.add_shape(type="line", x0=row.value, x1=row.value, **edges, line=line)
    if there:
        name = "that person with the others: human ceiling"
        key = {"mode": "lines", "line": {"dash": "dash", "color": charts.GREY, "width": 2}}
        figure.add_trace(go.Scatter(x=[None], y=[None], name=name, hoverinfo="skip", **key))
        figure.add_trace(_people(there, [name for name in places if name in ceilings]))


def _people(there: Mapping[int, Row], names: list[str]) -> "go.Scatter":
    """What a ceiling is, for whoever points at it."""
    import plotly.graph_objects as go

    return go.Scatter(
        x=[row.value for row in there.values()],
        y=[place + AT - 0.2 for place in there],
        mode="markers",
        marker={"size": 14, "color": "rgba(0,0,0,0)"},
        hovertext=[f"People: {numbers.estimate(row.value, row.low, row.high)}" for row in there.values()],
        hoverinfo="text",
        showlegend=False,
        customdata=names,
    )


@dataclass(frozen=True)
class Naming:
    """What the two sides of a table are, and how their values are written."""

    down: str
    across: str
    values: Mapping[str, str]


def matrix(found: Matrix, naming: Naming, *, title: str, chosen: str | None) -> "go.Figure":
    """How often each two values met; a cell carries "down × across", and what is no value has a dashed edge."""
    import plotly.graph_objects as go

    most = max(found.counts.values(), default=1)
    counts = [[found.counts.get((down, across), 0) for across in found.across] for down in found.down]
    cells = [(x, y, across, down) for y, down in enumerate(found.down) for x, across in enumerate(found.across)]
    pale = charts.PALE[charts.theme()]
    look = {"colorscale": [[0, pale], [1, charts.accent()]], "zmin": 0, "zmax": most, "showscale": False}
    figure = go.Figure(go.Heatmap(z=counts, xgap=3, ygap=3, hoverinfo="skip", **look))
    shares = [found.counts.get((down, across), 0) / most for _, _, across, down in cells]
    figure.add_trace(
        go.Scatter(
            x=[x for x, _, _, _ in cells],
            y=[y for _, y, _, _ in cells],
            mode="text",
            text=[_count(counts[y][x], down == across) for x, y, across, down in cells],
            textfont={
                "size": 14,
                "color": [colours.on(charts.mixed(pale, charts.accent(), share)) for share in shares],
            },
            hoverinfo="skip",
        )
    )
    open_ = [cell for cell in cells if counts[cell[1]][cell[0]]]
    figure.add_trace(
        go.Scatter(
            x=[x for x, _, _, _ in open_],
            y=[y for _, y, _, _ in open_],
            mode="markers",
            marker={"size": CELL - 16, "symbol": "square", "color": "rgba(0,0,0,0)"},
            customdata=[f"{down} × {across}" for _, _, across, down in open_],
            hovertext=[_met(naming, down, across, counts[y][x]) for x, y, across, down in open_],
            hoverinfo="text",
        )
    )
    for x, y, across, down in cells:
        if f"{down} × {across}" == chosen:
            _edge(figure, x, y, {"color": colours.UNDECIDED, "width": 3})
        elif {down, across} & {SILENT, DIVIDED}:
            _edge(figure, x, y, {"color": charts.GREY, "width": 1, "dash": "dash"})
    _sides(figure, found, naming)
    return charts.dressed(figure, title, 130 + CELL * len(found.down), points=False)


def _count(count: int, same: bool) -> str:
    """The number; bold where both said the same."""
    return f"<b>{count:,}</b>" if same else f"{count:,}"


def _met(naming: Naming, down: str, across: str, count: int) -> str:
    told = [f"{side}: {naming.values.get(one, one)}" for side, one in ((naming.down, down), (naming.across, across))]
    return "<br>".join([*(escape(one, quote=False) for one in told), f"<b>{count:,}</b>", "Click: the items"])


def _edge(figure: "go.Figure", x: int, y: int, line: Mapping[str, object]) -> None:
    figure.add_shape(type="rect", x0=x - 0.47, x1=x + 0.47, y0=y - 0.45, y1=y + 0.45, line=dict(line))


def _sides(figure: "go.Figure", found: Matrix, naming: Naming) -> None:
    across = [charts.folded(naming.values.get(one, one), len(found.across)) for one in found.across]
    down = [charts.folded(naming.values.get(one, one), 3) for one in found.down]
    names = (escape(short(one, 34), quote=False) for one in (naming.across, naming.down))
    figure.update_xaxes(title=next(names), tickvals=list(range(len(across))), ticktext=across)
    figure.update_yaxes(title=next(names), tickvals=list(range(len(down))), ticktext=down)
    figure.update_xaxes(range=[-0.5, len(across) - 0.5]).update_yaxes(range=[len(down) - 0.5, -0.5])
    for axes in (figure.update_xaxes, figure.update_yaxes):
        axes(showgrid=False, zeroline=False)


def scores(found: Sequence[Pair], *, judge: str, title: str, chosen: str | None) -> "go.Figure":
    """A point for each item: people's mean and the judge's score; on the dashed line they are the same."""
    import plotly.graph_objects as go

    there = [one for one in found if one.distance >= 0]
    across = [one.mean or 0.0 for one in there]
    down = [float(str(one.judge)) for one in there]
    names = [one.target.item for one in there]
    ends = [min([*across, *down], default=0.0), max([*across, *down], default=1.0)]
    line = {"dash": "dash", "color": charts.GREY}
    figure = go.Figure(go.Scatter(x=ends, y=ends, mode="lines", line=line, hoverinfo="skip"))
    figure.add_trace(
        go.Scatter(
            x=across,
            y=down,
            mode="markers",
            marker={"size": 10, "color": charts.accent(), "opacity": 0.7},
            customdata=names,
            hovertext=[_score(one, judge) for one in there],
            hoverinfo="text",
            selectedpoints=[names.index(chosen)] if chosen in names else None,
        )
    )
    figure.update_xaxes(title="Mean of people", showgrid=True)
    figure.update_yaxes(title=escape(short(judge, 34), quote=False), showgrid=True)
    return charts.dressed(figure, title, 420)


def _score(one: Pair, judge: str) -> str:
    name = escape(short(one.target.item, 60), quote=False)
    told = f"{escape(short(judge, 34), quote=False)} {one.judge:g} · people {one.mean:.2f}"
    return f"<b>{name}</b><br>{told}<br>Click: the item"
