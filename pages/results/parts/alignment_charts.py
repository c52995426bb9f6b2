"""Charts that compare judges with people: points over the human ceiling, tables of values, and scores."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from core.statistics.reports.agreement import AgreementRow
from pages.parts import chart_files, charts, colours, heat_map, numbers
from pages.parts.axes import LINE_HEIGHT, LONG_LINE_LENGTH, count_lines, place_rows, wrap_name
from pages.parts.charts import Series
from pages.parts.text import truncate
from storage.reports.disagreements import Matrix
from storage.reports.judge_values import NO_MAJORITY, NO_VERDICT, JudgeValues

if TYPE_CHECKING:
    import plotly.graph_objects as go

JUDGE_HEIGHT, CELL_SIZE = 84, 64
"""Pixels for a judge with its name and details, and for a row of a table."""
INTERVAL_OFFSET = -0.2
"""The vertical offset of a judge's interval, below its name; judges are 1 apart."""
MANY, DENSE_ROW = 6, 34
"""More judges than this have their names on the left, without details, in rows of this many pixels."""
BAND_OPACITY = 0.16
"""Opacity of the ceiling's interval."""


@dataclass(frozen=True)
class JudgePoints:
    """The chart data of each judge, or of one judge in each scenario, all by display name."""

    points: Mapping[str, AgreementRow]
    second: Mapping[str, AgreementRow]
    """Drawn hollow: the judge on the same test as the ceiling, or people's value."""
    ceilings: Mapping[str, AgreementRow]
    details: Mapping[str, str]


@chart_files.built_once
def judge_figure(judge_points: JudgePoints, *, title: str, axis: str, legend: tuple[str, str]) -> "go.Figure":
    """Return a figure of the judges in the given order: name and details, below them point, interval and ceiling.

    More than `MANY` judges have a row each, with the name on the left; the details are shown on hover.
    """
    import plotly.graph_objects as go

    order = list(judge_points.points)
    layout = _dense_rows(order) if len(order) > MANY else _spacious_rows(order)
    positions = layout.positions
    figure = go.Figure()
    has_second = bool(judge_points.second)
    details = judge_points.details
    series = [Series(legend[0], judge_points.points, details=details)]
    series += [Series(legend[1], judge_points.second, hollow=True, details=details)] * has_second
    for one, side in zip(series, (1, -1) if has_second else (0,), strict=True):
        charts.add_intervals(figure, one, positions, shift=layout.offset + side * layout.distance)
    _add_ceilings(figure, judge_points.ceilings, layout)
    if layout.names_on_axis:
        figure.update_yaxes(tickvals=list(positions.values()), ticktext=[layout.labels[name] for name in positions])
        numbers_of_items = [f"n {judge_points.points[name].items:,}" for name in positions]
        charts.add_margin_texts(figure, numbers_of_items, list(positions.values()))
    else:
        for name, position in positions.items():
            _add_heading(
                figure, layout.labels[name], details[name], position + 0.25 + _extra_height(layout.labels[name]) / 2
            )
    drawn = (*judge_points.points.values(), *judge_points.second.values(), *judge_points.ceilings.values())
    ends = [end for row in drawn for end in (row.low, row.value, row.high) if end is not None]
    has_negative = min(ends) < 0
    limits = max(-1.02, min(ends) - 0.05), min(1.02, max(ends) + 0.05)
    figure.update_yaxes(
        showticklabels=layout.names_on_axis, range=[0, layout.end + 0.1], showgrid=False, zeroline=False
    )
    figure.update_xaxes(
        title=axis, range=[limits[0] if has_negative else max(-0.02, limits[0]), limits[1]], zeroline=has_negative,
        showgrid=True, nticks=4 if layout.names_on_axis else 6,
    )  # fmt: skip
    legend_lines = has_second + bool(judge_points.ceilings) + has_second
    charts.apply_layout(figure, title, 100 + layout.height, legend=bool(legend_lines))
    return charts.place_legend(figure, legend_lines, right=56 if layout.names_on_axis else 8)


@dataclass(frozen=True)
class Layout:
    """The places of judges in a chart, in rows."""

    positions: Mapping[str, float]
    end: float
    """The upper end of the chart; the first judge is on top."""
    height: int
    """Pixels of all judges."""
    names_on_axis: bool
    offset: float
    """Of the intervals from the positions."""
    distance: float
    """Of each of two intervals from their middle."""
    band: float
    """Half of the height of a ceiling."""
    labels: Mapping[str, str]
    """Name -> its lines."""


def _dense_rows(judges: Sequence[str]) -> Layout:
    rows = place_rows(judges, row_height=DENSE_ROW)
    return Layout(rows.positions, rows.end, rows.height, True, offset=0.0, distance=0.17, band=0.42, labels=rows.labels)


