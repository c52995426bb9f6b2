"""Prefetched tasks: blind, in the annotator's own order, and claiming nothing."""

import pytest
from pydantic import ValidationError

from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, ScaleRecord
from core.formats.study_records import StudyRules
from core.items import Response
from core.labels import Label, Scale, Target
from storage.db.connections import reading, writing
from storage.db.opaque_ids import OpaqueIds
from storage.labelling import effects, tasks, training
from storage.labelling.actions import perform
from storage.labelling.context import find_task, open_context
from storage.labels import labels
from storage.studies import studies
from storage.transfer import imports, samples
from tests.conftest import make_item
from tests.sessions import read, write
from tests.storage.labelling.test_critique_tasks import key
from tests.storage.labelling.workbench import Client, set_rules, stored
from tests.storage.shared import RUN, a_trace, a_verdict, debates


@pytest.fixture
def ann(engine):
    debates(engine, 12)
    return Client(engine)


def items_in_order(client):
    work = client.work()
    with reading(client.engine) as session:
        return [find_task(session, work, task["id"]).target.item for task in client.tasks()]


def test_annotators_have_different_orders_that_stay_the_same(ann, engine):
    bob = Client(engine, annotator="bob")
    assert sorted(items_in_order(ann)) == sorted(items_in_order(bob))
    assert items_in_order(ann) != items_in_order(bob)
    assert items_in_order(ann) == items_in_order(ann)


def test_numbers_stay_with_their_task_and_what_is_in_the_browser_is_not_sent_again(ann):
    first = {task["id"]: task["number"] for task in ann.tasks()}
    assert list(first.values()) == list(range(1, 13))
    have = tuple(first)[:5]
    assert not set(have) & {task["id"] for task in ann.tasks(have=have)}
    ann.label(ann.tasks()[0], 1)
    assert {task["id"]: task["number"] for task in ann.tasks()}.items() < first.items()


def test_a_queue_without_a_task_says_why(engine, ann):
    assert Client(engine, queue="weights").progress()["nothing"] == "empty"
    for name in ("bob", "cyd", "dee"):
        other = Client(engine, annotator=name)
        for task in other.tasks():
            other.label(task, 1)
    assert ann.progress()["nothing"] == "complete"
    set_rules(engine, annotators=("bob",))
    assert ann.progress()["nothing"] == "unassigned"


def test_labelled_skipped_and_full_targets_are_not_in_the_queue_and_are_in_their_tabs(ann, engine):
    set_rules(engine, overlap=1)
    labelled, skipped, taken, *rest = ann.tasks()
    ann.label(labelled, 1)
    ann.do("skip", skipped, on=True)
    ann.do("flag", rest[0], on=True)
    ann.do("draft", rest[1], value=1)
    Client(engine, annotator="bob").label(taken, 1)
    todo = {task["id"] for task in ann.tasks()}
    assert todo == {task["id"] for task in rest}
    tabs = {tab: [task["id"] for task in ann.tasks(tab=tab)] for tab in ("done", "skipped", "flagged", "drafts")}
    assert tabs == {
        "done": [labelled["id"]],
        "skipped": [skipped["id"]],
        "flagged": [rest[0]["id"]],
        "drafts": [rest[1]["id"]],
    }
    assert ann.progress() == {"labelled": 1, "total": 11, "skipped": 1, "flagged": 1, "drafts": 1}


def test_the_newest_draft_that_is_to_do_comes_first(ann):
    *_, older, newer = given = ann.tasks()
    for task in (older, newer):
        ann.do("draft", task, value=1)
    assert [task["id"] for task in ann.tasks()][:2] == [newer["id"], given[0]["id"]]
    assert ann.tasks(tab="done") == []


def test_a_reply_says_whether_it_has_the_task_of_the_link(ann, engine):
    work, found = ann.work(), []
    with reading(engine) as session:
        for first in (None, "item 3", "no item"):
            reply = tasks.next_tasks(session, work, have=(), count=1, tab="todo", first=first)
            found.append((reply["linked"], len(reply["tasks"]), reply["complete"]))
    assert found == [(True, 1, False), (True, 1, False), (False, 1, False)]


def test_a_link_begins_with_its_item(ann):
    last = ann.tasks()[-1]
    assert ann.tasks(first=last["id"])[0]["id"] == last["id"]
    item = items_in_order(ann)[-1]
    linked = ann.tasks(first=item)[0]
    assert linked["above"][-1]["text"] == f"Which is better for {item}?"
    ann.label(linked, 1)
    assert ann.tasks(first=item)[0]["id"] == linked["id"]


