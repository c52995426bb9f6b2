"""Charts of the page Judges: accuracy of each judge, accuracy against coverage, and differences between judges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.statistics.data.arrays import Estimate
from core.statistics.measures.comparison import Comparison
from core.statistics.reports.judges import Decision, JudgeEvaluation, Ranking
from core.wording import equate_p
from pages.parts import axes, chart_files, charts, colours, heat_map, numbers, tables
from pages.parts.axes import LINE_HEIGHT, ROW_HEIGHT, count_lines, place_rows, wrap_names
from pages.parts.chart_files import ChartData
from pages.parts.text import escape_markdown
from storage.reports import judge_costs
from storage.reports.judge_costs import JudgeCost

if TYPE_CHECKING:
    import plotly.graph_objects as go


NEAR, MAX_NUMBERS = 0.08, 3
"""Share of an axis within which points have one text, and the most numbers in it."""
PLOT_WIDTH, PLOT_HEIGHT, RADIUS, GAP, TEXT_WIDTH, TEXT_HEIGHT = 240, 210, 5, 4, 6.2, 13
"""Pixels of the chart of coverage on a screen of 1440: its size, half a point, the space to its text, and a
character of the text and its height."""
Box = tuple[float, float, float, float]
"""Left, right, bottom and top."""
SYMBOLS: Mapping[Decision, str] = {
    Decision.use: "circle",
    Decision.use_with_review: "circle-open",
    Decision.do_not_use: "x",
    Decision.not_enough_data: "diamond-open",
}
HEAD = 2.0
"""Rows above the first judge, for the heading of the coverages and the names of the ceiling and the baseline."""
COVERAGE_HEADING, COVERAGE_WIDTH = "coverage", 56
"""The heading of the column of coverages, and its pixels."""
LEAST_SCALE = 0.1
"""The difference with the full colour if all are smaller: small differences have pale colours."""
MAX_CELL_TEXT = 14
"""Judges up to which a matrix has the differences as texts."""


@chart_files.built_once
def accuracy_figure(ranking: Ranking) -> "go.Figure":
    """Return a row for each judge: its accuracy with the interval, its coverage, the ceiling and the best baseline."""
    import plotly.graph_objects as go

    judges = [judge for judge in ranking.judges if judge.accuracy.value is not None]
    rows = place_rows(row_names(ranking))
    positions, end = rows.positions, rows.end
    figure = go.Figure()
    for decision, symbol in SYMBOLS.items():
        members = [judge for judge in judges if judge.decision == decision]
        if members:
            figure.add_trace(_points(members, positions, decision, symbol))
    figure.update_xaxes(title="Accuracy and 95 % interval", showgrid=True, zeroline=False)
    figure.update_xaxes(axes.fit_axis(zoomed_range(ranking)))
    _add_lines(figure, ranking, end)
    _add_coverage(figure, judges, positions, end)
    figure.update_yaxes(
        tickvals=list(positions.values()),
        ticktext=numbered_names(ranking, rows.labels),
        range=[-0.1, end + HEAD - 0.1],
        showgrid=False,
        zeroline=False,
    )
    decisions = len({judge.decision for judge in judges})
    right = COVERAGE_WIDTH if len({judge.accuracy.items for judge in judges}) == 1 else 92
    height = 130 + rows.height + round(HEAD * ROW_HEIGHT)
    charts.apply_layout(figure, "Accuracy and coverage of each judge", height, legend=True)
    return charts.place_legend(figure, decisions, right=right)


def row_names(ranking: Ranking) -> list[str]:
    """Return the judges with a row in the chart of accuracy, the first on top."""
    return [judge.judge for judge in ranking.judges if judge.accuracy.value is not None]


def judge_numbers(ranking: Ranking) -> dict[str, int]:
    """Return judge -> its number in the ranking, by which other charts refer to it."""
    return {judge.judge: number for number, judge in enumerate(ranking.judges, start=1)}


def numbered_names(ranking: Ranking, labels: Mapping[str, str]) -> list[str]:
    """Return the wrapped names with the judges' numbers behind them, the last judge first."""
    numbers_by_judge = judge_numbers(ranking)
    return [f"{labels[name]} <b>{numbers_by_judge[name]}</b>" for name in reversed(list(labels))]


