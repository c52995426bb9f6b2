"""A chart of the distance of each judge's weights from people's, with the distance between people (Figure 5)."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from core.statistics.reports.weight_distances import PEOPLE, RaterDistance
from pages.parts import chart_cache, charts, colours, intervals, numbers
from pages.parts.chart_files import ChartData
from pages.parts.name_rows import place_rows

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW_HEIGHT = 40
"""Pixels for a judge."""


def draw_distances(rows: Sequence[RaterDistance], human: RaterDistance | None, axis: str, key: str) -> int | None:
    """Draw a point with its interval for each judge, and the distance between people as a dashed line.

    Returns the index in `rows` of the selected point.
    """
    defined = [row for row in rows if row.distance.value is not None]
    alt = f"{axis}: {', '.join(f'{row.rater_a} {row.distance.value:.2f}' for row in defined)}"
    chart = charts.draw(distance_figure(rows, human, axis), key, alt, "rerun", ChartData(rows))
    points = chart.selection.points
    return int(points[0]["customdata"]) if points else None


@chart_cache.built_once
def distance_figure(rows: Sequence[RaterDistance], human: RaterDistance | None, axis: str) -> "go.Figure":
    """Return the figure, judges in the given order from the top; undefined distances are left out."""
    defined = [row for row in rows if row.distance.value is not None]
    # Of a study with one annotator, a judge can be compared with others than people.
    names = [row.rater_a if row.rater_b == PEOPLE else f"{row.rater_a} × {row.rater_b}" for row in defined]
    placed = place_rows(names, row_height=ROW_HEIGHT)
    places = [placed.positions[name] for name in names]
    figure = intervals.row_figure(
        [intervals.of_estimate(row.distance) for row in defined],
        places,
        [_hover_text(row) for row in defined],
        [row.units - row.undefined for row in defined],
        charts.accent_colour(),
        selectable=[rows.index(row) for row in defined],
    )
    ends = [row.distance.high or row.distance.value or 0.0 for row in defined]
    if human is not None and human.distance.value is not None:
        _add_human_line(figure, human)
        ends.append(human.distance.high or human.distance.value)
    figure.update_yaxes(
        tickvals=places, ticktext=[placed.labels[name] for name in names], range=[-0.1, placed.end + 0.1]
    )
    figure.update_xaxes(title=axis, range=[0, max(ends, default=1) * 1.15], zeroline=True)
    charts.apply_layout(figure, "Judges' weights: distance from people's", 150 + placed.height)
    return figure.update_layout(margin={"t": 90})


def _add_human_line(figure: "go.Figure", human: RaterDistance) -> None:
    """Add a dashed line at the distance between people, and its interval as a band."""
    value, low, high = human.distance.value, human.distance.low, human.distance.high
    if low is not None and high is not None:
        figure.add_vrect(x0=low, x1=high, fillcolor=colours.RESPONSE[0], opacity=0.15, line_width=0)
    figure.add_vline(
        value,
        line={"dash": "dash", "color": colours.RESPONSE[0]},
        annotation={"text": f"{PEOPLE} {value:.2f}", "yanchor": "bottom", "y": 1},
    )


def _hover_text(row: RaterDistance) -> str:
    estimate = numbers.format_estimate(row.distance.value, row.distance.low, row.distance.high)
    undefined = f", {row.undefined} undefined" if row.undefined else ""
    return f"<b>{escape(row.rater_a)}</b><br>{estimate}<br>{numbers.format_count(row.units, 'weighting')}{undefined}"
