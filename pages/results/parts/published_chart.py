"""One statistic of a published table: its answer in words, and a chart with a point and interval for each scorer."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from pages.parts import chart_files, charts, numbers
from pages.parts.axes import GAP, LINE_HEIGHT, count_lines, wrap_names
from storage.reports.published import PublishedRow

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW_HEIGHT = 36


def summarize(rows: Sequence[PublishedRow]) -> str:
    """Return the highest and the lowest value of rows of one statistic and group."""
    if not rows:
        return "No value is defined: the notes in the table have the reasons."
    ranked = sorted(rows, key=lambda row: -(row.value or 0.0))
    about = f" · {rows[0].group}" if rows[0].group else ""
    values = [
        f"{row.scorer} {numbers.format_estimate(row.value, row.low, row.high)} (n {row.items:,})"
        for row in (ranked[0], *ranked[1:][-1:])
    ]
    ends = f"highest {values[0]}, lowest {values[-1]}, of {len(rows)}" if len(rows) > 1 else values[0]
    return f"{rows[0].statistic}{about}: {ends}."


@chart_files.built_once
def figure(rows: Sequence[PublishedRow]) -> "go.Figure":
    """Return the figure, the highest value at the top; `rows` are of one statistic and have values."""
    ranked = sorted(rows, key=lambda row: row.value or 0.0)
    labels = wrap_names(row.scorer for row in ranked)
    names = [labels[row.scorer] for row in ranked]
    places = list(range(len(ranked)))
    chart = charts.row_figure(
        [(row.value, row.low, row.high) for row in ranked],
        places,
        [_hover_text(row) for row in ranked],
        [row.items for row in ranked],
        charts.accent_colour(),
    )
    first = ranked[0]
    ends = [end for row in ranked for end in (row.value, row.low, row.high) if end is not None]
    margin = 0.06 * ((max(ends) - min(ends)) or 1)
    title = first.statistic[:1].upper() + first.statistic[1:]
    has_intervals = any(row.low is not None for row in ranked)
    chart.update_xaxes(
        title=escape(title, quote=False) + " and 95 % interval" * has_intervals,
        range=[min(ends) - margin, max(ends) + 2.5 * margin],
        zeroline=True,
        zerolinecolor=charts.GREY,
        fixedrange=True,
    )
    chart.update_yaxes(tickvals=places, ticktext=names, range=[-0.6, len(ranked) - 0.4], fixedrange=True)
    lines = max(map(count_lines, names))
    height = 120 + max(ROW_HEIGHT, LINE_HEIGHT * lines + GAP * (lines > 1)) * len(ranked)
    heading = escape(f"{title}: {first.group}" if first.group else title, quote=False)
    return charts.apply_layout(chart, heading, height, legend=False)


def describe(rows: Sequence[PublishedRow]) -> str:
    """Return the chart in words, for screen readers."""
    parts = (f"{row.scorer} {numbers.format_estimate(row.value, row.low, row.high)}" for row in rows)
    return f"{rows[0].statistic}: {'; '.join(parts)}"


def _hover_text(row: PublishedRow) -> str:
    estimate = numbers.format_estimate(row.value, row.low, row.high)
    return f"<b>{escape(row.scorer, quote=False)}</b><br>{estimate}<br>{numbers.format_count(row.items, 'item')}"
