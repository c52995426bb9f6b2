"""A chart of the distance of each judge's weights from people's, with the distance between people (Figure 5)."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from core.statistics.data.arrays import Estimate
from core.statistics.reports.weight_distances import PEOPLE, RaterDistance
from core.statistics.reports.weight_laboratory import HEAVIEST, CurvePoint, LaboratoryReport
from pages.parts import axes, chart_files, charts, colours, numbers
from pages.parts.axes import place_rows, wrap_name
from pages.parts.chart_files import ChartData

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


@chart_files.built_once
def distance_figure(rows: Sequence[RaterDistance], human: RaterDistance | None, axis: str) -> "go.Figure":
    """Return the figure, judges in the given order from the top; undefined distances are left out."""
    defined = [row for row in rows if row.distance.value is not None]
    # Of a study with one annotator, a judge can be compared with others than people.
    names = [row.rater_a if row.rater_b == PEOPLE else f"{row.rater_a} × {row.rater_b}" for row in defined]
    placed = place_rows(names, row_height=ROW_HEIGHT)
    places = [placed.positions[name] for name in names]
    figure = charts.row_figure(
        [charts.interval_of_estimate(row.distance) for row in defined],
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


# Charts of the weights laboratory: agreement by set of weights, and by number of aspects.

LABORATORY_ROW_HEIGHT, CURVE_HEIGHT = 40, 360
AXIS = "Agreement and 95 % interval"


@chart_files.built_once
def agreement_figure(report: LaboratoryReport) -> "go.Figure":
    """Return a point with its interval for each set of weights and each run with one overall score."""
    rows = [row for row in report.schemes if not row.less and row.agreement.value is not None][::-1]
    places = list(range(len(rows)))
    figure = charts.row_figure(
        [charts.interval_of_estimate(row.agreement) for row in rows],
        places,
        [_laboratory_hover_text(row.scheme, row.agreement) for row in rows],
        [row.agreement.items for row in rows],
        charts.accent_colour(),
    )
    figure.update_xaxes(title=AXIS, zeroline=False, fixedrange=True)
    figure.update_xaxes(_axis(row.agreement for row in rows))
    names = [wrap_name(row.scheme) for row in rows]
    figure.update_yaxes(tickvals=places, ticktext=names, range=[-0.6, len(rows) - 0.4], fixedrange=True)
    return charts.apply_layout(figure, "Agreement by weights", 120 + LABORATORY_ROW_HEIGHT * len(rows))


@chart_files.built_once
def curve_figure(curve: Sequence[CurvePoint]) -> "go.Figure":
    """Return the agreement over the number of heaviest aspects, one line for each weighting of them."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for shift, weighting in zip((-0.06, 0.06), dict.fromkeys(point.weighting for point in curve), strict=False):
        points = [point for point in curve if point.weighting == weighting and point.agreement.value is not None]
        colour = charts.accent_colour() if weighting == HEAVIEST else colours.RESPONSE[0]
        figure.add_trace(
            go.Scatter(
                x=[point.k + shift for point in points],
                y=[point.agreement.value for point in points],
                name=weighting,
                mode="lines+markers",
                line={"color": colour, "dash": "solid" if weighting == HEAVIEST else "dot"},
                marker={"size": 9, "color": colour, "symbol": "circle" if weighting == HEAVIEST else "circle-open"},
                error_y=charts.error_bars([charts.interval_of_estimate(point.agreement) for point in points], colour),
                hovertext=[
                    _laboratory_hover_text(f"{point.k} heaviest, {weighting}", point.agreement) for point in points
                ],
                hoverinfo="text",
            )
        )
    largest = max(point.k for point in curve)
    figure.update_xaxes(title="Number of heaviest aspects", tickvals=list(range(1, largest + 1)), fixedrange=True)
    figure.update_yaxes(title=AXIS, zeroline=False, fixedrange=True)
    figure.update_yaxes(_axis(point.agreement for point in curve))
    return charts.apply_layout(figure, "Agreement by number of aspects", CURVE_HEIGHT, legend=True)


def _axis(estimates: Iterable[Estimate]) -> dict[str, Any]:
    """Return the part of an axis of shares that has the estimates and their intervals."""
    ends = [end for estimate in estimates for end in (estimate.low, estimate.value, estimate.high) if end is not None]
    return axes.fit_axis(axes.fit_range(ends))


def _laboratory_hover_text(name: str, estimate: Estimate) -> str:
    text = numbers.format_estimate(estimate.value, estimate.low, estimate.high)
    return f"<b>{escape(name, quote=False)}</b><br>{text}<br>{numbers.format_count(estimate.items, 'item')}"
