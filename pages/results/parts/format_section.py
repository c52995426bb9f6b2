"""The section of the page Biases about the format of the criterion."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.formats.tables import rows_csv
from core.statistics.reports.biases import FormatRow, summarize_formats
from pages.parts import chart_files, charts, downloads, numbers, tables
from pages.parts.axes import count_lines, wrap_names
from pages.parts.chart_files import ChartData
from pages.parts.text import escape_markdown
from storage.reports import format_effects

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW_HEIGHT = 30
METHOD = "Paired differences, BCa bootstrap of targets (1,000 resamples, seed 0), p-values by Holm's method"


def draw_section(rows: Sequence[FormatRow]) -> None:
    """Draw the finding, the chart and the table; nothing if no runs differ in their format only."""
    if not rows:
        return
    st.subheader("Does the wording of the criterion change a judge?", anchor=False)
    st.markdown(f"**{escape_markdown(summarize_formats(rows))}**")
    st.caption(
        "Runs with equal settings but another format of the criterion, on the same targets: the accuracy with a format "
        "minus that with the base format. A missing verdict is an error."
    )
    if any(row.effect is not None for row in rows):
        charts.draw(
            format_figure(rows), "formats", summarize_formats(rows), data=ChartData(list(rows), METHOD, "targets")
        )
    table = tables.shorten([table_line(row) for row in rows], {"Judge": 300})
    st.dataframe(table.lines, key="formats_table", hide_index=True, column_config=table.columns)
    table.draw_full_names()
    downloads.draw_csv_download(lambda: rows_csv(format_effects.table(rows)), "formats.csv", key="formats_download")


def table_line(row: FormatRow) -> dict[str, str]:
    """Return the table row of a judge and format."""
    return {
        "Judge": row.judge,
        "Format": f"{row.format}, compared with {row.base}",
        "Effect": numbers.format_estimate(row.effect, row.low, row.high),
        "p": numbers.format_p(row.p_corrected),
        "Accuracy": numbers.format_estimate(row.accuracy, None, None),
        "Base": numbers.format_estimate(row.base_accuracy, None, None),
        "n": f"{row.targets:,}",
        "Other verdict": numbers.format_estimate(row.changed, row.changed_low, row.changed_high),
        "No verdict": f"{row.no_verdict:,} of {row.judged:,}, base {row.base_no_verdict:,}",
        "Note": row.reason,
    }


@chart_files.built_once
def format_figure(rows: Sequence[FormatRow]) -> "go.Figure":
    """Return a row for each judge and format: the effect on its accuracy, 0 is none."""
    import plotly.graph_objects as go

    shown = [row for row in rows if row.effect is not None]
    places = {id(row): -place for place, row in enumerate(shown)}
    figure = go.Figure()
    for found, name, symbol in ((True, "changed", "circle"), (False, "no change found", "circle-open")):
        members = [row for row in shown if row.found == found]
        colour = charts.accent_colour() if found else charts.GREY
        figure.add_trace(
            go.Scatter(
                x=[row.effect for row in members],
                y=[places[id(row)] for row in members],
                name=name,
                mode="markers",
                marker={"size": 10, "color": colour, "symbol": symbol},
                error_x=charts.error_bars([(row.effect, row.low, row.high) for row in members], colour),
                hovertext=[
                    f"<b>{escape(row.judge, quote=False)}</b><br>{escape(row.format, quote=False)}<br>"
                    f"{numbers.format_estimate(row.effect, row.low, row.high)}<br>n {row.targets:,}"
                    for row in members
                ],
                hoverinfo="text",
            )
        )
    figure.add_vline(x=0, line={"dash": "dash", "color": charts.GREY}, layer="below")
    labels = wrap_names(f"{row.judge}, {row.format}" for row in shown)
    figure.update_yaxes(
        tickvals=list(places.values()), ticktext=[labels[f"{row.judge}, {row.format}"] for row in shown],
        range=[-len(shown) + 0.4, 0.6], showgrid=False, zeroline=False,
    )  # fmt: skip
    figure.update_xaxes(title="Difference in accuracy and 95 % interval", showgrid=True, zeroline=False)
    lines = sum(max(ROW_HEIGHT, 18 * count_lines(labels[f"{row.judge}, {row.format}"])) for row in shown)
    charts.apply_layout(figure, "Effect of the criterion's format", 150 + lines, legend=True)
    legend = {"orientation": "h", "x": 0, "xref": "container", "y": 0, "yref": "container", "yanchor": "bottom"}
    return figure.update_layout(margin={"t": 40, "b": 84}, legend=legend)
