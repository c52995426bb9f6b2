"""Draws result pages from what each declares: its filters, its figures, its tables, and what a click opens.

Written once are the reference, live updates, the cache, figures that are computed in the background, empty states,
charts with their files, and tables with their CSV files.
"""

import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import streamlit as st

from core.formats.tables import Table
from pages.parts import chart_files, charts, numbers, resources, shell, tables
from pages.parts.axes import ROW_HEIGHT, place_rows
from pages.parts.chart_files import ChartData
from pages.parts.text import escape_markdown
from pages.results.parts import alignment_data, chosen_labels_note, item_drilldown
from pages.results.parts.alignment_data import Version
from storage.reports.alignment import AlignmentData
from storage.studies.studies import Study

if TYPE_CHECKING:
    import plotly.graph_objects as go

Query = TypeVar("Query")
NO_BREAK = "\u00a0"
MARK_HEIGHT = 10
"""Pixels that a further mark in a row takes, so that their intervals do not touch."""
Report = TypeVar("Report")


@dataclass(frozen=True)
class Mark:
    """A point with its interval; those of one name share a row."""

    name: str
    value: float
    low: float | None
    high: float | None
    series: str
    n: str
    details: str = ""
    """A further line on hover."""
    opens: Any = None
    """What a click on the point selects."""


@dataclass(frozen=True)
class Intervals:
    """A chart with a row for each name."""

    name: str
    """Of its key in the session and of its files."""
    title: str
    axis: str
    series: Sequence[tuple[str, str]]
    """The name and the plotly symbol of each series; the first has the colour of the theme."""
    marks: Sequence[Mark]
    zero: float | None = None
    """The value of a dashed line: no effect."""
    sign: bool = False
    data: ChartData = field(default_factory=ChartData)
    on_select: Callable[[], None] | None = None
    selected: Any = None


@dataclass(frozen=True)
class Result:
    """What a page shows for a query, in this order."""

    headline: str = ""
    title: str = ""
    caption: str = ""
    warning: str = ""
    figures: Sequence[Intervals] = ()
    remark: str = ""
    """Below the figures."""
    tables: Sequence[Table] = ()
    on_click: Callable[[int, str], None] | None = None
    """Called after a click on the row of a table."""
    rest: Sequence["Result"] = ()


@dataclass(frozen=True)
class Section(Generic[Query, Report]):
    """A result page, or a part of one."""

    name: str
    """Of its script, and of its keys."""
    title: str
    question: str
    filters: Callable[[AlignmentData], Query | None]
    """Draws the choices, which are in the address; None if the study has nothing to choose from."""
    compute: Callable[[Study, AlignmentData, Query], Report]
    """Its result can be pickled, and is shared by all visitors."""
    show: Callable[[Study, AlignmentData, Query, Report], Result | str]
    """Returns what is drawn, or the sentence of an empty state."""
    empty: str
    links: Sequence[shell.Link] = ()
    """Pages that can end the empty state."""

    def draw_page(self, study: Study) -> None:
        """Draw the result of a study, and draw it again when a label or an opinion is added."""
        start = time.thread_time()
        url = str(resources.engine().url)
        drawn_version = alignment_data.shown_version(study, self.name)
        alignment_data.rerun_on_change(study, drawn_version, self.name)
        item_drilldown.apply_selection()
        reference, row = alignment_data.draw_reference_choice(study, drawn_version)
        if not alignment_data.has_data(study, self.name, drawn_version, reference):
            return
        data = alignment_data.load_data(url, study.id, drawn_version, reference)
        with row:
            query = self.filters(data)
        if query is None:
            st.info(self.empty)
            shell.draw_links(study, *self.links)
            return

        def compute(version: Version) -> Report:
            newer = alignment_data.load_data(url, study.id, version, reference)
            report: Report = load(url, study.id, version, reference, self.name, query, self, study, newer)
            return report

        report = compute(drawn_version)
        alignment_data.computed(study, self.name, drawn_version, start, compute)
        result = self.show(study, data, query, report)
        if isinstance(result, str):
            st.info(result)
        else:
            draw_result(result)


@st.cache_data(max_entries=128, show_spinner="Computing …")
def load(
    url: str,
    study_id: int,
    version: Version,
    reference: str,
    section: str,
    query: Hashable,
    _section: Section[Any, Any],
    _study: Study,
    _data: AlignmentData,
) -> Any:
    """Return the report of a section at a version; the cache is shared by all visitors."""
    return _section.compute(_study, _data, query)


