"""The chart of the page Causes: the share of each cause of a judge's disagreements."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from core.statistics.measures.causes import CAUSES
from core.wording import format_percent
from pages.parts import chart_files, charts, colours
from pages.parts.axes import place_rows
from storage.reports.judge_errors import JudgeErrors

if TYPE_CHECKING:
    import plotly.graph_objects as go

BAR_ROW = 32
"""Pixels of a row with a bar."""


@chart_files.built_once
def causes_figure(found: Sequence[JudgeErrors]) -> "go.Figure":
    """Return a bar for each judge, divided into the causes of its disagreements."""
    import plotly.graph_objects as go

    judged = [errors for errors in found if errors.causes.shares]
    rows = place_rows((errors.judge for errors in judged), row_height=BAR_ROW)
    places = [rows.positions[errors.judge] for errors in judged]
    fills = (charts.accent_colour(), charts.GREY, "#B35806")
    figure = go.Figure()
    for number, (cause, fill) in enumerate(zip(CAUSES, fills, strict=True)):
        shares = [errors.causes.shares[number] for errors in judged]
        figure.add_trace(
            go.Bar(
                x=[share.value for share in shares],
                y=places,
                width=0.75,
                name=cause,
                orientation="h",
                marker={"color": fill, "line": {"width": 0}},
                text=[f"{share.value:.0%}" if share.value >= 0.07 else "" for share in shares],
                textposition="inside",
                textangle=0,
                insidetextanchor="middle",
                textfont={"color": colours.text_colour(fill), "size": 11},
                hovertext=[
                    f"<b>{escape(errors.judge, quote=False)}</b><br>{cause} {format_percent(share.value)} "
                    f"[{format_percent(share.low)}, {format_percent(share.high)}]<br>"
                    f"n {errors.causes.disagreements:,} disagreements"
                    for errors, share in zip(judged, shares, strict=True)
                ],
                hoverinfo="text",
            )
        )
    charts.add_margin_texts(figure, [f"n {errors.causes.disagreements:,}" for errors in judged], places)
    names = [rows.labels[errors.judge] for errors in judged]
    figure.update_yaxes(tickvals=places, ticktext=names, range=[0, rows.end], showgrid=False, zeroline=False)
    figure.update_xaxes(title="Share of the disagreements", range=[0, 1], tickformat=".0%", zeroline=False, nticks=4)
    charts.apply_layout(figure, "Causes of each judge's disagreements", 112 + rows.height, legend=True)
    return charts.place_legend(figure, len(CAUSES), right=64).update_layout(barmode="stack")
