"""Charts of the weights laboratory: agreement by set of weights, and by number of aspects."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from core.statistics.data.estimate import Estimate
from core.statistics.reports.weight_laboratory import HEAVIEST, CurvePoint, LaboratoryReport
from pages.parts import axes, chart_cache, charts, colours, intervals, numbers
from pages.parts.name_rows import wrap_name

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW_HEIGHT, CURVE_HEIGHT = 40, 360
AXIS = "Agreement and 95 % interval"


@chart_cache.built_once
def agreement_figure(report: LaboratoryReport) -> "go.Figure":
    """Return a point with its interval for each set of weights and each run with one overall score."""
    rows = [row for row in report.schemes if not row.less and row.agreement.value is not None][::-1]
    places = list(range(len(rows)))
    figure = intervals.row_figure(
        [intervals.of_estimate(row.agreement) for row in rows],
        places,
        [_hover_text(row.scheme, row.agreement) for row in rows],
        [row.agreement.items for row in rows],
        charts.accent_colour(),
    )
    figure.update_xaxes(title=AXIS, zeroline=False, fixedrange=True)
    figure.update_xaxes(_axis(row.agreement for row in rows))
    names = [wrap_name(row.scheme) for row in rows]
    figure.update_yaxes(tickvals=places, ticktext=names, range=[-0.6, len(rows) - 0.4], fixedrange=True)
    return charts.apply_layout(figure, "Agreement by weights", 120 + ROW_HEIGHT * len(rows))


@chart_cache.built_once
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
                error_y=intervals.error_bars([intervals.of_estimate(point.agreement) for point in points], colour),
                hovertext=[_hover_text(f"{point.k} heaviest, {weighting}", point.agreement) for point in points],
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


def _hover_text(name: str, estimate: Estimate) -> str:
    text = numbers.format_estimate(estimate.value, estimate.low, estimate.high)
    return f"<b>{escape(name, quote=False)}</b><br>{text}<br>{numbers.format_count(estimate.items, 'item')}"
