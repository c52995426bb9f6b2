"""Ctrl+C or SIGTERM at `cli.py runs start`: nothing continues the run until the command in its message is executed."""

import json
import re
import shlex
import signal
import subprocess
import sys
from collections import Counter

import pytest

from core.formats.records import ItemRecord
from storage.db.connections import connect, reading
from storage.runs import claims, runs
from storage.studies import studies
from storage.transfer import imports
from storage.worker import _launch, create_run, request_from_file
from tests.conftest import make_item
from tests.databases import create_database
from tests.openai_server import run_server
from tests.paths import ROOT
from tests.sessions import read
from tests.storage.shared import stored_study
from tests.storage.worker.test_killed_run import settings
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
        resumed = processes(*words[2:], "--json")
        output, errors = resumed.communicate(timeout=60)
        assert resumed.returncode == 0, errors
        result = json.loads(output)
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
    with reading(engine) as session:
        return bool(runs.of_study(session, studies.get(session, "s").id))
