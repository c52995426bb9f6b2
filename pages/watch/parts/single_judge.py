"""The view of a single judge: its choice in each order of the responses, or the samples of its score.

Samples are drawn as a histogram, with their mean and the values of peers and people on the same axis.
"""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from statistics import fmean
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from plotly.subplots import make_subplots

from core.items import Item
from core.labels import Scale, Value
from core.trace import Event, Turn, Verdict
from core.verdicts import verdict_of_criterion
from pages.parts import charts, colours, numbers, paging
from pages.parts.numbers import RESPONSE_NAMES, format_value
from pages.parts.text import escape_markdown
from pages.watch.parts import turns
from storage.runs.traces import Trace

SAMPLES_PER_PAGE = 10
# Bars on a continuous scale.
BINS = 20
# The rows below the samples -> the symbol and the colour of their marks.
RATERS = {"○ peers": ("circle-open", colours.JUDGES[0]), "▲ people": ("triangle-up", colours.TRUE)}
# A rater -> the score or answer.
RaterValues = Mapping[str, Value]


def render(trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], live: bool) -> None:
    """Draw the verdict, the histogram if there are several samples, and one page of the turns."""
    completed, verdict = turns.completed(events), turns.verdict_of(events)
    turns.draw_verdict(verdict)
    samples = [turn for _, turn in completed if turn.step == "rating"]
    for criterion in dict.fromkeys(turn.criterion for turn in samples):
        of_criterion = [turn for turn in samples if turn.criterion == criterion]
        if len(of_criterion) > 1:
            own = verdict_of_criterion(verdict, criterion) if verdict and criterion else verdict
            draw_histogram(trace, of_criterion, own, settings, criterion)
    turns.draw_problems(events, "judgement")
    page_key = f"samples_page_{trace.id}"
    page = paging.current_page(page_key, len(completed), SAMPLES_PER_PAGE)
    shown = paging.page_slice(completed, page, SAMPLES_PER_PAGE)
    for number, (seq, turn) in enumerate(shown, (page - 1) * SAMPLES_PER_PAGE + 1):
        sample = f"sample {number}" if len(samples) > 1 and not turn.criterion else ""
        order = f"Response {turn.shown[0]} read first" if turn.shown else ""
        parts = (f"**{escape_markdown(turn.speaker)}**", escape_markdown(turn.criterion), sample, order, _reading(turn))
        turns.draw_turn(trace.id, seq, turn, " · ".join(filter(None, parts)))
    paging.draw_pagination(page_key, len(completed), SAMPLES_PER_PAGE)
    if live and not completed:
        st.caption(":material/sync: Waiting for the judge.")


def draw_histogram(
    trace: Trace, samples: Sequence[Turn], verdict: Verdict | None, settings: dict[str, Any], criterion: str = ""
) -> None:
    """Draw the samples on a criterion, "" if the trace has one, as a histogram with their mean."""
    criteria = [settings.get("criterion") or {}, *(settings.get("criteria") or ())]
    scale = next((one.get("scale") for one in criteria if criterion in ("", one.get("name"))), None)
    if criterion:
        st.markdown(f"**{escape_markdown(criterion)}**")
    readings = [turn.reading for turn in samples]
    draw_samples(readings, {}, verdict, scale, f"samples_{trace.id}_{criterion}")
    readable = sum(reading is not None for reading in readings)
    st.caption(f"{readable} of {numbers.format_count(len(readings), 'sample')} could be read.")


def _reading(turn: Turn) -> str:
    text = turns.format_reading(turn, RESPONSE_NAMES if turn.step == "choice" else None)
    weights = ", ".join(f"{level} × {p:.3g}" for level, p in turn.probabilities.items())
    return f"{text} · probabilities {escape_markdown(weights)}" if weights else text


# The samples of a verdict as a histogram, with their mean, the peers' and the people's values on the same axis.


def draw_samples(
    readings: Sequence[Value | None],
    raters: Mapping[str, RaterValues],
    verdict: Verdict | None,
    scale: Any,
    key: str,
) -> None:
    """Draw samples; `raters` has the values of RATERS, if there are any, and `scale` is the one of the settings."""
    parts = [f"samples {', '.join(map(format_value, readings))}"]
    parts += [f"verdict {format_value(verdict.value)}"] if verdict else []
    for name, values in raters.items():
        listed = ", ".join(f"{rater} {format_value(value)}" for rater, value in values.items())
        parts += [f"{name} {listed}"] if listed else []
    mean = verdict.value if verdict else None
    figure = sample_figure(readings, raters, mean, Scale.model_validate(scale) if scale else None)
    charts.draw(figure, key, "; ".join(parts), data=charts.ChartData(method="Samples of one trace"))


