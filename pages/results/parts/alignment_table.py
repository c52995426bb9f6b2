"""The table of Alignment: every figure of each judge, and of each scenario."""

from collections.abc import Mapping, Sequence

import streamlit as st

from core.statistics.data.frames import ALL
from core.wording import NO_SCENARIO, scenario_of_name
from pages.parts import clickable_table, column_widths, name_columns, reasons
from pages.results.parts import alignment_differences, alignment_rows
from pages.results.parts.alignment_rows import Figures, Place
from storage.reports.judge_costs import JudgeCost

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
    names = {"Judge": 270} | ({"Scenario": 160} if by_scenario else {})
    undefined = {
        _name_place(*place): str(line.pop(alignment_rows.REASON_COLUMN))
        for place, line in zip(order, lines, strict=True)
    }
    figures = column_widths.fit_figures(lines, names)
    table = name_columns.shorten(lines, column_widths.fit_names(lines, names, figures))
    # A click on the table gives a new one, without the selected cell; a click on a chart leaves it as it is.
    clickable_table.draw(
        table.lines,
        f"table_{st.session_state.get(TABLE_NUMBER, 0)}",
        lambda row, _: _select_place(*order[row]),
        max_height=MAX_HEIGHT,
        column_config=table.columns | figures,
    )
    table.draw_full_names()
    reasons.draw(undefined)


def _name_place(judge: str, group: str) -> str:
    return judge if group == ALL else f"{judge} · {group or NO_SCENARIO}"


def _select_place(judge: str, group: str) -> None:
    """Select the targets on which a judge differs from people, in one scenario unless the group is all of them."""
    st.session_state[TABLE_NUMBER] = st.session_state.get(TABLE_NUMBER, 0) + 1
    scenario = {} if group == ALL else {"scenario": scenario_of_name(group)}
    alignment_differences.select(judge, cell=alignment_differences.ALL_DIFFERENCES, **scenario)
