"""A chart of accuracy against the cost or the duration of judges, with the efficient front."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.statistics.reports.recommendations import Ranking
from pages.parts import chart_cache, charts, clickable_table, column_widths, name_columns, numbers
from pages.parts.chart_files import ChartData
from pages.parts.text import escape_markdown
from pages.results.parts.judge_charts import judge_numbers
from storage.reports import judge_costs
from storage.reports.judge_costs import JudgeCost

if TYPE_CHECKING:
    import plotly.graph_objects as go

HEIGHT = 270
"""Pixels without the legend: a phone shows both charts and the table of long names in less than three screens."""
NAME_WIDTH, TABLE_HEIGHT = 210, 300
"""Pixels of names, which leave room for a figure on a phone, and of the table; a longer one is scrolled."""
LOGARITHMIC_FROM = 20
"""Ratio of the largest cost to the smallest from which the axis is logarithmic."""

METHOD = (
    "A verdict costs all calls of its run, a last opinion the calls of its judge; seconds are the sum of the durations "
    "of these calls"
)
NAMES = {"dollars": "price", "seconds": "duration"}


@dataclass(frozen=True)
class JudgePrice:
    """The cost of a judge in one unit, with its accuracy."""

    judge: str
    number: int
    """The judge's number in the ranking, by which the chart names it."""
    cost: float
    """Dollars or seconds per 1,000 items."""
    accuracy: float
    low: float | None
    high: float | None
    targets: int
    efficient: str
    """ "yes" if no other judge costs less and is at least as accurate."""


def draw_section(ranking: Ranking, costs: Mapping[str, JudgeCost]) -> None:
    """Draw accuracy against dollars and against seconds, for the judges whose calls have them."""
    rows = {unit: prices(ranking, costs, unit) for unit in NAMES}
    shown = {unit: points for unit, points in rows.items() if points}
    if not shown:
        st.info("No call of these judges has a price or a duration.")
        return
    for column, (unit, points) in zip(st.columns(2, gap="large"), shown.items(), strict=False):
        with column:
            alt = "Efficient: " + ", ".join(point.judge for point in points if point.efficient == "yes")
            charts.draw(figure(points, unit), f"costs_{unit}", alt, data=ChartData(points, METHOD, "targets"))
            known = {point.judge for point in points}
            missing = [escape_markdown(judge.judge) for judge in ranking.judges if judge.judge not in known]
            if missing:
                st.caption(f":material/help: The {NAMES[unit]} of some calls is unknown: {', '.join(missing)}.")
    draw_table(table_lines(shown))
    st.caption(
        f"No.: the number in the ranking, which efficient judges have in the charts. {METHOD}. Prices of models that "
        "are not in the price list can be entered in the settings of a run."
    )


def table_lines(rows_by_unit: Mapping[str, Sequence[JudgePrice]]) -> list[dict[str, str]]:
    """Return the table row of each judge of a chart, the best of the ranking first."""
    priced: dict[int, dict[str, JudgePrice]] = {}
    for unit, rows in rows_by_unit.items():
        for row in rows:
            priced.setdefault(row.number, {})[unit] = row
    lines = []
    for number, units in sorted(priced.items()):
        row = next(iter(units.values()))
        efficient = [NAMES[unit] for unit, one in units.items() if one.efficient == "yes"]
        lines.append(
            {
                "No.": str(number),
                "Judge": row.judge,
                "Accuracy": numbers.format_estimate(row.accuracy, row.low, row.high),
                "$ per 1,000": numbers.format_dollars(units["dollars"].cost) if "dollars" in units else "–",
                "Seconds per 1,000": f"{units['seconds'].cost:,.0f}" if "seconds" in units else "–",
                "Efficient by": ", ".join(efficient),
            }
        )
    return lines


