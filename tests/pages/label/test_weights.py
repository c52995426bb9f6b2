"""The page that labels aspect weights."""

from core.aspects import aspect_set_id
from core.formats import tiebreak
from core.formats.records import ItemRecord
from core.items import Item
from storage.transfer import samples
from tests.pages.visits import page_text, prepare_study, switch_to

ASPECTS = ("accuracy", "helpfulness", "relevance", "level of detail")


def prepare_sample() -> None:
    prepare_study(list(tiebreak.read(samples.path("dna_eval"))))


def test_the_label_page_shows_question_and_aspects_without_responses() -> None:
    prepare_sample()
    app = switch_to("label/weights")
    assert not app.exception
    text = page_text(app)
    assert "Write a short farewell note" in text and "**A** Does the note sound warm" in text
    assert "three coffee machines" not in text and "What the judges said" not in text


def test_responses_and_judges_are_shown_after_the_annotators_weights() -> None:
    prepare_sample()
    text = page_text(switch_to("label/weights", "annotator 1", item="farewell note", part=aspect_set_id(ASPECTS)))
    assert "three coffee machines" in text and "What the judges said" in text


def test_an_empty_queue_says_where_aspects_come_from() -> None:
    prepare_study([ItemRecord(item=Item(id="i", prompt="?"))])
    assert "This study has no aspects yet" in page_text(switch_to("label/weights"))
