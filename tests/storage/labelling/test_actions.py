"""The label path: every action once, on the target it was meant for, never lost."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError
from sqlalchemy import update

from storage.db.connections import reading, writing
from storage.db.errors import DatabaseUnavailable
from storage.db.tables import LeaseRow, TargetRow
from storage.labelling import actions
from storage.labelling._action_transaction import Action
from storage.labelling.actions import OutOfSequence, perform
from storage.labels import labels
from storage.studies import studies
from tests.sessions import read
from tests.storage.labelling.workbench import Client, add_guidelines, leases, set_rules, stored
from tests.storage.shared import debates
from tests.waiting import at_once


@pytest.fixture
def ann(engine):
    debates(engine, 8)
    return Client(engine)


def test_a_label_is_stored_with_everything_that_came_with_it(ann, engine):
    task = ann.tasks()[0]
    add_guidelines(engine)
    set_rules(engine, reveal=True)
    evidence = [{"block": "response-1", "start": 0, "end": 4}]
    result = ann.label(task, 2, reason="because", evidence=evidence, seconds=3.5, guidelines=1)
    assert (result["status"], result["version"], result["claim"]) == ("accepted", "1", "mine")
    [row] = stored(engine)
    assert (row.value, row.reason, row.evidence, row.seconds, row.guidelines) == (2, "because", evidence, 3.5, 1)
    assert row.blind and not row.surplus


def test_a_change_after_the_reveal_stores_both_values_and_is_not_blind(ann, engine):
    task = ann.tasks()[0]
    first = ann.label(task, 1)
    assert first["reveal"]["stances"][0]["judges"]
    ann.do("draft", task, value=2, base="1")
    changed = ann.label(task, 2, base="1", reason="the debate convinced me")
    assert changed["status"] == "accepted"
    assert [(row.value, row.blind, row.reason) for row in stored(engine)] == [
        (1, True, ""),
        (2, False, "the debate convinced me"),
    ]


def test_a_change_in_the_same_request_is_blind_because_no_reply_was_seen(ann, engine):
    task = ann.tasks()[0]
    ann.send(ann.action("label", task, value=1), ann.action("label", task, value=2) | {"base": "#1"})
    assert [(row.value, row.blind) for row in stored(engine)] == [(1, True), (2, True)]


def test_a_label_equal_to_what_stands_removes_the_draft_and_a_later_reason_is_a_change(ann, engine):
    task = ann.tasks()[0]
    ann.label(task, 1)
    ann.do("draft", task, value=2, base="1")
    same = ann.label(task, 1, base="1")
    assert (same["status"], same["entry"], same["version"]) == ("accepted", None, "1")
    assert len(stored(engine)) == 1
    assert ann.progress()["drafts"] == 0
    ann.label(task, 1, base="1", reason="later")
    assert [row.reason for row in stored(engine)] == ["", "later"]


def test_a_request_that_is_sent_again_changes_nothing_and_gets_the_same_answer(ann, engine):
    task = ann.tasks()[0]
    batch = [ann.action("draft", task, value=2), ann.action("label", task, value=1), ann.action("flag", task)]
    first = ann.send(*batch)
    ann.after = 0
    assert ann.send(*batch) == first
    assert len(stored(engine)) == 1
    assert "reveal" in first[1]


def test_actions_that_follow_unknown_ones_are_refused_until_they_are_a_first_request(ann, engine):
    task = ann.tasks()[0]
    action = ann.action("label", task, value=1) | {"seq": 17}
    with pytest.raises(OutOfSequence):
        perform(engine, ann.work(), "c-new", [action], after=16)
    assert stored(engine) == []
    [result] = perform(engine, ann.work(), "c-new", [action], after=16, first=True)
    assert result["status"] == "accepted"
    with pytest.raises(OutOfSequence):
        perform(engine, ann.work(), "c-new", [action | {"seq": 40}], after=39, first=True)


def test_a_label_from_a_second_window_never_overwrites_a_newer_one(ann, engine):
    other = Client(engine, name="c-2")
    task = ann.tasks()[0]
    ann.label(task, 1)
    stale = other.label(task, 2)
    assert (stale["status"], stale["version"], stale["standing"]["value"]) == ("stale", "1", 1)
    assert [row.value for row in stored(engine)] == [1]
    assert other.label(task, 2, base=stale["version"])["status"] == "accepted"
    assert ann.label(task, 1, base="#")["status"] == "rejected", "it names no action"


def test_a_base_that_is_no_version_of_the_target_is_rejected_with_a_true_sentence(ann):
    task = ann.tasks()[0]
    for base in ("", "00", "1", "7", "-1", "yesterday", "#99", "#", "٣", "9" * 30, "#" + "9" * 11):
        refused = ann.label(task, 1, base=base)
        assert (refused["status"], refused["version"], refused["standing"]) == ("rejected", "0", None), base
        assert "does not exist" in refused["message"] and "window" not in refused["message"]


def test_a_change_that_follows_a_stale_label_is_stale_too(ann, engine):
    other = Client(engine, name="c-2")
    task = ann.tasks()[0]
    ann.label(task, 1)
    results = other.send(other.action("label", task, value=2), other.action("label", task, value=0) | {"base": "#1"})
    assert [result["status"] for result in results] == ["stale", "stale"]
    assert [row.value for row in stored(engine)] == [1]


def test_a_label_that_follows_a_rejected_one_is_stored(ann, engine):
    task = ann.tasks()[0]
    results = ann.send(ann.action("label", task, value=9), ann.action("label", task, value=1) | {"base": "#1"})
    assert [result["status"] for result in results] == ["rejected", "accepted"]
    assert "is not on the scale" in results[0]["message"]


def test_an_action_names_its_own_target_and_never_labels_another(ann, engine):
    one, two, *_ = ann.tasks()
    mixed = ann.action("label", one, value=1) | {"target": two["targets"][0]["id"]}
    assert ann.send(mixed)[0]["status"] == "rejected"
    unknown = ann.action("label", one, value=1) | {"task": "t-0000000000000000"}
    assert ann.send(unknown)[0]["status"] == "rejected"
    assert stored(engine) == []


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "delete"},
        {"value": {"a": 1}},
        {"value": [1]},
        {"value": None},
        {"evidence": [{"block": "response-1", "start": -1, "end": 2}]},
        {"seconds": -1},
        {"extra": 1},
    ],
)
def test_an_invalid_action_is_one_sentence_and_does_not_stop_those_behind_it(ann, engine, broken):
    one, two, *_ = ann.tasks()
    results = ann.send(ann.action("label", one, value=1) | broken, ann.action("label", two, value=2))
    assert [result["status"] for result in results] == ["rejected", "accepted"]
    assert results[0]["message"].endswith(".")
    assert [row.value for row in stored(engine)] == [2]


def test_text_that_no_database_stores_is_replaced_and_not_lost(ann, engine):
    ann.label(ann.tasks()[0], 1, reason="a\x00b\ud800")
    assert stored(engine)[0].reason == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"


def test_undo_and_redo_five_times_restore_every_step(ann, engine):
    tasks = ann.tasks()[:3]
    ann.label(tasks[0], 1, reason="first")
    ann.label(tasks[0], 2, base="1", reason="second", evidence=[{"block": "response-1", "start": 0, "end": 2}])
    ann.label(tasks[1], 0)
    ann.do("skip", tasks[2], on=True)
    ann.do("skip", tasks[2], on=False)
    undone = [ann.do("undo", entry=ann.history()["undo"][-1]["id"]) for _ in range(5)]
    assert {result["status"] for result in undone} == {"accepted"}
    assert [result.get("standing", "skip") and result.get("standing", {}).get("reason") for result in undone[3:4]] == [
        "first"
    ]
    assert ann.history()["undo"] == [] and len(ann.history()["redo"]) == 5
    assert ann.progress()["labelled"] == 0
    redone = [ann.do("redo", entry=ann.history()["redo"][-1]["id"]) for _ in range(5)]
    assert {result["status"] for result in redone} == {"accepted"}
    assert redone[1]["standing"]["reason"] == "second" and redone[1]["standing"]["evidence"]
    assert ann.progress() == {"labelled": 2, "total": 8, "skipped": 0, "flagged": 0, "drafts": 0}
    with reading(engine) as session:
        study = studies.get(session, "s")
        values = {row.target_id: row.value for row in stored(engine)}
        assert sorted(values.values()) == [0, 2]
        assert len(list(labels.of_study(session, study.id))) == 9


def test_undo_leaves_what_was_taken_back_as_a_draft_and_a_new_label_empties_the_redo_stack(ann):
    task, other, *_ = ann.tasks()
    ann.label(task, 1, reason="because")
    result = ann.do("undo", entry="#1")
    assert (result["status"], result["standing"], result["version"]) == ("accepted", None, "2")
    again = ann.tasks()[0]
    assert again["id"] == task["id"]
    assert again["targets"][0]["draft"] == {"value": 1, "reason": "because", "evidence": []}
    assert len(ann.history()["redo"]) == 1
    ann.label(other, 1)
    assert ann.history()["redo"] == []


def test_undo_is_stale_without_its_entry_or_when_another_window_changed_the_stack(ann, engine):
    assert ann.do("undo", entry="e-1")["status"] == "stale"
    assert stored(engine) == []
    other = Client(engine, name="c-2")
    one, two, *_ = ann.tasks()
    ann.label(one, 1)
    other.label(two, 2)
    assert ann.do("undo", entry="#2")["status"] == "stale"
    assert [row.value for row in stored(engine)] == [1, 2]


def test_a_label_takes_back_a_skip(ann):
    task = ann.tasks()[0]
    ann.do("skip", task, on=True)
    assert ann.progress()["skipped"] == 1
    ann.label(task, 1)
    assert ann.tasks(tab="skipped") == []


def test_flags_and_notes_come_back_with_the_task(ann):
    task = ann.tasks()[0]
    ann.do("flag", task, on=True)
    ann.do("note", task, text=" odd ")
    assert (ann.tasks()[0]["flagged"], ann.tasks()[0]["note"]) == (True, "odd")
    ann.do("flag", task, on=False)
    ann.do("note", task, text="")
    assert (ann.tasks()[0]["flagged"], ann.tasks()[0]["note"]) == (False, "")


def test_reading_the_guidelines_is_recorded(ann, engine):
    add_guidelines(engine)
    ann.do("read", guidelines=1)
    work = ann.work()
    assert read(engine, studies.read_guidelines_version, work.study.id, work.annotator_id) == 1


def test_a_required_reason_is_required(ann, engine):
    set_rules(engine, reason="required")
    task = ann.tasks()[0]
    assert ann.label(task, 1, reason=" ")["message"] == "This study requires a reason."
    assert ann.label(task, 1, reason="because")["status"] == "accepted"


def test_without_reveal_no_result_has_one_and_changes_stay_blind(ann, engine):
    set_rules(engine, reveal=False)
    task = ann.tasks()[0]
    assert "reveal" not in ann.label(task, 1)
    ann.label(task, 2, base="1")
    assert [row.blind for row in stored(engine)] == [True, True]


def test_the_first_action_claims_and_looking_does_not(ann, engine):
    task = ann.tasks()[0]
    assert leases(engine) == []
    ann.do("draft", task, value=1)
    assert len(leases(engine)) == 1
    ann.label(task, 1)
    assert leases(engine) == []


def test_a_label_beyond_the_overlap_is_stored_as_surplus_and_frees_no_place(ann, engine):
    set_rules(engine, overlap=2)
    task = ann.tasks()[0]
    late = [Client(engine, annotator=name) for name in ("bob", "cyd")]
    ann.label(task, 1)
    late[0].label(task, 2)
    result = late[1].label(task, 2)
    assert (result["status"], result["claim"]) == ("surplus", "full")
    assert [row.surplus for row in stored(engine)] == [False, False, True]
    changed = late[1].label(task, 1, base="1")
    assert changed["status"] == "surplus"
    again = [late[1].do(type, entry=late[1].history()[type][-1]["id"])["status"] for type in ("undo", "redo")]
    assert again == ["accepted", "surplus"]
    dee = Client(engine, annotator="dee")
    assert task["id"] not in {one["id"] for one in dee.tasks()}


def test_drafts_and_labels_on_a_full_target_do_not_count_towards_the_overlap(ann, engine):
    set_rules(engine, overlap=1)
    task = ann.tasks()[0]
    bob = Client(engine, annotator="bob")
    ann.do("draft", task, value=1)
    assert bob.do("draft", task, value=2)["claim"] == "full"
    assert bob.progress()["drafts"] == 1
    assert bob.label(task, 2)["status"] == "surplus"
    with writing(engine) as session:
        session.execute(update(LeaseRow).values(until=datetime.now(UTC) - timedelta(seconds=1)))
    dee = Client(engine, annotator="dee")
    assert dee.label(task, 1)["status"] == "accepted"


def test_twenty_annotators_at_once_never_exceed_the_overlap(ann, engine):
    set_rules(engine, overlap=3)
    task = ann.tasks()[0]
    people = [Client(engine, annotator=f"annotator {number}") for number in range(20)]
    for person in people:
        person.work()
    results = at_once(lambda person: person.label(task, 1)["status"], people)
    assert sorted(results) == ["accepted"] * 3 + ["surplus"] * 17
    assert len(stored(engine)) == 20 == len({row.annotator_id for row in stored(engine)})


def test_the_same_request_twenty_times_at_once_is_one_label(ann, engine):
    task = ann.tasks()[0]
    action, work = ann.action("label", task, value=1), ann.work()

    def send(_):
        return json.dumps(perform(engine, work, "c-1", [action], after=0), sort_keys=True)

    results = at_once(send, range(20))
    assert len(stored(engine)) == 1
    assert len(set(results)) == 1


def test_an_outage_of_the_database_is_no_refusal_and_the_action_is_stored_when_sent_again(ann, engine, monkeypatch):
    def fail(_):
        raise DatabaseUnavailable("The database cannot be reached.")

    task = ann.tasks()[0]
    with monkeypatch.context() as broken:
        broken.setattr(actions, "carry_out", fail)
        with pytest.raises(DatabaseUnavailable):
            ann.label(task, 1)
    assert ann.label(task, 1)["status"] == "accepted"
    assert [row.value for row in stored(engine)] == [1]


def test_two_windows_at_once_leave_one_label_and_one_stale_answer(ann, engine):
    task = ann.tasks()[0]
    windows = [Client(engine, name=f"c-{number}") for number in range(8)]
    results = at_once(lambda number: windows[number].label(task, number % 3)["status"], range(8))
    assert sorted(results) == ["accepted"] + ["stale"] * 7
    assert len(stored(engine)) == 1


def test_a_target_that_was_deleted_meanwhile_is_refused_in_one_sentence(ann, engine):
    task = ann.tasks()[0]
    target_id = ann.work().ids.decode("t", task["id"])
    with writing(engine) as session:
        session.delete(session.get_one(TargetRow, target_id))
    result = ann.label(task, 1)
    assert (result["status"], result["message"]) == ("rejected", "This item is not in the queue.")


def test_what_one_page_left_unsent_is_carried_out_by_another_page_of_the_study(ann, engine):
    task = ann.tasks()[0]
    ann.queue = "scores"
    assert ann.label(task, 1)["status"] == "accepted"
    ann.queue = "disagreements"
    assert [entry["type"] for entry in ann.history()["undo"]] == ["label"]
    assert ann.progress()["labelled"] == 1


def test_a_browser_that_lost_its_newest_state_is_told_to_begin_anew(ann, engine):
    """After a crash the browser's storage can be older than the server's: its numbers are used for other actions."""
    first, second, third = ann.tasks()[:3]
    ann.label(first, 1)
    ann.label(second, 2)
    action = {"seq": ann.seq, "type": "label", "task": third["id"], "target": third["targets"][0]["id"]}
    action |= {"value": 0, "base": "0"}
    with pytest.raises(OutOfSequence):
        perform(engine, ann.work(), ann.name, [action], after=ann.seq - 1)
    again = perform(engine, ann.work(), "c-after-the-crash", [action | {"seq": 1}], after=0, first=True)
    assert again[0]["status"] == "accepted" and "digest" not in again[0]
    assert [row.value for row in stored(engine)] == [1, 2, 0]


def test_the_name_of_an_undo_entry_is_not_used_again(ann, engine):
    first, second = ann.tasks()[:2]
    old = ann.label(first, 1)["entry"]
    ann.do("undo", first, entry=old)
    new = ann.label(second, 2)["entry"]
    assert new != old
    assert ann.do("undo", second, entry=old)["status"] == "stale"
    assert stored(engine)[-1].value == 2


# The fields of an action: evidence, value and guidelines as they are stored, and those that are rejected


def passage(start, end, block="response-1"):
    return {"block": block, "start": start, "end": end}


def test_evidence_up_to_the_end_of_a_text_is_stored_and_not_beyond(ann, engine):
    task = ann.tasks()[0]
    length = len(task["columns"][0]["text"])
    assert ann.label(task, 1, evidence=[passage(0, length + 1)])["status"] == "rejected"
    assert ann.label(task, 1, evidence=[passage(0, length), passage(0, 1, "question")])["status"] == "accepted"
    assert stored(engine)[0].evidence == [passage(0, length), passage(0, 1, "question")]


NO_PASSAGES = (
    [passage(2, 2)],
    [passage(2, 1)],
    [passage(0, 1, "response-9")],
    [passage(0, 1, "")],
    [passage(True, 2)],
    [passage(0, 10**30)],
    [passage(0, 2), passage(0, 2)],
)


@pytest.mark.parametrize("type", ["label", "draft"])
def test_evidence_that_is_no_passage_is_rejected(ann, engine, type):
    task = ann.tasks()[0]
    for evidence in NO_PASSAGES:
        result = ann.do(type, task, value=1, evidence=evidence)
        assert result["status"] == "rejected" and result["message"].endswith("."), evidence
    assert stored(engine) == []


@pytest.mark.parametrize(
    ("field", "most", "beyond"),
    [
        ("evidence", 100 * [passage(0, 1)], 101 * [passage(0, 1)]),
        ("shown", 1000 * [1], 1001 * [1]),
        ("shown", [1], [0]),
        ("seconds", 0, -1),
        ("seconds", 1e6, 1e6 + 1),
        ("guidelines", 2**31 - 1, 2**31),
        ("guidelines", 0, -1),
    ],
)
def test_fields_of_an_action_have_bounds(field, most, beyond):
    assert Action(seq=1, type="label", **{field: most})
    with pytest.raises(ValidationError):
        Action(seq=1, type="label", **{field: beyond})


def test_evidence_is_not_stored_in_a_study_without_it(ann, engine):
    task = ann.tasks()[0]
    set_rules(engine, evidence=False)
    assert ann.label(task, 1, evidence=[passage(0, 2)])["status"] == "accepted"
    assert not stored(engine)[0].evidence


def test_a_version_of_the_guidelines_that_does_not_exist_is_stored_as_the_newest(ann, engine):
    add_guidelines(engine)
    ann.label(ann.tasks()[0], 1, guidelines=99)
    assert stored(engine)[0].guidelines == 1


def test_a_value_is_stored_as_the_scale_s_own_category(ann, engine):
    task = ann.tasks()[0]
    assert ann.label(task, 1.0, guidelines=0)["status"] == "accepted"
    assert type(stored(engine)[0].value) is int
    assert ann.label(task, True, base="1")["status"] == "rejected"


def test_a_restored_label_has_its_guidelines_and_adds_no_seconds(ann, engine):
    add_guidelines(engine)
    task = ann.tasks()[0]
    first = ann.label(task, 1, reason="a", seconds=3.5, guidelines=1, evidence=[passage(0, 2)])
    second = ann.label(task, 2, base="1", seconds=1.25)
    for type, entry in (("undo", second), ("undo", first), ("redo", first), ("redo", second)):
        assert ann.do(type, entry=entry["entry"])["status"] == "accepted"
    rows = [(row.value, row.seconds, row.guidelines) for row in stored(engine)[2:]]
    assert rows == [(1, None, 1), (None, None, None), (1, None, 1), (2, None, None)]
