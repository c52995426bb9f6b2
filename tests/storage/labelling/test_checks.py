"""Hidden checks: adjudicated targets in every queue that look like all others."""

import pytest

from core.formats.records import AdjudicationRecord
from core.labels import Adjudication, Target
from storage.db.connections import reading
from storage.labelling import claims
from storage.labels import targets
from storage.transfer import imports
from tests.storage.labelling.workbench import Client, set_rules, stored
from tests.storage.shared import debates

DECIDED = 10


@pytest.fixture
def study(engine):
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


def test_a_share_of_the_queue_are_checks_at_other_places_for_each_annotator(study):
    queues = {name: Client(study, name) for name in ("ann", "bob")}
    numbers = {name: items_of(client, client.tasks(count=60)) for name, client in queues.items()}
    places = {}
    for name, listed in numbers.items():
        assert len(listed) == 30 + 4, "4 of 34 are the smallest share of at least a tenth"
        assert set(range(DECIDED, 40)) <= set(listed)
        places[name] = [place for place, number in enumerate(listed) if number < DECIDED]
        for quarter, place in enumerate(places[name]):
            assert quarter * 34 / 4 - 2 <= place <= (quarter + 1) * 34 / 4 + 2, "one check in each stretch"
    assert places["ann"] != places["bob"]
    work = Client(study, "ann").work()
    assert {claims.mix(work, [90, 91], [check], 2).index(check) for check in range(10)} == {1, 2}
    assert Client(study, "ann").progress()["total"] == 34


def test_a_check_that_others_have_completed_is_offered_and_answered_like_any_other_target(study):
    first, second = Client(study, "ann"), Client(study, "bob")
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
    assert [row.surplus for row in stored(study)] == [False] * 6


def test_the_overlap_still_ends_ordinary_targets(study):
    first, second = Client(study, "ann"), Client(study, "bob")
    task = next(t for t in first.tasks(count=60) if items_of(first, [t])[0] >= DECIDED)
    first.label(task, 1)
    assert task["id"] not in {one["id"] for one in second.tasks(count=60)}
    assert second.label(task, 1)["status"] == "surplus"


def test_nobody_is_checked_on_an_own_decision_nor_without_a_share(study):
    owner = Client(study, "owner")
    assert all(number >= DECIDED for number in items_of(owner, owner.tasks(count=60)))
    set_rules(study, check_share=0.0)
    assert len(Client(study, "ann").tasks(count=60)) == 40


def test_a_label_on_a_check_stays_in_the_list_of_what_is_done(study):
    ann = Client(study, "ann")
    shown = ann.tasks(count=60)
    check = next(task for task in shown if items_of(ann, [task])[0] < DECIDED)
    before = ann.progress()
    ann.label(check, 2)
    after = ann.progress()
    assert (after["labelled"], after["total"]) == (before["labelled"] + 1, before["total"])
    assert [task["id"] for task in ann.tasks(tab="done")] == [check["id"]]
