"""Draws result pages from what each declares: its filters, its figures, its tables, and what a click opens.

Written once are the reference, live updates, the cache, figures that are computed in the background, empty states,
charts with their files, and tables with their CSV files.
"""

import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import streamlit as st

from core.formats.tables import Table
from pages.parts import chart_files, charts, colours, heat_map, numbers, resources, shell, tables
from pages.parts.axes import ROW_HEIGHT, place_rows, wrap_names
from pages.parts.chart_files import ChartData
from pages.parts.text import escape_markdown
from pages.results.parts import alignment_data, item_drilldown
from pages.results.parts.alignment_data import Version
from storage.reports.alignment import AlignmentData
from storage.studies.studies import Study

if TYPE_CHECKING:
    import plotly.graph_objects as go

Query = TypeVar("Query")
NO_BREAK = "\u00a0"
# Pixels that a further mark in a row takes, so that their intervals do not touch.
MARK_HEIGHT = 10
# Pixels of the name of a line, above the first row.
LINE_NAME = 17
# Pixels of a row of a matrix, and the rows up to which its cells have texts.
CELL_HEIGHT, MAX_CELL_TEXT = 48, 14
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
class Chart:
    """What all charts have."""

    name: str
    """Of its key in the session and of its files."""
    data: ChartData = field(default_factory=ChartData, kw_only=True)
    on_select: Callable[[], None] | None = field(default=None, kw_only=True)
    selected: Any = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Intervals(Chart):
    """A chart with a row for each name."""

    title: str
    axis: str
    series: Sequence[tuple[str, str]]
    """The name and the plotly symbol of each series; the first has the colour of the theme."""
    marks: Sequence[Mark]
    zero: float | None = None
    """The value of a dashed line: no effect."""
    lines: Sequence[tuple[str, float]] = ()
    """Dashed lines with their names."""
    sign: bool = False


@dataclass(frozen=True)
class Cell:
    """A cell of a matrix that has a value."""

    row: str
    column: str
    value: float
    text: str
    details: Sequence[str]
    """The lines on hover."""
    opens: Any = None
    """What a click on the cell selects."""


