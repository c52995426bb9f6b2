"""Stored aspect scores under other weights: is the gain over one overall score from decomposing or from weighting?"""

import time
from collections.abc import Sequence

import streamlit as st

from core.formats.tables import csv_text
from core.labels import Target
from core.statistics.data.arrays import Estimate
from core.statistics.reports.weight_laboratory import CurvePoint, LaboratoryReport, WeightRow
from pages.parts import charts, downloads, numbers, resources, shell, tables
from pages.parts.chart_files import ChartData
from pages.parts.text import escape_markdown
from pages.results.parts import alignment_data, weight_charts
from pages.results.parts.alignment_data import Version
from storage.db import connections
from storage.reports import weight_laboratory
from storage.studies import studies
from storage.studies.studies import Study

PAGE = "laboratory"


@st.cache_data(max_entries=32, show_spinner="Aggregating stored scores …")
def load_reports(url: str, study_id: int, version: Version, reference: str) -> list[LaboratoryReport]:
    """Return the reports at a version of the labels; the cache is shared by all visitors."""
    with connections.reading(resources.engine()) as session:
        study = studies.by_id(session, study_id)
    return weight_laboratory.reports(resources.engine(), study, reference=reference)


def draw_page(study: Study) -> None:
    """Draw the report of one judge of one run, and redraw it when a label or an opinion is added."""
    start = time.thread_time()
    drawn_version = alignment_data.shown_version(study, PAGE)
    alignment_data.rerun_on_change(study, drawn_version, PAGE)
    reference, row = alignment_data.draw_reference_choice(study, drawn_version)
    url = str(resources.engine().url)

    def compute(version: Version) -> list[LaboratoryReport]:
        return load_reports(url, study.id, version, reference)

    reports = {report.judge: report for report in compute(drawn_version)}
    alignment_data.computed(study, PAGE, drawn_version, start, compute)
    if not reports:
        return empty_state(study)
    judge = row.selectbox("Judge and run", list(reports), key="judge", bind="query-params", width=420)
    draw_report(study, reports[judge])


def empty_state(study: Study) -> None:
    """Draw the empty state if there are no aspect scores with a reference."""
    st.info("Needed: a run of DnA-Eval over items with two responses, and people's preferences on them.")
    shell.link_sample("results/laboratory.py", "dna_eval")
    shell.draw_links(
        study,
        shell.RUN,
        ("label/home.py", "Label preferences", ":material/edit:"),
    )


def draw_report(study: Study, report: LaboratoryReport) -> None:
    """Draw the answer in a sentence, the agreements, the curve over the number of aspects, and the mean weights."""
    st.markdown(f"**{escape_markdown(report.answer)}**")
    st.caption(escape_markdown(report.details))
    if report.unfitted:
        st.caption(f":material/info: No fitted weights: {escape_markdown(report.unfitted)}.")
    charts.draw(weight_charts.agreement_figure(report), "agreements", report.details, data=ChartData(report.schemes))
    if report.curve:
        charts.draw(
            weight_charts.curve_figure(report.curve),
            "curve",
            describe_curve(report.curve),
            data=ChartData(report.curve),
        )
    lines = [scheme_line(row.scheme, row.less, row.agreement) for row in report.schemes]
    st.dataframe(lines, hide_index=True, column_config=tables.figure_columns(lines, {"Weights", "Minus", "Note"}))
    if report.weights:
        draw_weights(report.weights)
    if report.changes:
        draw_changes(study, report)
    header = ["judge", "weights", "less", "k", "value", "low", "high", "items"]
    downloads.draw_csv_download(lambda: csv_text(header, csv_lines(report)), "laboratory.csv")


def scheme_line(scheme: str, less: str, agreement: Estimate) -> dict[str, str]:
    """Return the table row of an agreement, or of a difference in points."""
    estimate = numbers.format_estimate(agreement.value, agreement.low, agreement.high)
    return {
        "Weights": scheme,
        "Minus": less,
        "Agreement": estimate,
        "Items": f"{agreement.items:,}",
        "Note": agreement.reason,
    }


def describe_curve(curve: Sequence[CurvePoint]) -> str:
    """Return the curve in words, for screen readers."""
    points = (
        f"{point.k} aspects, {point.weighting}: {point.agreement.value:.2f}"
        for point in curve
        if point.agreement.value is not None
    )
    return f"Agreement with the heaviest aspects. {'; '.join(points)}"


def draw_weights(rows: Sequence[WeightRow]) -> None:
    """Draw the mean weights of aspects that items share, in percent."""
    st.subheader("Mean weights", anchor=False)
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        lines.setdefault(row.aspect, {"Aspect": row.aspect})[row.scheme] = f"{row.percent:.1f} (n {row.items:,})"
    rows_of_aspects = list(lines.values())
    columns = tables.figure_columns(rows_of_aspects, {"Aspect"})
    st.dataframe(rows_of_aspects, hide_index=True, column_config=columns)
    st.caption("In percent. Fitted weights are the mean over the folds, each fitted without the items it is used for.")


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


def csv_lines(report: LaboratoryReport) -> list[list[object]]:
    """Return the agreements, differences and points of the curve as lines."""
    lines: list[list[object]] = [
        [report.judge, row.scheme, row.less, None, *_ends(row.agreement)] for row in report.schemes
    ]
    return lines + [[report.judge, point.weighting, None, point.k, *_ends(point.agreement)] for point in report.curve]


def _ends(estimate: Estimate) -> list[object]:
    return [estimate.value, estimate.low, estimate.high, estimate.items]


draw_page(shell.draw_header("Weights laboratory", "Is the gain from scoring by aspects, or from weighting them?"))
