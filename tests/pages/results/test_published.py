"""The page of published tables."""

from core.formats import tiebreak
from core.formats.records import ItemRecord
from core.items import Item
from storage.transfer import samples
from tests.pages.visits import page_text, prepare_study, visit


def test_a_table_is_chosen_by_the_address() -> None:
    prepare_study(list(tiebreak.read(samples.path("dna_eval"))))
    app = visit("results/published", table="dna-figure-5")
    assert not app.exception
    assert "Do models weight aspects as people do?" in page_text(app)
    (table,) = (frame.value for frame in app.dataframe)
    assert "people, all pairs" in list(table["Scorer"])


def test_a_study_without_values_links_to_the_next_step() -> None:
    prepare_study([ItemRecord(item=Item(id="i", prompt="?"))])
    app = visit("results/published")
    assert not app.exception and "This study has none yet" in page_text(app)
