"""Pace, agreement, drift and anchoring of annotators, computed by hand."""

from datetime import UTC, date, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import pytest

from core.formats.records import AdjudicationRecord, ItemRecord, LabelRecord
from core.labels import Adjudication, Label
from storage.db.connections import reading, writing
from storage.labelling import training as training_items
from storage.labels import labels, views
from storage.reports import annotators
from storage.studies import annotators as people
from storage.studies import studies
from storage.transfer import imports
from tests.conftest import make_item, make_target
from tests.sessions import read, write
from tests.storage.labelling.workbench import Client, set_rules
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, debates, store_label, stored_study

pytestmark = pytest.mark.usefixtures("a_study")
MONDAY = datetime(2026, 3, 2, 12, tzinfo=UTC)


def given(annotator, value, item="item 0", at=MONDAY, **fields):
    label = Label(target=make_target(item), annotator=annotator, value=value, at=at, **fields)
    return LabelRecord(label=label)


def add(engine, *records):
    imports.import_records(engine, "s", records)


def summaries(engine, zone=UTC, **fields):
    return {one.name: one for one in read(engine, annotators.summaries, stored_study(engine).id, zone, **fields)}


def changes(engine):
    with reading(engine) as session:
        study = studies.get(session, "s").id
        return annotators.changes(session, study, annotators.label_events(session, study))


def test_agreement_with_others_is_the_mean_share_of_equal_labels_and_alone_there_is_none(engine):
    add(engine, given("ann", 1, "item 2"))
    others = summaries(engine)["ann"].others
    assert (others.value, others.items) == (None, 0) and others.reason
    add(engine, given("ann", 1), given("bob", 1), given("cyd", 2))
    add(engine, given("ann", 1, "item 1"), given("bob", 1, "item 1"), given("ann", 2, "item 2"))
    found = summaries(engine)
    assert (found["ann"].others.value, found["ann"].others.items, found["ann"].others.pairs) == (0.75, 2, 3)
    assert (found["cyd"].others.value, found["cyd"].others.items) == (0.0, 1)
    assert (found["ann"].labels, found["cyd"].labels) == (3, 1)


def test_agreement_with_gold_counts_adjudicated_targets_only(engine):
    add(engine, given("ann", 1), given("bob", 2), given("ann", 1, "item 1"))
    about = {"rule": "expert", "reason": "so", "adjudicator": "eve"}
    write(engine, labels.adjudicate, stored_study(engine).id, make_target(), 2, **about)
    found = summaries(engine)
    assert (found["ann"].gold, found["bob"].gold) == (annotators.Share(0, 1), annotators.Share(1, 1))
    assert found["bob"].gold.interval[1] == pytest.approx(0.2065, abs=1e-4)  # Wilson's lower end for 1 of 1


def test_times_of_one_target_are_added_and_unknown_ones_left_out(engine):
    add(engine, given("ann", 1, seconds=10.0), given("ann", 2, at=MONDAY + timedelta(1), seconds=20.0))
    add(engine, given("ann", 1, "item 1", seconds=60.0), given("ann", 1, "item 2"))
    found = summaries(engine)["ann"]
    assert (found.pace.labels, found.pace.timed, found.pace.seconds) == (3, 2, 90.0)
    assert found.pace.per_hour == pytest.approx(80.0)
    assert found.median_seconds == 45.0


def test_a_day_is_one_of_the_time_zone(engine):
    late = datetime(2026, 3, 2, 23, 30, tzinfo=UTC)
    add(engine, given("ann", 1, at=late, seconds=6.0), given("ann", 1, "item 1", at=MONDAY, seconds=10.0))

    def labelled(zone, day):
        with reading(engine) as session:
            study, own = studies.get(session, "s").id, people.find_id(session, "ann")
            return annotators.pace_of_day(session, study, own, zone, day).labels

    assert (labelled(UTC, date(2026, 3, 2)), labelled(UTC, date(2026, 3, 3))) == (2, 0)
    tokyo = ZoneInfo("Asia/Tokyo")
    assert (labelled(tokyo, date(2026, 3, 2)), labelled(tokyo, date(2026, 3, 3))) == (1, 1)


