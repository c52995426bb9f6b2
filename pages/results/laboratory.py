"""Stored aspect scores under other weights: is the gain over one overall score from decomposing or from weighting?"""

from collections.abc import Sequence
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from core.formats.tables import Table, rows_csv
from core.labels import Target
from core.statistics.reports.weight_laboratory import HEAVIEST, CurvePoint, LaboratoryReport
from pages.parts import charts, colours, downloads, live, numbers, resources, shell, tables
from pages.parts.text import escape_markdown
from pages.results import renderer
from pages.results.parts import alignment_data
from pages.results.renderer import Drawn, Intervals, Mark, Result
from storage.reports import weights
from storage.studies.studies import Study

PAGE = "laboratory"
AXIS = "Agreement and 95 % interval"


def draw_page(study: Study) -> None:
    """Draw the report of one judge of one run, and redraw it when a label or an opinion is added."""
    drawn_version = alignment_data.follow(study, PAGE)
    reference, row = alignment_data.draw_reference_choice(study, drawn_version)

    def compute(version: alignment_data.Version) -> list[LaboratoryReport]:
        measure = partial(weights.laboratory, resources.engine(), study, reference=reference)
        return live.cached(study, version, PAGE, measure, reference)

    found = alignment_data.figures(study, PAGE, drawn_version, compute)
    if found is None:
        return
    reports = {report.judge: report for report in found}
    if not reports:
        fact = "Needed: a run of DnA-Eval over items with two responses, and people's preferences on them."
        label = ("label/home.py", "Label preferences", ":material/edit:")
        return shell.draw_missing(
            study, fact, "", shell.RUN, label, script="results/laboratory.py", protocol="dna_eval"
        )
    judge = row.selectbox("Judge and run", list(reports), key="judge", bind="query-params", width=420)
    draw_report(study, reports[judge])


def draw_report(study: Study, report: LaboratoryReport) -> None:
    """Draw the answer in a sentence, the agreements, the curve over the number of aspects, and the mean weights."""
    unfitted = f":material/info: No fitted weights: {escape_markdown(report.unfitted)}." if report.unfitted else ""
    marks = [Mark.of(row.scheme, row.agreement) for row in report.schemes if not row.less]
    schemes, data = charts.ChartData(report.schemes), charts.ChartData(report.curve)
    chart = Intervals("agreements", "Agreement by weights", AXIS, (("", "circle"),), marks, data=schemes)
    alt = f"Agreement with the 1 to {max((point.k for point in report.curve), default=0)} heaviest aspects"
    renderer.draw_result(
        Result(
            headline=report.answer,
            caption="\n\n".join(filter(None, (escape_markdown(report.details), unfitted))),
            figures=[chart, *([Drawn("curve", curve_figure(report.curve), alt, data=data)] if report.curve else [])],
            tables=[Table("schemes", report.schemes, weights.SCHEME_COLUMNS, ())],
        )
    )
    if report.weights:
        st.subheader("Mean weights", anchor=False)
        by_aspect: dict[str, dict[str, str]] = {}
        for row in report.weights:
            percent = f"{row.percent:.1f} (n {row.items:,})"
            by_aspect.setdefault(row.aspect, {"Aspect": row.aspect})[row.scheme] = percent
        st.dataframe(list(by_aspect.values()), hide_index=True)
        st.caption(
            "In percent. Fitted weights are the mean over the folds, each fitted without the items it is used for."
        )
    if report.changes:
        draw_changes(study, report)
    downloads.draw_csv_download(lambda: rows_csv(weights.file_rows(report)), "laboratory.csv")


@charts.built_once
def curve_figure(curve: Sequence[CurvePoint]) -> go.Figure:
    """Return the agreement over the number of heaviest aspects, one line for each weighting of them."""
    figure = go.Figure()
    for shift, weighting in zip((-0.06, 0.06), dict.fromkeys(point.weighting for point in curve), strict=False):
        points = []
        for point in curve:
            found = point.agreement
            if point.weighting == weighting and found.value is not None:
                lines = (
                    f"{point.k} heaviest, {weighting}",
                    numbers.format_interval(found),
                    numbers.format_count(found.items, "item"),
                )
                interval = found.value, found.low, found.high
                points.append(charts.Point(point.k + shift, found.value, lines, interval))
        is_heaviest = weighting == HEAVIEST
        colour = charts.accent_colour() if is_heaviest else colours.RESPONSE[0]
        symbol, line = "circle" if is_heaviest else "circle-open", "solid" if is_heaviest else "dot"
        drawn = charts.scatter(points, colour, "lines+markers", symbol=symbol, name=weighting)
        figure.add_trace(drawn.update(line_dash=line))
    largest = max(point.k for point in curve)
    figure.update_xaxes(title="Number of heaviest aspects", tickvals=list(range(1, largest + 1)))
    figure.update_yaxes(title=AXIS, zeroline=False)
    return charts.apply_layout(figure, "Agreement by number of aspects", 360, legend=True)


def draw_changes(study: Study, report: LaboratoryReport) -> None:
    """Draw on request the items on which the weights prefer different responses; a click opens the trace.

    The list shows what the judge decided, so that later labels of these items are not blind.
    """
    st.subheader(f"Items that the weights decide differently: {len(report.changes):,}", anchor=False)
    if not st.toggle("List the items: later labels of them are not blind", key=f"list-{report.judge}"):
        return
    viewed = {Target(item=change.item, kind="preference", criterion=change.criterion) for change in report.changes}
    shell.record_views(study.id, viewed)
    st.caption("1 and 2 are the responses, 0 is a tie. Click a row to open its trace.")
    clicked = tables.draw_clickable(
        [
            {"Item": change.item, "Reference": str(change.reference)}
            | {scheme: "–" if value is None else str(value) for scheme, value in change.preferences.items()}
            for change in report.changes
        ],
        f"changes-{report.judge}",
    )
    if clicked is not None and (trace := report.changes[clicked].trace) is not None:
        st.switch_page(shell.page_path("watch/traces.py"), query_params={"trace": str(trace)})


draw_page(shell.draw_header("Weights laboratory", "Is the gain from scoring by aspects, or from weighting them?"))
