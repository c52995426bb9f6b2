"""A stop that the person at a command requests holds for every worker, and completes the calls in progress."""

import asyncio
import threading
from collections import Counter

import pytest
from sqlalchemy.exc import OperationalError

from core.llm.client import ScriptedModel
from storage.db.connections import writing
from storage.runs import claims, runs
from storage.worker import StopRequests, _launch
from storage.worker._outages import STILL_STOPPING, STOPPING
from tests.sessions import read, write
from tests.storage.worker.test_worker import execute, make_request

CALLS = 6
"""Of three items and two judges, one call at once to each."""


def execute_with(engine, run_id, model, requests, notify=lambda sentence: None):
    report = lambda run, progress: None  # noqa: E731
    return asyncio.run(_launch.execute_here(engine, run_id, report, model, notify=notify, requests=requests))


class Judges:
    """Answers slowly, and requests to stop when a number of calls has begun."""

    def __init__(self, requests=None, stop_after=CALLS, seconds=0.4):
        self.requests, self.stop_after, self.seconds = requests, stop_after, seconds
        self.begun, self.answered = Counter(), Counter()

    async def answer(self, ask):
        self.begun[ask.spec.model, ask.prompt] += 1
        if self.requests is not None and self.begun.total() == self.stop_after:
            self.requests.count += 1
        await asyncio.sleep(self.seconds)
        self.answered[ask.spec.model, ask.prompt] += 1
        return "1"


def test_a_run_that_is_stopped_before_its_first_call_makes_none(engine, a_study):
    run_id, judges = _launch.create_run(engine, make_request(a_study, parallel=1)), Judges()
    run, progress = execute_with(engine, run_id, ScriptedModel(judges.answer), StopRequests(count=1))
    assert (run.state, progress.done, progress.totals.calls) == ("cancelled", 0, 0)
    assert not judges.begun
    assert read(engine, claims.unclaimed) == [], "no worker continues it"


def test_a_stopped_run_completes_its_calls_in_progress_and_is_resumed_without_a_repeated_one(engine, a_study):
    run_id, requests = _launch.create_run(engine, make_request(a_study, parallel=1)), StopRequests()
    judges, said = Judges(requests, stop_after=3), []
    run, progress = execute_with(engine, run_id, ScriptedModel(judges.answer), requests, said.append)
    assert run.state == "cancelled"
    assert said == [STOPPING]
    assert judges.begun == judges.answered, "the calls in progress were completed"
    assert 3 <= progress.totals.calls == judges.begun.total() < CALLS
    assert progress.totals.interrupted == 0
    with writing(engine) as session:
        assert claims.unclaimed(session) == [], "no worker continues it"
        runs.resume(session, run_id)
    run, progress = execute(engine, run_id, ScriptedModel(judges.answer))
    assert (run.state, progress.done) == ("finished", 3)
    assert set(judges.begun.values()) == {1} and judges.begun.total() == CALLS


def test_further_requests_wait_for_the_calls_in_progress_too(engine, a_study):
    run_id, requests, said = _launch.create_run(engine, make_request(a_study, parallel=1)), StopRequests(), []
    judges = Judges(requests, stop_after=2, seconds=1.0)

    def notify(sentence):
        said.append(sentence)
        if len(said) < 3:
            requests.count += 1

    run, progress = execute_with(engine, run_id, ScriptedModel(judges.answer), requests, notify)
    assert said == [STOPPING, STILL_STOPPING, STILL_STOPPING]
    assert (run.state, progress.totals.calls, judges.answered.total()) == ("cancelled", 2, 2)


def test_the_command_that_resumes_a_run_waits_for_its_calls_in_progress(engine, a_study):
    run_id, requests = _launch.create_run(engine, make_request(a_study, parallel=1)), StopRequests()
    judges, calls_at_resume = Judges(requests, stop_after=2), []

    def resume():
        _launch.resume_run(engine, a_study, "run")
        calls_at_resume.append((judges.begun.total(), judges.answered.total()))

    resuming = threading.Thread(target=resume)
    execute_with(engine, run_id, ScriptedModel(judges.answer), requests, lambda sentence: resuming.start())
    resuming.join()
    assert calls_at_resume == [(2, 2)]
    run, progress = execute(engine, run_id, ScriptedModel(judges.answer))
    assert (run.state, set(judges.begun.values()), progress.totals.reused) == ("finished", {1}, 0)


def test_a_run_that_is_resumed_while_it_stops_is_left_to_others(engine, a_study):
    run_id, requests = _launch.create_run(engine, make_request(a_study, parallel=1)), StopRequests()
    judges = Judges(requests, stop_after=2)

    def resume(_):
        write(engine, runs.resume, run_id)

    run, progress = execute_with(engine, run_id, ScriptedModel(judges.answer), requests, resume)
    assert (run.state, run.active, progress.totals.calls) == ("requested", False, 2)
    assert read(engine, claims.unclaimed) == [run_id]


def test_a_run_whose_last_calls_are_completed_during_the_stop_is_finished(engine, a_study):
    run_id, requests = _launch.create_run(engine, make_request(a_study, parallel=9)), StopRequests()
    judges = Judges(requests, stop_after=CALLS)
    run, progress = execute_with(engine, run_id, ScriptedModel(judges.answer), requests)
    assert (run.state, progress.done) == ("finished", 3)


def test_a_request_that_cannot_be_stored_ends_the_command_with_the_error(engine, a_study, monkeypatch):
    run_id, requests = _launch.create_run(engine, make_request(a_study, parallel=1)), StopRequests()
    judges = Judges(requests, stop_after=2)

    def fail(*_, **__):
        raise OperationalError("update", {}, Exception("disk fail"))

    monkeypatch.setattr("storage.runs.runs.cancel", fail)
    with pytest.raises(OperationalError, match="disk fail"):
        execute_with(engine, run_id, ScriptedModel(judges.answer), requests)
    assert judges.begun.total() == 2
