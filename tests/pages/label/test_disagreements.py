"""The page that labels disputed debates: who is asked for a name, and which queue the workbench opens."""

import pytest

from core.formats import tiebreak
from core.formats.records import AdjudicationRecord, LabelRecord, MarkRecord, TraceRecord
from pages.label.parts import workbench
from pages.parts import resources
from storage.db import connections
from storage.labelling.context import find_task, open_work
from storage.transfer import samples
from tests.pages.visits import page_text, prepare_study, visit

HUMAN_RECORDS = (LabelRecord, MarkRecord, AdjudicationRecord)


@pytest.fixture
def sample():
    """The ScaleEval sample without labels."""
    prepare_study([record for record in tiebreak.read(samples.path()) if not isinstance(record, HUMAN_RECORDS)], "tour")


def test_a_name_is_requested_first(sample, mounted):
    page = visit("label/disagreements")
    assert not page.exception
    assert "Sign in" in page_text(page)
    assert mounted == []
    page.text_input(key="your_name").set_value("newcomer")
    page.button[0].click().run()
    assert mounted == [{"study": "tour", "kind": "disagreements"}]


def test_a_name_of_blanks_is_one_sentence(sample):
    page = visit("label/disagreements")
    page.text_input(key="your_name").set_value("   ")
    page.button[0].click().run()
    assert page.error[0].value == "Please enter a name."


def test_the_page_itself_has_no_text_of_an_item_or_a_judge(sample, mounted):
    page = visit("label/disagreements", "newcomer", item="brainstorming-2", on="helpfulness")
    assert not page.exception
    assert page_text(page).strip() == "Your labels are saved under this name."
    assert mounted


def test_criterion_and_scenario_choose_the_queue(sample, mounted):
    page = visit("label/disagreements", "newcomer")
    page.selectbox(key="criterion").set_value("helpfulness")
    page.selectbox(key="scenario").set_value("dialog").run()
    assert mounted[-1] == {"study": "tour", "kind": "disagreements", "criterion": "helpfulness", "scenario": "dialog"}


def test_a_link_to_an_item_and_criterion_begins_with_that_task(sample, mounted):
    visit("label/disagreements", "newcomer", item="brainstorming-2", on="helpfulness")
    with connections.writing(resources.engine()) as session:
        work = open_work(session, "disagreements", "tour", "newcomer")
        target = find_task(session, work, mounted[0]["item"]).target
    assert (target.item, target.criterion) == ("brainstorming-2", "helpfulness")


def test_a_link_to_an_unknown_item_opens_the_queue(sample, mounted):
    page = visit("label/disagreements", "newcomer", item="nowhere", on="helpfulness")
    assert not page.exception
    assert mounted[0]["item"] == "nowhere"


def test_without_disputes_the_page_says_so(mounted):
    records = [
        record for record in tiebreak.read(samples.path()) if not isinstance(record, (TraceRecord, *HUMAN_RECORDS))
    ]
    prepare_study(records, "tour")
    page = visit("label/disagreements", "newcomer")
    assert not page.exception
    assert "No disputed debates" in page_text(page)
    assert mounted == []


def test_without_a_study_the_page_says_so(mounted):
    prepare_study()
    page = visit("label/disagreements", "newcomer")
    assert "no studies yet" in page_text(page)


def test_the_name_of_a_study_cannot_become_markup(monkeypatch):
    drawn = []
    monkeypatch.setattr(workbench.st.components.v2, "component", lambda name, **options: drawn.append(options["html"]))
    workbench.element("w", 'study="><script>alert(1)</script>')
    assert "<script>alert" not in drawn[0]