@dataclass(frozen=True)
class Matrix(Chart):
    """A chart with a coloured cell for every two names."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Cell]
    down: str = ""
    across: str = ""
    """The names of the axes."""
    numbered: bool = False
    """Whether the columns have the numbers of the rows instead of their names, and the values both signs."""


@dataclass(frozen=True)
class Drawn(Chart):
    """A chart that is neither of these."""

    figure: "go.Figure"
    alt: str


@dataclass(frozen=True)
class Result:
    """What a page shows for a query, in this order."""

    headline: str = ""
    title: str = ""
    caption: str = ""
    warning: str = ""
    figures: Sequence[Intervals | Matrix | Drawn] = ()
    """Several are beside each other."""
    remark: str = ""
    """Below the figures."""
    notes: Sequence[str] = ()
    """Markdown that is shown on request."""
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
    empty: str | Callable[[AlignmentData], str]
    """The sentence if the study has nothing to choose from."""
    links: Sequence[shell.Link] = ()
    """Pages that can end the empty state."""
    below: Callable[[Study, AlignmentData, Query, Report], None] | None = None
    """Draws what depends on the visitor, such as the targets of a selection."""

    def draw_page(self, study: Study) -> None:
        """Draw the result of a study, and draw it again when a label or an opinion is added."""
        draw_sections(study, [self])


def draw_sections(study: Study, sections: Sequence[Section[Any, Any]], opened: str = "") -> None:
    """Draw the open one of several sections with its choices; `opened` is its title if the address has none."""
    start = time.thread_time()
    url = str(resources.engine().url)
    page = sections[0].name
    drawn_version = alignment_data.shown_version(study, page)
    alignment_data.rerun_on_change(study, drawn_version, page)
    item_drilldown.apply_selection()
    reference, row = alignment_data.draw_reference_choice(study, drawn_version)
    if not alignment_data.has_data(study, page, drawn_version, reference):
        return
    data = alignment_data.load_data(url, study.id, drawn_version, reference)
    section, place = _open_section(sections, opened)
    with row:
        query = section.filters(data)

    def compute(version: Version) -> Any:
        newer = alignment_data.load_data(url, study.id, version, reference)
        return load(url, study.id, version, reference, section.name, query, section, study, newer)

    with place:
        if query is None:
            st.info(escape_markdown(section.empty if isinstance(section.empty, str) else section.empty(data)))
            shell.draw_links(study, *section.links)
            return
        report = compute(drawn_version)
        alignment_data.computed(study, page, drawn_version, start, compute)
        result = section.show(study, data, query, report)
        if isinstance(result, str):
            st.info(escape_markdown(result))
            return
        draw_result(result)
        if section.below is not None:
            section.below(study, data, query, report)


def _open_section(
    sections: Sequence[Section[Any, Any]], opened: str
) -> tuple[Section[Any, Any], AbstractContextManager[Any]]:
    """Draw the tabs of several sections; returns the open one and where it is drawn."""
    if len(sections) == 1:
        return sections[0], nullcontext()
    titles = [section.title for section in sections]
    tabs = alignment_data.draw_tabs(titles, opened or titles[0])
    return next(
        ((section, tab) for section, tab in zip(sections, tabs, strict=True) if tab.open), (sections[0], tabs[0])
    )


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
    alignment_data.draw_population(result.warning)
    _draw_caption(result.caption)
    _draw_figures(
        [chart for chart in result.figures if isinstance(chart, Drawn) or _has_values(chart)], result.headline
    )
    _draw_caption(result.remark)
    if result.notes:
        with st.expander("Notes", icon=":material/info:"):
            st.caption("\n\n".join(result.notes))  # one element: each costs the browser time
    for table in filter(lambda table: table.rows, result.tables):
        key = f"{table.name}_{st.session_state.get('opened', 0)}" if result.on_click else ""
        tables.draw(table, result.on_click, key)
    for part in result.rest:
        draw_result(part)


def _draw_caption(text: str) -> None:
    if text:
        st.caption(text)


def _has_values(chart: Intervals | Matrix) -> bool:
    return bool(chart.marks if isinstance(chart, Intervals) else chart.cells)


def _draw_figures(figures: Sequence[Intervals | Matrix | Drawn], alt: str) -> None:
    if len(figures) == 1:
        draw_chart(figures[0], alt)
    elif figures:
        for column, chart in zip(st.columns(len(figures), gap="large"), figures, strict=True):
            with column:
                draw_chart(chart, alt)


def draw_chart(chart: Intervals | Matrix | Drawn, alt: str) -> None:
    """Draw a chart with the menu of its files."""
    bare = replace(chart, data=ChartData(), on_select=None, selected=None)  # a figure is shared by equal charts
    if isinstance(bare, Drawn):
        drawn, names, alt = bare.figure, chart.data.names, bare.alt
    elif isinstance(bare, Matrix):
        drawn, names = matrix_figure(bare), bare.rows
    else:
        drawn, names = figure(bare), list(dict.fromkeys(_row_names(bare)))
    data = replace(chart.data, names=names)
    charts.draw(drawn, chart.name, alt or chart.name, chart.on_select or "ignore", data=data, selected=chart.selected)


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
    for number, (line, value) in enumerate(chart.lines):
        text = {"text": f"{line} {value:.2f}", "y": 1, "yanchor": "top", "yshift": -LINE_NAME * number}
        drawn.add_vline(x=value, line={"dash": "dash", "color": charts.GREY}, layer="below", annotation=text)
    drawn.update_yaxes(
        tickvals=list(rows.positions.values()), ticktext=[rows.labels[name] for name in rows.positions],
        range=[-0.1, rows.end + 0.1 + 0.6 * len(chart.lines)], showgrid=False, zeroline=False,
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


@chart_files.built_once
def matrix_figure(matrix: Matrix) -> "go.Figure":
    """Return the matrix, the first row on top."""
    import plotly.graph_objects as go

    rows, columns = ({name: place for place, name in enumerate(names)} for names in (matrix.rows, matrix.columns))
    values: list[list[float | None]] = [[None] * len(columns) for _ in rows]
    texts = [[""] * len(columns) for _ in rows]
    for cell in matrix.cells:
        values[rows[cell.row]][columns[cell.column]] = cell.value
        texts[rows[cell.row]][columns[cell.column]] = cell.text
    largest = max((abs(cell.value) for cell in matrix.cells), default=0) or 1
    pale, accent = colours.PALE[charts.theme()], charts.accent_colour()
    scale = [[0, "#B35806"], [0.5, pale], [1, accent]] if matrix.numbered else [[0, pale], [1, accent]]
    drawn = go.Figure(
        go.Heatmap(
            z=values, zmin=-largest if matrix.numbered else 0, zmax=largest, colorscale=scale, showscale=False,
            text=texts, texttemplate="%{text}", xgap=3, ygap=3, hoverinfo="skip",
        )
    )  # fmt: skip
    places = [(columns[cell.column], rows[cell.row]) for cell in matrix.cells]
    hover_texts = ["<br>".join(escape(line, quote=False) for line in cell.details) for cell in matrix.cells]
    drawn.add_trace(heat_map.clickable_cells(places, [cell.opens for cell in matrix.cells], hover_texts))
    labels = list(wrap_names(matrix.rows).values())
    if matrix.numbered:
        labels = [f"{label} <b>{number}</b>" for number, label in enumerate(labels, start=1)]
        heads = heat_map.column_numbers(len(columns))
    else:
        heads = [heat_map.wrap_label(name, len(columns)) for name in matrix.columns]
    side = "top" if matrix.numbered else "bottom"
    drawn.update_xaxes(title=matrix.across, tickvals=list(columns.values()), ticktext=heads, side=side)
    drawn.update_yaxes(title=matrix.down, tickvals=list(rows.values()), ticktext=labels)
    heat_map.set_ranges(drawn, len(columns), len(rows))
    row_height = CELL_HEIGHT if len(rows) <= MAX_CELL_TEXT else heat_map.COMPACT_CELL
    charts.apply_layout(drawn, matrix.title, 130 + row_height * len(rows), right_margin=False)
    return drawn.update_layout(margin_t=84) if matrix.numbered else drawn
