"""The inbox: a list without texts, a thread with its replies, and who sees whose."""

import pytest

from core.formats.records import ItemRecord, StudyRecord, StudyRules
from storage.labelling import home, queue
from storage.labels import targets
from tests.conftest import make_item, make_target
from tests.pages.visits import label_is_blind, page_text, prepare_study, study_session, visit
from tests.storage.shared import store_label


@pytest.fixture
def noted():
    """A note of ann and a flag of bob, in a study with named annotators."""
    rules = StudyRules(annotators=("ann", "bob"))
    prepare_study([StudyRecord(rules=rules), ItemRecord(item=make_item("item 0"))])
    with study_session() as (session, study):
        queue.set_mark(session, study.id, make_target(), "ann", "note", text="what of <b>ties</b>?")
        queue.set_mark(session, study.id, make_target(), "bob", "flag")


def threads():
    with study_session() as (session, study):
        return {thread.annotator: thread for thread in home.threads(session, study.id)}


def open_thread(viewer, of="ann"):
    with study_session() as (session, study):
        target_id = targets.find_id(session, study.id, make_target())
    return visit("label/inbox", viewer, on=str(target_id), of=of)


def test_the_list_names_annotators_and_items_and_no_texts(noted):
    page = visit("label/inbox", "eve")
    assert set(page.dataframe[0].value["Annotator"]) == {"ann", "bob"}
    assert "ties" not in page_text(page) + page.dataframe[0].value.to_string()


def test_a_reply_can_close_a_thread(noted):
    page = open_thread("eve")
    page.text_area(key="reply_text").set_value("See section 2.")
    next(button for button in page.button if button.label == "Reply and close").click().run()
    assert threads()["ann"].closed
    assert threads()["ann"].replies[0].text == "See section 2."
    assert visit("label/inbox", "eve", list="Closed").dataframe[0].value["Annotator"].tolist() == ["ann"]


def test_who_reads_the_note_of_another_is_no_longer_blind(noted):
    open_thread("eve")
    open_thread("ann")
    assert not label_is_blind(make_target(), "eve") and label_is_blind(make_target(), "ann")


def test_a_named_annotator_sees_only_own_threads_and_cannot_close_them(noted):
    page = visit("label/inbox", "ann")
    assert page.dataframe[0].value["Annotator"].tolist() == ["ann"]
    assert "no such flag or note" in open_thread("ann", of="bob").error[0].value
    assert [button.label for button in open_thread("ann").button if "lose" in button.label] == []


def test_a_note_says_in_which_order_its_annotator_saw_the_responses(noted):
    for shown in ((1, 2), (2, 1)):
        with study_session() as (session, study):
            store_label(session, study.id, make_target(), "ann", 1, shown=shown)
        assert ("in the order 2, 1: 1 in this note is 2" in page_text(open_thread("eve"))) == (shown == (2, 1))