def zoomed_range(ranking: Ranking) -> tuple[float, float]:
    """Return the range of the axis: everything drawn with a margin, within 0 and 1."""
    estimates = [judge.accuracy for judge in ranking.judges] + [ranking.ceiling]
    estimates += [baseline.accuracy for baseline in ranking.baselines[:1]]
    return axes.fit_range(
        [end for estimate in estimates for end in (estimate.low, estimate.value, estimate.high) if end is not None]
    )


def _points(
    judges: Sequence[JudgeEvaluation], positions: Mapping[str, float], decision: str, symbol: str
) -> "go.Scatter":
    import plotly.graph_objects as go

    names = [judge.judge for judge in judges]
    values = [judge.accuracy.value or 0.0 for judge in judges]
    colour = charts.accent_colour()
    return go.Scatter(
        x=values,
        y=[positions[name] for name in names],
        name=decision,
        mode="markers",
        marker={"size": 10, "color": colour, "symbol": symbol},
        error_x=charts.error_bars([charts.interval_of_estimate(judge.accuracy) for judge in judges], colour),
        customdata=names,
        hovertext=[_hover(judge) for judge in judges],
        hoverinfo="text",
        unselected={"marker": {"opacity": 0.4}},
    )


def _hover(judge: JudgeEvaluation) -> str:
    lines = [
        f"<b>{escape(judge.judge, quote=False)}</b>",
        judge.decision,
        f"accuracy {format_estimate(judge.accuracy)}",
    ]
    lines += [f"coverage {format_estimate(judge.coverage)}", numbers.format_count(judge.accuracy.items, "target")]
    return "<br>".join(lines)


def format_estimate(estimate: Estimate, *, sign: bool = False) -> str:
    """Return `0.62 [0.51, 0.71]`."""
    return numbers.format_estimate(estimate.value, estimate.low, estimate.high, sign=sign)


def _add_coverage(
    figure: "go.Figure", judges: Sequence[JudgeEvaluation], positions: Mapping[str, float], end: float
) -> None:
    """Write the coverage to the right of each row, its heading above the other texts over the upper `end` of the rows.

    n is beside it, or at the axis if it is that of all rows.
    """
    equal = len({judge.accuracy.items for judge in judges}) == 1
    texts = [
        f"{judge.coverage.value or 0:.0%}" + ("" if equal else f" · n {judge.accuracy.items:,}") for judge in judges
    ]
    places = [positions[judge.judge] for judge in judges]
    charts.add_margin_texts(figure, [COVERAGE_HEADING, *texts], [end + HEAD - 0.5, *places])
    if equal:
        figure.update_xaxes(title=f"Accuracy and 95 % interval<br>n {judges[0].accuracy.items:,}")


def _add_lines(figure: "go.Figure", ranking: Ranking, end: float) -> None:
    """Add the human ceiling and the best baseline, with their names in two lines above the rows."""
    lines = [("human ceiling", ranking.ceiling.value, "dash", 0.55)]
    lines += [
        (baseline.name.partition(":")[0], baseline.accuracy.value, "dot", 0.0) for baseline in ranking.baselines[:1]
    ]
    drawn = [line for line in lines if line[1] is not None]
    text = {"showarrow": False, "xanchor": "center", "yanchor": "bottom", "font": {"size": 11}}
    # All at once: each call of `add_shape` or `add_annotation` validates those that were added before.
    figure.layout.shapes = [
        {"type": "line", "x0": value, "x1": value, "y0": -0.1, "y1": end + lift, "layer": "below"}
        | {"line": {"dash": dash, "color": charts.GREY, "width": 1.5}}
        for _, value, dash, lift in drawn
    ]
    figure.layout.annotations = [
        {"x": value, "y": end + lift, "text": f"{name} {value:.2f}"} | text for name, value, _, lift in drawn
    ]


