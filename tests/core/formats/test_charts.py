"""The figure of pages and notebooks: complete names, lines to compare with, n, and layout that Plotly fits."""

import pytest

from core.formats.charts import (
    GAP,
    LINE_HEIGHT,
    MARK_HEIGHT,
    ROW_HEIGHT,
    IntervalChart,
    Mark,
    interval_figure,
    place_rows,
    wrap_name,
)

LONG = "meta-llama/Meta-Llama-3.1-405B-Instruct-Turbo, both orders, chain of thought, majority of five samples"
LINES = [("human ceiling", 0.86), ("most frequent answer", 0.82)]


def a_chart(marks: list[Mark], **options: object) -> IntervalChart:
    series = [("one", "circle"), ("other", "circle-open")]
    return IntervalChart("judges", "Judges", "Accuracy", series, marks, **options)  # type: ignore[arg-type]


def test_a_row_has_the_full_name_with_each_n_and_a_further_mark_is_below_the_first() -> None:
    marks = [Mark("a", 0.5, 0.4, 0.7, "one", "85", "coverage 97 %", "a"), Mark("a", 0.6, None, None, "other", "1,200")]
    figure = interval_figure(a_chart([*marks, Mark(LONG, 0.1, 0.0, 0.2, "one", "3")]))
    first, other = figure.data
    assert first.y[0] > other.y[0] and first.error_x.array == pytest.approx((0.2, 0.1))
    assert list(figure.layout.yaxis.ticktext) == [f"{wrap_name(LONG)} · n 3", "a · n 85, 1,200"]
    assert (
        first.hovertext[0]
        == "<b>a</b><br>one<br>coverage 97 %<br>0.50 [0.40, 0.70]<br>n 85<br>Click to list the targets"
    )
    assert first.customdata[0] == "a" and figure.layout.showlegend


def test_marks_without_n_have_rows_of_their_number_and_names_alone() -> None:
    one, three = (interval_figure(a_chart([Mark("a", 0.5, None, None, "one", "")] * count)).layout for count in (1, 3))
    assert list(three.yaxis.ticktext) == ["a"] and three.height == one.height + 2 * MARK_HEIGHT


def test_lines_that_are_near_each_other_have_names_in_different_rows() -> None:
    figure = interval_figure(a_chart([Mark("a", 0.5, 0.4, 0.7, "one", "85")], lines=LINES))
    ceiling, baseline = figure.layout.annotations
    assert (ceiling.text, baseline.text) == ("human ceiling 0.86", "most frequent answer 0.82")
    assert ceiling.yshift != baseline.yshift and [shape.x0 for shape in figure.layout.shapes] == [0.86, 0.82]


def test_a_wrapped_name_is_complete_and_broken_at_blanks_and_hyphens() -> None:
    assert wrap_name(LONG).replace("<br>", "").replace(" ", "") == LONG.replace(" ", "")
    assert wrap_name("<b>") == "&lt;b&gt;" and wrap_name("") == "–"
    assert wrap_name("evaluator 02 · claude-3-instruct-2026-preview, strict", 18).split("<br>") == [
        "evaluator 02 ·", "claude-3-instruct-", "2026-preview,", "strict",
    ]  # fmt: skip
    assert wrap_name("gpt-4o - cold", 7).split("<br>") == ["gpt-4o", "- cold"]


def test_rows_of_long_names_are_higher_and_do_not_overlap() -> None:
    rows = place_rows(["short", LONG, "other"])
    assert rows.positions["short"] > rows.positions[LONG] > rows.positions["other"] == 0.5
    lines = wrap_name(LONG).count("<br>") + 1
    assert rows.height == 2 * ROW_HEIGHT + LINE_HEIGHT * lines + GAP
