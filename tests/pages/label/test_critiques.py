"""The page that compares and rates critiques."""

import pytest

from core.formats import tiebreak
from core.formats.records import ItemRecord
from storage.transfer import samples
from tests.conftest import make_item
from tests.pages.visits import page_text, prepare_study, switch_to


@pytest.mark.parametrize(
    ("task", "kind"),
    [({}, "critiques"), ({"task": "Rate critiques"}, "critique_ratings"), ({"task": "?"}, "critiques")],
)
def test_the_page_opens_the_queue_that_the_address_names(mounted, task, kind) -> None:
    prepare_study(list(tiebreak.read(samples.path("metacritique"))))
    assert not switch_to("label/critiques", "newcomer", **task).exception
    assert mounted == [{"study": "s", "kind": kind}]


def test_without_refined_answers_the_page_says_what_makes_them(mounted) -> None:
    prepare_study([ItemRecord(item=make_item())])
    text = page_text(switch_to("label/critiques", "newcomer", task="Compare refined answers"))
    assert "This study has no refined answers." in text and mounted == []
