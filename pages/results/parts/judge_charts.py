"""Charts of the page Judges: accuracy against coverage, and against the cost or the duration of judges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.statistics.reports.judges import Decision, JudgeEvaluation, Ranking
from pages.parts import chart_files, charts, numbers
from pages.parts.chart_files import ChartData
from pages.results.renderer import Drawn, Intervals, Mark
from storage.reports.judge_costs import UNITS
from storage.reports.judge_ranking import RankedRow

if TYPE_CHECKING:
    import plotly.graph_objects as go

SYMBOLS: Mapping[Decision, str] = {
    Decision.use: "circle",
    Decision.use_with_review: "circle-open",
    Decision.do_not_use: "x",
    Decision.not_enough_data: "diamond-open",
}
# Ratio of the largest cost to the smallest from which the axis is logarithmic.
LOGARITHMIC_FROM = 20
METHOD = (
    "A verdict costs all calls of its run, a last opinion the calls of its judge; seconds are the sum of the durations "
    "of these calls"
)
NAMES = {"dollars": "price", "seconds": "duration"}


def accuracy_chart(ranking: Ranking, files: ChartData) -> Intervals:
    """Return a row for each judge, with the human ceiling and the best baseline."""
    marks = [
        Mark(
            judge.judge, accuracy.value, accuracy.low, accuracy.high, judge.decision, f"{accuracy.items:,}",
            f"{judge.decision}, coverage {judge.coverage.value or 0:.0%}", judge.judge,
        )
        for judge in ranking.judges
        if (accuracy := judge.accuracy).value is not None
    ]  # fmt: skip
    estimates = [("human ceiling", ranking.ceiling)]
    estimates += [(baseline.name.partition(":")[0], baseline.accuracy) for baseline in ranking.baselines[:1]]
    lines = [(name, estimate.value) for name, estimate in estimates if estimate.value is not None]
    series = list(SYMBOLS.items())
    return Intervals(
        "ranking", "Accuracy of each judge", "Accuracy and 95 % interval", series, marks, lines=lines, data=files,
        selected=st.query_params.get("judge"),
    )  # fmt: skip


@chart_files.built_once
def coverage_figure(ranking: Ranking) -> "go.Figure":
    """Return accuracy among the targets with a verdict against the share of targets that have one."""
    import plotly.graph_objects as go

    numbered = [(number, judge) for number, judge in enumerate(ranking.judges, start=1) if judge.coverage.value]
    judges = [judge for _, judge in numbered]
    figure = go.Figure(
        go.Scatter(
            x=[judge.coverage.value for judge in judges],
            y=[judge.accuracy.value for judge in judges],
            mode="markers+text",
            text=[f"{number}\N{NO-BREAK SPACE}" for number, _ in numbered],
            textposition="middle left",
            marker={
                "size": 10,
                "color": charts.accent_colour(),
                "symbol": [SYMBOLS[judge.decision] for judge in judges],
            },
            customdata=[judge.judge for judge in judges],
            hovertext=[_coverage_hover(judge) for judge in judges],
            hoverinfo="text",
            cliponaxis=False,
        )
    )
    figure.update_xaxes(title="Share of targets with a verdict", tickformat=".0%")
    figure.update_yaxes(title="Accuracy", showgrid=True, zeroline=False)
    return charts.apply_layout(figure, "Accuracy by coverage", 320)


def _coverage_hover(judge: JudgeEvaluation) -> str:
    accuracy, coverage = (
        numbers.format_estimate(*charts.interval_of_estimate(one)) for one in (judge.accuracy, judge.coverage)
    )
    lines = [f"<b>{escape(judge.judge, quote=False)}</b>", judge.decision]
    counts = numbers.format_count(judge.accuracy.items, "target")
    return "<br>".join([*lines, f"accuracy {accuracy}", f"coverage {coverage}", counts])


@dataclass(frozen=True)
class JudgePrice:
    """The cost of a judge in one unit, with its accuracy."""

    judge: str
    number: int | None
    """The judge's number in the ranking, by which the chart names it."""
    cost: float
    """Dollars or seconds per 1,000 items."""
    accuracy: float
    low: float | None
    high: float | None
    targets: int
    efficient: str
    """ "yes" if no other judge costs less and is at least as accurate."""


