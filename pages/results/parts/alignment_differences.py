"""Disagreement of one judge with people: tables of values whose cells list their items, and changed opinions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from core.labels import Scale
from core.statistics.data.frames import ALL
from core.statistics.measures.comparison import Comparison, better_first
from core.statistics.reports.alignment import AlignmentRow
from core.wording import NO_SCENARIO, report_criterion, scenario_name, scenario_of_name
from pages.parts import charts, numbers, resources, shell, tables
from pages.parts.chart_files import ChartData
from pages.parts.text import escape_markdown
from pages.results.parts import alignment_charts, alignment_data, alignment_rows, item_drilldown, judge_charts
from pages.results.parts.alignment_charts import AxisNames, JudgePoints
from pages.results.parts.alignment_rows import VIEWS, Figures, Place
from storage.reports import disagreements, judge_values
from storage.reports.alignment import AlignmentData
from storage.reports.disagreements import Drilldown, Matrix
from storage.reports.judge_costs import JudgeCost
from storage.reports.judge_values import NO_MAJORITY, NO_VERDICT, JudgeQuery, JudgeValues
from storage.studies.studies import Study

if TYPE_CHECKING:
    from core.statistics.data.arrays import Ints


SELECTION_PARAMETERS = ("scenario", "cell", "change", "bias", "item", "part")
"""The URL parameters of the selection."""
FORMER_PARAMETERS = {"change": "move", "bias": "leaning"}
"""Their former names, which links may still have."""
ALL_DIFFERENCES = "differ"
"""The value of `cell` for all items on which the judge and people differ."""
BIAS_NAMES = {"shown_first": "the response shown first", "longer": "the longer response"}
OTHER_PAGES = {
    "aiu": (
        "critiques",
        "Critiques",
        "These scores are computed from AIUs. Choose AIU precision or recall above, or open the ranking of authors.",
    ),
    "aspect_weights": ("weights", "Weights", "The items behind weight distances are on the page Weights."),
}
"""Kinds whose items are on another page: its script, its name, and a sentence about it."""


@dataclass(frozen=True)
class AlignmentView:
    """The data and the choices at the top of the page."""

    study: Study
    version: tuple[int, ...]
    """The version of the labels."""
    data: AlignmentData
    figures: Figures
    judges: Sequence[str]
    kind: str
    criterion: str
    statistic: str
    by_scenario: bool


@st.cache_resource(max_entries=4, show_spinner=False)
def load_values(
    url: str, study_id: int, version: tuple[int, ...], query: JudgeQuery, _data: AlignmentData
) -> tuple[JudgeValues, JudgeValues]:
    """Return the values of judge and people, and first with last opinions; cached and shared, so do not modify."""
    criteria = judge_values.compared_criteria(_data, query)
    return judge_values.load_values(_data, query, criteria), judge_values.load_changes(_data, query, criteria)


def select(judge: str | None = None, **clicked: str) -> None:
    """Select a judge and the items of a cell, change, bias or scenario; this replaces the former selection."""
    if judge is not None:
        st.session_state["judge"] = judge
    st.session_state["opened"] = st.session_state.get("opened", 0) + 1
    st.session_state["clicked"] = {
        name: clicked.get(name) for name in (*SELECTION_PARAMETERS, *FORMER_PARAMETERS.values())
    }


def clear_selection() -> None:
    """Clear the selection."""
    select()


def select_in_scenario(**clicked: str) -> None:
    """Select items without leaving the selected scenario."""
    scenario = st.query_params.get("scenario")
    select(**({} if scenario is None else {"scenario": scenario}), **clicked)


def _parameter(name: str) -> str | None:
    """Return a URL parameter of the selection, also by its former name."""
    return st.query_params.get(name) or st.query_params.get(FORMER_PARAMETERS[name])


def draw_differences(view: AlignmentView) -> None:
    """Draw the choice of a judge, and where it differs from people."""
    kind, statistic = view.kind, view.statistic
    with st.container(horizontal=True, vertical_alignment="bottom", key="apart"):
        st.subheader("Disagreement with people", anchor=False, width="content")
        judge = view.judges[0]
        if len(view.judges) > 1 and kind not in OTHER_PAGES:
            judge = st.selectbox(
                "Judge",
                view.judges,
                key="judge",
                bind="query-params",
                width=alignment_data.width("Judge", view.judges),
                on_change=clear_selection,
            )
    if kind in OTHER_PAGES:
        return link_other_page(view.study, kind)
    if view.by_scenario:
        rows = {group: rows for (name, group), rows in view.figures.items() if name == judge}
        draw_scenarios(rows, judge, statistic)
    query = JudgeQuery(judge, kind, view.criterion, st.query_params.get("scenario"))
    if query.scenario is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"Scenario: **{escape_markdown(scenario_name(query.scenario))}**", width="content")
            st.button(
                "All scenarios", icon=":material/close:", type="tertiary", key="all_scenarios", on_click=clear_selection
            )
    draw_details(view, query)


def draw_details(view: AlignmentView, query: JudgeQuery) -> None:
    """Draw the tables of values and of changed opinions, and the selected items."""
    data, study = view.data, view.study
    values, changes = load_values(str(resources.engine().url), study.id, view.version, query, data)
    criteria = judge_values.compared_criteria(data, query)
    # Pooled criteria share one scale, so any of them can be used.
    scale = data.scales.get((query.kind, criteria[0])) if criteria else None
    left, right = st.columns(2, gap="large")
    with left:
        if criteria:
            draw_values(values, query, scale)
        else:
            st.caption("Choose one criterion to see where this judge and annotators disagree.")
    with right if values.labelled.any() else left:
        draw_changes(changes, query, scale)
    categorical = judge_values.is_categorical(values.values, scale)
    # One element, selected or not: the browser would make what follows anew at another place of the page.
    with st.container():
        draw_selected_items(study, query, values, changes, categorical=categorical)


def link_other_page(study: Study, kind: str) -> None:
    """Link to the page that lists the items of this kind."""
    script, label, sentence = OTHER_PAGES[kind]
    st.caption(sentence)
    st.page_link(shell.page_path(f"results/{script}.py"), label=label, query_params={"study": study.name})


def draw_scenarios(rows: Mapping[str, Mapping[str, AlignmentRow]], judge: str, statistic: str) -> None:
    """Draw the judge in each scenario; a click restricts everything below to that scenario."""
    statistic_view = VIEWS[statistic]
    rows_by_scenario = {group or NO_SCENARIO: scenario_rows for group, scenario_rows in rows.items() if group != "all"}
    points = alignment_rows.defined_rows(rows_by_scenario, statistic)
    points = dict(sorted(points.items(), key=lambda pair: -(pair[1].value or 0.0)))
    if points:
        draw_details = {name: alignment_rows.format_details(rows_by_scenario[name], statistic, None) for name in points}
        point_rows = {name: rows_by_scenario[name] for name in points}
        draw_values = alignment_rows.defined_rows(point_rows, statistic_view.second)
        figure = alignment_charts.judge_figure(
            JudgePoints(
                points,
                draw_values,
                alignment_rows.defined_rows(point_rows, statistic_view.ceiling) if draw_values else {},
                draw_details,
            ),
            title=f"{statistic_view.name}, by scenario",
            axis="Value and 95 % interval",
            legend=(statistic_view.legend, statistic_view.second_name),
        )
        with st.container(height=640 if len(points) > 9 else "content", border=False):
            alt = f"{statistic_view.name} of {judge} by scenario"
            shown = (statistic, statistic_view.second) if draw_values else (statistic,)
            data = ChartData(alignment_rows.chart_rows(point_rows, *shown), names=list(points))
            charts.draw(figure, "by_scenario_chart", alt, _select_scenario, data, st.query_params.get("scenario"))
    for reason, names in alignment_rows.undefined_reasons(rows_by_scenario, statistic).items():
        st.caption(f":material/help: No value for {', '.join(map(escape_markdown, names))}: {escape_markdown(reason)}.")


def _select_scenario() -> None:
    name = charts.clicked_point("by_scenario_chart")
    scenario = scenario_of_name(name)
    select(**({} if name is None else {"scenario": scenario}))


def name_axes(query: JudgeQuery, scale: Scale, rows: str, columns: str) -> AxisNames:
    """Return the names of the axes and of the values of a table."""
    names = {name: alignment_rows.value_name(query.kind, name) for name in disagreements.category_names(scale)}
    return AxisNames(rows, columns, names)


def draw_values(values: JudgeValues, query: JudgeQuery, scale: Scale | None) -> None:
    """Draw the judge's values against people's, as a table or as points."""
    if scale is None or not values.labelled.any():
        st.caption("People have not labelled any item that this judge has judged.")
        return
    title = f"Judge and people: {count_targets(values, query.kind)}"
    if judge_values.is_categorical(values.values.take(values.labelled), scale):
        cells = values.cells.take(values.labelled)
        matrix = disagreements.count_matrix(cells, scale, (NO_VERDICT, NO_MAJORITY))
        names = name_axes(query, scale, "Judge", "People, by majority")
        figure = alignment_charts.matrix_figure(matrix, names, title=title)
        alt, data = describe_matrix(title, matrix, names), matrix_data(matrix, names)
        charts.draw(figure, "cells", alt, lambda: _select_cell("cells", "cell"), data, st.query_params.get("cell"))
    else:
        item = st.query_params.get("item")
        figure = alignment_charts.score_figure(values, judge=query.judge, title=title)
        charts.draw(figure, "dots", title, _select_point, ChartData(method=""), item)


def matrix_data(matrix: Matrix, names: AxisNames) -> ChartData:
    """Return the counts of a table, one row for each of its rows."""
    rows = [
        {names.down: row} | {column: matrix.counts.get((row, column), 0) for column in matrix.columns}
        for row in matrix.rows
    ]
    return ChartData(rows, f"Counts; columns: {names.across}")


def count_targets(values: JudgeValues, kind: str) -> str:
    """Return `3 items`, or `6 targets of 3 items` if several criteria or parts of a labelled item were judged."""
    unit, count = alignment_rows.unit_name(kind), int(values.labelled.sum())
    items = values.opinions["item"][values.labelled].nunique()
    if unit != "item" or items == count:
        return numbers.format_count(count, unit)
    return f"{numbers.format_count(count, 'target')} of {numbers.format_count(items, 'item')}"


def describe_matrix(title: str, matrix: disagreements.Matrix, names: AxisNames) -> str:
    """Return a table of values in words."""
    cells = [
        f"{names.values.get(down, down)} and {names.values.get(across, across)}: {count}"
        for (down, across), count in matrix.counts.items()
    ]
    return f"{title}. {'; '.join(cells)}"


def _select_cell(chart: str, parameter: str) -> None:
    place = charts.clicked_point(chart)
    select_in_scenario(**({} if place is None else {parameter: place}))


def _select_point() -> None:
    item = charts.clicked_point("dots")
    select_in_scenario(**({} if item is None else {"cell": ALL_DIFFERENCES, "item": item}))


def draw_changes(changes: JudgeValues, query: JudgeQuery, scale: Scale | None) -> None:
    """Draw first against last opinions, and the number of changes towards people's majority."""
    if not len(changes) or scale is None or not judge_values.is_categorical(changes.values, scale):
        return
    matrix = disagreements.count_matrix(changes.change_cells, scale, (NO_VERDICT, NO_VERDICT))
    several_judges = changes.opinions["rater"].nunique() > 1
    names = name_axes(query, scale, "First opinion", "Last opinion")
    title = f"First and last{' of all judges' * several_judges}: {numbers.format_count(len(changes), 'opinion')}"
    figure = alignment_charts.matrix_figure(matrix, names, title=title)
    alt, data = describe_matrix(title, matrix, names), matrix_data(matrix, names)
    counts = changes.count_changes()
    with_majority = counts.changed - counts.unknown
    text = f"Changed {numbers.format_count(counts.changed, 'opinion')} of {counts.opinions:,}."
    if with_majority:
        text += (
            f" Of {with_majority:,} with a majority of people: {counts.towards:,} changed towards it, "
            f"{counts.away:,} away from it."
        )
    with st.expander("First and last opinions", expanded=_parameter("change") is not None):
        charts.draw(figure, "changes", alt, lambda: _select_cell("changes", "change"), data, _parameter("change"))
        st.caption(f"{text} The page Discussions has each judge's changes, and whose opinion it adopts.")


