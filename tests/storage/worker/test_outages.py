"""A run survives what its database and its providers do: absurd numbers, restarts, a full disk, a deleted file."""

import asyncio
import logging
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import event, text, update

from core.formats.records import ItemRecord
from core.llm.client import Reply, ScriptedModel
from core.trace import TraceFailed, Usage
from storage.db import connections
from storage.db.connections import writing
from storage.db.errors import DatabaseUnavailable
from storage.db.tables import RunRow
from storage.runs import claims, outcomes, traces
from storage.studies import studies
from storage.worker import RunWorker, _launch
from storage.worker._transactions import Batches, EventWriter
from tests.conftest import make_item, make_target
from tests.databases import create_database
from tests.sessions import read, write
from tests.storage.shared import find_traces, import_study, store_label
from tests.storage.worker.test_worker import execute, make_request, wait_until
from tests.waiting import wait_for


def test_an_impossible_number_of_tokens_is_unknown(engine, a_study):
    reply = Reply(text="1", usage=Usage(prompt_tokens=10**30, completion_tokens=-1, dollars=float("inf"), seconds=1.0))
    run, progress = execute(engine, _launch.create_run(engine, make_request(a_study)), ScriptedModel(lambda ask: reply))
    assert (run.state, progress.done, progress.totals.prompt_tokens) == ("finished", 3, 0)
    assert (progress.totals.unpriced, progress.totals.seconds) == (6, 6.0)
    assert "tokens unknown for 6 calls" in progress.summary()


def test_an_event_that_cannot_be_stored_fails_its_own_trace_only(engine, a_study, monkeypatch):
    append, refused = outcomes.append_events, []

    def refuse_one(session, events):
        refused[:] = refused or [events[0].trace_id]
        if any(new.trace_id == refused[0] and new.event.type == "turn" for new in events):
            raise OverflowError("Python int too large to convert to SQLite INTEGER")
        append(session, events)

    monkeypatch.setattr("storage.runs.outcomes.append_events", refuse_one)
    run_id = _launch.create_run(engine, make_request(a_study))
    run, progress = execute(engine, run_id, ScriptedModel(lambda ask: "1"))
    assert (run.state, progress.done, progress.failed) == ("finished", 2, 1)
    assert "OverflowError" in read(engine, traces.get, refused[0]).problem


def test_a_conflicting_event_does_not_fail_the_others_of_its_batch(engine, a_study):
    run_id = _launch.create_run(engine, make_request(a_study))
    with writing(engine) as session:
        claims.claim_run(session, run_id, "worker")
        first, second = (trace.id for trace in claims.claim_traces(session, run_id, "worker", 2))
        outcomes.append_events(session, [outcomes.NewEvent(first, 0, a_failure())])

    async def append_both():
        writer = EventWriter(engine, run_id, "worker")
        appended = (writer.append(outcomes.NewEvent(trace, 0, a_failure())) for trace in (first, second))
        return await asyncio.gather(*appended, return_exceptions=True)

    conflicting, other = asyncio.run(append_both())
    assert "could not be stored" in str(conflicting)
    assert other is None


def a_failure():
    return TraceFailed(problem="no key")


def test_an_error_in_a_protocol_ends_the_run_with_a_sentence(engine, a_study):
    run_id = _launch.create_run(engine, make_request(a_study))

    def broken(ask):
        raise ZeroDivisionError("a secret detail")

    run, progress = execute(engine, run_id, ScriptedModel(broken))
    assert (run.state, progress.failed) == ("finished", 3)
    problems = {trace.problem for trace in read(engine, find_traces, traces.Filter(a_study.id))}
    assert problems == {"An unexpected error occurred (ZeroDivisionError); its details are in the server's log."}


@pytest.mark.slow
def test_a_run_and_its_worker_survive_a_restart_of_postgresql(postgres, postgres_engine):
    study = import_study(postgres_engine, [ItemRecord(item=make_item(f"item {n}")) for n in range(30)])
    asked = threading.Event()

    async def slow(ask):
        asked.set()
        await asyncio.sleep(0.1)
        return "1"

    worker = RunWorker(postgres_engine, lambda: ScriptedModel(slow))
    worker.start()
    try:
        run_id = _launch.create_run(postgres_engine, make_request(study, parallel=2))
        assert asked.wait(20)
        postgres.restart(1.5)
        assert wait_until(postgres_engine, run_id)
        assert wait_for(lambda: worker.problem() == ""), "the worker reaches the database again"
        _, progress = _launch.progress(postgres_engine, run_id)
        assert (progress.done, progress.totals.calls) == (30, 60), "no event is lost, no call is repeated"
    finally:
        worker.stop()
        with postgres_engine.begin() as connection:
            connection.exec_driver_sql("DELETE FROM study")


