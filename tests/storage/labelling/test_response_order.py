"""The order in which annotators see the texts side by side, and that nothing stored depends on it."""

import pytest
from pydantic import ValidationError

from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, ScaleRecord
from core.formats.study_records import StudyRules
from core.items import Response
from core.labels import Label, Scale, Target
from storage.db.connections import writing
from storage.labelling import training
from storage.studies import studies
from storage.transfer import imports, samples
from tests.conftest import make_item
from tests.storage.labelling.test_critique_tasks import key
from tests.storage.labelling.workbench import Client, set_rules, stored
from tests.storage.shared import debates

AS_GIVEN = {"response_order": "as_given", "response_order_reason": "Response 1 is the user's draft."}


@pytest.fixture
def ann(engine):
    debates(engine, 30)
    return Client(engine)


def first_texts(tasks):
    """Return task id -> the number of the text that is shown first, by its block."""
    return {task["id"]: int(task["columns"][0]["id"].rpartition("-")[2]) for task in tasks}


def press(client, task, digit, **fields):
    """Label a task with a key, as the workbench does: the value of the option with this key, and the order shown."""
    return client.label(task, key(task, digit), shown=task["shown"], **fields)


def swapped(tasks):
    return next(task for task in tasks if task["shown"] == [2, 1])


def test_each_response_is_first_for_one_of_two_annotators_and_in_about_half_of_their_targets(ann, engine):
    of_ann, of_bob = (first_texts(client.tasks(count=60)) for client in (ann, Client(engine, "bob")))
    assert len(of_ann) == 30
    assert {of_ann[task] + of_bob[task] for task in of_ann} == {3}
    assert 4 <= sum(first == 2 for first in of_ann.values()) <= 26  # 30 fair coins: outside with p = .00001
    assert first_texts(ann.tasks(count=60)) == of_ann  # a reload


def test_titles_colours_and_keys_are_those_of_the_places_and_blocks_and_values_those_of_the_item(ann):
    task = swapped(ann.tasks(count=60))
    assert [(one["id"], one["title"], one["number"], one["text"]) for one in task["columns"]] == [
        ("response-2", "Response 1", 1, "that"),
        ("response-1", "Response 2", 2, "this"),
    ]
    options = [(one["key"], one["value"], one["label"], one["colour"]) for one in task["targets"][0]["options"]]
    assert options == [
        ("1", 2, "Response 1 is better", "response-1"),
        ("2", 1, "Response 2 is better", "response-2"),
        ("0", 0, "Neither is better", "tie"),
    ]


def test_the_key_1_stores_the_response_that_was_first_with_the_order(ann, engine):
    tasks = ann.tasks(count=60)
    for task in tasks:
        evidence = [{"block": task["columns"][0]["id"], "start": 0, "end": 4}]
        assert press(ann, task, "1", evidence=evidence)["status"] == "accepted"
    rows = stored(engine)
    assert [row.value for row in rows] == [task["shown"][0] for task in tasks]
    assert [row.shown for row in rows] == [task["shown"] for task in tasks]
    assert [row.evidence[0]["block"] for row in rows] == [f"response-{row.value}" for row in rows]
    assert {1, 2} == {row.value for row in rows}


def test_a_key_pressed_before_a_change_of_the_rule_means_what_was_on_the_screen(ann, engine):
    task = swapped(ann.tasks(count=60))
    set_rules(engine, **AS_GIVEN)
    press(ann, task, "1")
    [row] = stored(engine)
    assert (row.value, row.shown) == (2, [2, 1])
    again = next(one for one in ann.tasks(count=60, tab="done") if one["id"] == task["id"])
    assert again["shown"] == [2, 1] and again["targets"][0]["standing"]["value"] == 2
    assert {tuple(one["shown"]) for one in ann.tasks(count=60)} == {(1, 2)}


def test_a_draft_keeps_its_order_when_the_rule_changes(ann, engine):
    task = swapped(ann.tasks(count=60))
    ann.do("draft", task, value=key(task, "1"), shown=task["shown"])
    set_rules(engine, **AS_GIVEN)
    again = ann.tasks(count=60)[0]
    assert (again["id"], again["shown"]) == (task["id"], [2, 1])
    assert again["targets"][0]["draft"] == {"value": 2, "reason": "", "evidence": []}