def _spacious_rows(judges: Sequence[str]) -> Layout:
    positions, end = {}, 0.0
    labels = {judge: wrap_name(judge, LONG_LINE_LENGTH) for judge in judges}
    for judge in reversed(judges):
        positions[judge] = end + 0.5
        end += 1 + _extra_height(labels[judge])
    height = round(JUDGE_HEIGHT * end)
    return Layout(positions, end, height, False, offset=INTERVAL_OFFSET, distance=0.08, band=0.24, labels=labels)


def _extra_height(label: str) -> float:
    """Return the height of a name's lines after the first one, in rows."""
    return (count_lines(label) - 1) * LINE_HEIGHT / JUDGE_HEIGHT


def _add_heading(figure: "go.Figure", label: str, details: str, height: float) -> None:
    """Write name and details above the point, so both can use the full width of a phone screen."""
    small = f"<span style='font-size:11px;color:{charts.GREY}'>{escape(details, quote=False)}</span>"
    text = f"<b>{label}</b><br>{small}"
    position = {"x": 0, "xref": "paper", "xanchor": "left", "y": height, "align": "left"}
    figure.add_annotation(text=text, showarrow=False, **position)


def _add_ceilings(figure: "go.Figure", ceilings: Mapping[str, AgreementRow], layout: Layout) -> None:
    """Add a dashed line and a band at each judge; each judge has its own ceiling, for the items that it judged."""
    import plotly.graph_objects as go

    middles = {name: position + layout.offset for name, position in layout.positions.items()}
    row_by_position = {middle: ceilings[name] for name, middle in middles.items() if name in ceilings}
    # All at once: each call of `add_shape` validates those that were added before.
    figure.layout.shapes = [shape for place in row_by_position.items() for shape in _ceiling_shapes(*place, layout)]
    if row_by_position:
        name = "that person with the others: human ceiling"
        style = {"mode": "lines", "line": {"dash": "dash", "color": charts.GREY, "width": 2}}
        figure.add_trace(go.Scatter(x=[None], y=[None], name=name, hoverinfo="skip", **style))
        figure.add_trace(_ceiling_markers(row_by_position, [name for name in middles if name in ceilings]))


def _ceiling_shapes(middle: float, row: AgreementRow, layout: Layout) -> Iterator[dict[str, Any]]:
    """Yield the band of a ceiling's interval, if it has one, and its dashed line."""
    edges = {"y0": middle - layout.band, "y1": middle + layout.band, "layer": "below"}
    if row.low is not None and row.high is not None:
        band = {"fillcolor": charts.GREY, "opacity": BAND_OPACITY, "line": {"width": 0}}
        yield {"type": "rect", "x0": row.low, "x1": row.high} | edges | band
    line = {"dash": "dash", "color": charts.GREY, "width": 2}
    yield {"type": "line", "x0": row.value, "x1": row.value, "line": line} | edges


def _ceiling_markers(row_by_position: Mapping[float, AgreementRow], names: list[str]) -> "go.Scatter":
    """Return invisible markers over the ceilings that show their values on hover."""
    import plotly.graph_objects as go

    return go.Scatter(
        x=[row.value for row in row_by_position.values()],
        y=[middle - 0.2 for middle in row_by_position],
        mode="markers",
        marker={"size": 14, "color": "rgba(0,0,0,0)"},
        hovertext=[
            f"People: {numbers.format_estimate(row.value, row.low, row.high)}" for row in row_by_position.values()
        ],
        hoverinfo="text",
        showlegend=False,
        customdata=names,
    )


@dataclass(frozen=True)
class AxisNames:
    """The titles of the two axes of a table of values, and the display names of the values."""

    down: str
    across: str
    values: Mapping[str, str]