@chart_files.built_once
def coverage_figure(ranking: Ranking) -> "go.Figure":
    """Return accuracy among the targets with a verdict against the share of targets that have one."""
    import plotly.graph_objects as go

    judges = [judge for judge in ranking.judges if judge.coverage.value]
    coverages = axes.fit_range([*(judge.coverage.value or 0.0 for judge in judges), 1.0])
    accuracies = axes.fit_range([judge.accuracy.value for judge in judges if judge.accuracy.value is not None])
    figure = go.Figure(
        go.Scatter(
            x=[judge.coverage.value for judge in judges],
            y=[judge.accuracy.value for judge in judges],
            mode="markers+text",
            text=_texts_of_points(judges, judge_numbers(ranking), coverages, accuracies),
            textposition="middle left",
            textfont={"size": 11},
            marker={
                "size": 10,
                "color": charts.accent_colour(),
                "symbol": [SYMBOLS[judge.decision] for judge in judges],
            },
            customdata=[judge.judge for judge in judges],
            hovertext=[_hover(judge) for judge in judges],
            hoverinfo="text",
            cliponaxis=False,
        )
    )
    figure.update_xaxes(title="Share of targets with a verdict", tickformat=".0%", **axes.fit_axis(coverages))
    figure.update_yaxes(title="Accuracy", showgrid=True, zeroline=False, **axes.fit_axis(accuracies))
    bounds = [{"x0": 1, "x1": 1, "y0": 0, "y1": 1, "yref": "y domain"}]
    bounds += [
        {"x0": 0, "x1": 1, "xref": "x domain", "y0": end, "y1": end}
        for end in (0, 1)
        if accuracies[0] <= end <= accuracies[1]
    ]
    line = {"type": "line", "line": {"color": charts.GREY, "width": 1}, "layer": "below"}
    figure.layout.shapes = [bound | line for bound in bounds]
    return charts.apply_layout(figure, "Accuracy by coverage", 320)


def _texts_of_points(
    judges: Sequence[JudgeEvaluation],
    number: Mapping[str, int],
    coverages: tuple[float, float],
    accuracies: tuple[float, float],
) -> list[str]:
    """Return the number of each judge; of points that are near each other the leftmost has the numbers of all.

    A text that would cover another one or a point is left out: the list of judges has the numbers too.
    """
    points = [
        (
            PLOT_WIDTH * (judge.coverage.value or 0.0) / (coverages[1] - coverages[0]),
            PLOT_HEIGHT * (judge.accuracy.value or 0.0) / (accuracies[1] - accuracies[0]),
        )
        for judge in judges
    ]
    texts = [""] * len(judges)
    for group in _near_points(points):
        leftmost = min(group, key=lambda index: points[index][0])
        texts[leftmost] = _list_numbers([number[judges[index].judge] for index in group])
    return _without_overlaps(texts, points)


def _near_points(points: Sequence[tuple[float, float]]) -> list[list[int]]:
    """Return groups of the indices of points, in pixels, that are near the first of their group."""
    groups: list[list[int]] = []
    for index, (x, y) in enumerate(points):
        near = (
            group
            for group in groups
            if abs(points[group[0]][0] - x) < NEAR * PLOT_WIDTH and abs(points[group[0]][1] - y) < NEAR * PLOT_HEIGHT
        )
        group = next(near, None)
        if group is None:
            groups.append([index])
        else:
            group.append(index)
    return groups


def _without_overlaps(texts: Sequence[str], points: Sequence[tuple[float, float]]) -> list[str]:
    """Return the texts, those left out that would cover a text before them or a point; `points` are in pixels."""
    shown: list[str] = []
    boxes = [(x - RADIUS, x + RADIUS, y - RADIUS, y + RADIUS) for x, y in points]
    for text, (x, y) in zip(texts, points, strict=True):
        end = x - RADIUS - GAP
        box = (end - TEXT_WIDTH * len(text), end, y - TEXT_HEIGHT / 2, y + TEXT_HEIGHT / 2)
        is_free = not any(_overlap(box, other) for other in boxes)
        shown.append(text if is_free else "")
        boxes += [box] if text and is_free else []
    return shown


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _list_numbers(found: Sequence[int]) -> str:
    """Return the numbers with a space between them and the point on their right."""
    return ", ".join(map(str, found[:MAX_NUMBERS])) + " …" * (len(found) > MAX_NUMBERS) + "\N{NO-BREAK SPACE}"


