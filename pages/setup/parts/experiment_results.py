"""The results of an experiment: a table of its cells, a chart along an axis, and paired differences."""

from typing import Any

import streamlit as st

from core.errors import TiebreakError
from core.statistics.reports.experiment_differences import AxisDifference, describe_correction
from pages.parts import charts, downloads, numbers, resources, shell
from pages.parts.chart_files import ChartData
from pages.parts.text import escape_markdown
from pages.setup.parts import experiment_chart
from storage import database, experiments
from storage.experiments import Experiment
from storage.reports import disagreements
from storage.reports import experiments as report
from storage.reports.experiments import Results
from storage.reports.run_comparison import MAX_RUNS
from storage.studies import Study

Version = tuple[int, ...]
LONG_NAME = 24
"""Characters of a level in the table of differences that its column has room for."""
FORMATS = {"Markdown": ("markdown", "md"), "LaTeX": ("latex", "tex"), "CSV": ("csv", "csv")}


@st.cache_data(max_entries=16, show_spinner="Computing the results …")
def load_results(
    url: str, study_id: int, experiment_id: int, version: Version, _study: Study, _experiment: Experiment
) -> Results:
    """Return the results at a version of labels and opinions; the cache is shared by all visitors."""
    return report.results(resources.engine(), _study, _experiment)


@st.cache_data(max_entries=32, show_spinner="Computing the differences …")
def load_differences(
    url: str, experiment_id: int, version: Version, statistic: str, _study: Study, _experiment: Experiment
) -> tuple[AxisDifference, ...]:
    """Return the differences in a statistic at a version of labels and opinions; shared by all visitors."""
    return report.differences(resources.engine(), _study, _experiment, statistic)


def draw_results(study: Study, experiment: Experiment) -> None:
    """Draw the results that the runs have so far."""
    with database.reading(resources.engine()) as session:
        version = disagreements.version(session, study.id)
    results = load_results(str(resources.engine().url), study.id, experiment.id, version, study, experiment)
    if not results.cells:
        st.info("No run has a verdict yet.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        statistic = st.selectbox("Statistic", results.statistics, key="experiment_statistic", width=280)
        columns = st.multiselect(
            "Columns", results.axes, default=results.axes[-1:], key="experiment_columns", width=360, placeholder="none"
        )
    name, table = report.table_of(results, statistic, None, columns)
    st.caption(escape_markdown(report.caption_of(results, name, table)))
    st.dataframe(
        [dict(zip(table.header, line, strict=True)) for line in table.texts()], key="experiment_table", hide_index=True
    )
    with st.container(horizontal=True, width="content"):
        for label, (format, suffix) in FORMATS.items():
            _, text = report.render(results, name, None, columns, format)
            file, kind = f"{experiment.name}.{suffix}", "table of an experiment"
            downloads.draw_text_link(label, text, file, f"experiment_{suffix}", kind=kind, mime="text/plain")
    if results.axes:
        _draw_chart(results, name)
    _draw_differences(study, experiment, version, name)
    _draw_comparison_link(study, experiment)


def _draw_chart(results: Results, statistic: str) -> None:
    axis = st.segmented_control("Chart along", results.axes, default=results.axes[0], required=True, key="chart_axis")
    levels = results.levels[str(axis)]
    cells = results.cells[statistic]
    figure = experiment_chart.axis_figure(cells, results.axes, str(axis), levels, statistic)
    alt = f"{statistic} along {axis}, with 95 % intervals over items."
    charts.draw(figure, "experiment_chart", alt, data=ChartData(rows=cells))
    if len(figure.data) == experiment_chart.MAX_LINES:
        st.caption(f"The chart has the first {experiment_chart.MAX_LINES} combinations; the table has all.")


def _draw_differences(study: Study, experiment: Experiment, version: Version, statistic: str) -> None:
    st.subheader("Differences along an axis")
    try:
        found = load_differences(str(resources.engine().url), experiment.id, version, statistic, study, experiment)
    except TiebreakError as error:
        st.caption(escape_markdown(str(error)))
        return
    if not found:
        st.caption("Differences need two finished cells that differ in one axis, on the same items.")
        return
    st.caption(
        escape_markdown(f"{statistic}, paired over items, the other levels being equal; {describe_correction(found)}.")
    )
    lines = [
        {
            "Axis": row.axis,
            "Level": row.level,
            "less": row.other_level,
            "Difference": numbers.format_estimate(row.difference, row.low, row.high),
            "n": row.items,
            "p": numbers.format_p(row.p_corrected),
            "Others": ", ".join(f"{name} {level}" for name, level in row.fixed.items()),
            "Criterion": row.criterion,
            "Note": row.reason,
        }
        for row in found
    ]
    empty = {name for name in ("Others", "Note") if not any(line[name] for line in lines)}
    if len({row.criterion for row in found}) == 1:
        empty.add("Criterion")
    names = {name: st.column_config.TextColumn(width="medium") for name in ("Level", "less") if _is_long(lines, name)}
    st.dataframe(
        [{name: value for name, value in line.items() if name not in empty} for line in lines],
        key="experiment_differences",
        hide_index=True,
        column_config=names,
    )


def _is_long(lines: list[dict[str, Any]], name: str) -> bool:
    """Return whether a name in a column would hide the columns after it."""
    return max(len(str(line[name])) for line in lines) > LONG_NAME


def _draw_comparison_link(study: Study, experiment: Experiment) -> None:
    """Link to the comparison of the first repeat of each cell, of as many as can be compared."""
    with database.reading(resources.engine()) as session:
        names = [run.name for run in experiments.runs_of(session, experiment.id) if run.repeat == 1]
    if len(names) > 1:
        st.page_link(
            shell.page_path("results/compare_runs.py"),
            label="Compare runs: verdicts and cost",
            icon=":material/difference:",
            query_params=[("study", study.name), *(("runs", name) for name in names[:MAX_RUNS])],
        )
