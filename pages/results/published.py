"""The tables and figures of the papers, computed from a study: one scorer per row."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape

import streamlit as st

from core.formats.tables import Table, records
from pages.parts import resources, shell
from pages.parts.charts import ChartData
from pages.parts.text import escape_markdown
from pages.results import renderer
from pages.results.parts import alignment_data
from pages.results.parts.alignment_data import Version
from pages.results.renderer import Intervals, Mark, Result
from storage.reports import published
from storage.reports.alignment import AlignmentData
from storage.reports.published import PublishedRow, PublishedTable
from storage.reports.published.rows import COLUMNS, MEAN
from storage.studies import studies
from storage.studies.studies import Study

DOCS = "docs/published.md"
PAGE = "published"


@st.cache_data(max_entries=64, show_spinner="Computing the table …")
def load_rows(url: str, study_id: int, version: Version, name: str, reference: str) -> list[PublishedRow]:
    """Return the rows of a table at a version of the labels; the cache is shared by all visitors."""
    study = resources.read(studies.by_id, study_id)

    def load() -> AlignmentData:
        chosen = reference or next(iter(alignment_data.load_references(url, study_id, version)))
        return alignment_data.load_data(url, study_id, version, chosen)

    return published.compute(resources.engine(), study, name, reference=reference or None, load=load)


def draw_page(study: Study) -> None:
    """Draw the choice of a table, then its chart and its rows, and redraw them when a label or an opinion is added."""
    drawn_version = alignment_data.follow(study, PAGE)
    tables = {table.name: table for table in resources.read(published.available, study.id)}
    if not tables:
        st.info("The papers' tables are computed from labels and judgements. This study has none yet.")
        return shell.draw_links(
            study,
            shell.RUN,
            (shell.STUDIES, "Import a published data set", ":material/upload_file:"),
        )
    choose_first(study, drawn_version, tables)
    row = alignment_data.draw_row()
    name = row.selectbox(
        "Table or figure",
        list(tables),
        key="table",
        bind="query-params",
        width=alignment_data.width("Table or figure", tables),
        help="Those for which this study has values of the right kind.",
    )
    reference = alignment_data.draw_reference_choice(study, drawn_version, row)[0] if tables[name].has_reference else ""
    url = str(resources.engine().url)

    def compute(version: Version) -> list[PublishedRow]:
        return load_rows(url, study.id, version, name, reference)

    rows = alignment_data.figures(study, PAGE, drawn_version, compute)
    with row:
        chosen = choose_rows(rows)
    draw_table(study, tables[name], reference, rows, chosen)


def choose_first(study: Study, version: Version, tables: Mapping[str, PublishedTable]) -> None:
    """Choose the first table with a value, unless one is chosen already."""
    if "table" in st.session_state or "table" in st.query_params:
        return
    url = str(resources.engine().url)
    asked = st.session_state.get(alignment_data.KEY) or st.query_params.get(alignment_data.KEY)

    def find(newer: Version) -> str:
        known = alignment_data.load_references(url, study.id, newer)
        reference = asked if asked in known else next(iter(known))
        for name, table in tables.items():
            rows = load_rows(url, study.id, newer, name, reference if table.has_reference else "")
            if any(row.value is not None for row in rows):
                return name
        return next(iter(tables))

    st.session_state["table"] = alignment_data.figures(study, PAGE, version, find)


def draw_table(
    study: Study, table: PublishedTable, reference: str, rows: Sequence[PublishedRow], chosen: Sequence[PublishedRow]
) -> None:
    """Draw the question of a table, the answer in words, a chart of the chosen statistic, and all rows."""
    compared = published.compared_with(resources.engine(), study, table, reference or None)
    st.subheader(escape_markdown(f"{table.paper.partition(',')[0]}, {table.title}{compared}"), anchor=False)
    st.markdown(escape_markdown(table.question))
    option = " --published" if table.name not in {one.name for one in published.TABLES} else ""
    command = f"cli.py experiments table {table.name}{option}"
    st.caption(f"{table.paper}. Caveats and published values: {DOCS}. In a terminal: `{command}`.")
    if not rows:
        st.info(f"No rows yet: this table needs {table.needs}.")
        return
    note = published.note_of(rows)
    # The sentence and the chart name a single statistic, and the notes need its room.
    hidden = {"Statistic"} if len({row.statistic for row in rows}) == 1 else set()
    hidden |= set() if note else {"Population"}
    hidden |= set() if any(row.published is not None for row in rows) else {"Published", "Here less published"}
    hidden |= {"Why"}  # once, above
    columns = [column for column in COLUMNS if column.title not in hidden]
    shown = Table(table.name, rows, columns, records(rows, COLUMNS))
    for reason in published.reasons([*chosen, *(row for row in rows if row.value is None)]):
        st.caption(escape_markdown(reason))
    renderer.draw_result(Result(published.summarize(chosen), warning=note, figures=figures(chosen), tables=[shown]))


def figures(rows: Sequence[PublishedRow]) -> list[Intervals]:
    """Return the chart of rows of one statistic and group, the highest value first; none without values."""
    marks = [
        Mark.of(row.scorer, row) for row in sorted(rows, key=lambda row: -(row.value or 0.0)) if row.value is not None
    ]
    if not marks:
        return []
    series = [("", "circle")]
    if published := [row for row in rows if row.published is not None and row.value is not None]:
        series = [("here", "circle"), ("published", "diamond")]
        marks = [replace(mark, series="here") for mark in marks]
        marks += [Mark(row.scorer, row.published or 0.0, None, None, "published", "", row.source) for row in published]
    statistic = rows[0].statistic[:1].upper() + rows[0].statistic[1:]
    title = f"{statistic}: {rows[0].group}" if rows[0].group else statistic
    axis = statistic + " and 95 % interval" * any(mark.low is not None for mark in marks)
    title, axis = (escape(text, quote=False) for text in (title, axis))
    return [Intervals(PAGE, title, axis, series, marks, joined=bool(published), data=ChartData(rows))]


def choose_rows(rows: Sequence[PublishedRow]) -> list[PublishedRow]:
    """Draw the choice of a statistic and a group; returns the rows with a value, one for each scorer."""
    if not rows:
        return []
    compared = [row for row in rows if None not in (row.published, row.value)]  # statistics of the paper first
    statistics = list(dict.fromkeys(row.statistic for row in (*compared, *rows)))
    statistic = alignment_data.choose("Statistic", statistics, "statistic")
    found = dict.fromkeys(row.group for row in rows if row.statistic == statistic)
    groups = sorted(found, key=lambda name: name != MEAN)  # the mean of all groups first, if there is one
    group = alignment_data.choose("Group", groups, "group")
    chosen = [row for row in rows if (row.statistic, row.group) == (statistic, group) and row.value is not None]
    return list({row.scorer: row for row in chosen}.values())


draw_page(shell.draw_header("Published tables", "The tables and figures of the papers, from this study's values."))
