"""The adjudication page: the list says nothing of labels, a case is decided by a button, and storage is asked."""

import json

import pytest

from core.formats.records import ItemRecord, LabelRecord, MarkRecord, ScaleRecord, StudyRecord, StudyRules
from core.items import Response
from core.labels import STEPS, Evidence, Label, Target
from core.transcripts import FIRST_WRONG_STEP
from storage.labels import labels, targets
from storage.transfer.participation import stored_records
from tests.conftest import make_item, make_label, make_target
from tests.core.test_remote_images import picture
from tests.pages.visits import page_text, prepare_copy, prepare_study, study_session, visit
from tests.storage.shared import RUN, a_trace
from tests.storage.test_transcripts import RECORDS

EVIDENCE = Evidence(block="response-1", start=0, end=3)


@pytest.fixture
def contested():
    prepare_copy(contested_items)


def contested_items():
    """Three items: ann and bob disagree on the first two."""
    items = [ItemRecord(item=make_item(f"item {number}")) for number in range(3)]
    given = [make_label(value, who, f"item {n}") for n in (0, 1) for who, value in (("ann", 1), ("bob", 2))]
    return [*items, RUN, a_trace("item 0"), *given]


def gold():
    with study_session() as (session, study):
        found = labels.gold_labels(session, study.id)
        return {one.target.item: (one.value, one.source, one.reason) for one in found}


def case_id(item):
    with study_session() as (session, study):
        return str(targets.find_id(session, study.id, make_target(item)))


def opened(page):
    """Return the case in the URL; AppTest has a list if the test set it, otherwise a text."""
    value = page.query_params["case"]
    return value[0] if isinstance(value, list) else value


def buttons(page):
    return {button.label: button for button in page.button}


def press(page, label):
    """Press the button of a value; the letters of the annotators follow its name."""
    next(button for name, button in buttons(page).items() if name.startswith(label)).click().run()


def test_the_list_has_no_label_and_start_opens_the_first_case(contested):
    page = visit("label/adjudication", "eve")
    table = page.dataframe[0].value
    assert table["Item"].tolist() == ["item 0", "item 1"]
    assert "Response" not in page_text(page)
    page.button(key="start").click().run()
    assert opened(page) == case_id("item 0")
    assert "Which response is better on helpfulness?" in page_text(page)


def test_a_reason_refers_to_the_responses_as_the_adjudicator_sees_them():
    given = [
        make_label(2, "ann", reason="Response 1 is <right>.", shown=(2, 1)),
        make_label(1, "bob", reason="Response 1 is kinder.", shown=(1, 2)),
        make_label(1, "cat", reason="Response 2 is long."),  # its order is not known
    ]
    prepare_study([ItemRecord(item=make_item()), RUN, a_trace("item 0"), *given])
    text = page_text(visit("label/adjudication", "eve", case=case_id("item 0")))
    assert '<b title="written as “Response 1”">Response 2</b> is <right>.' in text
    assert '<b title="written as “Response 1”">Response 1</b> is kinder.' in text
    assert ">Response 2 is long.<" in text


def test_a_decision_is_saved_with_its_reason_and_the_next_case_opens(contested):
    page = visit("label/adjudication", "eve", case=case_id("item 0"))
    press(page, "Response 2 is better")
    page.selectbox(key=f"rule_{case_id('item 0')}").set_value("Guidelines")
    page.text_area(key=f"reason_{case_id('item 0')}").set_value("section 3")
    page.button(key="decide").click().run()
    assert gold()["item 0"] == (2, "adjudicated", "Guidelines: section 3")
    assert opened(page) == case_id("item 1")


def test_a_case_can_be_decided_blind_first(contested):
    page = visit("label/adjudication", "eve", case=case_id("item 0"))
    page.toggle(key="blind").set_value(True).run()
    assert not [name for name in buttons(page) if name.endswith((" A", " B"))]
    assert 'class="person"' not in html_of(page) and not page.dataframe
    press(page, "Response 2")
    page.run()
    assert [name for name in buttons(page) if name.endswith((" A", " B"))]
    assert 'class="person"' in html_of(page)
    page.button(key="decide").click().run()
    assert gold()["item 0"][0] == 2


def html_of(page):
    return " ".join(element.proto.body for element in page.get("html"))


def test_a_decision_against_everybody_asks_for_a_reason_and_keeps_the_choice(contested):
    page = visit("label/adjudication", "eve", case=case_id("item 1"))
    press(page, "Neither is better")
    page.button(key="decide").click().run()
    assert [error.value for error in page.error] == ["An adjudication needs a reason if no annotator chose the value."]
    page.text_area(key=f"reason_{case_id('item 1')}").set_value("the same text")
    page.button(key="decide").click().run()
    assert gold()["item 1"] == (0, "adjudicated", "Expert decision: the same text")


def test_a_step_is_decided_beside_its_transcript_as_a_whole_number():
    target = Target(item="a", kind="answer", criterion=FIRST_WRONG_STEP, part="1")
    given = [
        LabelRecord(label=Label(target=target, annotator=who, value=step)) for who, step in (("ann", 4), ("bob", 2))
    ]
    scale = ScaleRecord(kind="answer", criterion=FIRST_WRONG_STEP, scale=STEPS)
    prepare_study([*RECORDS, scale, *given])
    with study_session() as (session, study):
        case = targets.find_id(session, study.id, target)
    page = visit("label/adjudication", "eve", case=str(case))
    assert "As text" in [expander.label for expander in page.expander]
    page.number_input(key=f"number_{case}").set_value(4)
    page.button(key="decide").click().run()
    assert json.dumps(gold()["a"][0]) == "4"


def test_an_own_label_and_a_case_of_another_study_cannot_be_decided(contested):
    page = visit("label/adjudication", "ann", case=case_id("item 0"))
    assert "labelled this item: another" in page_text(page)
    assert "Decide" not in buttons(page)
    page = visit("label/adjudication", "eve", case="999")
    assert "no such case" in page.error[0].value


def test_an_unclear_guideline_is_a_note(contested):
    page = visit("label/adjudication", "eve", case=case_id("item 0"))
    page.text_area(key=f"note_{case_id('item 0')}").set_value("what of ties?")
    page.button(key=f"send_{case_id('item 0')}").click().run()
    with study_session() as (session, study):
        (mark,) = stored_records(session, study.id, MarkRecord)
    assert (mark.annotator, mark.text) == ("eve", "Guideline unclear: what of ties?")


def test_images_are_shown_as_on_the_other_pages(tmp_path, monkeypatch):
    monkeypatch.setenv("TIEBREAK_MEDIA", str(tmp_path))
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "one.png").write_bytes(picture())
    text = "See ![shown](https://images.example.org/1.png) and ![hidden](https://beacon.example/1.png)"
    item = make_item("item 0").model_copy(
        update={"prompt": text, "responses": (Response(text=text, image="one.png"), Response(text="b"))}
    )
    marked = make_label(2, "bob", "item 0").model_copy(update={"evidence": (EVIDENCE,)})
    rules = StudyRules(markdown=True, image_hosts=("images.example.org",))
    prepare_study([StudyRecord(rules=rules), ItemRecord(item=item), make_label(1, "ann", "item 0"), marked])
    page = visit("label/adjudication", "eve", case=case_id("item 0"))
    assert not page.error
    bodies = [element.proto.body for element in page.get("html")]
    assert sum("/images/remote?" in body for body in bodies) == 2, "of the question and the response"
    html = " ".join(bodies)
    assert '<img src="/files/' in html and "evidence" in html
    assert 'src="https' not in html and "beacon.example/1.png&quot;: " not in html
