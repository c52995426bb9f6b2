"""The page of the weights laboratory."""

from core.formats import tiebreak
from core.formats.records import ItemRecord
from core.items import Item
from storage.transfer import samples
from tests.pages.visits import page_text, prepare_study, visit


def test_the_answer_of_the_sample() -> None:
    prepare_study(list(tiebreak.read(samples.path("dna_eval"))))
    app = visit("results/laboratory")
    assert not app.exception
    assert "too few for a conclusion" in page_text(app)
    assert "equal weights" in list(app.dataframe[0].value["Weights"])


def test_without_scores_the_page_says_what_is_needed() -> None:
    prepare_study([ItemRecord(item=Item(id="i", prompt="?"))])
    assert "Needed: a run of DnA-Eval" in page_text(visit("results/laboratory"))
