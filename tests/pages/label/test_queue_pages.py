"""The pages of the queues: who is asked for a name, which queue the workbench opens, and what an empty page says."""

import pytest

from core.formats.records import AdjudicationRecord, CriterionRecord, ItemRecord, LabelRecord, MarkRecord
from core.items import Criterion, Item, Response
from core.labels import Scale
from pages.label.parts import workbench
from pages.parts import resources
from storage.db import connections
from storage.labelling import tasks
from storage.labelling.context import QueueContext, find_task, open_context
from storage.labelling.queue_view import open_view
from storage.studies import studies
from tests.databases import sample_records
from tests.pages.reviews import option_review
from tests.pages.visits import (
    page_links,
    page_text,
    prepare_copy,
    prepare_sample,
    prepare_study,
    study_session,
    switch_to,
    visit,
)

# Disagreements.


HUMAN_RECORDS = (LabelRecord, MarkRecord, AdjudicationRecord)


@pytest.fixture
def sample():
    """The ScaleEval sample without labels."""
    prepare_copy(records_without_labels, study="tour")


def records_without_labels():
    return [record for record in sample_records("scaleeval") if not isinstance(record, HUMAN_RECORDS)]


def test_a_name_is_requested_first(sample, mounted):
    page = visit("label/disagreements")
    assert "Sign in" in page_text(page)
    assert mounted == []
    assert any("Deutsch" in one.proto.body for one in page.main.get("html"))  # the sidebar is closed
    page.text_input(key="your_name").set_value("newcomer")
    page.button[0].click().run()
    assert mounted == [{"study": "tour", "kind": "disagreements"}]


def test_a_link_to_an_item_begins_with_that_task_and_the_page_itself_has_no_text_of_it(sample, mounted):
    page = visit("label/disagreements", "newcomer", item="brainstorming-2", on="helpfulness")
    assert page_text(page).strip() == "Your labels are saved under this name."
    with connections.writing(resources.engine()) as session:
        work = open_context(session, "disagreements", "tour", "newcomer")
        target = find_task(session, work, mounted[0]["item"]).target
    assert (target.item, target.criterion) == ("brainstorming-2", "helpfulness")


def test_criterion_and_scenario_choose_the_queue(sample, mounted):
    page = visit("label/disagreements", "newcomer")
    page.selectbox(key="criterion").set_value("helpfulness")
    page.selectbox(key="scenario").set_value("dialog").run()
    assert mounted[-1] == {"study": "tour", "kind": "disagreements", "criterion": "helpfulness", "scenario": "dialog"}
    page = visit("label/disagreements", "newcomer", item="nowhere", on="helpfulness")
    assert mounted[-1]["item"] == "nowhere"


def test_pairs_without_judges_lead_to_the_one_step_that_is_missing():
    prepare_study([ItemRecord(item=Item(id="1", prompt="?", responses=(Response(text="a"), Response(text="b"))))])
    for page in ("label/disagreements", "label/home"):
        empty = visit(page, "ann", study="s")
        assert "or if they are chosen for people without judges." in page_text(empty)
        assert empty.text_input[-1].value == "overall quality"
    prepare_study([CriterionRecord(criterion=Criterion(name="clarity"))])
    link = page_links(visit("label/disagreements", "ann", study="s"))[-1]
    assert (link.label, "tab=What+people+label" in link.query_string) == ("Choose pairs that people label", True)


def test_every_pair_is_offered_on_a_new_criterion_from_the_empty_queue(mounted):
    prepare_study([ItemRecord(item=Item(id="1", prompt="?", responses=(Response(text="a"), Response(text="b"))))])
    page = visit("label/home", "ann", study="s")
    page.text_input[-1].set_value(" tone ")
    next(button for button in page.button if button.label == "Let people label every pair").click().run()
    visit("label/disagreements", "ann", study="s")
    assert mounted[-1]["kind"] == "disagreements"
    with study_session("s") as (session, study):
        assert [criterion.name for criterion in studies.criteria(session, study.id)] == ["tone"]


