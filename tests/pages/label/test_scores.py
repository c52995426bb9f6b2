"""The page that labels scores."""

from core.formats.records import CriterionRecord, ItemRecord
from core.items import Criterion, Item, Response
from core.labels import Scale
from pages.parts import resources
from storage.db import connections
from storage.labelling import tasks
from storage.labelling.context import open_work
from tests.conftest import make_item as an_ordinary_item
from tests.pages.reviews import option_review, prepare_sample
from tests.pages.visits import page_text, prepare_study, visit


def test_the_page_opens_the_queue_of_a_criterion_and_shows_nothing_itself(mounted) -> None:
    prepare_sample()
    app = visit("label/scores", "newcomer")
    assert not app.exception
    assert mounted == [{"study": "s", "kind": "scores", "criterion": "engaging"}]
    assert page_text(app).strip() == "Your labels are saved under this name."


def test_without_a_scale_the_page_says_what_to_do(mounted) -> None:
    prepare_study([ItemRecord(item=an_ordinary_item())])
    assert "no criterion with a scale yet" in page_text(visit("label/scores", "newcomer"))
    assert mounted == []


def test_an_answer_is_requested_without_the_reference(mounted) -> None:
    prepare_study(option_review())
    app = visit("label/scores", "newcomer")
    assert not app.exception
    assert mounted[0]["kind"] == "answers"
    with connections.writing(resources.engine()) as session:
        work = open_work(session, "answers", "s", "newcomer", criterion=mounted[0].get("criterion"))
        found = tasks.next_tasks(session, work, have=(), count=9, tab="todo", first=None)["tasks"]
    assert found and found[0]["question"] == "What is the right answer?"
    assert not any(block["id"] == "reference" for task in found for block in task["above"])


def test_a_link_opens_the_criterion_that_it_names(mounted) -> None:
    scale = Scale(level="ordinal", categories=(1, 2, 3))
    criteria = [CriterionRecord(criterion=Criterion(name=name, scale=scale)) for name in ("accuracy", "politeness")]
    item = Item(id="a1", prompt="?", responses=(Response(text="yes"),))
    prepare_study([*criteria, ItemRecord(item=item)])
    app = visit("label/scores", "annotator 1", item="a1", on="politeness")
    assert not app.exception
    assert mounted[0]["criterion"] == "politeness"
