"""Ctrl+C or SIGTERM at `cli.py runs start`: nothing continues the run until the command in its message is executed."""

import asyncio
import json
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections import Counter

import pytest
from sqlalchemy.exc import OperationalError
from typer.testing import CliRunner

import cli
from core.formats.records import ItemRecord
from core.llm.client import ScriptedModel
from storage.db.connections import connect, writing
from storage.runs import claims, runs
from storage.transfer import imports
from storage.worker import StopRequests, _launch, create_run, request_from_file
from storage.worker._outages import STILL_STOPPING, STOPPING
from tests.conftest import make_item
from tests.databases import create_database
from tests.openai_server import run_server
from tests.paths import ROOT
from tests.sessions import read, write
from tests.storage.shared import stored_study
from tests.storage.worker.test_killed_run import settings
from tests.storage.worker.test_worker import execute, make_request
from tests.waiting import wait_for

ITEMS = 12


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """The address of a database with a study of 12 items."""
    if request.param == "sqlite":
        address = create_database(tmp_path / "interrupted.db")
    else:
        server = request.getfixturevalue("postgres")
        address = server.url(server.create(request.getfixturevalue("postgres_template")))
    engine = connect(address)
    imports.import_records(engine, "s", [ItemRecord(item=make_item(f"item {number}")) for number in range(ITEMS)])
    yield address
    engine.dispose()


@pytest.fixture
def processes(ctrl_c):
    """Start commands of `cli.py`; those that have not ended are killed at the end."""
    started = []

    def start(*words):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started.append(subprocess.Popen([sys.executable, "cli.py", *words], cwd=ROOT, text=True, **pipes))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def run_of(engine, name):
    study = stored_study(engine)
    return _launch.progress(engine, _launch.find_run(engine, study, name).id)


def answered(server) -> Counter[tuple[str, str]]:
    return Counter((entry["model"], entry["prompt"]) for entry in server.log if entry["model"].startswith("judge"))


@pytest.mark.slow
def test_an_interrupted_run_is_continued_by_its_person_only(url, processes, tmp_path):
    engine = connect(url)
    with run_server(latency=0.4) as server:
        file = settings(tmp_path / "trio of judges.yaml", server.address)
        command = processes(
            "runs", "start", "--study", "s", "--settings", str(file), "--parallel", "2", "--database", url
        )
        assert server.wait_for_requests(4)
        command.send_signal(signal.SIGINT)
        assert wait_for(lambda: run_of(engine, "trio of judges")[0].state != "requested")
        command.send_signal(signal.SIGINT)
        output, errors = command.communicate(timeout=30)
        run, progress = run_of(engine, "trio of judges")

        message = errors.splitlines()[-1]
        assert (command.returncode, output, run.state) == (2, "", "cancelled")
        assert message.startswith("The run 'trio of judges' is cancelled until somebody resumes it. Stored: ")
        assert f"{progress.done} of {ITEMS} traces: " in message
        assert f"{progress.totals.calls} calls, " in message
        assert (progress.totals.calls, progress.totals.interrupted) == (len(server.log), 0)
        assert progress.done < ITEMS
        assert all(entry["delivered"] for entry in server.log), "every call in progress was completed"
        server.latency = 0.0

        others = [{"name": f"other {n}", "model": f"other-{n}", "address": server.address} for n in (1, 2)]
        (tmp_path / "other.yaml").write_text(json.dumps({"judges": others, "criterion": "helpfulness", "rounds": 1}))
        study = stored_study(engine)
        create_run(engine, request_from_file(engine, study, "scaleeval", tmp_path / "other.yaml", None))
        worker = processes("server", "worker", "--database", url)
        assert wait_for(lambda: run_of(engine, "other")[0].state == "finished")
        worker.terminate()
        worker.communicate(timeout=30)
        assert run_of(engine, "trio of judges") == (run, progress), "the worker did not continue it"

        words = shlex.split(re.search("`(.*)`", message)[1])
        assert words[:4] == ["python", "cli.py", "runs", "start"]
        resumed = CliRunner().invoke(cli.app, [*words[2:], "--json"])
        assert resumed.exit_code == 0, resumed.output
        result = json.loads(resumed.stdout)
        assert (result["state"], result["done"]) == ("finished", ITEMS)
        assert set(answered(server).values()) == {1}, "no call was repeated"
        assert answered(server).total() == result["totals"]["calls"]


@pytest.mark.slow
def test_sigterm_before_the_first_call_stops_the_run_too(url, processes, tmp_path):
    engine = connect(url)
    with run_server(latency=0.4) as server:
        file = settings(tmp_path / "trio.yaml", server.address)
        command = processes("runs", "start", "--study", "s", "--settings", str(file), "--database", url)
        assert wait_for(lambda: _has_run(engine))
        command.send_signal(signal.SIGTERM)
        _, errors = command.communicate(timeout=30)
        assert command.returncode == 2
        assert "The run 'trio' is cancelled until somebody resumes it." in errors
        assert read(engine, claims.unclaimed) == []


def _has_run(engine):
    return bool(read(engine, runs.of_study, stored_study(engine).id))


# A stop that the person at a command requests holds for every worker, and completes the calls in progress


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
