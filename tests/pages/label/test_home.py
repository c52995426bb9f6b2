"""The home of an annotator: where to go on, and the lists."""

import pytest

from core.formats.records import ItemRecord, LabelRecord, RepeatRecord
from core.labels import Label
from pages.parts import resources
from storage.db import connections
from storage.labels import views
from storage.studies import studies
from tests.conftest import make_item, make_label, make_target
from tests.pages.visits import page_text, prepare_copy, prepare_study, visit
from tests.storage.shared import RUN, a_trace, store_label


@pytest.fixture
def waiting():
    prepare_copy(four_debates)


def four_debates():
    """Four disputed debates, of which ann has labelled one."""
    items = [ItemRecord(item=make_item(f"gpt/{number}")) for number in range(4)]
    return [*items, RUN, *(a_trace(f"gpt/{number}") for number in range(4)), make_label(1, "ann", "gpt/0")]


def test_the_home_lists_what_waits_without_names_of_items(waiting):
    page = visit("label/home", "ann")
    assert [metric.value for metric in page.metric[:2]] == ["3", "1"]
    assert page.button(key="continue").label == "Continue: Preferences (3 to do)"
    assert page.dataframe[0].value["Question"].str.startswith("Which is better").all()
    assert page.dataframe[0].value["Your label"].tolist() == ["", "", ""]
    assert "j0" not in page_text(page)
    page.text_input(key="search").set_value("gpt/2").run()
    assert len(page.dataframe[0].value) == 1


def test_the_changes_after_the_reveal_are_on_the_home_of_the_annotator(waiting):
    with connections.writing(resources.engine()) as session:
        study, target = studies.get(session, "s"), make_target("gpt/0")
        views.record(session, study.id, [target], "ann")
        store_label(session, study.id, target, "ann", 2)
    page = visit("label/home", "ann")
    assert page.metric[3].value == "1 of 1"


@pytest.mark.parametrize(("count", "is_shown"), [(4, False), (5, True)])
def test_the_agreement_with_oneself_is_on_the_own_home_after_five_repeats(count, is_shown):
    names = [f"gpt/{number}" for number in range(6)]
    given = [make_label(1, "ann", name) for name in names[:5]]
    again = [
        RepeatRecord(target=make_target(name), annotator="ann", number=1, value=1 + (name == "gpt/0"))
        for name in names[:count]
    ]
    items = [ItemRecord(item=make_item(name)) for name in names]
    prepare_study([*items, RUN, *(a_trace(name) for name in names), *given, *again])
    assert ("The same answer on 4 of 5 repeated items." in page_text(visit("label/home", "ann"))) == is_shown
    assert "repeated items" not in page_text(visit("label/home", "bob"))


def test_the_button_continues_the_queue_that_is_chosen_at_first_the_one_labelled_last():
    items = [ItemRecord(item=make_item(f"gpt/{number}")) for number in range(2)]
    labels = [make_label(1, "ann", "gpt/0")]
    for number in range(2):
        target = make_target(f"gpt/{number}", kind="score", criterion="clarity", part="0")
        labels.append(LabelRecord(label=Label(target=target, annotator="bob", value=3)))
    prepare_study([*items, RUN, *(a_trace(f"gpt/{number}") for number in range(2)), *labels])
    page = visit("label/home", "ann", queue="Scores")
    assert page.button(key="continue").label == "Continue: Scores (2 to do)"
    page = visit("label/home", "ann")
    assert page.button(key="continue").label == "Continue: Preferences (1 to do)"
