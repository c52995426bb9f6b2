"""Who may label what, in which order, and how many labels one target needs."""

import pytest
from sqlalchemy import select, true

from core.formats.records import StudyRules
from storage.db.connections import reading, writing
from storage.db.tables import ItemRow
from storage.labelling import claims
from storage.labelling.claims import is_assigned
from storage.labels import targets
from storage.studies import studies
from storage.transfer import imports
from tests.conftest import make_target
from tests.sessions import write
from tests.storage.labelling.workbench import Client, set_rules, stored
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, debates, store_label


@pytest.fixture
def queue(engine):
    """Six disputed debates."""
    return debates(engine, 6)


def items(engine, annotator="ann", **fields):
    """Return the items of the tasks in the annotator's order."""
    client = Client(engine, annotator)
    work, listed = client.work(), client.tasks(**fields)
    with reading(engine) as session:
        return [targets.get(session, work.ids.decode("t", task["id"])).item for task in listed]


def test_everybody_labels_a_study_without_names():
    rules = StudyRules(groups={"math": ("ann",)})
    assert is_assigned(StudyRules(), "zoe", "math")
    assert [is_assigned(rules, who, "math") for who in ("ann", "bob")] == [True, False]
    assert is_assigned(rules, "bob", "dialog") and is_assigned(rules, "bob", None)


def test_named_annotators_label_what_no_group_labels():
    rules = StudyRules(annotators=("bob",), groups={"math": ("ann",)})
    assert [is_assigned(rules, who, "math") for who in ("ann", "bob")] == [True, False]
    assert [is_assigned(rules, who, "dialog") for who in ("ann", "bob")] == [False, True]
    assert [claims.is_excluded(rules, who) for who in ("ann", "bob", "zoe")] == [False, False, True]
    assert [claims.is_named(rules, who) for who in ("ann", "bob", "cyd")] == [True, True, False]


@pytest.mark.parametrize("annotators", [(), ("ann",)])
@pytest.mark.parametrize("groups", [{}, {"math": ("bob",)}, {"dialog": ("bob",)}])
def test_a_query_selects_the_items_that_an_annotator_is_assigned(engine, queue, annotators, groups):
    set_rules(engine, annotators=annotators, groups=groups)
    for who in ("ann", "bob", "cyd"):
        work = Client(engine, who).work()
        condition = claims.assigned_condition(work)
        with reading(engine) as session:
            found = session.scalars(select(ItemRow.key).where(true() if condition is None else condition)).all()
        assert len(found) == len(items(engine, who)) == 6 * is_assigned(work.study.rules, who, "math")


def test_who_is_not_named_has_an_empty_queue_and_cannot_label(engine, queue):
    client = Client(engine, "zoe")
    task = client.tasks()[0]
    set_rules(engine, annotators=("ann",))
    assert client.tasks() == []
    assert client.progress()["total"] == 0
    result = client.label(task)
    assert (result["status"], result["message"]) == ("rejected", claims.NOT_ASSIGNED)
    assert client.do("draft", task, value=1)["status"] == "rejected"
    assert stored(engine) == []


def test_an_own_label_can_be_changed_after_the_item_was_given_to_others(engine, queue):
    client = Client(engine, "zoe")
    task = client.tasks()[0]
    client.label(task, 1)
    set_rules(engine, annotators=("ann",))
    assert client.label(task, 2, base="1")["status"] == "accepted"
    assert [task["id"] for task in client.tasks(tab="done")] == [task["id"]]


def test_a_fixed_order_is_that_of_the_items(engine, queue):
    set_rules(engine, order="fixed")
    assert items(engine, "ann") == items(engine, "bob") == [f"item {number}" for number in range(6)]


def test_the_most_informative_target_is_the_one_on_which_judges_and_annotators_are_split(engine, queue):
    more = [a_trace(f"item {n}", a_turn(), a_verdict("disputed", (1, 1, 1)), run="again") for n in (0, 1, 2, 4, 5)]
    imports.import_records(engine, "s", [RUN.model_copy(update={"name": "again"}), *more])
    with writing(engine) as session:
        study = studies.get(session, "s")
        for annotator, value in (("bob", 1), ("cyd", 1)):
            store_label(session, study.id, make_target("item 1"), annotator, value)
    set_rules(engine, order="informative")
    order = items(engine)
    assert order[0] == "item 3"
    assert order[-1] == "item 1"


def test_one_more_label_can_be_requested_of_a_complete_target(engine, queue):
    set_rules(engine, overlap=2)
    with writing(engine) as session:
        study = studies.get(session, "s")
        for annotator in ("bob", "cyd"):
            store_label(session, study.id, make_target("item 2"), annotator, 1)
    assert "item 2" not in items(engine)
    with writing(engine) as session:
        target_id = targets.find_id(session, study.id, make_target("item 2"))
        assert claims.request_label(session, study.id, target_id) == 3
    assert "item 2" in items(engine)
    write(engine, store_label, study.id, make_target("item 2"), "dan", 1)
    assert "item 2" not in items(engine)
