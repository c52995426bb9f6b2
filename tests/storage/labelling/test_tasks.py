"""Prefetched tasks: blind, in the annotator's own order, and claiming nothing."""

import json

import pytest

from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord
from core.items import Response
from storage.db.connections import reading, writing
from storage.db.opaque_ids import OpaqueIds
from storage.labelling import effects, tasks
from storage.labelling.actions import perform
from storage.labelling.context import Unknown, find_task, open_context
from storage.labels import labels
from storage.transfer import imports, samples
from tests.conftest import make_item
from tests.sessions import read, write
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


def test_a_blind_task_holds_no_item_id_system_opinion_or_label_of_others(ann, engine):
    bob = Client(engine, annotator="bob")
    bob.label(bob.tasks()[0], 2, reason="bob's secret reason")
    sent = json.dumps(ann.tasks())
    for hidden in ("item 0", "j0", "j1", "bob", "secret", "disputed", "system"):
        assert hidden not in sent.replace("Which is better for item 0?", ""), hidden
    assert all(target["reveal"] is None for task in ann.tasks() for target in task["targets"])


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


def test_a_target_that_nobody_has_labelled_or_stored_has_no_entry(ann, engine):
    for task in ann.tasks():
        ann.label(task, 1)
    work = ann.work()
    with reading(engine) as session:
        task = find_task(session, work, ann.tasks(tab="done")[0]["id"])
        new = task.target.model_copy(update={"part": "new"})
        entries = tasks.Entries(session, work, {task: [task.target, new]})
    own, other = entries.of_target(task, task.target), entries.of_target(task, new)
    assert (own["version"], own["standing"]["value"], other["version"], other["standing"]) == ("1", 1, "0", None)
    assert own["standing"]["at"] in {row.at.isoformat() for row in stored(engine) if row.target_id == task.id}


def test_a_link_begins_with_its_item(ann):
    last = ann.tasks()[-1]
    assert ann.tasks(first=last["id"])[0]["id"] == last["id"]
    item = items_in_order(ann)[-1]
    linked = ann.tasks(first=item)[0]
    assert linked["above"][-1]["text"] == f"Which is better for {item}?"
    ann.label(linked, 1)
    assert ann.tasks(first=item)[0]["id"] == linked["id"]


def test_a_task_has_the_content_of_its_item(ann):
    task = ann.tasks(first="item 3")[0]
    assert (task["panel"], task["question"], task["scenario"]) == (
        "choice",
        "Which response is better on helpfulness?",
        "math",
    )
    assert sorted((block["id"], block["text"]) for block in task["columns"]) == [
        ("response-1", "this"),
        ("response-2", "that"),
    ]
    assert [option["value"] for option in task["targets"][0]["options"]] == [*task["shown"], 0]


def test_an_item_with_an_image_has_an_address_without_its_path(engine):
    responses = (Response(text="a", image="gpt/one.png"), Response(text="b"))
    item = make_item("pictures", responses=responses)
    imports.import_records(engine, "s", [ItemRecord(item=item), RUN, a_trace("pictures")])
    (block,) = (one for one in Client(engine).tasks()[0]["columns"] if one["id"] == "response-1")
    assert "gpt" not in json.dumps(block) and block["image"]["url"].startswith("/api/label/image?")


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


def test_unknown_queues_and_studies_are_one_sentence(engine):
    debates(engine, 1)
    with writing(engine) as session:
        for name, study in (("everything", "s"), ("disagreements", "none")):
            with pytest.raises(Unknown, match="There is no"):
                open_context(session, name, study, "ann")


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
