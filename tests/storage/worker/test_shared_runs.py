"""Workers that share a run on PostgreSQL: its limits hold over all of them, and each trace is executed once."""

import asyncio
import threading
from collections import Counter
from datetime import timedelta

import pytest
from sqlalchemy import text, update

from core.errors import PermanentFailure
from core.formats.records import ItemRecord
from core.llm.client import Reply, ScriptedModel
from core.trace import Ask, Spec, Usage
from storage.db.connections import reading, writing
from storage.db.errors import DatabaseUnavailable
from storage.db.tables import WorkerRow
from storage.runs import calls, claims, runs, traces
from storage.worker import RunWorker, StopRequests, _launch, _shared_runs
from tests.conftest import make_item
from tests.sessions import write
from tests.storage.shared import import_study
from tests.storage.worker.test_worker import make_request
from tests.waiting import wait_for

ITEMS = 8


@pytest.fixture
def engine(postgres_engine, monkeypatch):
    """The PostgreSQL database; claims expire after 1.5 seconds."""
    monkeypatch.setattr("storage.runs.calls.WORKER_LEASE", timedelta(seconds=1.5))
    monkeypatch.setattr("storage.worker._shared_runs.CHECK_SECONDS", 0.3)
    monkeypatch.setattr("storage.worker._worker.POLL_SECONDS", 0.1)
    yield postgres_engine
    with postgres_engine.begin() as connection:
        for table in ("study", "annotator", "worker", "model_pause"):
            connection.execute(text(f"DELETE FROM {table}"))


@pytest.fixture
def study(engine):
    return import_study(engine, [ItemRecord(item=make_item(f"item {number}")) for number in range(ITEMS)])


@pytest.fixture
def start(engine):
    """Start workers with a model, and stop them at the end."""
    started = []

    def start(model, count=2, **options):
        for _ in range(count):
            started.append(RunWorker(engine, lambda: model, **options))
            started[-1].start()
        return started

    yield start
    for worker in started:
        worker.stop()


class SlowModel:
    """Counts its calls; each takes some time."""

    def __init__(self, seconds=0.03, dollars=0.0):
        self.seconds, self.dollars = seconds, dollars
        self.calls, self.most_at_once = Counter(), Counter()
        self.in_progress, self.lock = Counter(), threading.Lock()

    async def complete(self, ask):
        model = ask.spec.model
        with self.lock:
            self.calls[model, ask.prompt] += 1
            self.in_progress[model] += 1
            self.most_at_once[model] = max(self.most_at_once[model], self.in_progress[model])
        await asyncio.sleep(self.seconds)
        with self.lock:
            self.in_progress[model] -= 1
        return Reply(text="1", usage=Usage(prompt_tokens=1, completion_tokens=1, seconds=0.1, dollars=self.dollars))

    async def answer_format(self, spec):
        return "text"

    async def close(self):
        pass


def ends(engine, run_id, state="finished") -> bool:
    return wait_for(lambda: _launch.progress(engine, run_id)[0].state == state)


def count(engine, query) -> int:
    with reading(engine) as session:
        return session.scalar(text(query))


def test_two_workers_share_a_run_within_its_limits(engine, study, start):
    model = SlowModel()
    start(model, traces=8)
    run_id = _launch.create_run(engine, make_request(study, parallel=2))
    assert ends(engine, run_id)
    _, progress = _launch.progress(engine, run_id)
    assert (progress.done, progress.totals.calls) == (ITEMS, 2 * ITEMS)
    assert set(model.calls.values()) == {1}, "no call is repeated"
    assert model.most_at_once == {"a": 2, "b": 2}, "each worker alone may make two calls at once"
    assert count(engine, "SELECT count(*) FROM reservation") == 0