def draw_selected_items(
    study: Study, query: JudgeQuery, values: JudgeValues, changes: JudgeValues, *, categorical: bool
) -> None:
    """Draw the selected items, or a hint how to select."""
    selection = _find_selected(query, values, changes, categorical)
    if selection is None:
        st.caption("Click a point, a cell or a row of the table to list its targets.")
        return
    description, drilldown = selection
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(f"Selected targets: {drilldown.selected:,}", anchor=False, width="content")
        st.button("Close", icon=":material/close:", type="tertiary", key="close_items", on_click=clear_selection)
    st.caption(escape_markdown(" · ".join(filter(None, (description, query.scenario)))))
    item = item_drilldown.draw_drilldown(drilldown)
    if item is not None:
        if len({other.target.criterion for other in drilldown.items if other.target.item == item.target.item}) > 1:
            st.caption(
                f"Values on {escape_markdown(report_criterion(item.target.criterion))}; the table has every criterion."
            )
        item_drilldown.draw_detail(study, item)


def _find_selected(
    query: JudgeQuery, values: JudgeValues, changes: JudgeValues, categorical: bool
) -> tuple[str, Drilldown] | None:
    """Return a description of the selection and its items; None without a selection."""
    parameters, judge = st.query_params, query.judge

    def list_targets(of_judge: JudgeValues, places: "Ints") -> Drilldown:
        limit, item = item_drilldown.MAX_ITEMS, parameters.get("item")
        return disagreements.list_targets(of_judge, places, judge, shell.current_annotator(), limit=limit, item=item)

    if cell := parameters.get("cell"):
        places = values.select(None if cell == ALL_DIFFERENCES else cell, categorical=categorical)
        row, _, column = cell.partition(" × ")
        value_names = [alignment_rows.value_name(query.kind, name) for name in (row, column)]
        difference = (
            f"{judge} differs from the majority" if categorical else f"{judge} and people, largest difference first"
        )
        description = difference if cell == ALL_DIFFERENCES else f"{judge}: {value_names[0]} · people: {value_names[1]}"
        return description, list_targets(values, places)
    if change := _parameter("change"):
        row, _, column = change.partition(" × ")
        value_names = [alignment_rows.value_name(query.kind, name) for name in (row, column)]
        description = f"First {value_names[0]} · last {value_names[1]}"
        return description, list_targets(changes, changes.select_change((row, column)))
    bias = _parameter("bias")
    if bias in BIAS_NAMES:
        places = np.flatnonzero(values.chose("longer" if bias == "longer" else "shown_first"))
        return f"{judge} chose {BIAS_NAMES[bias]}", list_targets(values, places)
    return None