def test_who_is_no_annotator_of_the_study_is_told_so_and_how_to_become_one(sample, mounted):
    with study_session("tour") as (session, study):
        rules = study.rules.model_copy(update={"annotators": ("ann",)})
        studies.update(session, study.id, description="", guidelines="", rules=rules)
    for page in ("label/disagreements", "label/home"):
        text = page_text(visit(page, "dave", study="tour"))
        assert "You are not among the annotators of this study. Ask its owner to add “dave”" in text
        assert "judges" not in text
    visit("label/disagreements", "ann", study="tour")
    assert [queue["kind"] for queue in mounted] == ["disagreements"]


def test_the_name_of_a_study_cannot_become_markup(monkeypatch):
    drawn = []
    monkeypatch.setattr(workbench.st.components.v2, "component", lambda name, **options: drawn.append(options["html"]))
    workbench.element("w", 'study="><script>alert(1)</script>')
    assert "<script>alert" not in drawn[0]


# Scores.


def test_the_page_opens_the_queue_of_a_criterion_and_shows_nothing_itself(mounted) -> None:
    prepare_sample("refer")
    app = visit("label/scores", "newcomer")
    assert mounted == [{"study": "s", "kind": "scores", "criterion": "engaging"}]
    assert page_text(app).strip() == "Your labels are saved under this name."


def test_an_answer_is_requested_without_the_reference(mounted) -> None:
    prepare_study(option_review())
    visit("label/scores", "newcomer")
    assert mounted[0]["kind"] == "answers"
    with connections.writing(resources.engine()) as session:
        work = open_context(session, "answers", "s", "newcomer", criterion=mounted[0].get("criterion"))
        found = tasks.next_tasks(session, work, have=(), count=9, tab="todo", first=None)["tasks"]
    assert found and found[0]["question"] == "What is the right answer?"
    assert not any(block["id"] == "reference" for task in found for block in task["above"])


def test_a_link_opens_the_criterion_that_it_names(mounted) -> None:
    scale = Scale(level="ordinal", categories=(1, 2, 3))
    criteria = [CriterionRecord(criterion=Criterion(name=name, scale=scale)) for name in ("accuracy", "politeness")]
    item = Item(id="a1", prompt="?", responses=(Response(text="yes"),))
    prepare_study([*criteria, ItemRecord(item=item)])
    visit("label/scores", "annotator 1", item="a1", on="politeness")
    assert mounted[0]["criterion"] == "politeness"


# Weights.


# AIUs.


@pytest.fixture
def critiques() -> None:
    prepare_sample("metacritique")


def the_queue() -> QueueContext:
    with connections.writing(resources.engine()) as session:
        return open_context(session, "aius", "s", "newcomer")


def test_the_page_has_a_task_for_each_critique_and_a_link_opens_the_one_that_it_names_without_its_author(
    critiques: None, mounted
) -> None:
    visit("label/aius", "newcomer")
    assert mounted == [{"study": "s", "kind": "aius"}]
    with connections.reading(resources.engine()) as session:
        assert len(open_view(session, the_queue()).order) == 12
    visit("label/aius", "newcomer", item="train", of="llm")
    work = the_queue()
    with connections.reading(resources.engine()) as session:
        task = find_task(session, work, mounted[-1]["item"])
        text = str(tasks.task_jsons(session, work, [task]))
    assert (task.target.item, task.target.part) == ("train", "llm")
    assert "model K" not in text and "colleague" not in text


# Critiques.


def test_the_page_opens_the_queue_that_the_address_names(critiques: None, mounted) -> None:
    kinds = {None: "critiques", "Rate critiques": "critique_ratings", "?": "critiques"}
    for task in kinds:
        switch_to("label/critiques", "newcomer", **({"task": task} if task else {}))
    assert mounted == [{"study": "s", "kind": kind} for kind in kinds.values()]
