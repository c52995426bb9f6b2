"""Draws result pages from what each declares: its filters, its figures, its tables, and what a click opens.

Written once are the reference, live updates, the cache, empty states, charts with their files, and tables with their
CSV files.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, Generic, TypeVar

import plotly.graph_objects as go
import streamlit as st

from core.formats.charts import LINE_HEIGHT, IntervalChart, count_lines, wrap_name
from core.formats.charts import Mark as Mark
from core.formats.tables import Table
from pages.parts import charts, colours, live, resources, shell, tables
from pages.parts.text import escape_markdown, truncate
from pages.results.parts import alignment_data, item_drilldown
from storage.reports import judge_ranking
from storage.reports.alignment import AlignmentData
from storage.studies.studies import Study

Query = TypeVar("Query")
# Pixels of a row of a matrix, and of one without texts, and the rows up to which cells have texts.
CELL_HEIGHT, COMPACT_CELL, MAX_CELL_TEXT = 48, 20, 14
# Characters of a caption that fit one line of a wide screen.
LONGEST_LINE = 140
# The width of the frame of a cell, which are 1 apart, and the columns up to which each is numbered.
CELL_WIDTH, MANY = 0.94, 16
Report = TypeVar("Report")


@dataclass(frozen=True)
class Chart:
    """What all charts have."""

    name: str
    """Of its key in the session and of its files."""
    data: charts.ChartData = field(default_factory=charts.ChartData, kw_only=True)
    on_select: Callable[[], None] | None = field(default=None, kw_only=True)
    selected: Any = field(default=None, kw_only=True)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not getattr(self, "marks", True) or not getattr(self, "cells", True)


@dataclass(frozen=True)
class Intervals(IntervalChart, Chart):
    """A chart with a row for each name."""


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
    """Whether the columns have the numbers of the rows instead of their names."""
    signed: bool = False
    """Whether the values have both signs; otherwise the palest colour is 0."""


@dataclass(frozen=True)
class Drawn(Chart):
    """A chart that is neither of these."""

    figure: go.Figure
    alt: str


@dataclass(frozen=True)
class Result:
    """What a page shows for a query, in this order."""

    headline: str = ""
    title: str = ""
    caption: str = ""
    """Markdown: a line above the figures, and paragraphs that are shown on request."""
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


def draw_sections(study: Study, sections: Sequence[Section[Any, Any]], opened: str = "", reference: str = "") -> None:
    """Draw the open one of several sections with its choices; `opened` is its title if the address has none.

    `reference` is the only one that the sections can have; "" for a choice.
    """
    start = time.thread_time()
    url = str(resources.engine().url)
    page = sections[0].name
    drawn_version = alignment_data.follow(study, page)
    item_drilldown.apply_selection()
    if reference:
        row = alignment_data.draw_row()
    else:
        reference, row = alignment_data.draw_reference_choice(study, drawn_version)

    def load(version: alignment_data.Version) -> AlignmentData:
        loaded = alignment_data.load_data(url, study.id, version, reference)
        judge_ranking.rankable(loaded)  # what all sections need is computed with it
        return loaded

    data = alignment_data.figures(study, page, drawn_version, load)
    section, place = _open_section(sections, opened)
    with row:
        query = section.filters(data)

    def compute(version: alignment_data.Version) -> Any:
        newer = alignment_data.load_data(url, study.id, version, reference)
        return live.cached(study, version, section.name, lambda: section.compute(study, newer, query), reference, query)

    with place:
        if query is None:
            st.info(escape_markdown(section.empty if isinstance(section.empty, str) else section.empty(data)))
            shell.draw_links(study, *section.links)
            return
        report = compute(drawn_version)
        alignment_data.computed(study, page, drawn_version, start)
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
    # Not the default of the tabs: with another default they are new ones, with new charts.
    is_chosen = "section" in st.query_params or st.session_state.get("section") in titles
    if opened not in ("", titles[0]) and not is_chosen:
        st.session_state["section"] = opened
    tabs = st.tabs(titles, key="section", bind="query-params", on_change="rerun")
    return next(
        ((section, tab) for section, tab in zip(sections, tabs, strict=True) if tab.open), (sections[0], tabs[0])
    )


def draw_result(result: Result) -> None:
    """Draw a result."""
    if result.title:
        st.subheader(result.title, anchor=False)
    if result.headline:
        st.markdown(f"**{escape_markdown(result.headline)}**")
    if result.warning:
        st.warning(escape_markdown(result.warning), icon=":material/filter_alt:")
    _draw_caption(result)
    _draw_figures([chart for chart in result.figures if not chart.is_empty], result.headline)
    if result.remark:
        st.caption(result.remark)
    for table in filter(lambda table: table.rows, result.tables):
        key = f"{table.name}_{st.session_state.get('opened', 0)}" if result.on_click else ""
        tables.draw(table, result.on_click, key)
    for part in result.rest:
        draw_result(part)


def _draw_caption(result: Result) -> None:
    """Draw one line of a caption above the figures or the table; its other paragraphs are notes of the page."""
    line, *notes = result.caption.split("\n\n")
    if len(line.replace("\\", "")) > LONGEST_LINE and (result.figures or result.tables):
        line, notes = "", [line, *notes]
    if line:
        st.caption(line)
    if notes := [*notes, *result.notes]:
        title = f"**{result.title}**" if result.title else ""
        shell.draw_note("\n\n".join(filter(None, [title, *notes])))  # one element: each costs the browser time


def _draw_figures(figures: Sequence[Intervals | Matrix | Drawn], alt: str) -> None:
    if len(figures) == 1:
        draw_chart(figures[0], alt)
    elif figures:
        for column, chart in zip(st.columns(len(figures), gap="large"), figures, strict=True):
            with column:
                draw_chart(chart, alt)


def draw_chart(chart: Intervals | Matrix | Drawn, alt: str, *, has_files: bool = True) -> None:
    """Draw a chart with the menu of its files, if it has them."""
    bare = replace(chart, data=charts.ChartData(), on_select=None, selected=None)  # a figure is shared by equal charts
    if isinstance(bare, Drawn):
        drawn, alt = bare.figure, bare.alt
    elif isinstance(bare, Matrix):
        drawn = matrix_figure(bare)
    else:
        drawn = charts.shared_interval_figure(bare)
    charts.draw(
        drawn, chart.name, alt or chart.name, chart.on_select,
        data=chart.data if has_files else None, selected=chart.selected,
    )  # fmt: skip


@charts.built_once
def matrix_figure(matrix: Matrix) -> go.Figure:
    """Return the matrix, the first row on top."""
    rows, columns = ({name: place for place, name in enumerate(names)} for names in (matrix.rows, matrix.columns))
    values: list[list[float | None]] = [[None] * len(columns) for _ in rows]
    texts = [[""] * len(columns) for _ in rows]
    for cell in matrix.cells:
        values[rows[cell.row]][columns[cell.column]] = cell.value
        texts[rows[cell.row]][columns[cell.column]] = cell.text
    largest = max((abs(cell.value) for cell in matrix.cells), default=0) or 1
    pale, accent = colours.PALE[charts.theme()], charts.accent_colour()
    scale = [[0, "#B35806"], [0.5, pale], [1, accent]] if matrix.signed else [[0, pale], [1, accent]]
    drawn = go.Figure(
        go.Heatmap(
            z=values, zmin=-largest if matrix.signed else 0, zmax=largest, colorscale=scale, showscale=False,
            text=texts, texttemplate="%{text}", xgap=3, ygap=3, hoverinfo="skip",
        )
    )  # fmt: skip
    places = [(columns[cell.column], rows[cell.row]) for cell in matrix.cells]
    hover_texts = ["<br>".join(escape(line, quote=False) for line in cell.details) for cell in matrix.cells]
    drawn.add_trace(clickable_cells(places, [cell.opens for cell in matrix.cells], hover_texts))
    labels = [wrap_name(name) for name in matrix.rows]
    if matrix.numbered:
        labels = [f"{label} <b>{number}</b>" for number, label in enumerate(labels, start=1)]
        step = 1 if len(columns) <= MANY else 5  # of many columns only the first and every fifth have their number
        heads = [str(number) if number % step == 0 or number == 1 else "" for number in range(1, len(columns) + 1)]
    else:
        # In short lines, so that Plotly does not rotate them.
        heads = [wrap_name(truncate(name, 40), 13 if len(columns) < 3 else 9) for name in matrix.columns]
    side = "top" if matrix.numbered else "bottom"
    drawn.update_xaxes(title=matrix.across, tickvals=list(columns.values()), ticktext=heads, side=side)
    drawn.update_yaxes(title=matrix.down, tickvals=list(rows.values()), ticktext=labels)
    # Exactly the cells, the first row on top: by themselves, axes of bars begin at 0.
    drawn.update_xaxes(range=[-0.5, len(columns) - 0.5], showgrid=False, zeroline=False)
    drawn.update_yaxes(range=[len(rows) - 0.5, -0.5], showgrid=False, zeroline=False)
    row_height = CELL_HEIGHT if len(rows) <= MAX_CELL_TEXT else COMPACT_CELL
    height = sum(max(row_height, LINE_HEIGHT * count_lines(label)) for label in labels)
    return charts.apply_layout(drawn, matrix.title, 130 + height, right=8)


def clickable_cells(places: Sequence[tuple[int, int]], names: Sequence[Any], hover_texts: Sequence[str]) -> go.Bar:
    """Return an invisible bar over each cell, at its column and row, which has a frame while it is selected.

    Plotly selects points and bars, but no cells. `names` are the custom data of the cells, `hover_texts` HTML.
    """
    return go.Bar(
        orientation="h",
        base=[column - CELL_WIDTH / 2 for column, _ in places],
        x=[CELL_WIDTH] * len(places),
        y=[row for _, row in places],
        width=0.9,
        marker={"color": "rgba(0,0,0,0)", "line": {"color": colours.UNDECIDED, "width": 3}, "opacity": 0},
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 0}},
        customdata=names,
        hovertext=hover_texts,
        hoverinfo="text",
        textposition="none",
        showlegend=False,
    )
