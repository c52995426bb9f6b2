"""Charts of values with their intervals, a row for each name, for pages and notebooks."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Self

from core.wording import NameWrapper, format_estimate

if TYPE_CHECKING:
    import plotly.graph_objects as go

# The colour of the first series, and of all others.
ACCENT, GREY = "#2457C5", "#8A8F98"


@dataclass(frozen=True)
class Mark:
    """A point with its 95 % interval, if it has one; those of one name share a row."""

    name: str
    value: float
    low: float | None
    high: float | None
    series: str
    n: str
    details: str = ""
    """A further line on hover."""
    opens: Any = None
    """What a click on the point selects."""

    @classmethod
    def of(cls, name: str, found: Any, series: str = "", details: str = "", opens: Any = None) -> Self:
        """Return the point of an estimate, or of a row with its value, low, high and items."""
        return cls(name, found.value, found.low, found.high, series, f"{found.items:,}", details, opens)


@dataclass(frozen=True)
class IntervalChart:
    """A chart with a row for each name."""

    name: str
    """Of its key in the session and of its files."""
    title: str
    axis: str
    series: Sequence[tuple[str, str]]
    """The name and the plotly symbol of each series; the first has the accent colour."""
    marks: Sequence[Mark]
    zero: float | None = None
    """The value of a dashed line: no effect."""
    sign: bool = False
    lines: Sequence[tuple[str, float]] = ()
    """Values to compare with, with their names."""
    joined: bool = False
    """Whether the marks of a row are ends of a line, as two values of the same."""

    def __post_init__(self) -> None:
        """Leave out points without a value."""
        object.__setattr__(self, "marks", [mark for mark in self.marks if mark.value is not None])


# Names at the left: complete, in several lines, in rows that are as high as their names.

# Characters of a line: a phone has room for them and the values.
LINE_LENGTH = 28
# Pixels of a row, of a line of a name, of a further mark in a row, and between names of several lines.
ROW_HEIGHT, LINE_HEIGHT, MARK_HEIGHT, GAP = 28, 16, 10, 8


@dataclass(frozen=True)
class Rows:
    """Rows of a chart, the first on top."""

    positions: Mapping[str, float]
    """Name -> the middle of its row, in rows of ordinary height from the lower end of the chart."""
    end: float
    """The upper end of the first row."""
    labels: Mapping[str, str]
    """Name -> its lines."""
    row_height: int

    @property
    def height(self) -> int:
        """Pixels of all rows."""
        return round(self.row_height * self.end)


def place_rows(names: Iterable[str], *, row_height: int = ROW_HEIGHT, endings: Mapping[str, str] | None = None) -> Rows:
    """Return the rows of names, the first on top; `endings` are written after their last line."""
    positions, end = {}, 0.0
    labels = {name: wrap_name(name) + (endings or {}).get(name, "") for name in names}
    for name in reversed(labels):
        height = max(1.0, (LINE_HEIGHT * count_lines(labels[name]) + GAP) / row_height)
        positions[name] = end + height / 2
        end += height
    return Rows(positions, end, labels, row_height)


def wrap_name(name: str, length: int = LINE_LENGTH) -> str:
    """Return the full name in lines of at most `length` characters, as HTML."""
    return "<br>".join(escape(line, quote=False) for line in NameWrapper(length).wrap(name)) or "–"


def count_lines(wrapped: str) -> int:
    """Return the number of lines of a wrapped name."""
    return wrapped.count("<br>") + 1


# The chart as a Plotly figure.

# A value and the ends of its interval; an end is None if there is no interval.
Interval = tuple[float | None, float | None, float | None]
UNSELECTED = {"marker": {"opacity": 0.4}}


def interval_figure(chart: IntervalChart, accent: str = ACCENT) -> "go.Figure":
    """Return the figure: the rows in the order of the marks, n beside each name."""
    import plotly.graph_objects as go

    numbers = defaultdict[str, list[str]](list)
    for mark in chart.marks:
        numbers[mark.name].append(mark.n)
    most = 1 if chart.joined else max(map(len, numbers.values()), default=1)
    texts = {name: ", ".join(filter(None, dict.fromkeys(own))) for name, own in numbers.items()}
    endings = {name: f" · n {text}" for name, text in texts.items() if text}
    rows = place_rows(numbers, row_height=ROW_HEIGHT + MARK_HEIGHT * (most - 1), endings=endings)
    heights = [rows.positions[mark.name] for mark in chart.marks] if chart.joined else _heights(chart.marks, rows)
    figure = go.Figure()
    if chart.joined:
        _join(figure, chart.marks, rows)
    for number, (series, symbol) in enumerate(chart.series):
        shown = [(mark, y) for mark, y in zip(chart.marks, heights, strict=True) if mark.series == series]
        if not shown:
            continue
        colour = GREY if number else accent
        figure.add_trace(
            go.Scatter(
                x=[mark.value for mark, _ in shown],
                y=[y for _, y in shown],
                name=series,
                mode="markers",
                marker={"size": 10, "symbol": symbol, "color": colour},
                error_x=error_bars([(mark.value, mark.low, mark.high) for mark, _ in shown], colour),
                customdata=[mark.opens for mark, _ in shown],
                hovertext=[_hover(chart, mark) for mark, _ in shown],
                hoverinfo="text",
                unselected=UNSELECTED,
            )
        )
    if chart.zero is not None:
        figure.add_vline(x=chart.zero, line={"dash": "dash", "color": GREY}, layer="below")
    first, last, ticks = axis_of(chart.marks, [*chart.lines, *([("", chart.zero)] if chart.zero is not None else [])])
    for place, (name, value) in enumerate(chart.lines):
        # Each name in a line of its own: values may be near each other.
        text = {"text": f"{escape(name, quote=False)} {value:.2f}", "yanchor": "bottom", "y": 1}
        side = {"yshift": LINE_HEIGHT * place, "xanchor": "left" if value < (first + last) / 2 else "right"}
        line = {"dash": "dash", "color": GREY}
        figure.add_vline(value, line=line, layer="below", annotation=text | side)
    figure.update_yaxes(
        tickvals=list(rows.positions.values()), ticktext=list(map(rows.labels.__getitem__, rows.positions)),
        range=[-0.1, rows.end + 0.1], showgrid=False, zeroline=False,
    )  # fmt: skip
    edge = 0.03 * (last - first)  # for the half of a point at the end
    axis_range = [first - edge, last + edge]
    figure.update_xaxes(title=chart.axis, showgrid=True, zeroline=False, range=axis_range, tickvals=ticks)
    several = len(figure.data) > 1
    return apply_layout(figure, chart.title, 130 + rows.height, legend=several, lines=len(chart.lines))


def _join(figure: "go.Figure", marks: Sequence[Mark], rows: Rows) -> None:
    """Draw a line between the outer marks of each row."""
    for name, height in rows.positions.items():
        values = [mark.value for mark in marks if mark.name == name]
        line = {"color": GREY, "width": 4}
        figure.add_shape(
            type="line", x0=min(values), x1=max(values), y0=height, y1=height, layer="below", line=line, opacity=0.5
        )


def _heights(marks: Sequence[Mark], rows: Rows) -> list[float]:
    """Return the place of each mark on the vertical axis: several marks of a row are below each other."""
    counts = Counter(mark.name for mark in marks)
    drawn: Counter[str] = Counter()
    heights = []
    for mark in marks:
        heights.append(rows.positions[mark.name] + 0.25 * ((counts[mark.name] - 1) / 2 - drawn[mark.name]))
        drawn[mark.name] += 1
    return heights


def _hover(chart: IntervalChart, mark: Mark) -> str:
    lines = [
        f"<b>{escape(mark.name, quote=False)}</b>",
        mark.series if len(chart.series) > 1 else "",
        escape(mark.details, quote=False),
        format_estimate(mark.value, mark.low, mark.high, sign=chart.sign),
        f"n {mark.n}" if mark.n else "",
        "Click to list the targets" if mark.opens is not None else "",
    ]
    return "<br>".join(filter(None, lines))


def error_bars(intervals: Sequence[Interval], colour: str) -> dict[str, Any]:
    """Return plotly's description of the intervals around their values."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [_distance(value, high) for value, _, high in intervals],
        "arrayminus": [_distance(low, value) for value, low, _ in intervals],
        "color": colour,
        "thickness": 1.5,
        "width": 4,
    }