@chart_files.built_once
def matrix_figure(table: Matrix, axis_names: AxisNames, *, title: str) -> "go.Figure":
    """Return a heat map of how often each pair of values occurred.

    The custom data of a cell are "row × column"; rows and columns without a value have a dashed border.
    """
    import plotly.graph_objects as go

    largest = max(table.counts.values(), default=1)
    counts = [[table.counts.get((row, column), 0) for column in table.columns] for row in table.rows]
    cells = [(x, y, column, row) for y, row in enumerate(table.rows) for x, column in enumerate(table.columns)]
    pale = colours.PALE[charts.theme()]
    style = {"colorscale": [[0, pale], [1, charts.accent_colour()]], "zmin": 0, "zmax": largest, "showscale": False}
    figure = go.Figure(go.Heatmap(z=counts, xgap=3, ygap=3, hoverinfo="skip", **style))
    shares = [table.counts.get((row, column), 0) / largest for _, _, column, row in cells]
    figure.add_trace(
        go.Scatter(
            x=[x for x, _, _, _ in cells],
            y=[y for _, y, _, _ in cells],
            mode="text",
            text=[_count_text(counts[y][x], row == column) for x, y, column, row in cells],
            textfont={
                "size": 14,
                "color": [
                    colours.text_colour(colours.mix_colours(pale, charts.accent_colour(), share)) for share in shares
                ],
            },
            hoverinfo="skip",
            selected=chart_files.UNDIMMED,
        )
    )
    filled_cells = [cell for cell in cells if counts[cell[1]][cell[0]]]
    hover_texts = [_cell_hover(axis_names, row, column, counts[y][x]) for x, y, column, row in filled_cells]
    names = [f"{row} × {column}" for _, _, column, row in filled_cells]
    figure.add_trace(heat_map.clickable_cells([(x, y) for x, y, _, _ in filled_cells], names, hover_texts))
    # All at once: each call of `add_shape` validates those that were added before.
    missing = {NO_VERDICT, NO_MAJORITY}
    figure.layout.shapes = [_border(x, y) for x, y, column, row in cells if {row, column} & missing]
    _format_axes(figure, table, axis_names)
    return charts.apply_layout(figure, title, 130 + CELL_SIZE * len(table.rows), right_margin=False)


def _count_text(count: int, same: bool) -> str:
    """Return the count, in bold if both values are the same."""
    return f"<b>{count:,}</b>" if same else f"{count:,}"


def _cell_hover(axis_names: AxisNames, row: str, column: str, count: int) -> str:
    lines = [
        f"{side}: {axis_names.values.get(value, value)}"
        for side, value in ((axis_names.down, row), (axis_names.across, column))
    ]
    return "<br>".join(
        [*(escape(value, quote=False) for value in lines), f"<b>{count:,}</b>", "Click to list the items"]
    )


def _border(x: int, y: int) -> dict[str, Any]:
    """Return the dashed border of the cell in a column and a row."""
    line = {"color": charts.GREY, "width": 1, "dash": "dash"}
    return {"type": "rect", "x0": x - 0.47, "x1": x + 0.47, "y0": y - 0.45, "y1": y + 0.45, "line": line}


def _format_axes(figure: "go.Figure", table: Matrix, axis_names: AxisNames) -> None:
    column_labels = [
        heat_map.wrap_label(axis_names.values.get(value, value), len(table.columns)) for value in table.columns
    ]
    row_labels = [heat_map.wrap_label(axis_names.values.get(value, value), 3) for value in table.rows]
    names = (escape(truncate(value, 34), quote=False) for value in (axis_names.across, axis_names.down))
    figure.update_xaxes(
        title=next(names), tickvals=list(range(len(column_labels))), ticktext=column_labels, tickfont={"size": 11}
    )
    figure.update_yaxes(title=next(names), tickvals=list(range(len(row_labels))), ticktext=row_labels)
    heat_map.set_ranges(figure, len(column_labels), len(row_labels))


def score_figure(values: JudgeValues, *, judge: str, title: str) -> "go.Figure":
    """Return a point for each target with both: people's mean and the judge's score, equal on the dashed line."""
    import plotly.graph_objects as go

    scored = values.with_distance()
    means, judge_scores = scored.means.tolist(), scored.numbers.tolist()
    names = scored.opinions["item"].tolist()
    ends = [min([*means, *judge_scores], default=0.0), max([*means, *judge_scores], default=1.0)]
    line = {"dash": "dash", "color": charts.GREY}
    figure = go.Figure(go.Scatter(x=ends, y=ends, mode="lines", line=line, hoverinfo="skip"))
    figure.add_trace(
        go.Scatter(
            x=means,
            y=judge_scores,
            mode="markers",
            marker={"size": 10, "color": charts.accent_colour(), "opacity": 0.7},
            customdata=names,
            hovertext=[
                _score_hover(name, judge, score, mean)
                for name, score, mean in zip(names, judge_scores, means, strict=True)
            ],
            hoverinfo="text",
            unselected={"marker": {"opacity": 0.2}},
        )
    )
    figure.update_xaxes(title="Mean of people", showgrid=True)
    name = escape(truncate(judge, 34), quote=False)
    figure.update_yaxes(title=f"{name}<br>on the scale of the labels", showgrid=True)
    return charts.apply_layout(figure, title, 420)


def _score_hover(item: str, judge: str, score: float, mean: float) -> str:
    name = escape(truncate(item, 60), quote=False)
    scores = f"{escape(truncate(judge, 34), quote=False)} {score:g} · people {mean:.2f}"
    return f"<b>{name}</b><br>{scores}<br>Click to open the item"