def draw_result(result: Result) -> None:
    """Draw a result."""
    if result.title:
        st.subheader(result.title, anchor=False)
    if result.headline:
        st.markdown(f"**{escape_markdown(result.headline)}**")
    chosen_labels_note.draw(result.warning)
    _draw_caption(result.caption)
    for chart in filter(lambda chart: chart.marks, result.figures):
        draw_chart(chart, result.headline)
    _draw_caption(result.remark)
    for table in filter(lambda table: table.rows, result.tables):
        key = f"{table.name}_{st.session_state.get('opened', 0)}" if result.on_click else ""
        tables.draw(table, result.on_click, key)
    for part in result.rest:
        draw_result(part)


def _draw_caption(text: str) -> None:
    if text:
        st.caption(text)


def draw_chart(chart: Intervals, alt: str) -> None:
    """Draw a chart of intervals with the menu of its files."""
    names = list(dict.fromkeys(_row_names(chart)))
    drawn = figure(replace(chart, data=ChartData(), on_select=None, selected=None))
    data = replace(chart.data, names=names)
    charts.draw(drawn, chart.name, alt, chart.on_select or "ignore", data, chart.selected)


@chart_files.built_once
def figure(chart: Intervals) -> "go.Figure":
    """Return the chart of intervals: the rows in the order of the marks, n beside each name."""
    import plotly.graph_objects as go

    names = _row_names(chart)
    most = max(Counter(mark.name for mark in chart.marks).values())
    rows = place_rows(names, row_height=ROW_HEIGHT + MARK_HEIGHT * (most - 1))
    accent = charts.accent_colour()
    drawn = go.Figure()
    for number, (series, symbol) in enumerate(chart.series):
        shown = [(mark, name) for mark, name in zip(chart.marks, names, strict=True) if mark.series == series]
        if not shown:
            continue
        colour = charts.GREY if number else accent
        drawn.add_trace(
            go.Scatter(
                x=[mark.value for mark, _ in shown],
                y=[rows.positions[name] + _shift(chart, mark) for mark, name in shown],
                name=series,
                mode="markers",
                marker={"size": 10, "symbol": symbol, "color": colour},
                error_x=charts.error_bars([(mark.value, mark.low, mark.high) for mark, _ in shown], colour),
                customdata=[mark.opens for mark, _ in shown],
                hovertext=[_hover(chart, mark) for mark, _ in shown],
                hoverinfo="text",
                unselected={"marker": {"opacity": 0.4}},
            )
        )
    if chart.zero is not None:
        drawn.add_vline(x=chart.zero, line={"dash": "dash", "color": charts.GREY}, layer="below")
    drawn.update_yaxes(
        tickvals=list(rows.positions.values()), ticktext=[rows.labels[name] for name in rows.positions],
        range=[-0.1, rows.end + 0.1], showgrid=False, zeroline=False,
    )  # fmt: skip
    drawn.update_xaxes(title=chart.axis, showgrid=True, zeroline=False, nticks=5)
    several = len(chart.series) > 1
    charts.apply_layout(drawn, chart.title, 130 + rows.height, legend=several)
    return charts.place_legend(drawn, len(drawn.data), right=12) if several else drawn


def _row_names(chart: Intervals) -> list[str]:
    """Return the name on the axis of each mark: n is in one line."""
    return [f"{mark.name} · n{NO_BREAK}{mark.n.replace(' ', NO_BREAK)}" for mark in chart.marks]


def _shift(chart: Intervals, mark: Mark) -> float:
    """Return how far a mark is above the middle of its row, in rows: several marks are below each other."""
    of_row = [other for other in chart.marks if other.name == mark.name]
    return 0.25 * ((len(of_row) - 1) / 2 - of_row.index(mark))


def _hover(chart: Intervals, mark: Mark) -> str:
    lines = [
        f"<b>{escape(mark.name, quote=False)}</b>",
        mark.series if len(chart.series) > 1 else "",
        escape(mark.details, quote=False),
        numbers.format_estimate(mark.value, mark.low, mark.high, sign=chart.sign),
        f"n {mark.n}",
        "Click to list the targets" if mark.opens is not None else "",
    ]
    return "<br>".join(filter(None, lines))
