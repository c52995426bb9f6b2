import time
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from core.formats.records import ItemRecord, MarkRecord, RunRecord, StudyRules
from storage.db import connections
from storage.db.connections import reading, writing
from storage.db.tables import AnnotatorRow, LabelRow, LeaseRow, TargetRow
from storage.labelling import claims
from storage.labelling.claims import is_assigned
from storage.labelling.context import find_tasks, open_context
from storage.labelling.queue import Queue, save_draft, set_mark, target_query
from storage.labels import labels, targets
from storage.studies import annotators, studies
from storage.transfer import imports
from storage.transfer.participation import stored_records
from tests.conftest import make_item, make_target
from tests.sessions import read, write
from tests.storage.labelling.processes import label_together
from tests.storage.labelling.workbench import Client, claim_next, find_draft, lease, queue_states, set_rules, stored
from tests.storage.shared import (
    RUN,
    RUN_WITHOUT_CRITERION,
    a_trace,
    a_turn,
    a_verdict,
    combined_verdict,
    debates,
    find_traces,
    store_label,
)
from tests.waiting import at_once


def claim(engine, queue, annotator, overlap=3):
    """Claim the next target; it may lock full ones before, so PostgreSQL can end it because of another claim."""
    return connections.write(engine, lambda session: claim_next(session, queue, annotator, overlap))


def label(engine, queue, annotator, target, value=1):
    connections.write(engine, lambda session: store_label(session, queue.study_id, target, annotator, value))


def states(engine, queue, annotator="ann", overlap=3):
    with writing(engine) as session:
        return {state.item: state for state in queue_states(session, queue, annotator, overlap)}


def expire_leases(engine):
    with writing(engine) as session:
        session.execute(update(LeaseRow).values(until=datetime.now(UTC) - timedelta(seconds=1)))


def test_the_queue_has_debates_without_agreement_only(engine):
    names = ["agreed", "disputed", "unread", "waiting"]
    traces = [
        a_trace("agreed", a_verdict("agreed", (1, 1, 1))),
        a_trace("disputed", a_verdict()),
        a_trace("unread", a_verdict("no_verdict", (1, None, None))),
    ]
    imports.import_records(engine, "s", [*(ItemRecord(item=make_item(name)) for name in names), RUN, *traces])
    queue = Queue(read(engine, studies.get, "s").id)
    assert set(states(engine, queue)) == {"disputed", "unread"}


def test_an_agreed_criterion_is_not_in_the_queue_if_another_one_is_disputed(engine):
    item, trace = ItemRecord(item=make_item()), a_trace("item 0", combined_verdict(depth="disputed", tone="agreed"))
    imports.import_records(engine, "s", [item, RUN_WITHOUT_CRITERION, trace])
    with reading(engine) as session:
        [found] = _traces(session, studies.get(session, "s").id)
    for run_id in (None, found.run_id):
        assert set(states(engine, Queue(found.study_id, run_id=run_id, criterion="depth"))) == {"item 0"}
        assert not states(engine, Queue(found.study_id, run_id=run_id, criterion="tone"))


def test_the_queue_of_one_run_criterion_or_scenario(engine):
    queue = debates(engine, 2)
    second = RunRecord(name="more", protocol="scaleeval")
    imports.import_records(
        engine, "s", [ItemRecord(item=make_item("new", scenario="coding")), second, a_trace("new", run="more")]
    )
    assert set(states(engine, Queue(queue.study_id, scenario="coding"))) == {"new"}
    assert set(states(engine, Queue(queue.study_id, criterion="helpfulness"))) == {"item 0", "item 1", "new"}
    assert not states(engine, Queue(queue.study_id, criterion="depth"))
    with reading(engine) as session:
        run = next(trace.run_id for trace in _traces(session, queue.study_id) if trace.run == "more")
    assert set(states(engine, Queue(queue.study_id, run_id=run))) == {"new"}


def _traces(session, study_id):
    from storage.runs import traces

    return find_traces(session, traces.Filter(study_id))


def test_a_target_that_two_runs_disputed_is_in_the_queue_once(engine):
    queue = debates(engine, 1)
    imports.import_records(engine, "s", [RunRecord(name="more", protocol="scaleeval"), a_trace("item 0", run="more")])
    with reading(engine) as session:
        assert len(session.scalars(target_query(TargetRow.id, queue=queue)).all()) == 1