@chart_files.built_once
def difference_figure(comparisons: Sequence[Comparison], judges: Sequence[str]) -> "go.Figure":
    """Return a matrix of the row's accuracy minus the column's; a star marks a corrected p under 0.05."""
    import plotly.graph_objects as go

    cells = {
        (comparison.judge, comparison.other_judge): (comparison.difference, comparison) for comparison in comparisons
    }
    cells |= {
        (comparison.other_judge, comparison.judge): (_negative(comparison.difference), comparison)
        for comparison in comparisons
    }
    values = [[_value(cells, row, column) for column in judges] for row in judges]
    largest = max([LEAST_SCALE, *(abs(value) for line in values for value in line if value is not None)])
    figure = go.Figure(
        go.Heatmap(
            z=values, zmin=-largest, zmax=largest, xgap=2, ygap=2, showscale=False, hoverinfo="skip",
            colorscale=[[0, "#B35806"], [0.5, colours.PALE[charts.theme()]], [1, charts.accent_colour()]],
        )
    )  # fmt: skip
    number = {judge: place for place, judge in enumerate(judges)}
    figure.add_trace(_difference_texts(cells, number, largest))
    hover_texts = [_difference_hover(row, column, *cell) for (row, column), cell in cells.items()]
    names = [" × ".join(place) for place in cells]
    places = [(number[column], number[row]) for row, column in cells]
    figure.add_trace(heat_map.clickable_cells(places, names, hover_texts))
    ticks = list(range(len(judges)))
    figure.update_xaxes(tickvals=ticks, ticktext=heat_map.column_numbers(len(ticks)), side="top")
    is_compact = len(judges) > MAX_CELL_TEXT
    if is_compact:
        figure.update_traces(selector={"type": "heatmap"}, showscale=True, colorbar=_colour_bar(largest))
    labels = [f"{label} <b>{place}</b>" for place, label in enumerate(wrap_names(judges).values(), start=1)]
    figure.update_yaxes(tickvals=ticks, ticktext=labels)
    heat_map.set_ranges(figure, len(judges), len(judges))
    smallest = heat_map.COMPACT_CELL if is_compact else ROW_HEIGHT
    row_height = max([smallest, *(LINE_HEIGHT * count_lines(label) for label in labels)])
    height = 110 + row_height * len(judges)
    charts.apply_layout(figure, "Row minus column, in accuracy", height, right_margin=False)
    return figure.update_layout(margin={"t": 76, "b": 56 if is_compact else 12})


def _colour_bar(largest: float) -> dict[str, Any]:
    """Return the legend of the colours, from -`largest` to `largest`, under the matrix."""
    return {
        "orientation": "h", "thickness": 8, "len": 0.6, "x": 0.96, "xanchor": "right", "y": 0, "yanchor": "top",
        "tickvals": [-largest, 0, largest], "ticktext": [f"{-largest:+.2f}", "0", f"{largest:+.2f}"],
        "title": {"text": "Difference in accuracy", "side": "bottom", "font": {"size": 11}},
    }  # fmt: skip


Cells = Mapping[tuple[str, str], tuple[float | None, Comparison]]
"""Row and column -> the difference of the two judges."""


def _difference_texts(cells: Cells, number: Mapping[str, int], largest: float) -> "go.Scatter":
    """Return the differences with their stars, of many judges the stars alone; `number` is the place of each judge."""
    import plotly.graph_objects as go

    star_only = len(number) > MAX_CELL_TEXT
    texts = {place: _cell_text(*cell, star_only=star_only) for place, cell in cells.items()}
    shown = [place for place, text in texts.items() if text]
    return go.Scatter(
        x=[number[column] for _, column in shown],
        y=[number[row] for row, _ in shown],
        mode="text",
        text=[texts[place] for place in shown],
        textfont={"size": 11, "color": [_text_colour(cells[place][0], largest) for place in shown]},
        hoverinfo="skip",
        selected=chart_files.UNDIMMED,
        showlegend=False,
    )


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


