"""The chart of an experiment: a statistic along one axis, with a line for each combination of the other axes."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from core.statistics.reports.experiments import CellResult
from pages.parts import charts, colours, numbers
from pages.parts.name_rows import count_lines, wrap_name

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_LINES = 8
"""The most lines that a reader can distinguish."""
OFFSET = 0.06
"""Between the points of two lines at one level, in levels."""
HEIGHT, TITLE_HEIGHT, LINE_HEIGHT = 420, 48, 19
"""Pixels of the chart with names of one line and a short legend, of its title, and of a line of names."""
LEGEND_PADDING = 16
"""Pixels above and below the names of a legend in a column."""
NAME_LENGTH, AXIS_LENGTH = 40, 42
"""Characters of a line of the legend, and of the levels on the axis together, that a phone has room for."""


def axis_figure(
    cells: Sequence[CellResult], axes: Sequence[str], axis: str, levels: Sequence[str], statistic: str
) -> "go.Figure":
    """Return the figure, with the 95 % interval over items at each point."""
    import plotly.graph_objects as go

    place = list(axes).index(axis)
    several = len({cell.criterion for cell in cells}) > 1 and "criterion" not in axes
    lines: dict[tuple[str, ...], dict[str, CellResult]] = {}
    for cell in cells:
        rest = (*cell.levels[:place], *cell.levels[place + 1 :], *([cell.criterion] if several else []))
        lines.setdefault(rest, {})[cell.levels[place]] = cell
    drawn = list(lines.items())[:MAX_LINES]
    figure = go.Figure()
    for number, (rest, by_level) in enumerate(drawn):
        points = [(x, by_level[level]) for x, level in enumerate(levels) if level in by_level]
        points = [(x, cell) for x, cell in points if cell.value is not None]
        colour = charts.accent_colour() if len(drawn) == 1 else colours.JUDGES[number % len(colours.JUDGES)]
        name = " · ".join(filter(None, rest)) or statistic
        values = [cell.value or 0.0 for _, cell in points]
        ends = [(cell.low, value, cell.high) for (_, cell), value in zip(points, values, strict=True)]
        figure.add_trace(
            go.Scatter(
                x=[x + OFFSET * (number - (len(drawn) - 1) / 2) for x, _ in points],
                y=values,
                name=wrap_name(name, NAME_LENGTH),
                mode="lines+markers",
                marker={"size": 9, "color": colour},
                line={"width": 1.5, "color": colour},
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": [0.0 if high is None else max(0.0, high - value) for _, value, high in ends],
                    "arrayminus": [0.0 if low is None else max(0.0, value - low) for low, value, _ in ends],
                    "thickness": 1.2,
                },
                hovertext=[
                    f"<b>{escape(name, quote=False)}</b><br>{escape(levels[x], quote=False)}: "
                    f"{numbers.format_estimate(cell.value, cell.low, cell.high, 3)}<br>n {cell.items:,} items, "
                    f"{numbers.format_count(cell.repeats, 'repeat')}"
                    for x, cell in points
                ],
                hoverinfo="text",
            )
        )
    ticks = [wrap_name(level, max(10, AXIS_LENGTH // max(1, len(levels)))) for level in levels]
    figure.update_xaxes(tickvals=list(range(len(levels))), ticktext=ticks, range=[-0.5, len(levels) - 0.5])
    figure.update_yaxes(title=escape(statistic, quote=False), zeroline=False)
    title = f"{escape(statistic, quote=False)} along {escape(axis, quote=False)}"
    figure = charts.apply_layout(figure, title, HEIGHT, legend=len(drawn) > 1)
    tick_space = LINE_HEIGHT * max(tick.count("<br>") for tick in ticks)
    figure.update_layout(height=HEIGHT + tick_space)
    if len(drawn) > 2:  # a line for each name: on a phone a legend in rows covers the title
        names = [" · ".join(filter(None, rest)) for rest, _ in drawn]
        _stack_legend(figure, LINE_HEIGHT * sum(count_lines(wrap_name(name, NAME_LENGTH)) for name in names))
    return figure


def _stack_legend(figure: "go.Figure", space: int) -> None:
    """Place the legend, of `space` pixels, in a column between the title and the plot."""
    title = TITLE_HEIGHT + charts.TITLE_LINE * figure.layout.title.text.count("<br>")
    height = figure.layout.height + space + LEGEND_PADDING
    legend = {"orientation": "v", "yref": "container", "y": 1 - title / height, "yanchor": "top"}
    figure.update_layout(height=height, margin={"t": title + space + LEGEND_PADDING}, legend=legend)
