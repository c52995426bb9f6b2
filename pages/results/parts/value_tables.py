"""Where one judge differs from people: tables of values whose cells list their targets, and changed opinions."""

from collections.abc import Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.labels import Scale
from pages.parts import charts, numbers, shell
from pages.parts.chart_files import ChartData
from pages.parts.text import truncate
from pages.results import renderer
from pages.results.parts import item_drilldown
from pages.results.renderer import Cell, Drawn, Matrix
from storage.reports import disagreements
from storage.reports.alignment import AlignmentData
from storage.reports.disagreements import NO_MAJORITY, NO_VERDICT, Drilldown, JudgeQuery, JudgeValues
from storage.reports.judge_ranking import RankingQuery
from storage.studies.studies import Study

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from core.statistics.data.arrays import Ints

ALL_DIFFERENCES = "differ"
"""The value of `cell` for all items on which the judge and people differ."""
OTHER_PAGES = {
    "aiu": (
        "critiques",
        "Critiques",
        "These scores are computed from AIUs. Choose AIU precision or recall above, or open the ranking of authors.",
    ),
    "aspect_weights": ("weights", "Weights", "The items behind weight distances are on the page Weights."),
}
"""Kinds whose items are on another page: its script, its name, and a sentence about it."""


@st.cache_resource(max_entries=4, show_spinner=False)
def load_values(data_token: str, query: JudgeQuery, _data: AlignmentData) -> tuple[JudgeValues, JudgeValues]:
    """Return the values of judge and people, and first with last opinions; cached and shared, so do not modify."""
    criteria = disagreements.compared_criteria(_data, query)
    return disagreements.load_values(_data, query, criteria), disagreements.load_changes(_data, query, criteria)


def select(**clicked: str | None) -> None:
    """Select the targets of a cell or of a change in place of the last selection."""
    item_drilldown.pick(**{"cell": None, "change": None} | clicked)


def choose_judge(study: Study, judges: Sequence[str], kind: str) -> str | None:
    """Draw the choice of a judge; None, with a link, if the values of the kind are on another page."""
    if kind in OTHER_PAGES:
        script, label, sentence = OTHER_PAGES[kind]
        st.caption(sentence)
        st.page_link(shell.page_path(f"results/{script}.py"), label=label, query_params={"study": study.name})
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.subheader("Disagreement with people", anchor=False, width="content")
        if len(judges) < 2:
            return judges[0]
        return st.selectbox("Judge", judges, key="judge", bind="query-params", width=400, on_change=select)


def draw(study: Study, data: AlignmentData, query: RankingQuery, judge: str) -> None:
    """Draw the tables of values and of changed opinions of a judge, and the selected targets."""
    of_judge = JudgeQuery(judge, query.kind, query.criterion, query.scenario)
    values, changes = load_values(data.token, of_judge, data)
    criteria = disagreements.compared_criteria(data, of_judge)
    # Pooled criteria share one scale, so any of them can be used.
    scale = data.scales.get((query.kind, criteria[0])) if criteria else None
    if not criteria:
        st.caption("Choose one criterion to see where this judge and annotators disagree.")
    elif scale is None or not values.labelled.any():
        st.caption("People have not labelled any item that this judge has judged.")
    else:
        renderer.draw_chart(value_chart(values, of_judge, scale), "")
    if scale is not None and len(changes) and disagreements.is_categorical(changes.values, scale):
        draw_changes(changes, query.kind, scale)
    # One element, selected or not: the browser would make what follows anew at another place of the page.
    with st.container():
        draw_selected(study, of_judge, values, changes, categorical=disagreements.is_categorical(values.values, scale))


def value_chart(values: JudgeValues, query: JudgeQuery, scale: Scale) -> Matrix | Drawn:
    """Return the judge's values against people's: a table, or points for numbers without categories."""
    title = f"Judge and people: {count_targets(values, query)}"
    if disagreements.is_categorical(values.values.take(values.labelled), scale):
        counts = disagreements.count_matrix(values.cells.take(values.labelled), scale, (NO_VERDICT, NO_MAJORITY))
        return matrix("cell", title, ("Judge", "People, by majority"), counts, query.kind)
    drawn = score_figure(values, judge=query.judge, title=title)
    return Drawn(
        "dots", drawn, title, data=ChartData(method=""), on_select=select_point, selected=st.query_params.get("item")
    )


def matrix(parameter: str, title: str, axes: tuple[str, str], counts: disagreements.Matrix, kind: str) -> Matrix:
    """Return a table of counts; a click on a cell selects it in the address, as "row × column"."""
    down, across = axes
    rows, columns = ([value_name(kind, name) for name in names] for names in (counts.rows, counts.columns))
    cells = [
        Cell(
            value_name(kind, row), value_name(kind, column), count, f"{count:,}",
            (f"{down}: {value_name(kind, row)}", f"{across}: {value_name(kind, column)}", f"{count:,}",
             "Click to list the items"),
            f"{row} × {column}",
        )
        for (row, column), count in counts.counts.items()
    ]  # fmt: skip
    table = [
        {down: row} | {column: counts.counts.get((row, column), 0) for column in counts.columns} for row in counts.rows
    ]
    return Matrix(
        f"{parameter}s", title, rows, columns, cells, down, across,
        data=ChartData(table, f"Counts; columns: {across}"),
        on_select=partial(select_cell, f"{parameter}s", parameter), selected=st.query_params.get(parameter),
    )  # fmt: skip