def draw_table(lines: Sequence[Mapping[str, str]]) -> None:
    """Draw the judges of the charts with their names, prices and durations."""
    figures = column_widths.fit_figures(lines, {"Judge", "Efficient by"})
    table = name_columns.shorten(lines, {"Judge": NAME_WIDTH})
    height = min(clickable_table.HEADER + clickable_table.ROW * len(lines), TABLE_HEIGHT)
    st.dataframe(table.lines, key="costs", hide_index=True, height=height, column_config=figures | table.columns)
    table.draw_full_names()


def prices(ranking: Ranking, costs: Mapping[str, JudgeCost], unit: str) -> list[JudgePrice]:
    """Return the judges whose cost in "dollars" or "seconds" is known, the cheapest first."""
    points: dict[str, tuple[float, float]] = {}
    for judge in ranking.judges:
        cost = costs.get(judge.judge)
        amount = None if cost is None else cost.per_thousand if unit == "dollars" else cost.seconds_per_thousand
        if amount is not None and judge.accuracy.value is not None:
            points[judge.judge] = (amount, judge.accuracy.value)
    efficient, number = judge_costs.efficient(points), judge_numbers(ranking)
    rows = [
        JudgePrice(
            one.judge, number[one.judge], *points[one.judge], one.accuracy.low, one.accuracy.high, one.accuracy.items,
            "yes" if one.judge in efficient else "no",
        )
        for one in ranking.judges
        if one.judge in points
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (row.cost, -row.accuracy))


@chart_cache.built_once
def figure(rows: Sequence[JudgePrice], unit: str) -> "go.Figure":
    """Return the figure: efficient judges are filled, numbered and joined by a line."""
    import plotly.graph_objects as go

    chart = go.Figure()
    front = [row for row in rows if row.efficient == "yes"]
    others = [row for row in rows if row.efficient == "no"]
    colour = charts.accent_colour()
    for name, members, symbol, mode in (
        ("efficient", front, "circle", "lines+markers+text"),
        (
            f"another {'costs no more' if unit == 'dollars' else 'takes no longer'} and is as accurate",
            others,
            "circle-open",
            "markers",
        ),
    ):
        if members:
            chart.add_trace(
                go.Scatter(
                    x=[row.cost for row in members],
                    y=[row.accuracy for row in members],
                    name=name,
                    mode=mode,
                    text=[str(row.number) for row in members],
                    textposition="top center",
                    textfont={"size": 11},
                    line={"color": colour, "width": 1, "dash": "dot", "shape": "hv"},
                    marker={"size": 10, "color": colour if symbol == "circle" else charts.GREY, "symbol": symbol},
                    customdata=[row.judge for row in members],
                    hovertext=[_hover_text(row, unit) for row in members],
                    hoverinfo="text",
                    cliponaxis=False,
                )
            )
    costs = [row.cost for row in rows]
    logarithmic = min(costs) > 0 and max(costs) > LOGARITHMIC_FROM * min(costs)
    title = "Dollars per 1,000 items" if unit == "dollars" else "Seconds of calls per 1,000 items"
    chart.update_xaxes(title=title, showgrid=True, zeroline=False, tickformat=",")
    if logarithmic:
        chart.update_xaxes(type="log", dtick=1)
    else:
        chart.update_xaxes(range=[-0.08 * max(costs), 1.15 * max(costs) or 1])
    chart.update_yaxes(title="Accuracy", showgrid=True, zeroline=False)
    heading = f"Accuracy and {'cost' if unit == 'dollars' else 'duration'}"
    charts.apply_layout(chart, heading, HEIGHT, legend=True)
    return charts.place_legend(chart, len(chart.data), right=44)


def _hover_text(row: JudgePrice, unit: str) -> str:
    amount = numbers.format_dollars(row.cost) if unit == "dollars" else numbers.format_duration(row.cost)
    lines = [f"<b>{escape(row.judge, quote=False)}</b>", numbers.format_estimate(row.accuracy, row.low, row.high)]
    return "<br>".join([*lines, f"{amount} per 1,000 items", numbers.format_count(row.targets, "target")])