# The differences between every two judges as a list, with the interval and p that the matrix shows only on hover.

NUMBER = "_difference_list"
"""The name of the number of the list in the state of the session."""
WIDTHS = {"A × B": tables.NUMBERS_WIDTH, "A − B": 66, "p": 72, "n": 56}
"""Pixels: a phone of 390 pixels shows these columns without a swipe."""


def draw_list(
    comparisons: Sequence[Comparison], judges: Sequence[str], select: Callable[[str], None], selected: str
) -> None:
    """Draw the pairs; a click calls `select` with the name of the pair, as the cells of the matrix have it.

    `judges` are in the order of their numbers in the matrix; `selected` is the name of the pair whose targets are
    listed, "" for none.
    """
    ordered = ordered_pairs(comparisons, judges)
    pairs = [f"{one.judge} × {one.other_judge}" for one in ordered]
    st.caption(
        "A × B: the numbers of the judges, the more accurate first. A − B: the difference in accuracy, with its 95 % "
        "interval. p: corrected by Holm's method, the smallest first; * if it is under 0.05. n: targets. A click on a "
        "row lists the targets on which the two judges differ."
    )
    tables.draw_clickable(
        [list_line(one, judges) for one in ordered],
        list_key(pairs, selected),
        lambda row, _: select(pairs[row]),
        row_height=tables.DENSE_ROW,
        column_config={name: st.column_config.Column(width=width, alignment="right") for name, width in WIDTHS.items()},
    )
    with st.container(key="narrow-numbers"), st.expander("Judges by number", icon=":material/tag:"):  # on a phone only
        st.markdown("\n".join(f"{number}. {escape_markdown(name)}" for number, name in enumerate(judges, start=1)))