def select_cell(name: str, parameter: str) -> None:
    """Select the clicked cell of a chart."""
    select(**{parameter: charts.clicked_point(name)})


def select_point() -> None:
    """Open the item of the clicked point among all targets."""
    item = charts.clicked_point("dots")
    select(cell=None if item is None else ALL_DIFFERENCES, item=item)


def value_name(kind: str, name: str) -> str:
    """Return the display name of a value."""
    names = {str(value): response for value, response in numbers.RESPONSE_NAMES.items()}
    return names.get(name, name) if kind == "preference" else name


def count_targets(values: JudgeValues, query: JudgeQuery) -> str:
    """Return `3 items`, or `6 targets of 3 items` if several criteria or parts of a labelled item were judged."""
    count = int(values.labelled.sum())
    if query.kind in ("aiu_precision", "aiu_recall"):
        return numbers.format_count(count, "AIU")
    items = values.opinions["item"][values.labelled].nunique()
    if items == count:
        return numbers.format_count(count, "item")
    return f"{numbers.format_count(count, 'target')} of {numbers.format_count(items, 'item')}"


def draw_changes(changes: JudgeValues, kind: str, scale: Scale) -> None:
    """Draw first against last opinions, and the number of changes towards people's majority."""
    counts = changes.count_changes()
    text = f"Changed {numbers.format_count(counts.changed, 'opinion')} of {counts.opinions:,}."
    if with_majority := counts.changed - counts.unknown:
        text += (
            f" Of {with_majority:,} with a majority of people: {counts.towards:,} changed towards it, "
            f"{counts.away:,} away from it."
        )
    several_judges = changes.opinions["rater"].nunique() > 1
    title = f"First and last{' of all judges' * several_judges}: {numbers.format_count(len(changes), 'opinion')}"
    cells = disagreements.count_matrix(changes.change_cells, scale, (NO_VERDICT, NO_VERDICT))
    with st.expander("First and last opinions", expanded="change" in st.query_params):
        renderer.draw_chart(matrix("change", title, ("First opinion", "Last opinion"), cells, kind), "")
        st.caption(f"{text} The page Discussions has each judge's changes, and whose opinion it adopts.")


def draw_selected(
    study: Study, query: JudgeQuery, values: JudgeValues, changes: JudgeValues, *, categorical: bool
) -> None:
    """Draw the targets of the cell or the change in the address, or how to select one."""
    cell, change = st.query_params.get("cell"), st.query_params.get("change")
    row, _, column = (change or cell or "").partition(" × ")
    names = [value_name(query.kind, name) for name in (row, column)]
    if cell == ALL_DIFFERENCES:
        found = list_targets(values, values.select(None, categorical=categorical), query.judge)
        text = "differs from the majority" if categorical else "and people, largest difference first"
        description = f"{query.judge} {text}"
    elif cell:
        found = list_targets(values, values.select(cell, categorical=categorical), query.judge)
        description = f"{query.judge}: {names[0]} · people: {names[1]}"
    elif change:
        found = list_targets(changes, changes.select_change((row, column)), query.judge)
        description = f"First {names[0]} · last {names[1]}"
    else:
        st.caption("Click a point, a cell or a row of the table to list its targets.")
        return
    item_drilldown.draw_targets(study, found, description, select)


def list_targets(values: JudgeValues, places: "Ints", judge: str) -> Drilldown:
    """Return the targets at some places, those that the visitor may see."""
    item, limit = st.query_params.get("item"), item_drilldown.MAX_ITEMS
    return disagreements.list_targets(values, places, judge, shell.current_annotator(), limit=limit, item=item)


def score_figure(values: JudgeValues, *, judge: str, title: str) -> "go.Figure":
    """Return a point for each target with both: people's mean and the judge's score, equal on the dashed line."""
    import plotly.graph_objects as go

    scored = values.with_distance()
    means, judge_scores = scored.means.tolist(), scored.numbers.tolist()
    names = scored.opinions["item"].tolist()
    ends = [min([*means, *judge_scores], default=0.0), max([*means, *judge_scores], default=1.0)]
    line = {"dash": "dash", "color": charts.GREY}
    figure = go.Figure(go.Scatter(x=ends, y=ends, mode="lines", line=line, hoverinfo="skip"))
    figure.add_trace(
        go.Scatter(
            x=means,
            y=judge_scores,
            mode="markers",
            marker={"size": 10, "color": charts.accent_colour(), "opacity": 0.7},
            customdata=names,
            hovertext=[
                _score_hover(name, judge, score, mean)
                for name, score, mean in zip(names, judge_scores, means, strict=True)
            ],
            hoverinfo="text",
            unselected={"marker": {"opacity": 0.2}},
        )
    )
    figure.update_xaxes(title="Mean of people", showgrid=True)
    name = escape(truncate(judge, 34), quote=False)
    figure.update_yaxes(title=f"{name}<br>on the scale of the labels", showgrid=True)
    return charts.apply_layout(figure, title, 420)


def _score_hover(item: str, judge: str, score: float, mean: float) -> str:
    name = escape(truncate(item, 60), quote=False)
    scores = f"{escape(truncate(judge, 34), quote=False)} {score:g} · people {mean:.2f}"
    return f"<b>{name}</b><br>{scores}<br>Click to open the item"