def sample_figure(
    readings: Sequence[Value | None], raters: Mapping[str, RaterValues], verdict: Value | None, scale: Scale | None
) -> go.Figure:
    """Return a figure with bars for the samples, and below them the raters at their values."""
    samples = [reading for reading in readings if reading is not None]
    values = [*samples, *(value for rated in raters.values() for value in rated.values())]
    numeric = scale is not None and all(isinstance(value, int | float) for value in values)
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.68, 0.32], vertical_spacing=0.05)
    bins = _bins(scale) if numeric and scale is not None else {}
    figure.add_histogram(
        x=samples if numeric else list(map(_option, samples)),
        xbins=bins,
        marker={"color": charts.accent_colour()},
        texttemplate="%{y}",
        hovertemplate="%{x}: %{y} samples<extra></extra>",
        row=1,
        col=1,
    )
    for name, rated in raters.items():
        _add_raters(figure, name, rated, numeric)
    if isinstance(verdict, int | float) and numeric:
        line = {"color": charts.GREY, "width": 2, "dash": "dash"}
        label = {"text": f"<b>mean {verdict:.2f}</b>", "yanchor": "bottom", "y": 1}
        figure.add_vline(verdict, line=line, annotation=label, row=1, col=1)
    charts.apply_layout(figure, "", 330)
    figure.update_layout(bargap=0.2)
    figure.update_yaxes(title="samples", rangemode="tozero", nticks=4, row=1, col=1)
    figure.update_yaxes(showgrid=False, zeroline=False, row=2, col=1)
    figure.update_xaxes(title="score" if numeric else "answer", row=2, col=1)
    if numeric and scale is not None:
        ticks = {"tickvals": list(scale.categories)} if scale.categories else {}
        figure.update_xaxes(range=[bins["start"], bins["end"]], **ticks)
    else:
        options = {_option(value): value for value in values}  # numbers first and in order
        order = sorted(options, key=lambda text: (isinstance(options[text], str), options[text]))
        figure.update_xaxes(type="category", categoryorder="array", categoryarray=order)
    return figure


def _option(value: Value) -> str:
    """Return a value as a category; not rounded to two decimals, so different answers remain distinct."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _add_raters(figure: go.Figure, name: str, rated: RaterValues, numeric: bool) -> None:
    """Add one mark for each value, with the number of raters; their row has their mean and their number."""
    by_value: dict[Any, list[str]] = {}
    for rater, value in rated.items():
        by_value.setdefault(value if numeric else _option(value), []).append(rater)
    scores = [float(value) for value in rated.values() if isinstance(value, int | float)]
    mean = f" {fmean(scores):.2f}" if numeric and scores else ""
    symbol, colour = RATERS[name]
    figure.add_scatter(
        x=list(by_value),
        y=[f"{name}{mean} ({len(rated)})" if rated else name] * len(by_value),
        mode="markers+text",
        marker={"size": 13, "symbol": symbol, "color": colour, "line": {"width": 2, "color": colour}},
        text=[f"  ×{len(names)}" if len(names) > 1 else "" for names in by_value.values()],
        textposition="middle right",
        cliponaxis=False,
        hovertext=[
            escape(f"{', '.join(names)}: {format_value(value)}", quote=False) for value, names in by_value.items()
        ],
        hoverinfo="text",
        row=2,
        col=1,
    )


def scale_ends(scale: Scale) -> tuple[float, float]:
    """Return the lowest and the highest score."""
    scores = [float(category) for category in scale.categories if isinstance(category, int | float)]
    high = 1.0 if scale.high is None else scale.high
    return (min(scores), max(scores)) if scores else (scale.low or 0.0, high)


def _bins(scale: Scale) -> dict[str, float]:
    """Return the bins of scores: one for each category, or equal shares of a continuous scale."""
    low, high = scale_ends(scale)
    if not scale.categories:
        return {"start": low, "end": high, "size": (high - low) / BINS}
    scores = sorted(float(category) for category in scale.categories if isinstance(category, int | float))
    step = min((b - a for a, b in pairwise(scores)), default=1.0)
    return {"start": low - step / 2, "end": high + step / 2, "size": step}
