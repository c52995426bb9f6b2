"""The chart of the page Discussions: how often a judge adopts the opinion of another one."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from core.statistics.reports.discussions import InfluenceRow
from pages.parts import chart_files, charts, numbers
from pages.parts.axes import MAX_FULL, SHORT, place_rows
from pages.parts.text import shorten_names

if TYPE_CHECKING:
    import plotly.graph_objects as go


JUDGE_LENGTH = (SHORT - len(" ← ")) // 2
"""Characters of each name of a pair of many: the chart shortens longer pairs, and would leave out one of them."""
MAX_PAIRS = 20
"""Pairs of judge and source in the chart: a panel of 30 judges has 870."""


def strongest(rows: Sequence[InfluenceRow]) -> list[InfluenceRow]:
    """Return the pairs of the chart: of many those whose intervals begin highest, in the order of the rows.

    Of the pairs with the highest shares, most have few replies.
    """
    ranked = sorted(rows, key=lambda row: -row.low)[:MAX_PAIRS]
    return [row for row in rows if row in ranked]


@chart_files.built_once
def influence_figure(rows: Sequence[InfluenceRow]) -> "go.Figure":
    """Return a row for each judge and source: the share of adopted opinions with its interval and n."""
    judges = dict.fromkeys(judge for row in rows for judge in (row.judge, row.source))
    short = shorten_names(judges, JUDGE_LENGTH) if len(rows) > MAX_FULL else {judge: judge for judge in judges}
    names = [f"{short[row.judge]} ← {short[row.source]}" for row in rows]
    placed = place_rows(names)
    places = [placed.positions[name] for name in names]
    figure = charts.row_figure(
        [(row.share, row.low, row.high) for row in rows],
        places,
        [_hover(row) for row in rows],
        [row.heard for row in rows],
        charts.accent_colour(),
        [[row.judge, row.source] for row in rows],
    )
    figure.update_yaxes(
        tickvals=places, ticktext=[placed.labels[name] for name in names], range=[-0.1, placed.end + 0.1],
        showgrid=False, zeroline=False,
    )  # fmt: skip
    end = max((row.high for row in rows), default=1.0)
    figure.update_xaxes(title="Adopted share and 95 % interval", range=[-0.02, min(1.1, 1.2 * end)], showgrid=True)
    figure.update_xaxes(tickvals=[0, 0.25, 0.5, 0.75, 1], zeroline=True, zerolinecolor=charts.GREY)
    height = 110 + placed.height
    if height > charts.MAX_ROWS * charts.ROW_HEIGHT:
        figure.update_xaxes(side="top")
    return charts.apply_layout(figure, "Who adopts whose opinion", height)


def _hover(row: InfluenceRow) -> str:
    lines = [
        f"<b>{escape(row.judge, quote=False)}</b> adopts that of <b>{escape(row.source, quote=False)}</b>",
        numbers.format_estimate(row.share, row.low, row.high),
        f"{row.adopted:,} of {row.heard:,} replies after a different opinion",
        "Click to list the targets",
    ]
    return "<br>".join(lines)