def test_a_reveal_in_the_history_is_recorded_as_seen(ann, engine):
    set_rules(engine, reveal=False)
    ann.label(ann.tasks()[0], 1)
    set_rules(engine, reveal=True)
    work = ann.work()
    with reading(engine) as session:
        found = effects.history(session, work)
        shown = [find_task(session, work, task["id"]) for task in found["tasks"]]
        seen = tasks.add_reveals(session, work, found["tasks"], shown)
    tasks.record_views(engine, work, seen)
    assert found["tasks"][0]["targets"][0]["reveal"]["stances"]
    ann.label(found["tasks"][0], 2, base="1")
    assert [row.blind for row in stored(engine)] == [True, False]


def test_a_reveal_has_the_opinions_of_its_own_debate(engine):
    last = {f"item {n}": (n, n, 2 - n) for n in range(3)}
    traces = [a_trace(name, a_verdict("disputed", values)) for name, values in last.items()]
    imports.import_records(engine, "s", [*(ItemRecord(item=make_item(name)) for name in last), RUN, *traces])
    ann = Client(engine)
    for name, values in last.items():
        (grid,) = ann.label(ann.tasks(first=name)[0], 1)["reveal"]["stances"]
        assert [judge["turns"][-1]["value"] for judge in grid["judges"]] == list(values)


def test_the_sample_of_every_kind_can_be_labelled(engine):
    samples_by_queue = {"disagreements": "scaleeval", "scores": "refer", "weights": "dna_eval"}
    for file in samples_by_queue.values():
        records = [record for record in tiebreak.read(samples.path(file)) if not isinstance(record, LabelRecord)]
        imports.import_records(engine, file, records)
    values = {"disagreements": 1, "scores": None, "weights": None}
    for queue, file in samples_by_queue.items():
        work = write(engine, open_context, queue, file, "ann")
        task = read(engine, tasks.next_tasks, work, have=(), count=1, tab="todo", first=None)["tasks"][0]
        target = task["targets"][0]
        value = values[queue]
        if "aspects" in target:
            shares = [100 - 10 * (len(target["aspects"]) - 1), *[10] * (len(target["aspects"]) - 1)]
            value = {aspect["name"]: share for aspect, share in zip(target["aspects"], shares, strict=True)}
        elif value is None:
            value = target["options"][0]["value"] if "options" in target else target["number"]["low"]
        action = {"seq": 1, "type": "label", "task": task["id"], "target": target["id"], "base": "0", "value": value}
        [result] = perform(engine, work, "c-1", [action], after=0)
        assert result["status"] == "accepted", (queue, result)
        assert result["reveal"].get("stances") or result["reveal"].get("weights"), queue
        assert len(list(read(engine, labels.of_study, work.study.id))) == 1


def test_opaque_ids_reveal_nothing_and_are_decoded_with_their_key_only():
    ids, others = OpaqueIds(b"a" * 16), OpaqueIds(b"b" * 16)
    names = [ids.encode("t", number) for number in range(1, 500)]
    assert [ids.decode("t", name) for name in names] == list(range(1, 500))
    assert sorted(names) != names
    assert all(others.decode("t", name) is None for name in names[:50])
    for wrong in ("", "t-", "t-1", "g" + names[0][1:], names[0].upper(), "t-zzzzzzzzzzzzzzzz", names[0] + "0"):
        assert ids.decode("t", wrong) is None


@pytest.mark.parametrize(("rules", "format"), [({"markdown": False}, "plain"), ({}, "markdown")])
def test_texts_are_markdown_unless_the_study_declares_otherwise(ann, engine, rules, format):
    set_rules(engine, **rules)
    task = ann.tasks()[0]
    assert {block["format"] for block in [*task["above"], *task["columns"]]} == {format}


# The order in which annotators see the texts side by side, and that nothing stored depends on it


AS_GIVEN = {"response_order": "as_given", "response_order_reason": "Response 1 is the user's draft."}


@pytest.fixture
def labeller(engine):
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


def test_each_response_is_first_for_one_of_two_annotators_and_in_about_half_of_their_targets(labeller, engine):
    of_ann, of_bob = (first_texts(client.tasks(count=60)) for client in (labeller, Client(engine, "bob")))
    assert len(of_ann) == 30
    assert {of_ann[task] + of_bob[task] for task in of_ann} == {3}
    assert 4 <= sum(first == 2 for first in of_ann.values()) <= 26  # 30 fair coins: outside with p = .00001
    assert first_texts(labeller.tasks(count=60)) == of_ann  # a reload


