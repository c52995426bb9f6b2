"""The figure of the API: room for its values, lines to compare with, coverage and n."""

import pytest

from core.formats.interval_chart import PLOT_WIDTH, Point
from core.formats.interval_figure import interval_figure

NAME = "mistralai/Mixtral-8x22B-405b-instruct-2024-03-awq-int4-quantised-temperature-0.0 number"
LINES = [("human ceiling", 0.86), ("most frequent answer", 0.82)]


@pytest.fixture
def figure():
    points = [Point(f"{NAME} {place}", 0.5, 0.4, 0.7, 85, 0.97) for place in range(30)]
    return interval_figure(points, "Judges", "Accuracy", LINES)


def test_long_names_leave_the_values_their_room(figure):
    margin = figure.layout.margin
    assert figure.layout.width - margin.l - margin.r == PLOT_WIDTH
    longest = max(len(line) for text in figure.layout.yaxis.ticktext for line in text.split("<br>"))
    assert 6 * longest < margin.l
    assert [text.replace("-<br>", "-").replace("<br>", " ") for text in figure.layout.yaxis.ticktext] == [
        f"{NAME} {place}" for place in range(30)
    ]


def test_lines_that_are_near_each_other_have_names_in_different_rows_within_the_figure(figure):
    ceiling, baseline = (one for one in figure.layout.annotations if one.yref == "paper")
    assert (ceiling.text, baseline.text) == ("human ceiling 0.86", "most frequent answer 0.82")
    assert ceiling.yshift != baseline.yshift and max(ceiling.yshift, baseline.yshift) < figure.layout.margin.t - 40
    assert [shape.x0 for shape in figure.layout.shapes] == [0.86, 0.82]
    assert figure.layout.xaxis.range[0] < 0.4 and figure.layout.xaxis.range[1] > 0.86
    assert 6 * len(ceiling.text) / 2 < figure.layout.margin.r


def test_each_row_has_its_coverage_and_n_in_the_margin(figure):
    sizes = [one for one in figure.layout.annotations if one.xref == "paper"]
    assert [one.text for one in sizes] == ["coverage 97 % · n 85"] * 30
    assert [one.y for one in sizes] == list(figure.layout.yaxis.tickvals)
    assert interval_figure([Point("a", 0.5, None, None, 1200)], "", "").layout.annotations[0].text == "n 1,200"