@pytest.mark.slow
def test_annotators_at_once_label_each_target_exactly_overlap_times(engine):
    targets = 20
    queue = debates(engine, targets)

    def work(annotator):
        target = claim(engine, queue, annotator)
        while target is not None:
            label(engine, queue, annotator, target)
            target = claim(engine, queue, annotator)

    at_once(work, [f"annotator {number}" for number in range(12)])
    with reading(engine) as session:
        labelled = [(label.target.item, label.annotator) for label in labels.of_study(session, queue.study_id)]
    assert len(set(labelled)) == len(labelled)
    assert Counter(item for item, _ in labelled) == {f"item {number}": 3 for number in range(targets)}


def test_a_target_is_free_again_when_its_lease_expires(engine):
    queue = debates(engine, 1)
    claimed = claim(engine, queue, "ann", overlap=1)
    assert claim(engine, queue, "bob", overlap=1) is None
    assert claim(engine, queue, "ann", overlap=1) == claimed
    expire_leases(engine)
    assert claim(engine, queue, "bob", overlap=1) == claimed


def test_a_new_and_a_renewed_lease_last_as_many_minutes_as_the_study_says(engine):
    queue = debates(engine, 1)
    set_rules(engine, lease_minutes=7)
    with writing(engine) as session:
        target = claim_next(session, queue, "ann")
        [new] = session.scalars(select(LeaseRow.until))
        session.execute(update(LeaseRow).values(until=datetime.now(UTC) + timedelta(seconds=5)))
        work = open_context(session, "disagreements", "s", "ann")
        [task] = find_tasks(session, work, [targets.find_id(session, queue.study_id, target)])
        assert claims.renew(session, work, task)
        [renewed] = session.scalars(select(LeaseRow.until))
    for until in (new, renewed):
        assert timedelta(minutes=5) < until - datetime.now(UTC) <= timedelta(minutes=7)


