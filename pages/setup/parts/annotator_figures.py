"""The summaries of the annotators, and the chart of how their agreement changes."""

import time
from collections.abc import Sequence
from datetime import date
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from pages.parts import charts, live, numbers, permissions, resources, shell
from storage.reports import annotators
from storage.studies.studies import Study

INTERVAL = 0.5  # seconds after which a page that shows earlier figures looks for newer ones again
NEWER = "There are newer labels, opinions or decisions. The figures are computed with them in a while."


def load_shown(study: Study) -> list[annotators.AnnotatorSummary]:
    """Return the summaries to draw: the newest, or of a large study the last ones that were computed.

    The page is drawn again when newer ones are due.
    """
    zone = shell.time_zone()
    key = (str(resources.engine().url), study.id, "annotators", str(zone))
    # Changes with every label, opinion, adjudication and view.
    read_version = partial(resources.read, annotators.version, study.id)
    newest = live.load_shared("annotators", (live.study_topic(study.id),), read_version)
    start, shown = time.thread_time(), live.shown_version(key, newest)
    read = partial(resources.read, annotators.summaries, study.id, zone)
    summaries = live.cached(study, shown, "annotators", read, str(zone))
    live.computed(key, shown, time.thread_time() - start)
    if shown != newest:
        st.caption(f":material/sync: {NEWER}")
        permissions.rerun_when(lambda: live.shown_version(key, newest) != shown, INTERVAL)
    return summaries


# Draws how an annotator's agreement with the majority of the others changes from week to week.

HEIGHT = 300


def drift_rows(drift: Sequence[tuple[date, annotators.Share]]) -> list[dict[str, object]]:
    """Return the rows of the chart's files."""
    return [
        {"week": f"{monday:%Y-%m-%d}", "n": share.n, **dict(zip(("value", "low", "high"), share.interval, strict=True))}
        for monday, share in drift
    ]


def drift_figure(drift: Sequence[tuple[date, annotators.Share]]) -> go.Figure:
    """Return the shares by week with their intervals, n at each point."""
    points = []
    for monday, share in drift:
        week, interval = f"{monday:%Y-%m-%d}", share.interval
        lines = (f"Week of {week}", numbers.format_estimate(*interval))
        points.append(charts.Point(week, interval[0], lines, interval, f"  n {share.n:,}"))
    mode = "lines+markers+text"
    chart = go.Figure(charts.scatter(points, charts.accent_colour(), mode, textposition="middle right"))
    chart.update_yaxes(title="agreement with the majority", range=[-0.03, 1.12], tickvals=[0, 0.5, 1])
    chart.update_xaxes(title="week, from its Monday", type="category")
    return charts.apply_layout(chart, "Drift", HEIGHT)