def list_line(one: Comparison, judges: Sequence[str]) -> dict[str, Any]:
    """Return the row of a pair; the interval and the names are last, because a phone has no room for them."""
    difference, _, interval = numbers.format_estimate(one.difference, one.low, one.high, sign=True).partition(" ")
    return {
        "A × B": tables.pair_numbers((one.judge, one.other_judge), judges),
        "A − B": difference + "*" * judge_charts.is_significant(one),
        "p": numbers.format_p(one.p_corrected),
        "n": one.items,
        "95 % interval": interval,
        "A": one.judge,
        "B": one.other_judge,
    }


def chart_rows(comparisons: Sequence[Comparison], judges: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of the files of the matrix, with the numbers by which it names the judges."""
    number = {judge: place for place, judge in enumerate(judges, start=1)}
    return [
        {"number": number[one.judge], "other_number": number[one.other_judge]} | asdict(one)
        for one in ordered_pairs(comparisons, judges)
    ]


def list_key(pairs: Sequence[str], selected: str) -> str:
    """Return the key of the list: a new one, without a marked row, if the marked row is not the selected pair."""
    number = st.session_state.get(NUMBER, 0)
    state = st.session_state.get(f"difference_list_{number}")
    cells = [] if state is None else state.selection.cells
    if cells and selected not in pairs[cells[0][0] : cells[0][0] + 1]:
        number += 1
        st.session_state[NUMBER] = number
    return f"difference_list_{number}"


def ordered_pairs(comparisons: Sequence[Comparison], judges: Sequence[str]) -> list[Comparison]:
    """Return the comparisons with the better ranked judge of each first; `judges` is the ranking.

    The smallest corrected p is first, then the largest difference; undefined ones are last.
    """
    return sorted(
        (better_first(comparison, judges) for comparison in comparisons),
        key=lambda one: (1.0 if one.p_corrected is None else one.p_corrected, -abs(one.difference or 0.0)),
    )


# The table of Alignment: every figure of each judge, and of each scenario.

TABLE_NUMBER = "_alignment_table"
"""The name of the number of the table in the state of the session."""
MAX_HEIGHT = 255
"""Pixels; a longer table is scrolled."""


def draw_table(
    by_place: Figures,
    order: Sequence[Place],
    statistic: str,
    costs: Mapping[str, JudgeCost],
    by_scenario: bool,
    all_columns: bool,
) -> None:
    """Draw the figures, one row per judge and scenario; a click selects the targets on which they differ."""
    lines = [
        alignment_rows.table_line(
            place, by_place[place], statistic, costs.get(place[0]), by_scenario=by_scenario, all_columns=all_columns
        )
        for place in order
    ]
    undefined = {
        _name_place(*place): str(line.pop(alignment_rows.REASON_COLUMN))
        for place, line in zip(order, lines, strict=True)
    }
    # A click on the table gives a new one, without the selected cell; a click on a chart leaves it as it is.
    tables.draw_clickable(
        lines,
        f"table_{st.session_state.get(TABLE_NUMBER, 0)}",
        lambda row, _: _select_place(*order[row]),
        max_height=MAX_HEIGHT,
        column_config=tables.figure_columns(lines, {"Judge", "Scenario"}),
    )
    numbers.draw_reasons(undefined)


def _name_place(judge: str, group: str) -> str:
    return judge if group == ALL else f"{judge} · {group or NO_SCENARIO}"


def _select_place(judge: str, group: str) -> None:
    """Select the targets on which a judge differs from people, in one scenario unless the group is all of them."""
    st.session_state[TABLE_NUMBER] = st.session_state.get(TABLE_NUMBER, 0) + 1
    scenario = {} if group == ALL else {"scenario": scenario_of_name(group)}
    select(judge, cell=ALL_DIFFERENCES, **scenario)
