"""A killed run resumes from its stored events: no call is repeated, and the result is the same."""

import hashlib
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import text
from typer.testing import CliRunner

import cli
from core.formats.records import ItemRecord, LabelRecord
from core.items import Criterion
from core.labels import Label
from core.protocols import Judge
from core.protocols.registry import PROTOCOLS
from core.protocols.scaleeval.settings import Settings
from core.trace import Spec
from storage.db.connections import connect, reading
from storage.transfer import imports
from storage.worker import RunRequest, _launch, create_run
from tests import openai_server
from tests.conftest import make_item, make_target
from tests.databases import create_database
from tests.openai_server import Server, run_server
from tests.papers.packs import write_variant
from tests.paths import ROOT
from tests.storage.shared import expire_claims, import_study
from tests.storage.worker import worker_process
from tests.waiting import wait_for

ITEMS = 20


def a_database(path: Path) -> str:
    url = create_database(path)
    imports.import_records(connect(url), "s", [ItemRecord(item=make_item(f"item {number}")) for number in range(ITEMS)])
    return url


def settings(path: Path, address: str) -> Path:
    judges = [{"name": f"judge {n}", "model": f"judge-{n}", "address": address} for n in (1, 2, 3)]
    path.write_text(yaml.safe_dump({"judges": judges, "criterion": {"name": "helpfulness"}}))
    return path


def command(url: str, *more: str) -> list[str]:
    return [sys.executable, "cli.py", "runs", "start", "--study", "s", "--database", url, "--json", *more]


def comparable_events(url: str) -> list[tuple[str, str, str]]:
    """Return the events of all traces, without durations and the order in which replies arrived."""
    query = text(
        "select i.key, e.type, e.body from event e join trace t on t.id = e.trace_id join item i on i.id = t.item_id"
    )
    with reading(connect(url)) as session:
        rows = session.execute(query).all()
    return sorted(
        (key, kind, json.dumps(_without_seconds(json.loads(body)), sort_keys=True)) for key, kind, body in rows
    )


def _without_seconds(body: dict) -> dict:
    if "turn" in body:
        body["turn"]["usage"]["seconds"] = None
        body["turn"].pop("reused", None)  # of a reply that was stored before its turn, when the process was killed
    return body


def count_turns(url: str) -> int:
    with reading(connect(url)) as session:
        return session.execute(text("select count(*) from event where type = 'turn'")).scalar_one()


def stored_asks(url: str) -> list[tuple[str, str]]:
    """Return (model, hash of the prompt) of every stored turn: all judges' first opinions have the same prompt."""
    with reading(connect(url)) as session:
        rows = session.execute(text("select cast(body as text), prompt from event where type = 'turn'")).all()
    return [(json.loads(body)["turn"]["model"], hashlib.sha256(prompt.encode()).hexdigest()) for body, prompt in rows]


@pytest.mark.slow
def test_a_killed_run_resumes_without_asking_twice_and_ends_like_an_undisturbed_one(tmp_path, monkeypatch):
    monkeypatch.setattr(openai_server, "FILLER", "Half \ud800, NUL \0, 😀. ")  # not all of it can be stored
    disturbed, undisturbed = a_database(tmp_path / "disturbed.db"), a_database(tmp_path / "undisturbed.db")
    with run_server(latency=0.05) as server:
        file = settings(tmp_path / "trio.yaml", server.address)
        process = subprocess.Popen(command(disturbed, "--settings", str(file)), cwd=ROOT)
        assert wait_for(lambda: count_turns(disturbed) >= 4 * ITEMS)  # judges have read replies of others
        process.send_signal(signal.SIGKILL)
        process.wait()
        turns = count_turns(disturbed)
        assert turns < 3 * ITEMS * 3

        expire_claims(connect(disturbed))
        stored = stored_asks(disturbed)
        resumed = CliRunner().invoke(cli.app, command(disturbed, "--resume", "trio")[2:])
        assert resumed.exit_code == 0, resumed.stderr
        assert json.loads(resumed.stdout)["state"] == "finished"
        assert len(stored) == turns
        delivered = Counter((line["model"], line["prompt"]) for line in server.log if line["delivered"])
        twice = {ask for ask, count in delivered.items() if count > 1}
        assert not twice & set(stored), "a stored call was repeated"

        finished = CliRunner().invoke(cli.app, command(undisturbed, "--settings", str(file))[2:])
        assert finished.exit_code == 0, finished.stderr
    assert comparable_events(disturbed) == comparable_events(undisturbed)


# A worker in a process of its own is killed; another one takes up its run