def test_undo_and_redo_restore_the_value_and_the_order_of_each_label(ann, engine):
    task = swapped(ann.tasks(count=60))
    press(ann, task, "1")
    ann.label(task, 1, base="1", shown=[1, 2])  # another window with the item's order
    set_rules(engine, **AS_GIVEN)

    def act(type):
        side = ann.history()["undo" if type == "undo" else "redo"]
        return ann.do(type, task, entry=side[-1]["id"])

    assert act("undo")["standing"]["value"] == 2
    assert act("undo")["standing"] is None
    shown = next(one for one in ann.tasks(count=60) if one["id"] == task["id"])["shown"]
    assert shown == [2, 1]
    assert [act("redo")["standing"]["value"] for _ in range(2)] == [2, 1]
    assert [(row.value, row.shown) for row in stored(engine)] == [
        (2, [2, 1]), (1, [1, 2]), (2, [2, 1]), (None, [2, 1]), (2, [2, 1]), (1, [1, 2]),
    ]  # fmt: skip


def test_an_order_that_the_texts_cannot_have_is_rejected(ann, engine):
    task = ann.tasks()[0]
    for shown in ([1], [2, 2], [1, 2, 3], [0, 1]):
        assert ann.label(task, 1, shown=shown)["status"] == "rejected", shown
        assert ann.do("draft", task, value=1, shown=shown)["status"] == "rejected", shown
    assert stored(engine) == []


def test_the_reveal_has_the_numbers_of_the_item_in_every_order(ann, engine):
    by_order = {tuple(task["shown"]): press(ann, task, "1")["reveal"]["stances"] for task in ann.tasks(count=60)}
    same, other = ([grid | {"href": ""} for grid in by_order[order]] for order in ((1, 2), (2, 1)))
    assert same == other
    assert same[0]["outcome"] == "No consensus" and same[0]["verdicts"] == []


def test_the_item_s_order_is_a_rule_that_needs_a_reason_and_an_order_has_every_number(ann, engine):
    with pytest.raises(ValidationError, match="every number"):
        Label(target=Target(item="i", kind="preference"), annotator="ann", value=1, shown=(2, 3))
    with pytest.raises(ValidationError, match="need a reason"):
        StudyRules(response_order="as_given")
    set_rules(engine, **AS_GIVEN)
    assert {tuple(task["shown"]) for task in ann.tasks(count=60)} == {(1, 2)}


def test_each_response_of_a_list_is_first_for_one_of_three_annotators(engine):
    item = make_item(responses=tuple(Response(text=text) for text in "abc"))
    scale = ScaleRecord(kind="answer", criterion="", scale=Scale(level="nominal", categories=("x", "y")))
    target = Target(item=item.id, kind="answer")
    label = LabelRecord(label=Label(target=target, annotator="imported", value="x"))
    imports.import_records(engine, "s", [ItemRecord(item=item), scale, label])
    orders = [Client(engine, name, queue="answers").tasks()[0]["shown"] for name in ("ann", "bob", "cyd")]
    assert {order[0] for order in orders} == {1, 2, 3}
    client = Client(engine, queue="answers")
    task = client.tasks()[0]
    client.label(task, "y", shown=task["shown"])
    assert stored(engine)[-1].shown == task["shown"]


def test_the_reason_of_a_training_item_refers_to_the_responses_where_they_are_shown(ann, engine):
    with writing(engine) as session:
        study = studies.get(session, "s")
        for number in range(30):
            target = Target(item=f"item {number}", kind="preference", criterion="helpfulness")
            training.add_item(session, study.id, target, 2, "Response 2 is right.")
    task = swapped(ann.tasks(count=60))
    feedback = press(ann, task, "1")["feedback"]
    assert feedback["correct"] and feedback["references"] == [{"start": 0, "end": 10, "column": "response-2"}]
    assert task["columns"][0]["id"] == "response-2" and task["columns"][0]["title"] == "Response 1"


def test_the_system_that_the_sample_lists_first_is_first_in_half_of_the_tasks_of_two_annotators(engine):
    imports.import_records(engine, "s", tiebreak.read(samples.path()))
    orders = [first_texts(Client(engine, name).tasks(count=60)) for name in ("newcomer 1", "newcomer 2")]
    assert [sum(first == number for order in orders for first in order.values()) for number in (1, 2)] == [12, 12]
