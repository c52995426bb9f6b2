"""The colours of a figure for its files: those of the light theme, because an image is white."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pages.parts import colours

if TYPE_CHECKING:
    import plotly.graph_objects as go

LIGHT = {colours.DARK_ACCENT: colours.ACCENT, colours.PALE["dark"]: colours.PALE["light"]}
"""Colour of the dark theme -> that of the light one with the same meaning."""


def apply_light(figure: "go.Figure") -> "go.Figure":
    """Return the figure in the colours of the light theme, with texts on cells that are legible on them."""
    import plotly.graph_objects as go

    light = go.Figure(_replace(figure.to_dict()))
    cells = next((trace for trace in light.data if trace.type == "heatmap"), None)
    for trace in light.data if cells is not None else ():
        if trace.type == "scatter" and trace.mode == "text":
            trace.textfont.color = [
                colours.text_colour(_cell_colour(cells, x, y)) for x, y in zip(trace.x, trace.y, strict=True)
            ]
    return light


def _replace(value: Any) -> Any:
    """Return nested values with the colours of the light theme."""
    if isinstance(value, dict):
        return {name: _replace(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_replace(part) for part in value]
    return LIGHT.get(value, value) if isinstance(value, str) else value


def _cell_colour(cells: Any, x: int, y: int) -> str:
    """Return the colour of the cell in a column and a row of a heat map."""
    value = cells.z[y][x]
    share = 0.0 if value is None else (value - cells.zmin) / ((cells.zmax - cells.zmin) or 1)
    for (low, pale), (high, dark) in pairwise(cells.colorscale):
        if share <= high:
            return colours.mix_colours(pale, dark, (share - low) / (high - low))
    return str(cells.colorscale[-1][1])
