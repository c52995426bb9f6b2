"""The results of an experiment: a table of its cells, a chart along an axis, and paired differences."""

from collections.abc import Sequence
from functools import partial
from html import escape

import plotly.graph_objects as go
import streamlit as st

from core.errors import TiebreakError
from core.formats.charts import wrap_name
from core.formats.tables import Table
from core.statistics.reports.experiment_differences import describe_correction
from core.statistics.reports.experiments import CellResult
from pages.parts import charts, colours, downloads, live, numbers, resources, shell, tables
from pages.parts.text import escape_markdown
from storage.reports import disagreements
from storage.reports import experiments as report
from storage.reports.run_comparison import MAX_RUNS
from storage.runs import experiments
from storage.studies.studies import Study

# The chart of an experiment: a statistic along one axis, with a line for each combination of the other axes.

# The most lines that a reader can distinguish.
MAX_LINES = 8
# Between the points of two lines at one level, in levels.
OFFSET = 0.06
# Pixels of the chart without its legend.
HEIGHT = 420
# Characters of a line of the legend, and of the levels on the axis together, that a phone has room for.
NAME_LENGTH, AXIS_LENGTH = 40, 42


def axis_figure(
    cells: Sequence[CellResult], axes: Sequence[str], axis: str, levels: Sequence[str], statistic: str
) -> go.Figure:
    """Return the figure, with the 95 % interval over items at each point.

    The only level without a number is a baseline, drawn as a dashed line as in DnA-Eval's Figure 3.
    """
    names = [level for level in levels if not level.isdigit()]
    baseline = names[0] if len(names) == 1 < len(levels) - 1 else None
    levels = [level for level in levels if level != baseline]
    place = list(axes).index(axis)
    several = len({cell.criterion for cell in cells}) > 1 and "criterion" not in axes
    lines: dict[tuple[str, ...], dict[str, CellResult]] = {}
    for cell in cells:
        rest = (*cell.levels[:place], *cell.levels[place + 1 :], *([cell.criterion] if several else []))
        lines.setdefault(rest, {})[cell.levels[place]] = cell
    drawn = list(lines.items())[:MAX_LINES]
    figure = go.Figure()
    for number, (rest, by_level) in enumerate(drawn):
        colour = charts.accent_colour() if len(drawn) == 1 else colours.JUDGES[number % len(colours.JUDGES)]
        name = " · ".join(filter(None, rest)) or statistic
        points = []
        for place, level in enumerate(levels):
            if (found := by_level.get(level)) is not None and found.value is not None:
                estimate = f"{level}: {numbers.format_interval(found, 3)}"
                n = f"n {found.items:,} items, {numbers.format_count(found.repeats, 'repeat')}"
                x, interval = place + OFFSET * (number - (len(drawn) - 1) / 2), (found.value, found.low, found.high)
                points.append(charts.Point(x, found.value, (name, estimate, n), interval))
        figure.add_trace(charts.scatter(points, colour, "lines+markers", name=wrap_name(name, NAME_LENGTH)))
        if baseline is not None and (found := by_level.get(baseline)) is not None and found.value is not None:
            estimate = f"{baseline}: {numbers.format_interval(found, 3)}"
            ends = [charts.Point(x, found.value, (name, estimate)) for x in (-0.5, len(levels) - 0.5)]
            dashed = {"color": colour, "width": 1.5, "dash": "dash"}
            figure.add_trace(charts.scatter(ends, colour, "lines", line=dashed, showlegend=False))
    ticks = [wrap_name(level, max(10, AXIS_LENGTH // max(1, len(levels)))) for level in levels]
    figure.update_xaxes(tickvals=list(range(len(levels))), ticktext=ticks, range=[-0.5, len(levels) - 0.5])
    figure.update_yaxes(title=escape(statistic, quote=False), zeroline=False)
    title = f"{escape(statistic, quote=False)} along {escape(axis, quote=False)}"
    return charts.apply_layout(figure, title, HEIGHT, legend=len(drawn) > 1)


Version = tuple[int, ...]
FORMATS = {"Markdown": ("markdown", "md"), "LaTeX": ("latex", "tex"), "CSV": ("csv", "csv")}


def draw_results(study: Study, experiment: experiments.Experiment) -> None:
    """Draw the results that the runs have so far."""
    version = resources.read(disagreements.version, study.id)
    measure = partial(report.results, resources.engine(), study, experiment)
    results = live.cached(study, version, "experiment", measure, experiment.id)
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
    _draw_front(results, name)
    _draw_differences(study, results, version, name)
    _draw_comparison_link(study, experiment)


def _draw_chart(results: report.Results, statistic: str) -> None:
    axis = st.segmented_control("Chart along", results.axes, default=results.axes[0], required=True, key="chart_axis")
    levels = results.levels[str(axis)]
    cells = results.cells[statistic]
    figure = axis_figure(cells, results.axes, str(axis), levels, statistic)
    alt = f"{statistic} along {axis}, with 95 % intervals over items."
    charts.draw(figure, "experiment_chart", alt, data=charts.ChartData(rows=cells))
    if sum(line.showlegend is None for line in figure.data) == MAX_LINES:
        st.caption(f"The chart has the first {MAX_LINES} combinations; the table has all.")


def front_figure(rows: Sequence[report.Value], statistic: str, cost: str) -> go.Figure:
    """Return the cells as points of cost and value with their intervals, and the Pareto front as a line."""
    figure = go.Figure()
    for name, is_on_front, colour, mode in (
        ("On the front", True, charts.accent_colour(), "lines+markers+text"),
        ("Dominated", False, colours.UNDECIDED, "markers"),
    ):
        points = []
        for row in (row for row in rows if row.on_front == is_on_front):
            estimate = numbers.format_interval(row, 3)
            lines = (row.cell, estimate, f"n {row.items:,} items, {row.cost:,.2f} {cost}")
            interval, text = (row.value, row.low, row.high), escape(row.cell, quote=False)
            points.append(charts.Point(row.cost, row.value, lines, interval, text))
        step = {"shape": "hv", "color": colour, "width": 1.5}
        figure.add_trace(charts.scatter(points, colour, mode, name=name, textposition=_sides(points), line=step))
    figure.update_xaxes(title=cost)
    figure.update_yaxes(title=escape(statistic, quote=False), zeroline=False)
    return charts.apply_layout(figure, f"{escape(statistic, quote=False)} and cost", HEIGHT, legend=True)


def _sides(points: Sequence[charts.Point]) -> list[str]:
    """Return where the name of each point has room: to the right in the left half, otherwise to the left."""
    middle = (min(costs) + max(costs)) / 2 if (costs := [point.x for point in points]) else 0
    return ["top right" if point.x <= middle else "top left" for point in points]


def _draw_front(results: report.Results, statistic: str) -> None:
    """Draw the cells by value for money; nothing for a statistic that is a cost, or without costs."""
    if not results.cost or statistic in report.COSTS:
        return
    rows = report.values_for_money(results, statistic)
    criteria = list(dict.fromkeys(row.criterion for row in rows))
    if not rows or len(rows) < 2 * len(criteria):
        return
    st.subheader("Value for money")
    criterion = criteria[0]
    if len(criteria) > 1:
        criterion = st.selectbox("Criterion", criteria, key="front_criterion", width=280)
    rows = [row for row in rows if row.criterion == criterion]
    st.caption(escape_markdown(f"{report.describe_front(results, statistic)}."))
    figure = front_figure(rows, statistic, report.COSTS[results.cost])
    alt = f"{statistic} of each cell by cost, with the Pareto front."
    charts.draw(figure, "front_chart", alt, data=charts.ChartData(rows=rows))
    columns = [column for column in report.VALUE_COLUMNS if column.title != "Criterion"]
    tables.draw(Table("experiment_front", rows, columns, ()))


def _draw_effects(study: Study, results: report.Results, version: Version, statistic: str) -> None:
    """Draw the effects of the levels, if there are other levels to average over."""
    if len(results.axes) < 2:
        return
    measure = partial(report.effects, resources.engine(), study, results, statistic)
    found = live.cached(study, version, "effects", measure, results.experiment.id, statistic)
    st.subheader("Effects of the levels")
    st.caption(escape_markdown(f"{report.describe_effects(results, statistic)}."))
    hidden = "Criterion" if len({row.criterion for row in found}) == 1 else ""
    tables.draw(Table("experiment_effects", found, [c for c in report.EFFECT_COLUMNS if c.title != hidden], ()))


def _draw_differences(study: Study, results: report.Results, version: Version, statistic: str) -> None:
    measure = partial(report.bounded_differences, resources.engine(), study, results, statistic)
    try:
        found = live.cached(study, version, "differences", measure, results.experiment.id, statistic)
    except TiebreakError as error:
        st.caption(escape_markdown(str(error)))
        return
    if not found:
        st.caption("Differences need two finished cells that differ in one axis, on the same items.")
        return
    _draw_effects(study, results, version, statistic)
    st.subheader("Differences along an axis")
    st.caption(
        escape_markdown(f"{statistic}, paired over items, the other levels being equal; {describe_correction(found)}.")
    )
    hidden = "Criterion" if len({row.criterion for row in found}) == 1 else ""
    columns = [column for column in report.DIFFERENCE_COLUMNS if column.title != hidden]
    tables.draw(Table("experiment_differences", found, columns, ()))


def _draw_comparison_link(study: Study, experiment: experiments.Experiment) -> None:
    """Link to the comparison of the first repeat of each cell, of as many as can be compared."""
    names = [run.name for run in resources.read(experiments.runs_of, experiment.id) if run.repeat == 1]
    if len(names) > 1:
        st.page_link(
            shell.page_path("results/compare_runs.py"),
            label="Compare runs: verdicts and cost",
            icon=":material/difference:",
            query_params=[("study", study.name), *(("runs", name) for name in names[:MAX_RUNS])],
        )
