"""The chart of the page Biases: the effect of each bias of each judge."""

from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from core.statistics.reports.biases import CHOICES, BiasRow
from core.wording import equate_p
from pages.parts import chart_files, charts, numbers
from pages.parts.axes import LINE_HEIGHT, count_lines, wrap_names

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW_HEIGHT, GAP = 28, 0.6
"""Pixels of a row, and the space between two judges in rows."""
NAMES = {
    "position": "position",
    "position, both orders": "both orders",
    "length": "length",
    "self-preference": "own family",
}


@chart_files.built_once
def bias_figure(rows: Sequence[BiasRow]) -> "go.Figure":
    """Return a row for each bias of each judge: its effect, its interval and its n; 0 is no bias."""
    import plotly.graph_objects as go

    shown = [row for row in rows if row.effect.value is not None]
    labels = wrap_names(row.judge for row in shown)
    positions, ticks, at = [], [], 0.0
    for judge, own in groupby(shown, key=lambda row: row.judge):
        of_judge = list(own)
        lines = count_lines(labels[judge])
        higher = max(0.0, lines * LINE_HEIGHT / ROW_HEIGHT - len(of_judge)) / 2
        at += higher
        first = at
        for _ in of_judge:
            positions.append(-at)
            at += 1
        ticks.append((-(first + at - 1) / 2, labels[judge]))
        at += higher + GAP
    colour = charts.accent_colour()
    figure = go.Figure()
    for found, name, symbol in ((True, "bias", "circle"), (False, "no bias found", "circle-open")):
        members = [(row, y) for row, y in zip(shown, positions, strict=True) if row.found == found]
        figure.add_trace(
            go.Scatter(
                x=[row.effect.value for row, _ in members],
                y=[y for _, y in members],
                name=name,
                mode="markers",
                marker={"size": 10, "color": colour if found else charts.GREY, "symbol": symbol},
                error_x=charts.error_bars(
                    [(row.effect.value, row.effect.low, row.effect.high) for row, _ in members],
                    colour if found else charts.GREY,
                ),
                hovertext=[_hover(row) for row, _ in members],
                hoverinfo="text",
            )
        )
    charts.add_margin_texts(figure, [f"{NAMES[row.bias]} · n {row.effect.items:,}" for row in shown], positions)
    figure.add_shape(
        type="line", x0=0, x1=0, y0=-at, y1=0.8, line={"dash": "dash", "color": charts.GREY}, layer="below"
    )
    figure.update_yaxes(
        tickvals=[y for y, _ in ticks], ticktext=[name for _, name in ticks], range=[-at + GAP - 0.6, 0.8],
        showgrid=False, zeroline=False,
    )  # fmt: skip
    ends = [abs(end) for row in shown for end in (row.effect.low, row.effect.value, row.effect.high) if end is not None]
    limit = min(0.53, max([0.1, *ends]) + 0.03)
    figure.update_xaxes(
        title="Effect and 95 % interval", range=[-limit, limit], showgrid=True, zeroline=False, nticks=4
    )
    charts.apply_layout(figure, "Biases of each judge", 112 + round(ROW_HEIGHT * (at + 0.8)), legend=True)
    return charts.place_legend(figure, 2, right=128)


def _hover(row: BiasRow) -> str:
    effect = row.effect
    lines = [
        f"<b>{escape(row.judge, quote=False)}</b>",
        f"prefers {CHOICES[row.bias][(effect.value or 0) < 0]}" if row.found else row.bias,
        numbers.format_estimate(effect.value, effect.low, effect.high, sign=True),
        "" if row.p_corrected is None else f"Holm-corrected {equate_p(row.p_corrected)}",
        f"n {effect.items:,}",
    ]
    return "<br>".join(filter(None, lines))