def test_titles_colours_and_keys_are_those_of_the_places_and_blocks_and_values_those_of_the_item(labeller):
    task = swapped(labeller.tasks(count=60))
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


def test_a_key_pressed_before_a_change_of_the_rule_means_what_was_on_the_screen(labeller, engine):
    task = swapped(labeller.tasks(count=60))
    set_rules(engine, **AS_GIVEN)
    press(labeller, task, "1")
    [row] = stored(engine)
    assert (row.value, row.shown) == (2, [2, 1])
    again = next(one for one in labeller.tasks(count=60, tab="done") if one["id"] == task["id"])
    assert again["shown"] == [2, 1] and again["targets"][0]["standing"]["value"] == 2
    assert {tuple(one["shown"]) for one in labeller.tasks(count=60)} == {(1, 2)}


def test_a_draft_keeps_its_order_when_the_rule_changes(labeller, engine):
    task = swapped(labeller.tasks(count=60))
    labeller.do("draft", task, value=key(task, "1"), shown=task["shown"])
    set_rules(engine, **AS_GIVEN)
    again = labeller.tasks(count=60)[0]
    assert (again["id"], again["shown"]) == (task["id"], [2, 1])
    assert again["targets"][0]["draft"] == {"value": 2, "reason": "", "evidence": []}


def test_undo_and_redo_restore_the_value_and_the_order_of_each_label(labeller, engine):
    task = swapped(labeller.tasks(count=60))
    press(labeller, task, "1")
    labeller.label(task, 1, base="1", shown=[1, 2])  # another window with the item's order
    set_rules(engine, **AS_GIVEN)

    def act(type):
        side = labeller.history()["undo" if type == "undo" else "redo"]
        return labeller.do(type, task, entry=side[-1]["id"])

    assert act("undo")["standing"]["value"] == 2
    assert act("undo")["standing"] is None
    shown = next(one for one in labeller.tasks(count=60) if one["id"] == task["id"])["shown"]
    assert shown == [2, 1]
    assert [act("redo")["standing"]["value"] for _ in range(2)] == [2, 1]
    assert [(row.value, row.shown) for row in stored(engine)] == [
        (2, [2, 1]), (1, [1, 2]), (2, [2, 1]), (None, [2, 1]), (2, [2, 1]), (1, [1, 2]),
    ]  # fmt: skip


def test_an_order_that_the_texts_cannot_have_is_rejected(labeller, engine):
    task = labeller.tasks()[0]
    for shown in ([1], [2, 2], [1, 2, 3], [0, 1]):
        assert labeller.label(task, 1, shown=shown)["status"] == "rejected", shown
        assert labeller.do("draft", task, value=1, shown=shown)["status"] == "rejected", shown
    assert stored(engine) == []


def test_the_reveal_has_the_numbers_of_the_item_in_every_order(labeller, engine):
    by_order = {
        tuple(task["shown"]): press(labeller, task, "1")["reveal"]["stances"] for task in labeller.tasks(count=60)
    }
    same, other = ([grid | {"href": ""} for grid in by_order[order]] for order in ((1, 2), (2, 1)))
    assert same == other
    assert same[0]["outcome"] == "No consensus" and same[0]["verdicts"] == []


def test_the_item_s_order_is_a_rule_that_needs_a_reason_and_an_order_has_every_number(labeller, engine):
    with pytest.raises(ValidationError, match="every number"):
        Label(target=Target(item="i", kind="preference"), annotator="ann", value=1, shown=(2, 3))
    with pytest.raises(ValidationError, match="need a reason"):
        StudyRules(response_order="as_given")
    set_rules(engine, **AS_GIVEN)
    assert {tuple(task["shown"]) for task in labeller.tasks(count=60)} == {(1, 2)}


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


def test_the_reason_of_a_training_item_refers_to_the_responses_where_they_are_shown(labeller, engine):
    with writing(engine) as session:
        study = studies.get(session, "s")
        for number in range(30):
            target = Target(item=f"item {number}", kind="preference", criterion="helpfulness")
            training.add_item(session, study.id, target, 2, "Response 2 is right.")
    task = swapped(labeller.tasks(count=60))
    feedback = press(labeller, task, "1")["feedback"]
    assert feedback["correct"] and feedback["references"] == [{"start": 0, "end": 10, "column": "response-2"}]
    assert task["columns"][0]["id"] == "response-2" and task["columns"][0]["title"] == "Response 1"
