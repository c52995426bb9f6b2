"""A killed run resumes from its stored events: no call is repeated, and the result is the same."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml
from sqlalchemy import text

from core.formats.records import ItemRecord
from storage.db.connections import connect, reading
from storage.transfer import imports
from tests.browser.conftest import free_port
from tests.conftest import make_item
from tests.databases import create_database
from tests.paths import ROOT

ITEMS = 20


@pytest.fixture
def model_server(tmp_path):
    """Start a server whose replies depend on the prompt only; yield its address and its log."""
    port, log = free_port(), tmp_path / "asks.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.openai_server", "--port", str(port), "--log", str(log), "--latency", "0.05"],
        cwd=ROOT,
    )
    deadline = time.monotonic() + 20
    while not log.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}/v1", log
    process.terminate()
    process.wait(10)


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


def delivered_asks(log: Path) -> Counter[tuple[str, str]]:
    """Return (model, prompt) -> how many replies were delivered."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return Counter((line["model"], line["prompt"]) for line in lines if line["delivered"])


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
    return body


def count_turns(url: str) -> int:
    with reading(connect(url)) as session:
        return session.execute(text("select count(*) from event where type = 'turn'")).scalar_one()


def stored_asks(url: str) -> list[tuple[str, str]]:
    """Return (model, hash of the prompt) of every stored turn: all judges' first opinions have the same prompt."""
    with reading(connect(url)) as session:
        rows = session.execute(text("select body, prompt from event where type = 'turn'")).all()
    return [(json.loads(body)["turn"]["model"], hashlib.sha256(prompt.encode()).hexdigest()) for body, prompt in rows]


@pytest.mark.slow
def test_a_killed_run_resumes_without_asking_twice_and_ends_like_an_undisturbed_one(model_server, tmp_path):
    address, log = model_server
    file = settings(tmp_path / "trio.yaml", address)
    disturbed, undisturbed = a_database(tmp_path / "disturbed.db"), a_database(tmp_path / "undisturbed.db")
    environment = os.environ | {"PYTHONWARNINGS": "default"}

    process = subprocess.Popen(command(disturbed, "--settings", str(file)), cwd=ROOT, env=environment)
    deadline = time.monotonic() + 60
    while count_turns(disturbed) < ITEMS and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    turns = count_turns(disturbed)
    assert ITEMS <= turns < 3 * ITEMS * 3

    stored = stored_asks(disturbed)
    resumed = subprocess.run(
        command(disturbed, "--resume", "trio"), cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["state"] == "finished"
    assert len(stored) == turns
    twice = {ask for ask, count in delivered_asks(log).items() if count > 1}
    assert not twice & set(stored), "a stored call was repeated"

    finished = subprocess.run(
        command(undisturbed, "--settings", str(file)),
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert comparable_events(disturbed) == comparable_events(undisturbed)