def _value(cells: Cells, row: str, column: str) -> float | None:
    return cells[row, column][0] if (row, column) in cells else None


def _cell_text(difference: float | None, comparison: Comparison, *, star_only: bool = False) -> str:
    if difference is None:
        return "–"
    star = "*" * is_significant(comparison)
    text = f"{difference:+.2f}".replace("0.", ".")
    return star if star_only else ("0" if text in ("+.00", "-.00") else text) + star


def is_significant(comparison: Comparison) -> bool:
    """Return whether the corrected p is under 0.05."""
    return comparison.p_corrected is not None and comparison.p_corrected < 0.05


def _text_colour(difference: float | None, largest: float) -> str:
    """Return the colour of text that can be read on the cell."""
    pale = colours.PALE[charts.theme()]
    end = charts.accent_colour() if (difference or 0.0) >= 0 else "#B35806"
    return colours.text_colour(colours.mix_colours(pale, end, abs(difference or 0.0) / largest))


def _difference_hover(row: str, column: str, difference: float | None, comparison: Comparison) -> str:
    low, high = comparison.low, comparison.high
    if comparison.judge != row:
        low, high = _negative(high), _negative(low)
    corrected = comparison.p_corrected
    lines = [
        f"<b>{escape(row, quote=False)}</b> minus <b>{escape(column, quote=False)}</b>",
        numbers.format_estimate(difference, low, high, sign=True),
        f"Holm-corrected {equate_p(corrected)}" if corrected is not None else escape(comparison.reason, quote=False),
        numbers.format_count(comparison.items, "target"),
        "Click to list the targets on which they differ",
    ]
    return "<br>".join(filter(None, lines))


# A chart of accuracy against the cost or the duration of judges, with the efficient front.

HEIGHT = 270
"""Pixels without the legend: a phone shows both charts and the table of long names in less than three screens."""
TABLE_HEIGHT = 300
"""Pixels of the table; a longer one is scrolled."""
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


def draw_costs(ranking: Ranking, costs: Mapping[str, JudgeCost]) -> None:
    """Draw accuracy against dollars and against seconds, for the judges whose calls have them."""
    rows = {unit: prices(ranking, costs, unit) for unit in NAMES}
    shown = {unit: points for unit, points in rows.items() if points}
    if not shown:
        st.info("No call of these judges has a price or a duration.")
        return
    for column, (unit, points) in zip(st.columns(2, gap="large"), shown.items(), strict=False):
        with column:
            alt = "Efficient: " + ", ".join(point.judge for point in points if point.efficient == "yes")
            charts.draw(cost_figure(points, unit), f"costs_{unit}", alt, data=ChartData(points, METHOD, "targets"))
            known = {point.judge for point in points}
            missing = [escape_markdown(judge.judge) for judge in ranking.judges if judge.judge not in known]
            if missing:
                st.caption(f":material/help: The {NAMES[unit]} of some calls is unknown: {', '.join(missing)}.")
    draw_table(cost_lines(shown))
    st.caption(
        f"No.: the number in the ranking, which efficient judges have in the charts. {METHOD}. Prices of models that "
        "are not in the price list can be entered in the settings of a run."
    )


def cost_lines(rows_by_unit: Mapping[str, Sequence[JudgePrice]]) -> list[dict[str, str]]:
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
    figures = tables.figure_columns(lines, {"Judge", "Efficient by"})
    height = min(tables.HEADER + tables.ROW * len(lines), TABLE_HEIGHT)
    st.dataframe(lines, key="costs", hide_index=True, height=height, column_config=figures)


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


@chart_files.built_once
def cost_figure(rows: Sequence[JudgePrice], unit: str) -> "go.Figure":
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
