"""The summaries of the annotators; those of a large study are computed in the background."""

import time
from collections.abc import Sequence
from datetime import date
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from pages.parts import charts, live, numbers, permissions, resources, shell
from storage.reports import annotators
from storage.studies.studies import Study

Version = tuple[int, ...]
LARGE = 20_000  # labels from which the page does not wait for its first figures
INTERVAL = 0.5  # seconds after which a page that waits for figures looks for them again
NEWER = "There are newer labels, opinions or decisions. The figures with them are computed in the background."


def load_shown(study: Study) -> list[annotators.AnnotatorSummary] | None:
    """Return the summaries to draw: the newest, or of a large study the last complete ones.

    None while the first ones are computed, which is stated. The page is drawn again when newer ones are complete.
    """
    zone = shell.time_zone()
    key = (str(resources.engine().url), study.id, "annotators", str(zone))
    # Changes with every label, opinion, adjudication and view, and begins with the labels.
    read_version = partial(resources.read, annotators.version, study.id)
    newest = live.load_shared("annotators", (live.study_topic(study.id),), read_version)

    def compute(version: Version) -> list[annotators.AnnotatorSummary]:
        read = partial(resources.read, annotators.summaries, study.id, zone)
        return live.cached(study, version, "annotators", read, str(zone))

    if newest[0] >= LARGE and not live.has_figures(key, newest, compute):
        st.info(live.describe(numbers.format_count(newest[0], "label")), icon=":material/sync:")
        permissions.rerun_when(lambda: not live.is_first_pending(key), INTERVAL)
        return None
    start, shown = time.thread_time(), live.shown_version(key, newest)
    summaries = compute(shown)
    live.computed(key, shown, time.thread_time() - start, compute)
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
