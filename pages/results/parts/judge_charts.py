"""Charts of the page Judges: accuracies, and accuracy against the cost or the duration of judges."""

from collections.abc import Mapping, Sequence
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from core.formats.tables import Column, in_file, records
from core.statistics.reports.judges import Decision, JudgeEvaluation, Ranking
from pages.parts import charts, numbers
from pages.results.renderer import Drawn, Intervals, Mark
from storage.reports.judge_costs import UNITS
from storage.reports.judge_ranking import RankedRow

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


def accuracy_chart(ranking: Ranking, files: charts.ChartData) -> Intervals:
    """Return a row for each judge, with the human ceiling and the best baseline."""
    marks = [Mark.of(one.judge, one.accuracy, one.decision, _described(one), one.judge) for one in ranking.judges]
    estimates = [("human ceiling", ranking.ceiling)]
    estimates += [(baseline.name.partition(":")[0], baseline.accuracy) for baseline in ranking.baselines[:1]]
    lines = [(name, estimate.value) for name, estimate in estimates if estimate.value is not None]
    series = list(SYMBOLS.items())
    return Intervals(
        "ranking", "Accuracy of each judge", "Accuracy and 95 % interval", series, marks, lines=lines, data=files,
        selected=st.query_params.get("judge"),
    )  # fmt: skip


def _described(judge: JudgeEvaluation) -> str:
    """Return the decision on a judge, and its coverage if it has one."""
    coverage = judge.coverage.value
    return str(judge.decision) if coverage is None else f"{judge.decision}, coverage {coverage:.0%}"


def cost_charts(rows: Sequence[RankedRow]) -> list[Drawn]:
    """Return accuracy against dollars and against seconds, of the judges whose calls have them."""
    drawn = []
    for unit in UNITS:
        found = [row for row in rows if cost_of(row, unit) is not None and row.evaluation.accuracy.value is not None]
        if found:
            found.sort(key=lambda row: (cost_of(row, unit), -(row.evaluation.accuracy.value or 0.0)))
            columns = (
                in_file("evaluation.judge number"),
                Column("", partial(cost_of, unit=unit), key="cost"),
                in_file("evaluation.accuracy.value evaluation.accuracy.low", "accuracy low"),
                in_file("evaluation.accuracy.high evaluation.accuracy.items", "high targets"),
                Column("", partial(is_efficient, unit=unit), key="efficient"),
            )
            alt = "Efficient: " + ", ".join(row.evaluation.judge for row in found if unit in row.efficient)
            data = charts.ChartData(records(found, columns), METHOD, "targets")
            drawn.append(Drawn(f"costs_{unit}", cost_figure(found, unit), alt, data=data))
    return drawn


def cost_of(row: RankedRow, unit: str) -> float | None:
    """Return the dollars or the seconds of a judge per 1,000 items; None if they are not known."""
    return None if row.cost is None else row.cost.amount(unit)


def is_efficient(row: RankedRow, unit: str) -> str:
    """Return "yes" if no other judge costs less and is at least as accurate."""
    return "yes" if unit in row.efficient else "no"


@charts.built_once
def cost_figure(rows: Sequence[RankedRow], unit: str) -> go.Figure:
    """Return the figure: efficient judges are filled, numbered and joined by a line."""
    is_price = unit == "dollars"
    dominated = f"another {'costs no more' if is_price else 'takes no longer'} and is as accurate"
    chart, costs = go.Figure(), []
    for name, efficient, symbol, mode, colour in (
        ("efficient", True, "circle", "lines+markers+text", charts.accent_colour()),
        (dominated, False, "circle-open", "markers", charts.GREY),
    ):
        points = []
        for row in rows:
            cost, accuracy, judge = cost_of(row, unit) or 0.0, row.evaluation.accuracy, row.evaluation.judge
            if (unit in row.efficient) == efficient:
                costs.append(cost)
                amount = numbers.format_dollars(cost) if is_price else numbers.format_duration(cost)
                estimate = numbers.format_interval(accuracy)
                count = numbers.format_count(accuracy.items, "target")
                lines = (judge, estimate, f"{amount} per 1,000 items", count)
                points.append(charts.Point(cost, accuracy.value, lines, text=str(row.number), opens=judge))
        if points:
            line = {"color": colour, "width": 1, "dash": "dot", "shape": "hv"}
            options = {"name": name, "symbol": symbol, "line": line, "textposition": "top center"}
            chart.add_trace(charts.scatter(points, colour, mode, **options))
    title = "Dollars per 1,000 items" if is_price else "Seconds of calls per 1,000 items"
    chart.update_xaxes(title=title, showgrid=True, zeroline=False, tickformat=",", rangemode="tozero")
    if min(costs) > 0 and max(costs) > LOGARITHMIC_FROM * min(costs):
        chart.update_xaxes(type="log", dtick=1)
    chart.update_yaxes(title="Accuracy", showgrid=True, zeroline=False)
    return charts.apply_layout(chart, f"Accuracy and {'cost' if is_price else 'duration'}", 320, legend=True)


def format_amount(row: RankedRow, unit: str) -> str:
    """Return the dollars or the seconds of a judge per 1,000 items."""
    amount = cost_of(row, unit)
    if amount is None:
        return "–"
    return numbers.format_dollars(amount) if unit == "dollars" else f"{amount:,.0f}"