def test_who_leaves_a_queue_ends_the_own_claims_of_this_queue(engine):
    queue = debates(engine, 2)
    for annotator in ("ann", "bob"):
        claim(engine, queue, annotator)
    with writing(engine) as session:
        lease(session, queue.study_id, make_target(kind="score"), "ann")
        claims.release_all(session, open_context(session, "disagreements", "s", "ann"))
        kept = select(TargetRow.kind, LeaseRow.annotator_id).join(LeaseRow, LeaseRow.target_id == TargetRow.id)
        ann, bob = (annotators.find_id(session, name) for name in ("ann", "bob"))
        assert set(session.execute(kept)) == {("score", ann), ("preference", bob)}


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_leases_on_postgresql_expire_by_the_clock_of_the_database(engine, monkeypatch):
    queue = debates(engine, 1)
    claimed = claim(engine, queue, "ann", overlap=1)

    class Ahead(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(hours=1)

    for module in ("storage.db.connections", "storage.db.tables"):
        monkeypatch.setattr(f"{module}.datetime", Ahead)
    assert claim(engine, queue, "bob", overlap=1) is None
    assert claim(engine, queue, "ann", overlap=1) == claimed
    with reading(engine) as session:
        [until] = session.scalars(select(LeaseRow.until))
    assert until < datetime.now(UTC) + timedelta(minutes=31)


def test_a_label_after_the_lease_is_saved(engine):
    queue = debates(engine, 1)
    target = claim(engine, queue, "ann", overlap=1)
    expire_leases(engine)
    claim(engine, queue, "bob", overlap=1)
    label(engine, queue, "ann", target)
    label(engine, queue, "bob", target)
    assert len(read(engine, labels.history, queue.study_id, target)) == 2


def test_a_target_that_is_labelled_again_counts_its_annotator_once(engine):
    queue = debates(engine, 1)
    target = claim(engine, queue, "ann", overlap=2)
    label(engine, queue, "ann", target)
    with writing(engine) as session:
        lease(session, queue.study_id, target, "ann")
    assert not states(engine, queue, "bob", overlap=2)["item 0"].full
    assert claim(engine, queue, "bob", overlap=2) == target


def test_a_withdrawn_label_frees_its_target(engine):
    queue = debates(engine, 1)
    target = claim(engine, queue, "ann", overlap=1)
    label(engine, queue, "ann", target)
    assert claim(engine, queue, "bob", overlap=1) is None
    label(engine, queue, "ann", target, None)
    assert claim(engine, queue, "bob", overlap=1) == target


def test_a_skipped_target_is_free_for_other_annotators(engine):
    queue = debates(engine, 2)
    first = claim(engine, queue, "ann", overlap=1)
    with writing(engine) as session:
        set_mark(session, queue.study_id, first, "ann", "skip")
    assert claim(engine, queue, "ann", overlap=1) != first
    assert claim(engine, queue, "bob", overlap=1) == first
    with writing(engine) as session:
        set_mark(session, queue.study_id, first, "ann", "skip", on=False)
    assert not states(engine, queue)[first.item].skipped


def test_marks_are_added_and_never_changed(engine, a_study):
    with writing(engine) as session:
        set_mark(session, a_study.id, make_target(), "ann", "note", text="odd")
        set_mark(session, a_study.id, make_target(), "ann", "note", text="odd, see 3")
        set_mark(session, a_study.id, make_target(), "bob", "note", text="fine")
        set_mark(session, a_study.id, make_target(), "ann", "note", on=False)
        assert [(mark.text, mark.on) for mark in stored_records(session, a_study.id, MarkRecord)] == [
            ("odd", True),
            ("odd, see 3", True),
            ("fine", True),
            ("", False),
        ]


def test_a_draft_survives_a_restart(engine, a_study):
    entered = {"value": 1, "reason": "because \x00", "aspects": {"clarity": 40.5}, "open": True}
    for body in ({"value": 2}, entered):
        with writing(engine) as session:
            target_id = targets.get_or_create_id(session, a_study.id, make_target())
            save_draft(session, target_id, annotators.get_or_create_id(session, "ann"), body)
    engine.dispose()
    with reading(engine) as session:
        saved = find_draft(session, a_study.id, make_target(), "ann")
        assert find_draft(session, a_study.id, make_target(), "bob") is None
        assert find_draft(session, a_study.id, make_target("item 1"), "ann") is None
        assert saved.body == entered | {"reason": "because \N{REPLACEMENT CHARACTER}"}
        assert saved.at.tzinfo is UTC


# Annotators in processes of their own, with every fault at once


@pytest.mark.slow
def test_processes_complete_a_queue_exactly_with_kills_skewed_clocks_lapsed_claims_and_an_interruption(
    own_address, request, tmp_path
):
    engine = connections.connect(own_address)
    server = request.getfixturevalue("postgres") if engine.dialect.name == "postgresql" else None

    def interrupt():
        if server:
            return server.restart(0.5)
        with writing(engine):  # the others wait for SQLite's lock
            time.sleep(0.5)

    queue = debates(engine, 20)
    logs = tmp_path / "logs"
    logs.mkdir()
    acknowledged, killed = label_together(
        engine, own_address, logs, processes=6, targets=20, faults=True, disturb=interrupt
    )
    with reading(engine) as session:
        query = select(AnnotatorRow.name, LabelRow.target_id, LabelRow.surplus)
        rows = session.execute(query.join(AnnotatorRow, AnnotatorRow.id == LabelRow.annotator_id)).all()
        assert session.scalars(select(LeaseRow)).all() == []
        ids = session.scalars(target_query(TargetRow.id, queue=queue)).all()
    engine.dispose()
    pairs = [(name, str(target)) for name, target, _ in rows]
    assert len(pairs) == len(set(pairs)), "a target was labelled twice by an annotator"
    assert acknowledged <= set(pairs)
    assert Counter(target for _, target, surplus in rows if not surplus) == dict.fromkeys(ids, 3)
    assert len(killed) == 2
    assert sum(surplus for *_, surplus in rows) >= len(killed)


# Who may label what, in which order, and how many labels one target needs


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


def test_named_annotators_label_what_no_group_labels():
    rules = StudyRules(annotators=("bob",), groups={"math": ("ann",)})
    assert [is_assigned(rules, who, "math") for who in ("ann", "bob")] == [True, False]
    assert [is_assigned(rules, who, "dialog") for who in ("ann", "bob")] == [False, True]
    assert [claims.is_excluded(rules, who) for who in ("ann", "bob", "zoe")] == [False, False, True]
    assert [claims.is_named(rules, who) for who in ("ann", "bob", "cyd")] == [True, True, False]


@pytest.mark.parametrize("annotators", [(), ("ann",)])
@pytest.mark.parametrize("groups", [{}, {"math": ("bob",)}, {"dialog": ("bob",)}])
def test_a_queue_has_the_items_that_an_annotator_is_assigned(engine, queue, annotators, groups):
    set_rules(engine, annotators=annotators, groups=groups)
    for who in ("ann", "bob", "cyd"):
        assert len(items(engine, who)) == 6 * is_assigned(StudyRules(annotators=annotators, groups=groups), who, "math")


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
