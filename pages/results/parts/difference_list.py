"""The differences between every two judges as a list, with the interval and p that the matrix shows only on hover."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from core.statistics.measures.comparison import Comparison
from pages.parts import clickable_table, name_columns, numbers


def draw(comparisons: Sequence[Comparison], select: Callable[[str], None]) -> None:
    """Draw the pairs; a click calls `select` with the name of the pair, as the cells of the matrix have it."""
    ordered = order(comparisons)
    lines: list[dict[str, Any]] = [
        {
            "A × B": f"{one.judge} × {one.other_judge}",
            "A minus B": numbers.format_estimate(one.difference, one.low, one.high, sign=True),
            "p": numbers.format_p(one.p_corrected),
            "n": one.items,
        }
        for one in ordered
    ]
    row_height, names = name_columns.fit(lines, {"A × B": 190})
    st.caption(
        "A minus B: the difference in accuracy, with its 95 % interval. p: corrected by Holm's method, the smallest "
        "first. n: targets. A click on a row, or on the cell of the pair in a matrix, lists the targets on which the "
        "two judges differ."
    )
    clickable_table.draw(
        lines,
        f"difference_list_{st.session_state.get('opened', 0)}",
        lambda row, _: select(lines[row]["A × B"]),
        row_height=row_height,
        column_config=names,
    )


def order(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons, the smallest corrected p first, then the largest difference; undefined ones last."""
    return sorted(
        comparisons,
        key=lambda one: (1.0 if one.p_corrected is None else one.p_corrected, -abs(one.difference or 0.0)),
    )
