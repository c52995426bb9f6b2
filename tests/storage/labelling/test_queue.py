import threading
from datetime import UTC, datetime, timedelta

from sqlalchemy import update

from core.formats.records import ItemRecord, RunRecord
from storage import labels, studies
from storage.database import reading, writing
from storage.labelling import queue as assignments
from storage.labelling.queue import Queue
from storage.tables import LeaseRow
from storage.transfer import imports
from tests.conftest import a_target, an_item
from tests.storage.shared import RUN, a_trace, a_verdict, debates


def claim(engine, queue, annotator, overlap=3, after=None):
    with writing(engine) as session:
        return assignments.claim(session, queue, annotator, overlap=overlap, minutes=30, after=after)


def put(engine, queue, annotator, target, value=1):
    with writing(engine) as session:
        labels.put(session, queue.study_id, target, annotator, value)


def places(engine, queue, annotator="ann", overlap=3):
    with reading(engine) as session:
        return {place.target.item: place for place in assignments.queue(session, queue, annotator, overlap)}


def leases_end(engine):
    with writing(engine) as session:
        session.execute(update(LeaseRow).values(until=datetime.now(UTC) - timedelta(seconds=1)))


def test_the_most_divided_debates_come_first(engine):
    names = ["one changed", "three ways", "calm", "two against one"]
    ends = [a_verdict(last=(1, 1, 2)), a_verdict(last=(1, 2, 0)), a_verdict(last=(1, 1, 1)), a_verdict(last=(2, 2, 1))]
    items = [ItemRecord(item=an_item(name)) for name in names]
    imports.load(engine, "s", [*items, RUN, *(a_trace(*pair) for pair in zip(names, ends, strict=True))])
    with reading(engine) as session:
        queue = Queue(studies.get(session, "s").id)
    assert list(places(engine, queue)) == ["three ways", "two against one", "one changed", "calm"]


def test_only_debates_without_agreement_are_in_the_queue(engine):
    names = ["agreed", "disputed", "unread", "waiting"]
    traces = [
        a_trace("agreed", a_verdict("agreed", (1, 1, 1))),
        a_trace("disputed", a_verdict()),
        a_trace("unread", a_verdict("no_verdict", (1, None, None))),
    ]
    imports.load(engine, "s", [*(ItemRecord(item=an_item(name)) for name in names), RUN, *traces])
    with reading(engine) as session:
        queue = Queue(studies.get(session, "s").id)
    assert set(places(engine, queue)) == {"disputed", "unread"}


def test_the_queue_of_one_run_criterion_or_scenario(engine):
    queue = debates(engine, 2)
    more = RunRecord(name="more", protocol="scaleeval")
    imports.load(engine, "s", [ItemRecord(item=an_item("new", scenario="coding")), more, a_trace("new", run="more")])
    assert set(places(engine, Queue(queue.study_id, scenario="coding"))) == {"new"}
    assert set(places(engine, Queue(queue.study_id, criterion="helpfulness"))) == {"item 0", "item 1", "new"}
    assert not places(engine, Queue(queue.study_id, criterion="depth"))
    with reading(engine) as session:
        run = next(one.run_id for one in _traces(session, queue.study_id) if one.run == "more")
    assert set(places(engine, Queue(queue.study_id, run_id=run))) == {"new"}


def _traces(session, study_id):
    from storage import traces

    return traces.find(session, traces.Filter(study_id))


def test_an_item_that_two_runs_disputed_stands_once(engine):
    queue = debates(engine, 1)
    imports.load(engine, "s", [RunRecord(name="more", protocol="scaleeval"), a_trace("item 0", run="more")])
    with reading(engine) as session:
        assert len(assignments.queue(session, queue, "ann", 3)) == 1


def test_two_annotators_never_take_the_last_place_of_a_target(engine):
    queue = debates(engine, 1)
    start, got = threading.Barrier(8), []

    def work(annotator):
        start.wait()
        got.append(claim(engine, queue, annotator, overlap=1))

    run_all(work, [f"annotator {number}" for number in range(8)])
    assert sorted(target is not None for target in got) == [False] * 7 + [True]


def test_a_link_leads_to_a_target_only_while_it_has_a_place(engine):
    queue = debates(engine, 1)
    target = next(iter(places(engine, queue).values())).target

    def take(annotator):
        with writing(engine) as session:
            return assignments.take(session, queue, target, annotator, overlap=1, minutes=30)

    assert take("ann")
    assert take("ann")  # it is hers already
    assert not take("bob")
    leases_end(engine)
    assert take("bob")
    put(engine, queue, "bob", target)
    assert not take("ann")
    assert take("bob")  # to look at it again


def test_two_links_never_give_away_the_same_last_place(engine):
    queue = debates(engine, 1)
    target = next(iter(places(engine, queue).values())).target
    start, got = threading.Barrier(8), []

    def work(annotator):
        start.wait()
        with writing(engine) as session:
            got.append(assignments.take(session, queue, target, annotator, overlap=1, minutes=30))

    run_all(work, [f"annotator {number}" for number in range(8)])
    assert sorted(got) == [False] * 7 + [True]


