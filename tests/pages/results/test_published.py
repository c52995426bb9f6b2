"""The page of published tables."""

from core.formats import tiebreak
from storage.reports import published
from storage.reports.published import PublishedRow
from storage.transfer import samples
from tests.pages.visits import page_text, prepare_study, visit


def test_a_table_is_chosen_by_the_address() -> None:
    prepare_study(list(tiebreak.read(samples.path("dna_eval"))))
    app = visit("results/published", table="dna-figure-5")
    assert not app.exception
    assert "Do models weight aspects as people do?" in page_text(app)
    (table,) = (frame.value for frame in app.dataframe)
    assert "people, all pairs" in list(table["Scorer"])


def test_a_table_begins_with_its_highest_and_lowest_value() -> None:
    rows = [
        PublishedRow(f"judge {name}", "math", "kappa", value, 0.1, 0.9, 40) for name, value in (("A", 0.3), ("B", 0.5))
    ]
    assert published.summarize(rows) == (
        "kappa · math: highest judge B 0.50 [0.10, 0.90] (n 40), lowest judge A 0.30 [0.10, 0.90] (n 40), of 2."
    )
    assert published.summarize(rows[:1]) == "kappa · math: judge A 0.30 [0.10, 0.90] (n 40)."
    assert published.summarize([]).startswith("No value is defined")
    prepare_study(list(tiebreak.read(samples.path("dna_eval"))))
    assert ": highest " in page_text(visit("results/published", table="dna-figure-5"))
