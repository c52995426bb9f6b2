"""The differences between every two judges as a list, with the interval and p that the matrix shows only on hover."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import streamlit as st

from core.statistics.measures.comparison import Comparison, better_first
from pages.parts import clickable_table, name_columns, numbers
from pages.parts.text import escape_markdown
from pages.results.parts import judge_charts

NUMBER = "_difference_list"
"""The name of the number of the list in the state of the session."""
WIDTHS = {"A × B": name_columns.NUMBERS_WIDTH, "A − B": 66, "p": 72, "n": 56}
"""Pixels: a phone of 390 pixels shows these columns without a swipe."""


def draw(
    comparisons: Sequence[Comparison], judges: Sequence[str], select: Callable[[str], None], selected: str
) -> None:
    """Draw the pairs; a click calls `select` with the name of the pair, as the cells of the matrix have it.

    `judges` are in the order of their numbers in the matrix; `selected` is the name of the pair whose targets are
    listed, "" for none.
    """
    ordered = ordered_pairs(comparisons, judges)
    pairs = [f"{one.judge} × {one.other_judge}" for one in ordered]
    table = name_columns.shorten([line(one, judges) for one in ordered], {"A": 240, "B": 240})
    st.caption(
        "A × B: the numbers of the judges, the more accurate first. A − B: the difference in accuracy, with its 95 % "
        "interval. p: corrected by Holm's method, the smallest first; * if it is under 0.05. n: targets. A click on a "
        "row lists the targets on which the two judges differ."
    )
    clickable_table.draw(
        table.lines,
        list_key(pairs, selected),
        lambda row, _: select(pairs[row]),
        row_height=name_columns.DENSE_ROW,
        column_config=table.columns
        | {name: st.column_config.Column(width=width, alignment="right") for name, width in WIDTHS.items()},
    )
    table.draw_full_names()
    with st.container(key="narrow-numbers"), st.expander("Judges by number", icon=":material/tag:"):  # on a phone only
        st.markdown("\n".join(f"{number}. {escape_markdown(name)}" for number, name in enumerate(judges, start=1)))


def line(one: Comparison, judges: Sequence[str]) -> dict[str, Any]:
    """Return the row of a pair; the interval and the names are last, because a phone has no room for them."""
    difference, _, interval = numbers.format_estimate(one.difference, one.low, one.high, sign=True).partition(" ")
    return {
        "A × B": name_columns.pair_numbers((one.judge, one.other_judge), judges),
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