def test_a_wait_that_a_provider_asks_one_worker_for_is_observed_by_the_others(engine, study):
    run_id = _launch.create_run(engine, make_request(study))
    with writing(engine) as session:
        run = runs.get(session, run_id)
        first, second = (calls.register_worker(session, name) for name in ("first", "second"))
    limited, other = Spec(model="a", address="http://127.0.0.1:1/v1"), Spec(model="b")

    async def starts(limits, spec):
        try:
            async with asyncio.timeout(0.5), limits.acquire(Ask("judge", "opinion", 1, spec, "?")):
                return True
        except TimeoutError:
            return False

    async def share():
        limits = [
            _shared_runs.SharedLimits(engine, run, None, worker, lambda: False, set()) for worker in (first, second)
        ]
        assert await starts(limits[1], limited)
        await limits[0].pause_model(limited, 60.0)
        await limits[0].pause_model(limited, 1.0)  # the longer one remains
        started = [await starts(limits[1], spec) for spec in (limited, other)]
        return started, limits[1].concurrency_limit(limited).remaining_pause()

    started, pause = asyncio.run(share())
    assert started == [False, True]
    assert 30 < pause <= 60
    with writing(engine) as session:
        session.execute(text("UPDATE model_pause SET until = until - interval '1 hour'"))
        assert calls.remaining_pause(session) == {}
        assert isinstance(_shared_runs.reserve(session, run_id, second, "a", slots=9, dollars=0, ceiling=None), int)


def test_two_workers_share_one_budget(engine, study, start, monkeypatch):
    monkeypatch.setattr("core.llm.costs.maximum_cost", lambda ask: 1.0)
    model = SlowModel(dollars=0.75)
    start(model)
    run_id = _launch.create_run(engine, make_request(study, parallel=4, ceiling=6.0))
    assert ends(engine, run_id, "stopped")
    assert wait_for(lambda: count(engine, "SELECT count(*) FROM trace WHERE claimed_by IS NOT NULL") == 0)
    run, progress = _launch.progress(engine, run_id)
    assert run.problem == "The ceiling of $6.00 is reached."
    assert progress.totals.dollars <= 6.0
    assert progress.totals.dollars > 4.0, "waiting for reservations uses the ceiling"
    assert sum(model.calls.values()) == progress.totals.calls


def test_the_costs_of_earlier_calls_count_when_a_run_is_resumed_by_workers(engine, study, start, monkeypatch):
    monkeypatch.setattr("core.llm.costs.maximum_cost", lambda ask: 1.0)
    model = SlowModel(dollars=1.0)
    run_id = _launch.create_run(engine, make_request(study, parallel=2, ceiling=4.0))
    alone, _ = asyncio.run(_launch.execute_here(engine, run_id, lambda run, progress: None, model))
    assert alone.state == "stopped"
    write(engine, runs.resume, run_id)
    start(model)
    assert ends(engine, run_id, "stopped")
    assert _launch.progress(engine, run_id)[1].totals.dollars == 4.0


def test_the_traces_of_a_crashed_worker_are_continued_from_their_events(engine, study, start):
    run_id = _launch.create_run(engine, make_request(study))
    with writing(engine) as session:
        crashed = calls.register_worker(session, "crashed")
        [first] = claims.claim_shared(session, run_id, "crashed", 1)
        others = claims.claim_shared(session, run_id, "another", ITEMS)
        assert len(others) == ITEMS - 1 and first not in others, "it is alive"
        claims.release_traces(session, "another")
        age(session, crashed)
    model = SlowModel()
    start(model)
    assert ends(engine, run_id)
    assert set(model.calls.values()) == {1}
    assert count(engine, "SELECT count(*) FROM worker WHERE name = 'crashed'") == 0


def age(session, worker_id, seconds=5):
    """Let a worker be seen for the last time some seconds ago."""
    seen = WorkerRow.seen_at - timedelta(seconds=seconds)
    session.execute(update(WorkerRow).where(WorkerRow.id == worker_id).values(seen_at=seen))


