"""The page of published tables."""

import pytest

from core.formats.charts import IntervalChart, Mark, interval_figure
from core.formats.registry import read_records
from storage.reports import published
from storage.reports.published import PublishedRow
from tests.core.formats.shared import FIXTURES
from tests.pages.visits import page_text, prepare_sample, prepare_study, visit


def test_the_first_statistic_is_one_that_the_paper_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.reports.published._values.is_of", lambda *_: True)
    prepare_study(list(read_records(FIXTURES / "chateval")))
    app = visit("results/published")  # on the first table of the method that the study has runs of
    assert app.selectbox(key="table").value == "chateval-1"
    assert app.selectbox(key="statistic").value == "accuracy, no verdict as a tie"


def test_a_table_that_the_address_chooses_begins_with_its_highest_and_lowest_value() -> None:
    rows = [
        PublishedRow(f"judge {name}", "math", "kappa", value, 0.1, 0.9, 40) for name, value in (("A", 0.3), ("B", 0.5))
    ]
    assert published.summarize(rows) == (
        "kappa · math: highest judge B 0.50 [0.10, 0.90] (n 40), lowest judge A 0.30 [0.10, 0.90] (n 40), of 2."
    )
    assert published.summarize(rows[:1]) == "kappa · math: judge A 0.30 [0.10, 0.90] (n 40)."
    assert published.summarize([]).startswith("No value is defined")
    prepare_sample("dna_eval")
    app = visit("results/published", table="dna-figure-5")
    assert ": highest " in page_text(app)
    (table,) = (frame.value for frame in app.dataframe)
    assert "people, all pairs" in list(table["Scorer"])


def test_a_row_with_a_published_figure_is_two_points_with_a_line_between_them() -> None:
    row = PublishedRow("people", "micro", "f1", 0.62, 0.5, 0.7, 40, published=0.6262, source="MetaCritique, Table 2")
    chart = IntervalChart("c", "F1", "f1", [("here", "circle"), ("published", "diamond")], [
        Mark("people", 0.62, 0.5, 0.7, "here", "40"), Mark("people", 0.6262, None, None, "published", "", row.source),
    ], joined=True)  # fmt: skip
    figure = interval_figure(chart)
    (line,) = figure.layout.shapes
    assert (line.x0, line.x1) == (0.62, 0.6262) and line.y0 == figure.data[0].y[0] == figure.data[1].y[0]
    assert figure.layout.yaxis.ticktext == ("people · n 40",) and "n " not in figure.data[1].hovertext[0]
    assert row.difference == (pytest.approx(-0.0062), pytest.approx(-0.1262), pytest.approx(0.0738))