def test_drift_is_the_agreement_with_the_others_majority_by_week(engine):
    for number, (own, week) in enumerate([(1, 0), (2, 0), (2, 1)]):
        item = f"item {number}"
        add(engine, given("ann", own, item, at=MONDAY + timedelta(7 * week)))
        add(engine, given("bob", 1, item), given("cyd", 1, item))
    drift = summaries(engine)["ann"].drift
    assert [(monday, share.hits, share.n) for monday, share in drift] == [
        (date(2026, 3, 2), 1, 2),
        (date(2026, 3, 9), 0, 1),
    ]


def test_anchoring_counts_changes_towards_the_judges_among_revealed_labels(engine):
    """Judges: 2, 2, 1 on every item. ann moves to them, bob away, cyd keeps the label, dan never looked."""
    trace = [a_trace(f"item {n}", a_turn(), a_verdict("disputed", (2, 2, 1))) for n in range(3)]
    add(engine, RUN, *trace)
    add(engine, given("ann", 1), given("bob", 2), given("cyd", 1), given("dan", 1))
    with writing(engine) as session:
        study = studies.get(session, "s")
        for name in ("ann", "bob", "cyd"):
            views.record(session, study.id, [make_target()], name)
        store_label(session, study.id, make_target(), "ann", 2)
        store_label(session, study.id, make_target(), "bob", 0)
    assert changes(engine) == {
        "ann": annotators.Changes(1, 1, 1, 0),
        "bob": annotators.Changes(1, 1, 0, 1),
        "cyd": annotators.Changes(1, 0, 0, 0),
    }
    assert changes(engine)["ann"].share_towards.interval[0] == 1.0


def test_imported_labels_have_no_recorded_reveal_and_do_not_count(engine):
    """Of an imported study only the changed labels show that the judges were seen: a share of them would be 1."""
    add(engine, given("ann", 1), given("ann", 2, at=MONDAY + timedelta(1), blind=False), given("ann", 1, "item 1"))
    assert changes(engine) == {}


def test_a_score_moves_towards_the_mean_of_the_judges(engine):
    add(engine, ItemRecord(item=make_item("x")))
    assert annotators._closeness("score", 3, [4, 5]) > annotators._closeness("score", 1, [4, 5])
    assert annotators._closeness("preference", 1, [1, 2, 2]) < annotators._closeness("preference", 2, [1, 2, 2])


# The results of training and checks, counted by hand


def results(engine):
    return {one.annotator: one for one in read(engine, annotators.results, stored_study(engine))}


def decided(value, item, by="owner", at=MONDAY - timedelta(days=1)):
    ruling = Adjudication(target=make_target(item), value=value, rule="r", reason="", adjudicator=by, at=at)
    return AdjudicationRecord(ruling=ruling)


def test_a_check_is_the_last_blind_label_of_a_target_with_earlier_gold(engine):
    later = MONDAY + timedelta(days=1)
    imports.import_records(engine, "s", [ItemRecord(item=make_item(f"item {n}")) for n in range(3, 7)])
    own = partial(given, "ann")
    records = [
        *(own(1, "item 0"), decided(1, "item 0")),  # right
        *(own(2, "item 1"), own(1, "item 1", at=later, blind=False), decided(1, "item 1")),  # changed: wrong
        *(own(1, "item 2"), decided(1, "item 2", at=later)),  # decided after the label
        *(own(1, "item 3"), decided(1, "item 3", by="ann")),  # decided by the annotator
        *(own(2, "item 4"), own(1, "item 4", at=later), decided(1, "item 4", at=None)),  # right in the end
        own(1, "item 5"),  # no gold
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
