"""The page that labels AIUs."""

import pytest

from core.formats import tiebreak
from core.formats.records import ItemRecord
from pages.parts import resources
from storage.db import connections
from storage.labelling import tasks
from storage.labelling.context import Work, find_task, open_work
from storage.labelling.queue_view import open_view
from storage.transfer import samples
from tests.conftest import make_item
from tests.pages.visits import page_text, prepare_study, visit


@pytest.fixture
def sample() -> None:
    prepare_study(list(tiebreak.read(samples.path("metacritique"))))


def the_queue() -> Work:
    with connections.writing(resources.engine()) as session:
        return open_work(session, "aius", "s", "newcomer")


def test_the_page_opens_the_queue_with_a_task_for_each_critique(sample: None, mounted) -> None:
    app = visit("label/aius", "newcomer")
    assert not app.exception
    assert mounted == [{"study": "s", "kind": "aius"}]
    with connections.reading(resources.engine()) as session:
        assert len(open_view(session, the_queue()).order) == 12


def test_a_link_opens_the_critique_that_it_names_and_hides_its_author(sample: None, mounted) -> None:
    assert not visit("label/aius", "newcomer", item="train", of="llm").exception
    work = the_queue()
    with connections.reading(resources.engine()) as session:
        task = find_task(session, work, mounted[0]["item"])
        text = str(tasks.task_jsons(session, work, [task]))
    assert (task.target.item, task.target.part) == ("train", "llm")
    assert "model K" not in text and "colleague" not in text


def test_without_critiques_the_page_says_what_to_do(mounted) -> None:
    prepare_study([ItemRecord(item=make_item())])
    assert "This study has no critiques." in page_text(visit("label/aius", "newcomer"))
    assert mounted == []