def fail_at_first(monkeypatch, name, times):
    """Let a function of storage fail some times as in an outage of the database, and then work."""
    module, _, attribute = name.rpartition(".")
    function, failures = getattr(sys.modules[module], attribute), []

    def fail_or_call(*arguments, **options):
        if len(failures) < times:
            failures.append(name)
            raise DatabaseUnavailable("The database cannot be reached.")
        return function(*arguments, **options)

    monkeypatch.setattr(name, fail_or_call)


class ClosableModel(ScriptedModel):
    """Answers 1; `closed` states whether its connections are closed."""

    closed = False

    def __init__(self):
        super().__init__(lambda ask: "1")

    async def close(self):
        self.closed = True


def test_a_command_executes_its_run_through_an_outage(engine, a_study, monkeypatch):
    run_id = _launch.create_run(engine, make_request(a_study))
    for name in (
        "storage.runs.claims.claim_run",
        "storage.runs.claims.claim_traces",
        "storage.runs.outcomes.append_events",
    ):
        fail_at_first(monkeypatch, name, 1)
    model = ClosableModel()
    run, progress = execute(engine, run_id, model)
    assert (run.state, progress.done, len(model.asked), model.closed) == ("finished", 3, 6, True)


def test_a_command_waits_for_a_worker_that_claimed_its_run_in_an_outage(engine, a_study, monkeypatch):
    monkeypatch.setattr("storage.worker._worker.HEARTBEAT_SECONDS", 0.05)
    run_id = _launch.create_run(engine, make_request(a_study, parallel=1))
    taken = []

    async def lose_claim(ask):
        if not taken:
            taken.append(ask)
            with writing(engine) as session:
                until = connections.clock(session) + timedelta(seconds=1)
                session.execute(update(RunRow).values(claimed_by="another worker", claimed_until=until))
        return "1"

    run, progress = execute(engine, run_id, ScriptedModel(lose_claim))
    assert (run.state, progress.done) == ("finished", 3)


def test_a_command_states_who_continues_its_run_after_a_long_outage(engine, a_study, monkeypatch):
    monkeypatch.setattr("storage.worker._outages.OUTAGE_SECONDS", 0.05)
    run_id = _launch.create_run(engine, make_request(a_study))
    fail_at_first(monkeypatch, "storage.runs.claims.claim_run", 100)
    model = ClosableModel()
    with pytest.raises(DatabaseUnavailable, match=r"cannot be reached. The run 'run' has not ended.*--resume 'run'"):
        execute(engine, run_id, model)
    assert model.closed
    assert _launch.progress(engine, run_id)[0].state == "requested", "a worker continues it"


def test_a_worker_says_that_the_database_is_unreachable_and_goes_on_when_it_is_not(
    engine, a_study, monkeypatch, caplog
):
    caplog.set_level(logging.INFO, "tiebreak")
    monkeypatch.setattr("storage.worker._worker.POLL_SECONDS", 0.02)
    unclaimed, outage = claims.unclaimed, threading.Event()

    def fail_in_outage(session):
        if outage.is_set():
            raise DatabaseUnavailable("The database cannot be reached.")
        return unclaimed(session)

    monkeypatch.setattr("storage.runs.claims.unclaimed", fail_in_outage)
    outage.set()
    worker = RunWorker(engine, lambda: ScriptedModel(lambda ask: "1"))
    worker.start()
    try:
        assert wait_for(lambda: worker.problem() == "The database cannot be reached.")
        outage.clear()
        run_id = _launch.create_run(engine, make_request(a_study))
        assert wait_until(engine, run_id)
        assert worker.problem() == ""
        [outage, recovery] = [record for record in caplog.records if record.name == "tiebreak"]
        assert (outage.exc_info, outage.getMessage()) == (
            None,
            "Requested runs cannot be executed: The database cannot be reached.",
        )
        assert recovery.getMessage() == "Requested runs are executed again."
    finally:
        worker.stop()
    assert "not running" in worker.problem()


@pytest.fixture
def file_engine(tmp_path):
    """A SQLite database in a file that the test damages."""
    engine = connections.connect(create_database(tmp_path / "tiebreak.db"))
    write(engine, studies.get_or_create, "s")
    yield engine
    engine.dispose()


def fill_disk(engine):
    """Let the database have a few more pages than it has now: for the state of a run, and not for a long reply."""
    engine.dispose()

    @event.listens_for(engine, "connect")
    def limit(connection, _):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 4}")