def _distance(lower: float | None, upper: float | None) -> float:
    return 0.0 if lower is None or upper is None else max(0.0, upper - lower)


# Characters of a line of a title that a phone has room for.
TITLE_LENGTH = 40
# Pixels of an entry of a legend: on a phone each has a line.
LEGEND_LINE = 22
# Pixels of the height from which a chart has its axis on top, so that the first rows can be read with it.
TALL = 600


def apply_layout(
    figure: "go.Figure", title: str, height: int, *, right: int = 44, legend: bool = False, lines: int = 0
) -> "go.Figure":
    """Set the title, size, margins and legend that all charts share; returns the same figure.

    `lines` are the lines of text above the values.
    """
    text = wrap_title(title)
    further = text.count("<br>")
    lines += further
    figure.update_layout(
        title={
            "text": text,
            "x": 0,
            "xref": "container",
            "yref": "container",
            "y": 1,
            "yanchor": "top",
            # Plotly places the middle of the lines, so the first of two would be above the chart.
            "pad": {"l": 6, "t": 8 + LINE_HEIGHT * further},
            "font": {"size": 15},
        },
        height=height + LEGEND_LINE * legend * sum(trace.showlegend is not False for trace in figure.data),
        margin={"l": 8, "r": right, "t": 48 + LINE_HEIGHT * lines, "b": 40},
        showlegend=legend,
        # Below the values, where a long name does not cover them.
        legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        hovermode="closest",
        overwrite=True,  # a fourth of the time of merging with properties that no caller has set
    )
    # Without "allow" the browser measures every label, to hide those that leave the chart: labels have room in it.
    figure.update_xaxes(fixedrange=True, tickangle=0, automargin=True, ticklabeloverflow="allow")
    figure.update_yaxes(fixedrange=True, automargin=True, ticklabeloverflow="allow")
    figure.for_each_xaxis(lambda axis: axis.update(title_text=wrap_title(axis.title.text or "")))
    return figure.update_xaxes(side="top") if height > TALL else figure


def wrap_title(title: str) -> str:
    """Return a title in lines that a phone has room for."""
    return "<br>".join(NameWrapper(TITLE_LENGTH, break_long_words=False).wrap(title))


def axis_of(marks: Sequence[Mark], lines: Sequence[tuple[str, float]]) -> tuple[float, float, list[float]]:
    """Return both ends of the axis, on ticks around the data, and the ticks."""
    ends = [end for mark in marks for end in (mark.low, mark.value, mark.high)]
    values = [end for end in ends if end is not None] + [value for _, value in lines] or [0.0, 1.0]
    low, high = min(values), max(values)
    span = max(high - low, 0.1)
    step = next(step * 10**power for power in range(-2, 12) for step in (1, 2, 5) if span / (step * 10**power) <= 5)
    first, last = int(low // step), int(-(-high // step))
    last = max(last, first + 1)
    return first * step, last * step, [round(number * step, 6) for number in range(first, last + 1)]
