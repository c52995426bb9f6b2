"""The samples of a verdict as a histogram, with their mean, the peers' and the people's values on the same axis."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any

from core.labels import Scale, Value
from pages.parts import charts, colours
from pages.parts.numbers import format_value

if TYPE_CHECKING:
    import plotly.graph_objects as go

BINS = 20
"""Bars on a continuous scale."""
PEER_SYMBOL, PEOPLE_SYMBOL = "circle-open", "triangle-up"


@dataclass(frozen=True)
class RaterValue:
    """A rater's score or answer."""

    rater: str
    value: Value


def sample_figure(
    readings: Sequence[Value | None],
    peers: Sequence[RaterValue],
    people: Sequence[RaterValue],
    verdict: Value | None,
    scale: Scale | None,
) -> "go.Figure":
    """Return a figure with bars for the samples, and below them ▲ people and ○ peers at their values."""
    from plotly.subplots import make_subplots

    samples = [reading for reading in readings if reading is not None]
    values = [*samples, *(rated.value for rated in (*peers, *people))]
    numeric = scale is not None and all(isinstance(value, int | float) for value in values)
    options = None if numeric else _distinct_options(values)
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.68, 0.32], vertical_spacing=0.05)
    _add_bars(figure, samples, scale, options)
    _add_raters(figure, people, PEOPLE_SYMBOL, colours.TRUE, 1, options, with_mean=numeric)
    _add_raters(figure, peers, PEER_SYMBOL, colours.JUDGES[0], 0, options, with_mean=False)
    if isinstance(verdict, int | float) and numeric:
        line = {"color": charts.GREY, "width": 2, "dash": "dash"}
        label = {"text": f"<b>mean {verdict:.2f}</b>", "yanchor": "bottom", "y": 1}
        figure.add_vline(verdict, line=line, annotation=label, row=1, col=1)
    _format_axes(figure, scale, options)
    names = [_row_name("○ peers", peers, numeric), _row_name("▲ people", people, numeric)]
    figure.update_yaxes(ticktext=names, row=2, col=1)
    return figure


def _distinct_options(values: Sequence[Value]) -> list[str]:
    """Return every value that occurs as text, numbers first and in order."""
    texts = {_option(value): value for value in values}
    return sorted(texts, key=lambda text: (isinstance(texts[text], str), texts[text]))


def _option(value: Value) -> str:
    """Return a value as a category; not rounded to two decimals, so different answers remain distinct."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _row_name(name: str, rated: Sequence[RaterValue], numeric: bool) -> str:
    """Return `▲ people 2.33 (3)`: their mean and their number."""
    scores = [float(label.value) for label in rated if isinstance(label.value, int | float)]
    mean = f" {fmean(scores):.2f}" if numeric and scores else ""
    return f"{name}{mean} ({len(rated)})" if rated else name


def _add_bars(figure: "go.Figure", samples: Sequence[Value], scale: Scale | None, options: list[str] | None) -> None:
    import plotly.graph_objects as go

    width = _bin_width(scale)
    counts = Counter(_bin_centre(value, scale, width) if options is None else _option(value) for value in samples)
    figure.add_trace(
        go.Bar(
            x=list(counts),
            y=list(counts.values()),
            width=0.6 if options is not None else 0.8 * width,
            marker={"color": charts.accent_colour()},
            text=list(counts.values()),
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{x}: %{y} samples<extra></extra>",
        ),
        row=1,
        col=1,
    )


def _add_raters(
    figure: "go.Figure",
    rated: Sequence[RaterValue],
    symbol: str,
    colour: str,
    row: int,
    options: list[str] | None,
    *,
    with_mean: bool,
) -> None:
    """Add one mark for each value, with the number of raters if there are several."""
    import plotly.graph_objects as go

    if not rated:
        return
    raters_by_value: dict[Any, list[str]] = {}
    for label in rated:
        value = label.value if options is None else _option(label.value)
        raters_by_value.setdefault(value, []).append(label.rater)
    figure.add_trace(
        go.Scatter(
            x=list(raters_by_value),
            y=[row] * len(raters_by_value),
            mode="markers+text",
            marker={"size": 13, "symbol": symbol, "color": colour, "line": {"width": 2, "color": colour}},
            text=[f"  ×{len(raters)}" if len(raters) > 1 else "" for raters in raters_by_value.values()],
            textposition="middle right",
            cliponaxis=False,
            hovertext=[
                escape(f"{', '.join(raters)}: {format_value(value)}", quote=False)
                for value, raters in raters_by_value.items()
            ],
            hoverinfo="text",
        ),
        row=2,
        col=1,
    )
    if with_mean and len(rated) > 1:
        mean = fmean(float(label.value) for label in rated if isinstance(label.value, int | float))
        figure.add_trace(
            go.Scatter(
                x=[mean],
                y=[row],
                mode="markers",
                marker={"size": 20, "symbol": "line-ns", "line": {"width": 2, "color": colour}},
                hovertext=[f"mean {mean:.2f}"],
                hoverinfo="text",
            ),
            row=2,
            col=1,
        )


def _format_axes(figure: "go.Figure", scale: Scale | None, options: list[str] | None) -> None:
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
        low, high = _scale_ends(scale)
        ticks = {"tickvals": list(scale.categories)} if scale.categories else {}
        margin = max(0.6 * _bin_width(scale), 0.04 * (high - low))  # so that the outer bars are not cut
        figure.update_xaxes(range=[low - margin, high + margin], **ticks)


def _scale_ends(scale: Scale) -> tuple[float, float]:
    if scale.categories:
        categories = [float(category) for category in scale.categories if isinstance(category, int | float)]
        return min(categories), max(categories)
    return scale.low or 0.0, scale.high if scale.high is not None else 1.0


def _bin_width(scale: Scale | None) -> float:
    """Return the width of a bin: the smallest step between categories, or a share of a continuous scale."""
    if scale is None:
        return 1.0
    low, high = _scale_ends(scale)
    if scale.categories:
        categories = sorted(float(category) for category in scale.categories if isinstance(category, int | float))
        return min((b - a for a, b in pairwise(categories)), default=1.0)
    return (high - low) / BINS


def _bin_centre(value: Value, scale: Scale | None, width: float) -> Any:
    """Return the centre of the bin that a score falls into; on a scale with categories, the score itself."""
    if scale is None or scale.categories or not isinstance(value, int | float):
        return value
    low, high = _scale_ends(scale)
    index = min(int((value - low) / width), BINS - 1)
    return round(low + (index + 0.5) * width, 6) if high > low else value
