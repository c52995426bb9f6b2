"""A run that is killed in the middle goes on where it was: nobody is asked twice, and nothing else comes out."""

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
from storage.database import connect, reading, upgrade
from storage.transfer import imports
from tests.browser.conftest import free_port
from tests.conftest import an_item
from tests.paths import ROOT

ITEMS = 50


@pytest.fixture
def model_server(tmp_path):
    """Address and log of a server whose replies follow from the prompt."""
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
    url = f"sqlite:///{path}"
    engine = connect(url)
    upgrade(engine)
    imports.load(engine, "s", [ItemRecord(item=an_item(f"item {number}")) for number in range(ITEMS)])
    return url


def settings(path: Path, address: str) -> Path:
    judges = [{"name": f"judge {n}", "model": f"judge-{n}", "address": address} for n in (1, 2, 3)]
    path.write_text(yaml.safe_dump({"judges": judges, "criterion": {"name": "helpfulness"}}))
    return path


def command(url: str, *more: str) -> list[str]:
    return [sys.executable, "cli.py", "run", "--study", "s", "--database", url, "--json", *more]


def asked(log: Path) -> Counter[tuple[str, str]]:
    """(model, prompt) -> how often the server gave an answer that arrived."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return Counter((line["model"], line["prompt"]) for line in lines if line["delivered"])


def told(url: str) -> list[tuple[str, str, str]]:
    """What every trace says, apart from how long it took and in which order replies came in."""
    query = text(
        "select i.key, e.type, e.body from event e join trace t on t.id = e.trace_id join item i on i.id = t.item_id"
    )
    with reading(connect(url)) as session:
        rows = session.execute(query).all()
    return sorted((key, kind, json.dumps(_timeless(json.loads(body)), sort_keys=True)) for key, kind, body in rows)


def _timeless(body: dict) -> dict:
    if "turn" in body:
        body["turn"]["usage"]["seconds"] = None
    return body


def kept(url: str) -> int:
    with reading(connect(url)) as session:
        return session.execute(text("select count(*) from event where type = 'turn'")).scalar_one()


def asks_kept(url: str) -> list[tuple[str, str]]:
    """(model, hash of the prompt) of every turn that is safe; all judges' first opinions have the same prompt."""
    with reading(connect(url)) as session:
        rows = session.execute(text("select body, prompt from event where type = 'turn'")).all()
    return [(json.loads(body)["turn"]["model"], hashlib.sha256(prompt.encode()).hexdigest()) for body, prompt in rows]


def test_a_killed_run_resumes_without_asking_twice_and_ends_like_an_undisturbed_one(model_server, tmp_path):
    address, log = model_server
    file = settings(tmp_path / "trio.yaml", address)
    disturbed, quiet = a_database(tmp_path / "disturbed.db"), a_database(tmp_path / "quiet.db")
    environment = os.environ | {"PYTHONWARNINGS": "default"}

    process = subprocess.Popen(command(disturbed, "--settings", str(file)), cwd=ROOT, env=environment)
    deadline = time.monotonic() + 60
    while kept(disturbed) < 40 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    stored = kept(disturbed)
    assert 40 <= stored < 3 * ITEMS * 3

    safe = asks_kept(disturbed)
    ended = subprocess.run(
        command(disturbed, "--resume", "trio"), cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["state"] == "finished"
    assert len(safe) == stored
    twice = {ask for ask, count in asked(log).items() if count > 1}
    assert not twice & set(safe), "a stored turn was asked again"

    finished = subprocess.run(
        command(quiet, "--settings", str(file)), cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    assert told(disturbed) == told(quiet)