def test_a_worker_that_was_suspended_stores_nothing_over_the_work_of_its_successor(engine, study, start):
    suspended, resume = threading.Event(), threading.Event()

    async def suspend(ask):
        if not suspended.is_set():
            suspended.set()
            await asyncio.to_thread(resume.wait, 20)
        return "2"

    run_id = _launch.create_run(engine, make_request(study, parallel=1))
    start(ScriptedModel(suspend), count=1, traces=1)
    assert suspended.wait(20)
    with writing(engine) as session:
        trace_id = session.scalar(text("SELECT id FROM trace WHERE claimed_by IS NOT NULL"))
        calls.register_worker(session, "successor")
        session.execute(text("UPDATE worker SET seen_at = seen_at + interval '1 hour' WHERE name = 'successor'"))
        session.execute(text("UPDATE trace SET claimed_by = 'successor' WHERE id = :id"), {"id": trace_id})
    events = f"SELECT count(*) FROM event WHERE trace_id = {trace_id}"
    stored = count(engine, events)
    resume.set()
    assert wait_for(lambda: _launch.progress(engine, run_id)[1].done == ITEMS - 1)
    assert count(engine, events) == stored


def test_a_cancelled_run_starts_no_more_calls_and_can_be_resumed(engine, study, start):
    model = SlowModel(0.05)
    start(model)
    run_id = _launch.create_run(engine, make_request(study, parallel=1))
    assert wait_for(lambda: sum(model.calls.values()) >= 2)
    write(engine, runs.cancel, run_id)
    assert ends(engine, run_id, "cancelled")
    made = sum(model.calls.values())
    assert made < 2 * ITEMS
    assert _launch.progress(engine, run_id)[1].totals.calls == made, "calls in progress are stored"
    write(engine, runs.resume, run_id)
    assert ends(engine, run_id)
    assert set(model.calls.values()) == {1}


def test_a_worker_that_is_stopped_leaves_its_traces_to_others_at_once(engine, study, start):
    model = SlowModel(0.05)
    [worker] = start(model, count=1)
    run_id = _launch.create_run(engine, make_request(study, parallel=2))
    assert wait_for(lambda: sum(model.calls.values()) >= 3)
    worker.stop()
    made = sum(model.calls.values())
    assert _launch.progress(engine, run_id)[1].totals.calls == made < 2 * ITEMS
    assert count(engine, "SELECT count(*) FROM worker") == 0
    assert count(engine, "SELECT count(*) FROM trace WHERE claimed_by IS NOT NULL") == 0
    start(model, count=1)
    assert ends(engine, run_id)
    assert set(model.calls.values()) == {1}


def test_calls_that_outlast_the_lease_of_a_worker_that_is_stopped_are_not_made_again(engine, study, start):
    """A graceful stop may take longer than other workers wait for a sign of life."""
    model = SlowModel(seconds=3.0)
    [stopped] = start(model, count=1, traces=4, grace=8.0)
    run_id = _launch.create_run(engine, make_request(study, parallel=2))
    assert wait_for(lambda: model.in_progress["a"] == 2)
    model.seconds = 0.01
    start(model, count=1, traces=4)
    stopped.stop()
    assert ends(engine, run_id)
    assert set(model.calls.values()) == {1}, "their replies are stored"
    assert count(engine, "SELECT count(*) FROM event WHERE type = 'verdict'") == ITEMS


def test_a_run_whose_first_traces_all_fail_is_stopped(engine, study, start):
    def wrong_key(ask):
        raise PermanentFailure("Wrong key.")

    start(ScriptedModel(wrong_key))
    run_id = _launch.create_run(engine, make_request(study, parallel=1))
    assert ends(engine, run_id, "stopped")
    assert "all failed" in _launch.progress(engine, run_id)[0].problem


def test_a_run_of_a_protocol_that_is_not_installed_is_stopped_with_a_sentence(engine, study, start):
    run_id = _launch.create_run(engine, make_request(study))
    with writing(engine) as session:
        session.execute(text("UPDATE run SET protocol = 'unknown'"))
    start(SlowModel(), count=1)
    assert ends(engine, run_id, "stopped")
    assert "unknown" in _launch.progress(engine, run_id)[0].problem


