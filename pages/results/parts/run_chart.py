"""The chart of compared runs: their statistic against the reference, with its interval and n."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from core.statistics.data.estimate import Estimate
from pages.parts import axes, chart_cache, charts, intervals, numbers
from pages.parts.name_rows import GAP, LINE_HEIGHT, count_lines, wrap_names

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW_HEIGHT = 40


@chart_cache.built_once
def figure(rows: Sequence[tuple[str, Estimate]], title: str, axis: str) -> "go.Figure":
    """Return the figure of (run, estimate with a value), the first at the top."""
    drawn = list(reversed(rows))
    places = list(range(len(drawn)))
    names = list(wrap_names(name for name, _ in drawn).values())
    estimates = [estimate for _, estimate in drawn]
    chart = intervals.row_figure(
        [(estimate.value, estimate.low, estimate.high) for estimate in estimates],
        places,
        [_hover_text(name, estimate) for name, estimate in drawn],
        [estimate.items for estimate in estimates],
        charts.accent_colour(),
    )
    ends = [end for one in estimates for end in (one.value, one.low, one.high) if end is not None]
    chart.update_xaxes(title=axis, showgrid=True, zeroline=False, **axes.fit_axis(axes.fit_range(ends)))
    chart.update_yaxes(tickvals=places, ticktext=names, range=[-0.6, len(drawn) - 0.4], showgrid=False, zeroline=False)
    lines = max(map(count_lines, names))
    height = 110 + max(ROW_HEIGHT, LINE_HEIGHT * lines + GAP) * len(drawn)
    return charts.apply_layout(chart, title, height, legend=False)


def _hover_text(name: str, estimate: Estimate) -> str:
    text = numbers.format_estimate(estimate.value, estimate.low, estimate.high, 3)
    return f"<b>{escape(name, quote=False)}</b><br>{text}<br>{numbers.format_count(estimate.items, 'target')}"
