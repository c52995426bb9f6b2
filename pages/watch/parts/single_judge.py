"""The view of a single judge: its choice in each order of the responses, or the samples of its score."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.items import Item
from core.labels import Scale
from core.trace import Event, Turn, TurnCompleted, Verdict, VerdictReached
from core.verdicts import verdict_of_criterion
from pages.parts import charts, numbers, paging
from pages.parts.chart_files import ChartData
from pages.parts.numbers import RESPONSE_NAMES, VERDICT_NAMES, format_value
from pages.parts.text import escape_markdown
from pages.watch.parts import sample_charts, turns
from storage.runs.traces import Trace

SAMPLES_PER_PAGE = 10


def render(trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], live: bool) -> None:
    """Draw the verdict, the histogram if there are several samples, and one page of the turns."""
    completed = sorted((event.ask, seq, event.turn) for seq, event in events if isinstance(event, TurnCompleted))
    verdict = next((event.verdict for _, event in events if isinstance(event, VerdictReached)), None)
    if verdict is not None:
        draw_verdict(verdict)
    samples = [turn for _, _, turn in completed if turn.step == "rating"]
    for criterion in dict.fromkeys(turn.criterion for turn in samples):
        of_criterion = [turn for turn in samples if turn.criterion == criterion]
        if len(of_criterion) > 1:
            own = verdict_of_criterion(verdict, criterion) if verdict and criterion else verdict
            draw_histogram(trace, of_criterion, own, settings, criterion)
    for seq, event in events:
        turns.draw_problem(seq, event, "judgement")
    page_key = f"samples_page_{trace.id}"
    page = paging.current_page(page_key, len(completed), SAMPLES_PER_PAGE)
    for ask, seq, turn in paging.page_slice(completed, page, SAMPLES_PER_PAGE):
        sample = f"sample {ask + 1}" if len(samples) > 1 and not turn.criterion else ""
        parts = [
            f"**{escape_markdown(turn.speaker)}**",
            escape_markdown(turn.criterion),
            sample,
            _response_order(turn),
            _reading(turn),
        ]
        turns.draw_turn(trace.id, seq, turn, " · ".join(filter(None, parts)))
    paging.draw_pagination(page_key, len(completed), SAMPLES_PER_PAGE)
    if live and not completed:
        st.caption(":material/sync: Waiting for the judge.")


def draw_verdict(verdict: Verdict) -> None:
    """Draw the value of the verdict and its reason."""
    reason = escape_markdown(verdict.reason)
    if isinstance(verdict.value, int) and verdict.opinions[0].kind == "preference":
        st.markdown(f"**{VERDICT_NAMES.get(verdict.value, str(verdict.value))}** · {reason}")
    elif verdict.value is not None:
        st.markdown(f"**{escape_markdown(format_value(verdict.value))}** · {reason}")
    else:
        st.markdown(reason)


def draw_histogram(
    trace: Trace, samples: Sequence[Turn], verdict: Verdict | None, settings: dict[str, Any], criterion: str = ""
) -> None:
    """Draw the samples on a criterion, "" if the trace has one, as a histogram with their mean."""
    criteria = [settings.get("criterion") or {}, *(settings.get("criteria") or ())]
    scale = next((one.get("scale") for one in criteria if criterion in ("", one.get("name"))), None)
    if criterion:
        st.markdown(f"**{escape_markdown(criterion)}**")
    readings = [turn.reading for turn in samples]
    mean = verdict.value if verdict else None
    figure = sample_charts.sample_figure(readings, (), (), mean, Scale.model_validate(scale) if scale else None)
    alt = f"{criterion} samples {', '.join(format_value(reading) for reading in readings)}; mean {format_value(mean)}"
    charts.draw(figure, f"samples_{trace.id}_{criterion}", alt.strip(), data=ChartData(method="Samples of one trace"))
    readable = sum(reading is not None for reading in readings)
    st.caption(f"{readable} of {numbers.format_count(len(readings), 'sample')} could be read.")


def _response_order(turn: Turn) -> str:
    """Return which response the judge read first."""
    return f"Response {turn.shown[0]} read first" if turn.shown else ""


def _reading(turn: Turn) -> str:
    if turn.reading is None:
        return f"no verdict: {escape_markdown(turn.problem)}"
    if turn.step == "choice" and isinstance(turn.reading, int):
        return f"**{RESPONSE_NAMES.get(turn.reading, str(turn.reading))}**"
    weights = ", ".join(f"{level} × {p:.3g}" for level, p in turn.probabilities.items())
    text = f"**{escape_markdown(format_value(turn.reading))}**"
    return f"{text} · probabilities {escape_markdown(weights)}" if weights else text
