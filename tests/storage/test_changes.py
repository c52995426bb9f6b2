"""Versions that change with the database: pages and workers on PostgreSQL do not poll."""

import itertools
from pathlib import Path

import pytest
from sqlalchemy import text

from core.formats.records import ItemRecord
from storage.db import changes, connections
from storage.db.connections import writing
from storage.runs import claims, outcomes
from storage.studies import annotators, studies
from storage.transfer import imports
from storage.worker import _launch
from tests.conftest import make_item, make_target
from tests.databases import create_database
from tests.sessions import read, write
from tests.storage.shared import a_turn, store_label
from tests.storage.worker.test_worker import make_request
from tests.waiting import wait_for

DELIVERY = 2.0
MARKERS = itertools.count()
"""Seconds within which a page must notice a change."""


@pytest.fixture
def engine(postgres_engine, monkeypatch):
    """The PostgreSQL database, with versions that change only by notifications."""
    monkeypatch.setattr("storage.db.changes.MAX_AGE", 1e9)
    monkeypatch.setattr("storage.db.changes.LISTEN_SECONDS", 0.1)
    yield postgres_engine
    changes.stop(postgres_engine)
    with postgres_engine.begin() as connection:
        for owner in ("study", "annotator"):
            connection.execute(text(f"DELETE FROM {owner}"))


def listen(engine, *topics):
    """Return a version once the listener is connected."""
    assert wait_for(lambda: changes.version(engine, *topics) == changes.version(engine, *topics))
    return changes.version(engine, *topics)


def settle(engine):
    """Return when every notification before this one has arrived: they are delivered in the order of the commits."""
    marker = f"marker {next(MARKERS)}"
    known = changes.version(engine, marker)
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_notify(:channel, :marker)"), {"channel": changes.CHANNEL, "marker": marker})
    assert changed(engine, known, marker, timeout=10)


def changed(engine, known, *topics, timeout=DELIVERY) -> bool:
    return wait_for(lambda: changes.version(engine, *topics) != known, timeout)


def test_a_saved_label_changes_the_version_of_its_study_only(engine, a_study):
    other = write(engine, studies.get_or_create, "other").id
    topic, other_topic = f"study {a_study.id}", f"study {other}"
    listen(engine, topic)
    settle(engine)  # the notifications of the import
    known, known_other = changes.version(engine, topic), changes.version(engine, other_topic)
    write(engine, store_label, a_study.id, make_target(), "ann", 1)
    assert changed(engine, known, topic)
    assert changes.version(engine, other_topic) == known_other


def test_an_event_changes_the_version_of_its_trace_and_its_run(engine, a_study):
    run_id = _launch.create_run(engine, make_request(a_study))
    with writing(engine) as session:
        claims.claim_run(session, run_id, "worker")
        first, second = (trace.id for trace in claims.claim_traces(session, run_id, "worker", 2))
    listen(engine)
    settle(engine)
    topics = [f"trace {first}", f"run {run_id}", f"trace {second}"]
    known = [changes.version(engine, topic) for topic in topics]
    write(engine, outcomes.append_events, [outcomes.NewEvent(first, 0, a_turn())])
    assert changed(engine, known[0], topics[0])
    assert changed(engine, known[1], topics[1])
    assert changes.version(engine, topics[2]) == known[2]


def test_a_renewed_claim_notifies_nobody_and_a_claim_does(engine, a_study):
    run_id = _launch.create_run(engine, make_request(a_study))
    topic = f"run {run_id}"
    listen(engine, topic)
    settle(engine)
    known = changes.version(engine, topic)
    write(engine, claims.claim_run, run_id, "worker")
    assert changed(engine, known, topic)
    settle(engine)
    known = changes.version(engine, topic)
    write(engine, claims.renew_claim, run_id, "worker")
    settle(engine)
    assert changes.version(engine, topic) == known


def test_what_is_not_committed_is_not_announced(engine, a_study):
    topic = f"study {a_study.id}"
    listen(engine, topic)
    settle(engine)
    known = changes.version(engine, topic)

    def save_and_fail():
        with writing(engine) as session:
            store_label(session, a_study.id, make_target(), "ann", 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        save_and_fail()
    settle(engine)
    assert changes.version(engine, topic) == known


@pytest.mark.slow
def test_a_listener_connects_again_after_a_restart_of_the_database(engine, a_study, postgres):
    topic = f"study {a_study.id}"
    known = listen(engine, topic)
    postgres.restart(0.5)
    assert changed(engine, known, topic, timeout=20), "what happened meanwhile is unknown, so the version changes"
    known = listen(engine, topic)
    imports.import_records(engine, "s", [ItemRecord(item=make_item("another item"))])
    assert changed(engine, known, topic)


def test_a_version_expires(engine, monkeypatch):
    monkeypatch.setattr("storage.db.changes.MAX_AGE", 0.2)
    known = changes.version(engine, "study 1")
    assert wait_for(lambda: changes.version(engine, "study 1") != known)


# Versions of a SQLite database, which change with every commit to its file


@pytest.fixture
def file_engine(tmp_path: Path, monkeypatch):
    """A SQLite database in a file; its version changes only with commits."""
    monkeypatch.setattr("storage.db.changes.MAX_AGE", 1e9)
    engine = connections.connect(create_database(tmp_path / "commits.db"))
    yield engine
    changes.stop(engine)
    engine.dispose()


def add_annotator(engine, name):
    write(engine, annotators.get_or_create_id, name)


def test_a_version_changes_with_a_commit_or_after_its_maximum_age_and_not_without(file_engine, monkeypatch):
    known = changes.version(file_engine, "study 1")
    assert changes.version(file_engine, "study 1") == known
    add_annotator(file_engine, "ann")
    later = changes.version(file_engine, "study 1")
    assert later != known
    read(file_engine, annotators.find_id, "ann")
    assert changes.version(file_engine, "study 1") == later
    monkeypatch.setattr("storage.db.changes.MAX_AGE", 1e-9)
    assert changes.version(file_engine, "study 1") != later


def test_a_deleted_file_is_not_created_again(tmp_path):
    engine = connections.connect(f"sqlite:///{tmp_path / 'deleted.db'}")
    assert changes.version(engine, "study 1") != changes.version(engine, "study 1")
    assert not (tmp_path / "deleted.db").exists()
