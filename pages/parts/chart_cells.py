"""The cells of a heat map that can be clicked: Plotly selects points and bars, but no cells."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pages.parts import colours

if TYPE_CHECKING:
    import plotly.graph_objects as go

WIDTH, HEIGHT = 0.94, 0.9
"""Of the frame of a cell; cells are 1 apart."""


def clickable(places: Sequence[tuple[int, int]], names: Sequence[Any], hover_texts: Sequence[str]) -> "go.Bar":
    """Return an invisible bar over each cell, at its column and row, which has a frame while it is selected.

    `names` are the custom data of the cells, `hover_texts` HTML.
    """
    import plotly.graph_objects as go

    return go.Bar(
        orientation="h",
        base=[column - WIDTH / 2 for column, _ in places],
        x=[WIDTH] * len(places),
        y=[row for _, row in places],
        width=HEIGHT,
        marker={"color": "rgba(0,0,0,0)", "line": {"color": colours.UNDECIDED, "width": 3}, "opacity": 0},
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 0}},
        customdata=names,
        hovertext=hover_texts,
        hoverinfo="text",
        textposition="none",
        showlegend=False,
    )


def set_ranges(figure: "go.Figure", columns: int, rows: int) -> None:
    """Show exactly the cells, the first row on top; by themselves, axes of bars begin at 0."""
    figure.update_xaxes(range=[-0.5, columns - 0.5], showgrid=False, zeroline=False)
    figure.update_yaxes(range=[rows - 0.5, -0.5], showgrid=False, zeroline=False)