def test_a_run_has_one_worker_alone_or_several_that_share_it(engine, study):
    run_id = _launch.create_run(engine, make_request(study))
    with writing(engine) as session:
        assert claims.claim_run(session, run_id, "alone")
        assert claims.locked_if_shared(session, run_id) is None
        claims.release(session, run_id, "alone")
        shared = calls.register_worker(session, "shared")
        first = claims.claim_shared(session, run_id, "shared", 1)[0].id
        second = session.scalar(text("SELECT max(id) FROM trace"))
        assert not claims.claim_run(session, run_id, "alone")
        assert runs.get(session, run_id).active
        assert traces.get(session, first).status == "running"
        assert traces.get(session, second).status == "waiting"
        age(session, shared)
        assert not runs.get(session, run_id).active
        assert traces.get(session, first).status == "waiting"
        assert claims.claim_run(session, run_id, "alone")


def test_a_worker_releases_claims_and_calls_that_it_knows_nothing_of(engine, study, start, monkeypatch):
    """A connection can be lost after the commit: the worker then believes that it has not claimed the trace."""
    claim, lost = _shared_runs.claim_traces, []

    def commit_and_fail(session, run_id, **options):
        if lost:
            return claim(session, run_id, **options)
        with writing(engine) as other:
            lost.extend(claim(other, run_id, **options))
            row = other.execute(text("SELECT id FROM worker")).scalar_one()
            _shared_runs.reserve(other, run_id, row, "a ", slots=9, dollars=0.0, ceiling=None)
        raise DatabaseUnavailable("The database cannot be reached.")

    model = SlowModel()
    run_id = _launch.create_run(engine, make_request(study, parallel=2))
    monkeypatch.setattr("storage.worker._shared_runs.claim_traces", commit_and_fail)
    start(model, count=1)
    assert ends(engine, run_id)
    assert set(model.calls.values()) == {1}
    assert lost
    assert wait_for(lambda: count(engine, "SELECT count(*) FROM reservation") == 0)


def test_the_command_line_waits_for_workers_that_have_begun_a_run(engine, study, start):
    model = SlowModel(0.05)
    start(model, count=1)
    run_id = _launch.create_run(engine, make_request(study, parallel=2))
    assert wait_for(lambda: sum(model.calls.values()) >= 2)
    reported = []
    run, progress = asyncio.run(_launch.execute_here(engine, run_id, lambda *state: reported.append(state), model))
    assert (run.state, progress.done) == ("finished", ITEMS)
    assert set(model.calls.values()) == {1}
    assert reported


def test_a_worker_takes_nothing_over_until_it_has_seen_the_database_for_a_while(engine, study):
    run_id = _launch.create_run(engine, make_request(study))
    with writing(engine) as session:
        [first] = claims.claim_shared(session, run_id, "silent", 1)
        age(session, calls.register_worker(session, "silent"))
        assert first not in claims.claim_shared(session, run_id, "new", ITEMS, take_over=False)
        assert claims.claim_shared(session, run_id, "new", 1) == [first]


def test_a_stop_at_the_command_line_holds_for_the_workers_that_share_the_run(engine, study, start):
    model, requests = SlowModel(0.3), StopRequests()
    start(model)
    run_id = _launch.create_run(engine, make_request(study, parallel=2))
    assert wait_for(lambda: sum(model.calls.values()) >= 2)
    requests.count += 1
    run, progress = asyncio.run(_launch.execute_here(engine, run_id, lambda *_: None, model, requests=requests))
    made = sum(model.calls.values())
    assert (run.state, progress.totals.calls, progress.totals.interrupted) == ("cancelled", made, 0)
    assert progress.done < ITEMS
    other = _launch.create_run(engine, make_request(study, parallel=2))  # reuses what is stored, and asks for the rest
    assert ends(engine, other)
    stopped, progress = _launch.progress(engine, run_id)
    assert (stopped.state, progress.totals.calls) == ("cancelled", made), "workers did not continue it"
    _launch.resume_run(engine, study, run.name)
    assert ends(engine, run_id)
    assert _launch.progress(engine, run_id)[1].done == ITEMS
    assert set(model.calls.values()) == {1}