def test_a_full_disk_is_one_sentence_and_loses_nothing_that_was_confirmed(file_engine):
    fill_disk(file_engine)
    saved = []

    def save(name):
        write(file_engine, studies.get_or_create, name)
        saved.append(name)

    with pytest.raises(DatabaseUnavailable, match="disk of the database is full"):
        list(map(save, (f"study {number}" for number in range(10_000))))
    assert sorted(read(file_engine, studies.names)) == sorted(["s", *saved])


def test_a_run_stops_with_the_reason_where_the_disk_is_full(file_engine, monkeypatch):
    monkeypatch.setattr("storage.worker._outages.OUTAGE_SECONDS", 0.5)
    study = import_study(file_engine, [ItemRecord(item=make_item(f"item {n}")) for n in range(3)])
    run_id = _launch.create_run(file_engine, make_request(study))
    fill_disk(file_engine)
    run, progress = execute(file_engine, run_id, ScriptedModel(lambda ask: "long " * 20_000))
    assert (run.state, progress.done) == ("stopped", 0)
    assert "disk of the database is full" in run.problem


def test_a_deleted_database_file_is_noticed_before_a_label_is_confirmed(file_engine):
    study = import_study(file_engine, [ItemRecord(item=make_item())])
    path = Path(file_engine.url.database)

    def save(before_commit=lambda: None):
        with writing(file_engine) as session:
            store_label(session, study.id, make_target(), "ann", 1)
            before_commit()

    with pytest.raises(DatabaseUnavailable, match="deleted or replaced"):
        save(before_commit=path.unlink)
    with pytest.raises(DatabaseUnavailable, match="deleted or replaced"):
        save()
    file_engine.dispose()
    with pytest.raises(DatabaseUnavailable, match="deleted or replaced"):
        save()
    assert not path.exists(), "no empty database takes its place"


# Changes of a worker that share a transaction


def test_a_request_that_cannot_be_stored_does_not_fail_those_of_the_same_transaction(sqlite_engine):
    applied = []

    def store(session, requests, repeated):
        applied.append((requests, repeated))
        if "b" in requests:
            raise ValueError("b")
        return [f"{request} stored" for request in requests]

    async def submit():
        batches = Batches(sqlite_engine, store)
        return await asyncio.gather(*map(batches.add, "abc"), return_exceptions=True)

    first, refused, last = asyncio.run(submit())
    assert (first, last) == ("a stored", "c stored")
    assert isinstance(refused, ValueError)
    assert applied == [(["a", "b", "c"], False), (["a"], False), (["b"], False), (["c"], False)]


# Several workers on one PostgreSQL server: their transactions lock rows in one order, and deadlocks are repeated


ITEMS = 120


@pytest.fixture
def server_engine(postgres_engine):
    """The PostgreSQL database: SQLite has one writer at a time."""
    yield postgres_engine
    with postgres_engine.begin() as connection:
        connection.execute(text("DELETE FROM study"))
        connection.execute(text("DELETE FROM annotator"))


@pytest.mark.slow
def test_concurrent_runs_with_frequent_heartbeats_finish(server_engine, monkeypatch):
    monkeypatch.setattr("storage.worker._worker.HEARTBEAT_SECONDS", 0.005)
    study = import_study(server_engine, [ItemRecord(item=make_item(f"item {number}")) for number in range(ITEMS)])
    run_ids = [_launch.create_run(server_engine, make_request(study, parallel=32)) for _ in range(2)]

    async def execute_all():
        runs = [
            _launch.execute_here(server_engine, run_id, lambda run, progress: None, ScriptedModel(lambda ask: "1"))
            for run_id in run_ids
        ]
        return await asyncio.wait_for(asyncio.gather(*runs), 60)

    ended = asyncio.run(execute_all())
    assert [(run.state, run.problem, progress.done) for run, progress in ended] == [("finished", "", ITEMS)] * 2


def test_a_transaction_that_postgresql_ends_because_of_a_deadlock_is_repeated(server_engine):
    with writing(server_engine) as session:
        for name in ("first", "second"):
            studies.get_or_create(session, name)
    both_locked = threading.Barrier(2, timeout=10)
    attempts = []

    def lock_both(names):
        def operation(session):
            attempts.append(names)
            lock(session, names[0])
            if len(attempts) <= 2:
                both_locked.wait()
            lock(session, names[1])

        connections.write(server_engine, operation)

    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(lock_both, names) for names in (("first", "second"), ("second", "first"))]
        assert [one.result(20) for one in running] == [None, None]
    assert len(attempts) == 3, "one of the two was repeated"


def lock(session, study):
    session.execute(text("UPDATE study SET sample = true WHERE name = :name"), {"name": study})
