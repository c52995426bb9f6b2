"""Repeats: targets that an annotator labelled before, which look like all others and count in no other figure."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from core.formats.records import AdjudicationRecord
from core.labels import Adjudication, Target
from storage.db.connections import reading, writing
from storage.db.tables import LabelRow, RepeatDraftRow, RepeatRow, now
from storage.labelling import claims
from storage.labelling.queue_view import LABELS_SINCE
from storage.labels import targets
from storage.reports import annotators
from storage.transfer import imports
from tests.sessions import read
from tests.storage.labelling.workbench import Client, set_rules, stored
from tests.storage.shared import debates, stored_study


@pytest.fixture
def study(engine):
    """40 debates, of which each annotator gets a tenth of repeats, shown after the label."""
    debates(engine, 40)
    set_rules(engine, overlap=3, repeat_share=0.1, reveal=True)
    return engine


def texts(task):
    return task["above"][0]["text"]


def work_through(client, value_of, count=1000):
    """Label the queue one by one; return the tasks, and those of them that repeat the texts of an earlier one."""
    shown, repeated = {}, []
    for _ in range(count):
        listed = client.tasks(count=1)
        if not listed:
            break
        task = listed[0]
        if texts(task) in shown:
            repeated.append(task)
        shown.setdefault(texts(task), task)
        client.label(task, value_of(task))
    return list(shown.values()), repeated


def next_repeat(client, value=1):
    """Label until the next task is a repeat, and return the first task and the repeat."""
    shown = {}
    while texts(task := client.tasks(count=1)[0]) not in shown:
        shown[texts(task)] = task
        client.label(task, value)
    return shown[texts(task)], task


def shares(engine):
    return read(engine, annotators.repeats, stored_study(engine).id)


def test_a_share_of_the_queue_is_repeated_once_after_twenty_labels_in_an_own_order(study):
    found = {}
    for name in ("ann", "bob"):
        client = Client(study, name)
        first, repeated = work_through(client, lambda task: 1)
        assert len(first) == 40
        assert len(repeated) == 3, "20 targets have 20 labels after them: 3 of 23 are the least share of a tenth"
        assert len({texts(task) for task in repeated}) == 3
        assert client.progress() | {"labelled": 43, "total": 43} == client.progress()
        assert len(client.tasks(tab="done", count=60)) == 43
        found[name] = [texts(task) for task in repeated]
    assert found["ann"] != found["bob"]
    with reading(study) as session:
        for row in session.scalars(select(RepeatRow)):
            own = select(LabelRow.id).where(LabelRow.annotator_id == row.annotator_id)
            earlier = own.where(LabelRow.target_id == row.target_id, LabelRow.at <= row.at)
            (label_id,) = session.scalars(earlier)
            between = own.where(LabelRow.id > label_id, LabelRow.at <= row.at)
            assert len(session.scalars(between).all()) >= LABELS_SINCE


def test_labels_of_an_earlier_day_are_repeated_too(study):
    ann = Client(study)
    for task in ann.tasks(count=5):
        ann.label(task)
    with writing(study) as session:
        session.execute(update(LabelRow).values(at=now() - timedelta(hours=13)))
    assert [task["number"] for task in ann.tasks(count=60)] == [*range(6, 43)]


def test_no_field_tells_a_repeat_from_another_target(study):
    ann = Client(study)
    first, repeat = next_repeat(ann)
    other = ann.tasks(count=2)[1]
    own = {"id", "number", "columns", "above", "shown", "targets"}
    assert {name: value for name, value in repeat.items() if name not in own} == {
        name: value for name, value in other.items() if name not in own
    }
    same = [{name: value for name, value in task["targets"][0].items() if name != "id"} for task in (repeat, other)]
    assert [one | {"options": []} for one in same] == [same[1] | {"options": []}] * 2, "no label, draft or reveal"
    assert repeat["id"] != first["id"]
    assert repeat["targets"][0]["id"] != first["targets"][0]["id"]
    assert ann.do("draft", repeat, value=2) | {"seq": 0} == ann.do("draft", other, value=2) | {"seq": 0}
    drafted = ann.tasks(tab="drafts")
    assert [task["claim"] for task in drafted] == ["mine", "mine"]
    assert [task["targets"][0]["draft"]["value"] for task in drafted] == [2, 2]
    answered, labelled = ann.label(repeat, 2), ann.label(other, 2)
    assert answered.keys() == labelled.keys() >= {"reveal"}
    alike = ("status", "claim", "version")
    assert [answered[name] for name in alike] == [labelled[name] for name in alike]
    entries = ann.history()["undo"][-2:]
    assert [one["type"] for one in entries] == ["label", "label"]
    assert [one["task"] for one in entries] == [repeat["id"], other["id"]]
    assert ann.tasks(first=first["id"])[0]["targets"][0]["standing"]["value"] == 1


def test_undo_redo_a_skip_a_second_window_and_a_repeated_request_work_as_for_a_label(study):
    ann = Client(study)
    _, repeat = next_repeat(ann)
    total = len(stored(study))
    ann.do("skip", repeat)
    assert [task["id"] for task in ann.tasks(tab="skipped")] == [repeat["id"]]
    ann.do("undo", entry=ann.history()["undo"][-1]["id"])
    sent = ann.action("label", repeat, value=2)
    (answered,) = ann.send(sent)
    assert ann.send(sent) == [answered], "as after a lost reply or a killed browser"
    other = Client(study, name="c-2")
    assert other.label(repeat, 1)["status"] == "stale"
    ann.do("undo", entry=answered["entry"])
    (open_again,) = [task for task in ann.tasks(count=60) if task["id"] == repeat["id"]]
    assert open_again["targets"][0]["draft"]["value"] == 2
    assert shares(study) == {}
    ann.do("redo", entry=ann.history()["redo"][-1]["id"])
    with reading(study) as session:
        rows = [(row.number, row.value, row.blind) for row in session.scalars(select(RepeatRow).order_by(RepeatRow.id))]
        assert rows == [(1, 2, True), (2, None, False), (3, 2, False)]
        assert session.scalars(select(RepeatDraftRow)).all() == []
    assert len(stored(study)) == total, "no answer is a label"
    assert shares(study)["ann"].n == 1
    assert ann.label(repeat, 1, base="3")["status"] == "accepted"
    assert shares(study)["ann"].hits == 0, "the change after the reveal does not count"


# Hidden checks: adjudicated targets in every queue that look like all others


DECIDED = 10


@pytest.fixture
def checked(engine):
    """40 debates, 10 of them adjudicated; one label is wanted of each, and a tenth are checks."""
    debates(engine, 40)
    rulings = [
        AdjudicationRecord(
            ruling=Adjudication(
                target=Target(item=f"item {n}", kind="preference", criterion="helpfulness"),
                value=1,
                rule="imported",
                reason="",
                adjudicator="owner",
            )
        )
        for n in range(DECIDED)
    ]
    imports.import_records(engine, "s", rulings)
    set_rules(engine, overlap=1, check_share=0.1, lease_minutes=30)
    return engine


def items_of(client: Client, tasks) -> list[int]:
    """Return the numbers of the items of tasks."""
    work = client.work()
    with reading(client.engine) as session:
        return [int(targets.get(session, work.ids.decode("t", task["id"])).item.split()[1]) for task in tasks]


def test_a_share_of_the_queue_are_checks_at_other_places_for_each_annotator(checked):
    queues = {name: Client(checked, name) for name in ("ann", "bob")}
    numbers = {name: items_of(client, client.tasks(count=60)) for name, client in queues.items()}
    places = {}
    for name, listed in numbers.items():
        assert len(listed) == 30 + 4, "4 of 34 are the smallest share of at least a tenth"
        assert set(range(DECIDED, 40)) <= set(listed)
        places[name] = [place for place, number in enumerate(listed) if number < DECIDED]
        for quarter, place in enumerate(places[name]):
            assert quarter * 34 / 4 - 2 <= place <= (quarter + 1) * 34 / 4 + 2, "one check in each stretch"
    assert places["ann"] != places["bob"]
    work = Client(checked, "ann").work()
    assert {claims.mix(work, [90, 91], [check], 2).index(check) for check in range(10)} == {1, 2}
    assert Client(checked, "ann").progress()["total"] == 34


def test_a_check_that_others_have_completed_is_offered_and_answered_like_any_other_target(checked):
    first, second = Client(checked, "ann"), Client(checked, "bob")
    shown = second.tasks(count=60)
    checks = [task for task, number in zip(shown, items_of(second, shown), strict=True) if number < DECIDED]
    ordinary = next(task for task, number in zip(shown, items_of(second, shown), strict=True) if number >= DECIDED)
    for task in checks:  # the target is complete: one label is wanted
        first.label(task, 1)
    again = {task["id"]: task for task in second.tasks(count=60)}
    assert all(task["id"] in again for task in checks)
    check = again[checks[0]["id"]]
    about = {
        name: value
        for name, value in check.items()
        if name not in ("id", "number", "columns", "above", "shown", "targets")
    }
    assert about == {name: ordinary[name] for name in about}
    assert second.do("draft", check, value=2) | {"seq": 0} == second.do("draft", ordinary, value=2) | {"seq": 0}
    labelled, other = second.label(check, 2), second.label(ordinary, 2)
    alike = ("status", "claim", "version")
    assert [labelled[name] for name in alike] == [other[name] for name in alike] == ["accepted", "mine", "1"]
    assert labelled.keys() == other.keys()
    assert [row.surplus for row in stored(checked)] == [False] * 6


def test_the_overlap_still_ends_ordinary_targets(checked):
    first, second = Client(checked, "ann"), Client(checked, "bob")
    task = next(t for t in first.tasks(count=60) if items_of(first, [t])[0] >= DECIDED)
    first.label(task, 1)
    assert task["id"] not in {one["id"] for one in second.tasks(count=60)}
    assert second.label(task, 1)["status"] == "surplus"


def test_nobody_is_checked_on_an_own_decision_nor_without_a_share(checked):
    owner = Client(checked, "owner")
    assert all(number >= DECIDED for number in items_of(owner, owner.tasks(count=60)))
    set_rules(checked, check_share=0.0)
    assert len(Client(checked, "ann").tasks(count=60)) == 40


def test_a_label_on_a_check_stays_in_the_list_of_what_is_done(checked):
    ann = Client(checked, "ann")
    shown = ann.tasks(count=60)
    check = next(task for task in shown if items_of(ann, [task])[0] < DECIDED)
    before = ann.progress()
    ann.label(check, 2)
    after = ann.progress()
    assert (after["labelled"], after["total"]) == (before["labelled"] + 1, before["total"])
    assert [task["id"] for task in ann.tasks(tab="done")] == [check["id"]]
