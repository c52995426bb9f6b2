"""The page that labels aspect weights."""

from core.formats import tiebreak
from core.formats.records import ItemRecord
from core.items import Item
from storage.transfer import samples
from tests.pages.visits import page_text, prepare_study, switch_to


def test_the_page_opens_the_queue_of_weights_and_shows_nothing_itself(mounted) -> None:
    prepare_study(list(tiebreak.read(samples.path("dna_eval"))))
    app = switch_to("label/weights")
    assert not app.exception
    assert mounted == [{"study": "s", "kind": "weights"}]
    assert page_text(app).strip() == "Your labels are saved under this name."


def test_an_empty_queue_says_where_aspects_come_from(mounted) -> None:
    prepare_study([ItemRecord(item=Item(id="i", prompt="?"))])
    assert "This study has no aspects yet" in page_text(switch_to("label/weights"))
    assert mounted == []
