"""Several workers on one database: each run is executed by one of them at a time, and no call is made twice."""

import asyncio
import threading
from collections import Counter
from datetime import timedelta

import pytest
from sqlalchemy import select

from core.formats.records import ItemRecord
from core.llm.client import Reply
from storage.db.connections import reading
from storage.db.tables import RunRow
from storage.worker import RunWorker, StopRequests, _launch
from tests.conftest import make_item
from tests.storage.shared import import_study
from tests.storage.worker.test_worker import make_request
from tests.waiting import wait_for

pytestmark = pytest.mark.slow  # whole runs

ITEMS = 8


@pytest.fixture
def study(engine):
    return import_study(engine, [ItemRecord(item=make_item(f"item {number}")) for number in range(ITEMS)])


@pytest.fixture
def start(engine):
    """Start a worker with a model, and stop all of them at the end."""
    started = []

    def start(model, **options):
        started.append(RunWorker(engine, lambda: model, **options))
        started[-1].start()
        return started[-1]

    yield start
    for worker in started:
        worker.stop()


class SlowModel:
    """Counts its calls; each takes some time."""

    def __init__(self, seconds):
        self.seconds, self.calls, self.lock = seconds, Counter(), threading.Lock()

    async def complete(self, ask):
        with self.lock:
            self.calls[ask.spec.model, ask.prompt] += 1
        await asyncio.sleep(self.seconds)
        return Reply(text="1")

    async def answer_format(self, spec):
        return "text"

    async def close(self):
        pass


def ends(engine, run_id) -> bool:
    return wait_for(lambda: _launch.progress(engine, run_id)[0].state == "finished")


def test_two_workers_execute_a_run_each(engine, study, start):
    first, second = SlowModel(0.2), SlowModel(0.2)
    start(first), start(second)
    ids = [_launch.create_run(engine, make_request(study, parallel=1, repeat=number)) for number in (1, 2)]
    assert wait_for(lambda: first.calls and second.calls), "a worker takes one run, and leaves the next one"
    with reading(engine) as session:
        assert len(set(session.scalars(select(RunRow.claimed_by)))) == 2
    assert all(ends(engine, run_id) for run_id in ids)
    assert (first.calls + second.calls).total() == 2 * 2 * ITEMS
    assert set(first.calls.values()) == set(second.calls.values()) == {1}


def test_calls_that_outlast_the_claim_of_a_worker_that_is_stopped_are_not_made_again(engine, study, start, monkeypatch):
    monkeypatch.setattr("storage.runs.claims.LEASE", timedelta(seconds=1.5))
    model = SlowModel(3.0)
    stopped = start(model, grace=8.0)
    run_id = _launch.create_run(engine, make_request(study, parallel=2))
    assert wait_for(lambda: model.calls.total() == 4)
    model.seconds = 0.01
    start(model)
    stopped.stop()
    assert ends(engine, run_id)
    assert set(model.calls.values()) == {1}, "their replies are stored"
    assert _launch.progress(engine, run_id)[1].done == ITEMS


def test_a_stop_at_the_command_line_holds_for_the_worker_that_executes_the_run(engine, study, start):
    model, requests = SlowModel(1.0), StopRequests()
    start(model)
    run_id = _launch.create_run(engine, make_request(study, parallel=2))
    assert wait_for(lambda: model.calls.total() >= 2)
    requests.count += 1
    run, progress = asyncio.run(_launch.execute_here(engine, run_id, lambda *_: None, model, requests=requests))
    made = model.calls.total()
    assert (run.state, progress.totals.calls, progress.totals.interrupted) == ("cancelled", made, 0)
    assert progress.done < ITEMS
    other = _launch.create_run(engine, make_request(study, parallel=2))  # reuses what is stored, and asks for the rest
    assert ends(engine, other)
    stopped, progress = _launch.progress(engine, run_id)
    assert (stopped.state, progress.totals.calls) == ("cancelled", made), "the worker did not continue it"
    _launch.resume_run(engine, study, run.name)
    assert ends(engine, run_id)
    assert set(model.calls.values()) == {1}
