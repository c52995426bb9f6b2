"""The results of training and checks, counted by hand."""

from datetime import UTC, datetime, timedelta

import pytest

from core.formats.records import AdjudicationRecord, ItemRecord, LabelRecord
from core.labels import Adjudication, Label
from storage.db.connections import reading, writing
from storage.labelling import training as training_items
from storage.reports import annotators
from storage.studies import studies
from storage.transfer import imports
from tests.conftest import make_item, make_target
from tests.storage.labelling.workbench import Client, set_rules
from tests.storage.shared import debates

MONDAY = datetime(2026, 3, 2, 12, tzinfo=UTC)


def results(engine):
    with reading(engine) as session:
        study = studies.get(session, "s")
        return {one.annotator: one for one in annotators.results(session, study)}


def given(value, item, at=MONDAY, **fields):
    label = Label(target=make_target(item), annotator="ann", value=value, at=at, **fields)
    return LabelRecord(label=label)


def decided(value, item, by="owner", at=MONDAY - timedelta(days=1)):
    ruling = Adjudication(target=make_target(item), value=value, rule="r", reason="", adjudicator=by, at=at)
    return AdjudicationRecord(ruling=ruling)


@pytest.mark.usefixtures("a_study")
def test_a_check_is_the_last_blind_label_of_a_target_with_earlier_gold(engine):
    later = MONDAY + timedelta(days=1)
    imports.import_records(engine, "s", [ItemRecord(item=make_item(f"item {n}")) for n in range(3, 7)])
    records = [
        *(given(1, "item 0"), decided(1, "item 0")),  # right
        *(given(2, "item 1"), given(1, "item 1", at=later, blind=False), decided(1, "item 1")),  # changed: wrong
        *(given(1, "item 2"), decided(1, "item 2", at=later)),  # decided after the label
        *(given(1, "item 3"), decided(1, "item 3", by="ann")),  # decided by the annotator
        *(given(2, "item 4"), given(1, "item 4", at=later), decided(1, "item 4", at=None)),  # right in the end
        given(1, "item 5"),  # no gold
    ]
    imports.import_records(engine, "s", records)
    found = results(engine)["ann"]
    assert (found.checks.hits, found.checks.n) == (2, 3)
    assert (found.attempts, found.passed, found.first.n) == (0, None, 0)


def test_the_first_attempt_counts_in_the_share_and_the_last_in_passing(engine):
    queue = debates(engine, 6)
    with writing(engine) as session:
        for number in (3, 5):
            training_items.add_item(session, queue.study_id, make_target(f"item {number}"), 2)
    set_rules(engine, training_pass_mark=1.0)
    ann = Client(engine)
    one, two = ann.tasks()
    ann.label(one, 2)
    assert (results(engine)["ann"].passed, results(engine)["ann"].first.n) == (None, 1)
    ann.label(two, 1)
    assert results(engine)["ann"].passed is False
    for task in ann.tasks():
        ann.label(task, 2, base=task["targets"][0]["version"])
    found = results(engine)["ann"]
    assert (found.attempts, found.passed, found.first.hits, found.first.n) == (2, True, 1, 2)