def cost_charts(rows: Sequence[RankedRow]) -> list[Drawn]:
    """Return accuracy against dollars and against seconds, of the judges whose calls have them."""
    drawn = []
    for unit in UNITS:
        points = prices(rows, unit)
        if points:
            alt = "Efficient: " + ", ".join(point.judge for point in points if point.efficient == "yes")
            data = ChartData(points, METHOD, "targets")
            drawn.append(Drawn(f"costs_{unit}", cost_figure(points, unit), alt, data=data))
    return drawn


def prices(rows: Sequence[RankedRow], unit: str) -> list[JudgePrice]:
    """Return the judges whose cost in "dollars" or "seconds" is known, the cheapest first."""
    points = [
        JudgePrice(
            row.evaluation.judge, row.number, amount, accuracy.value, accuracy.low, accuracy.high, accuracy.items,
            "yes" if unit in row.efficient else "no",
        )
        for row in rows
        if row.cost is not None
        and (amount := row.cost.amount(unit)) is not None
        and (accuracy := row.evaluation.accuracy).value is not None
    ]  # fmt: skip
    return sorted(points, key=lambda point: (point.cost, -point.accuracy))


@chart_files.built_once
def cost_figure(rows: Sequence[JudgePrice], unit: str) -> "go.Figure":
    """Return the figure: efficient judges are filled, numbered and joined by a line."""
    import plotly.graph_objects as go

    is_price = unit == "dollars"
    chart = go.Figure()
    for name, efficient, symbol, mode, colour in (
        ("efficient", "yes", "circle", "lines+markers+text", charts.accent_colour()),
        (
            f"another {'costs no more' if is_price else 'takes no longer'} and is as accurate",
            "no",
            "circle-open",
            "markers",
            charts.GREY,
        ),
    ):
        members = [row for row in rows if row.efficient == efficient]
        if not members:
            continue
        chart.add_trace(
            go.Scatter(
                x=[row.cost for row in members],
                y=[row.accuracy for row in members],
                name=name,
                mode=mode,
                text=[str(row.number) for row in members],
                textposition="top center",
                line={"color": colour, "width": 1, "dash": "dot", "shape": "hv"},
                marker={"size": 10, "color": colour, "symbol": symbol},
                customdata=[row.judge for row in members],
                hovertext=[_price_hover(row, is_price) for row in members],
                hoverinfo="text",
                cliponaxis=False,
            )
        )
    costs = [row.cost for row in rows]
    title = "Dollars per 1,000 items" if is_price else "Seconds of calls per 1,000 items"
    chart.update_xaxes(title=title, showgrid=True, zeroline=False, tickformat=",", rangemode="tozero")
    if min(costs) > 0 and max(costs) > LOGARITHMIC_FROM * min(costs):
        chart.update_xaxes(type="log", dtick=1)
    chart.update_yaxes(title="Accuracy", showgrid=True, zeroline=False)
    return charts.apply_layout(chart, f"Accuracy and {'cost' if is_price else 'duration'}", 320, legend=True)


def _price_hover(row: JudgePrice, is_price: bool) -> str:
    amount = numbers.format_dollars(row.cost) if is_price else numbers.format_duration(row.cost)
    lines = [f"<b>{escape(row.judge, quote=False)}</b>", numbers.format_estimate(row.accuracy, row.low, row.high)]
    return "<br>".join([*lines, f"{amount} per 1,000 items", numbers.format_count(row.targets, "target")])


def format_amount(row: RankedRow, unit: str) -> str:
    """Return the dollars or the seconds of a judge per 1,000 items."""
    amount = None if row.cost is None else row.cost.amount(unit)
    if amount is None:
        return "–"
    return numbers.format_dollars(amount) if unit == "dollars" else f"{amount:,.0f}"