@pytest.mark.slow
def test_the_run_of_a_killed_worker_is_taken_up_without_a_repeated_stored_call(postgres, postgres_template):
    url = postgres.url(postgres.create(postgres_template))
    engine = connect(url)
    with run_server(latency=0.2) as server:
        settings = Settings(
            judges=tuple(Judge(name=name, spec=Spec(model=name, address=server.address)) for name in ("one", "two")),
            criterion=Criterion(name="helpfulness"),
            rounds=2,
        )
        study = import_study(engine, [ItemRecord(item=make_item(f"item {number}")) for number in range(ITEMS)])
        run_id = create_run(engine, RunRequest(study, PROTOCOLS["scaleeval"], settings, "run", parallel=4))
        killed = worker_process.start(url, lease=2.0)
        assert server.wait_for_requests(ITEMS)
        successor = worker_process.start(url, lease=2.0)
        killed.kill()
        killed.wait()
        stored, at = stored_asks(url), time.time()
        assert wait_for(lambda: _launch.progress(engine, run_id)[0].state == "finished")
        successor.terminate()
        successor.wait(30)
    _, progress = _launch.progress(engine, run_id)
    engine.dispose()
    assert progress.done == ITEMS
    assert not {(line["model"], line["prompt"]) for line in server.log if line["at"] > at} & set(stored)
    assert server.most_open <= 2 * 4 + progress.totals.interrupted, "two models"


# ScaleEval's Table 5 from its file, killed twice: no call is repeated but those in flight


SCENARIOS = {"brainstorming": "helpfulness", "coding": "interpretability"}
"""Scenario -> the criterion of ScaleEval's Tables 3 and 5."""
FORMATS = ["general", "masked"]
CELLS = len(FORMATS) * len(SCENARIOS) * 3
"""Runs: three judges."""
OF_SCENARIO = 6
"""Items of each scenario."""
IN_FLIGHT = 2 * 8
"""Two kills, 8 calls at once."""


def prepare_study(folder: Path) -> str:
    """Create a study with items in the scenarios, with a label of each; return the database's URL."""
    url = create_database(folder / "e.db")
    names = [(f"{scenario} {number}", scenario) for scenario in SCENARIOS for number in range(OF_SCENARIO)]
    records: list[Any] = [ItemRecord(item=make_item(name, scenario=scenario)) for name, scenario in names]
    for name, scenario in names:
        target = make_target(name, criterion=SCENARIOS[scenario])
        records.append(LabelRecord(label=Label(target=target, annotator="ann", value=1)))
    imports.import_records(connect(url), "s", records)
    return url


def experiments(url: str, *words: str) -> list[str]:
    return [sys.executable, "cli.py", "experiments", *words, "--study", "s", "--database", url]


def print_of(url: str, *words: str) -> str:
    """Run a command in this process and return what it prints."""
    done = CliRunner().invoke(cli.app, experiments(url, *words)[2:])
    assert done.exit_code == 0, done.stderr
    return done.stdout


def run_and_kill(url: str, file: Path, server: Server, calls: int) -> None:
    """Execute an experiment, killed when the server has received this many calls."""
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(experiments(url, "run", str(file), "--json"), cwd=ROOT, **silent)
    assert server.wait_for_requests(calls)
    assert process.poll() is None, "the command ended before it was killed"
    process.kill()
    process.wait()
    expire_claims(connect(url))


@pytest.mark.slow
def test_an_experiment_that_is_killed_twice_pays_no_call_twice_but_those_in_flight(tmp_path: Path) -> None:
    url, calls = prepare_study(tmp_path), CELLS * OF_SCENARIO
    keep = {"format": FORMATS, "criterion and scenario": [f"{SCENARIOS[name]} · {name}" for name in SCENARIOS]}
    with run_server(latency=0.02) as server:
        file = write_variant(
            tmp_path, "scaleeval/table-5", server.address, choices="012", keep=keep, limit=OF_SCENARIO, reference="gold"
        )
        run_and_kill(url, file, server, calls // 4)
        run_and_kill(url, file, server, calls // 2)
        progress = json.loads(print_of(url, "run", str(file), "--json"))
    received = Counter((line["model"], line["prompt"]) for line in server.log)
    totals = progress["totals"]
    assert (progress["finished"], progress["done"], totals["calls"]) == (CELLS, calls, calls)
    assert len(received) == calls
    assert received.total() - calls <= totals["interrupted"] <= IN_FLIGHT
    # A reply that was stored before the turn is reused when the run continues.
    assert totals["reused"] <= IN_FLIGHT
    lines = print_of(url, "table", "scaleeval-table-5", "--statistic", "accuracy").splitlines()
    assert lines[1].split() == ["format", "criterion", "and", "scenario", "judge-0-0", "judge-1-1", "judge-2-2"]
    assert len(lines) == 3 + len(FORMATS) * len(SCENARIOS)
