"""The view of a single judge: its choice in each order of the responses, or the samples of its score.

Samples are drawn as a histogram, with their mean and the values of peers and people on the same axis.
"""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from core.items import Item
from core.labels import Scale, Value
from core.trace import Turn, Verdict
from core.verdicts import verdict_of_criterion
from pages.parts import charts, colours, numbers
from pages.parts.numbers import RESPONSE_NAMES, format_value
from pages.parts.text import escape_markdown
from pages.watch.parts import debate, turns
from pages.watch.parts.turns import NumberedEvent
from storage.runs.traces import Trace

# The symbol and the colour of each other group of raters.
RATERS = {"peers": ("circle-open", colours.JUDGES[0]), "people": ("triangle-up", colours.TRUE)}
# A rater -> the score or answer.
RaterValues = Mapping[str, Value]


def render(trace: Trace, item: Item, events: Sequence[NumberedEvent], settings: dict[str, Any], live: bool) -> None:
    """Draw the verdict, the histogram if there are several samples, and one page of the turns."""
    completed, verdict = turns.completed(events), turns.verdict_of(events)
    samples = [turn for _, turn in completed if turn.step == "rating"]
    for criterion in dict.fromkeys(turn.criterion for turn in samples):
        of_criterion = [turn for turn in samples if turn.criterion == criterion]
        if len(of_criterion) > 1:
            own = verdict_of_criterion(verdict, criterion) if verdict and criterion else verdict
            _draw_criterion(trace, of_criterion, own, settings, criterion)
    places = {seq: number for number, (seq, _) in enumerate(completed, 1)}

    def heading(seq: int, turn: Turn) -> str:
        sample = f"sample {places[seq]}" if len(samples) > 1 and not turn.criterion else ""
        order = f"Response {turn.shown[0]} read first" if turn.shown else ""
        parts = (f"**{escape_markdown(turn.speaker)}**", escape_markdown(turn.criterion), sample, order, _reading(turn))
        return " · ".join(filter(None, parts))

    debate.draw_events(trace.id, events, heading, preference=debate.judges_preference(trace, item, events))
    if live and not completed:
        st.caption(":material/sync: Waiting for the judge.")


def _draw_criterion(
    trace: Trace, samples: Sequence[Turn], verdict: Verdict | None, settings: dict[str, Any], criterion: str
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


def draw_samples(
    readings: Sequence[Value | None], raters: Mapping[str, RaterValues], verdict: Verdict | None, scale: Any, key: str
) -> None:
    """Draw samples as a histogram, and the values of raters as marks below the axis; the dashed line is the mean.

    `raters` has the values of RATERS, if there are any, and `scale` is the one of the settings.
    """
    samples = [reading for reading in readings if reading is not None]
    values = [*samples, *(value for rated in raters.values() for value in rated.values())]
    numeric = all(isinstance(value, int | float) for value in values)
    show: Callable[[Any], Any] = float if numeric else format_value  # of an answer, each value is a category
    figure = go.Figure(go.Histogram(x=list(map(show, samples)), name="samples", marker_color=charts.accent_colour()))
    for place, (name, rated) in enumerate(raters.items(), 1):
        symbol, colour = RATERS[name]
        figure.add_scatter(
            x=list(map(show, rated.values())), y=[-place / 2] * len(rated), name=name, mode="markers",
            marker={"size": 13, "symbol": symbol, "color": colour, "line": {"width": 2, "color": colour}},
            hovertext=[escape(f"{rater}: {format_value(value)}", quote=False) for rater, value in rated.items()],
            hoverinfo="text",
        )  # fmt: skip
    if numeric and verdict is not None and isinstance(verdict.value, int | float):
        label = {"text": f"<b>mean {verdict.value:.2f}</b>", "yanchor": "bottom", "y": 1}
        figure.add_vline(verdict.value, line_dash="dash", annotation=label)
    charts.apply_layout(figure, "", 330, legend=bool(raters))
    figure.update_layout(bargap=0.2)
    figure.update_yaxes(title="samples", nticks=4)
    figure.update_xaxes(title="score" if numeric else "answer", type="linear" if numeric else "category")
    levels = Scale.model_validate(scale).categories if numeric and scale else ()
    if levels:
        figure.update_xaxes(tickvals=list(levels))
        figure.update_traces(xbins={"start": float(levels[0]) - 0.5, "size": 1}, selector={"type": "histogram"})
    shown = {"samples": readings, **{name: rated.values() for name, rated in raters.items()}}
    alt = "; ".join(f"{name} {', '.join(map(format_value, own))}" for name, own in shown.items())
    charts.draw(figure, key, alt, data=charts.ChartData(method="Samples of one trace"))