def run_all(work, names):
    troubles = []

    def guarded(name):
        try:
            work(name)
        except Exception as trouble:
            troubles.append(trouble)

    threads = [threading.Thread(target=guarded, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not troubles


def test_fifty_annotators_give_each_target_its_overlap_and_no_more(engine):
    queue = debates(engine, 500)

    def work(annotator):
        target = claim(engine, queue, annotator)
        while target is not None:
            with writing(engine) as session:
                labels.put(session, queue.study_id, target, annotator, 1)
                target = assignments.claim(session, queue, annotator, overlap=3, minutes=30, after=target)

    run_all(work, [f"annotator {number}" for number in range(50)])
    with reading(engine) as session:
        given = [(label.target.item, label.annotator) for label in labels.all_of(session, queue.study_id)]
    assert len(given) == len(set(given)) == 1500
    assert {sum(item == f"item {number}" for item, _ in given) for number in range(0, 500, 50)} == {3}


def test_a_dead_annotators_target_returns_when_the_lease_ends(engine):
    queue = debates(engine, 1)
    held = claim(engine, queue, "ann", overlap=1)
    assert claim(engine, queue, "bob", overlap=1) is None
    assert claim(engine, queue, "ann", overlap=1) == held
    leases_end(engine)
    assert claim(engine, queue, "bob", overlap=1) == held


def test_a_late_label_is_not_lost(engine):
    queue = debates(engine, 1)
    target = claim(engine, queue, "ann", overlap=1)
    leases_end(engine)
    claim(engine, queue, "bob", overlap=1)
    put(engine, queue, "ann", target)
    put(engine, queue, "bob", target)
    with reading(engine) as session:
        assert len(labels.history(session, queue.study_id, target)) == 2


def test_a_target_that_is_labelled_again_counts_its_annotator_once(engine):
    queue = debates(engine, 1)
    target = claim(engine, queue, "ann", overlap=2)
    put(engine, queue, "ann", target)
    with writing(engine) as session:
        assignments.hold(session, queue.study_id, target, "ann", 30)
    assert not places(engine, queue, "bob", overlap=2)["item 0"].full
    assert claim(engine, queue, "bob", overlap=2) == target


def test_a_label_that_was_taken_back_makes_room(engine):
    queue = debates(engine, 1)
    target = claim(engine, queue, "ann", overlap=1)
    put(engine, queue, "ann", target)
    assert claim(engine, queue, "bob", overlap=1) is None
    put(engine, queue, "ann", target, None)
    assert claim(engine, queue, "bob", overlap=1) == target


def test_the_next_target_comes_after_the_last_one_and_then_from_the_top(engine):
    queue = debates(engine, 3)
    second = claim(engine, queue, "ann", after=a_target("item 0"))
    assert second.item == "item 1"
    put(engine, queue, "ann", second)
    third = claim(engine, queue, "ann", after=second)
    put(engine, queue, "ann", third)
    assert claim(engine, queue, "ann", after=third).item == "item 0"


def test_a_skipped_target_is_not_offered_and_is_free_for_others(engine):
    queue = debates(engine, 2)
    first = claim(engine, queue, "ann", overlap=1)
    with writing(engine) as session:
        assignments.mark(session, queue.study_id, first, "ann", "skip")
    assert claim(engine, queue, "ann", overlap=1).item == "item 1"
    assert claim(engine, queue, "bob", overlap=1) == first
    with writing(engine) as session:
        assignments.mark(session, queue.study_id, first, "ann", "skip", on=False)
        assignments.free(session, queue.study_id, first, "bob")
    assert not places(engine, queue)["item 0"].skipped


def test_flags_and_notes_stand_until_they_are_taken_back(engine, a_study):
    with writing(engine) as session:
        assignments.mark(session, a_study.id, a_target(), "ann", "note", text="odd")
        assignments.mark(session, a_study.id, a_target(), "ann", "note", text="odd, see 3")
        assignments.mark(session, a_study.id, a_target(), "bob", "note", text="fine")
        assert assignments.note(session, a_study.id, a_target(), "ann") == "odd, see 3"
        assert assignments.note(session, a_study.id, a_target("item 1"), "ann") == ""
        assignments.mark(session, a_study.id, a_target(), "ann", "note", on=False)
        assert assignments.note(session, a_study.id, a_target(), "ann") == ""
        assert len(labels.marks(session, a_study.id)) == 4


def test_the_tally_counts_what_is_there_for_the_annotator(engine):
    queue = debates(engine, 4)
    put(engine, queue, "ann", a_target("item 0"))
    put(engine, queue, "bob", a_target("item 1"))
    with writing(engine) as session:
        assignments.mark(session, queue.study_id, a_target("item 2"), "ann", "skip")
        assignments.mark(session, queue.study_id, a_target("item 3"), "ann", "flag")
    tally = assignments.tally(list(places(engine, queue, "ann", overlap=1).values()))
    assert (tally.there, tally.labelled, tally.skipped, tally.flagged) == (3, 1, 1, 1)


def test_a_draft_survives_a_restart(engine, a_study):
    typed = {"value": 1, "reason": "because \x00", "aspects": {"clarity": 40.5}, "open": True}
    for body in ({"value": 2}, typed):
        with writing(engine) as session:
            assignments.save_draft(session, a_study.id, a_target(), "ann", body)
    engine.dispose()
    with reading(engine) as session:
        kept = assignments.draft(session, a_study.id, a_target(), "ann")
        assert assignments.draft(session, a_study.id, a_target(), "bob") is None
        assert assignments.draft(session, a_study.id, a_target("item 1"), "ann") is None
    assert kept.body == typed | {"reason": "because \N{REPLACEMENT CHARACTER}"}
    assert kept.at.tzinfo is UTC


def test_who_only_looks_at_a_queue_is_not_made_known(engine):
    queue = debates(engine, 1)
    assert not places(engine, queue, "a visitor")["item 0"].labelled
    from storage import annotators

    with reading(engine) as session:
        assert annotators.names(session) == []


def test_nothing_is_left_when_all_is_labelled(engine):
    queue = debates(engine, 1)
    put(engine, queue, "ann", a_target("item 0"))
    assert claim(engine, queue, "ann") is None
