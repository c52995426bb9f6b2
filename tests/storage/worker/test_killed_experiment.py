"""An experiment with the shape of ScaleEval's Table 5, killed twice: no call is repeated but those in flight."""

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml

from core.formats.records import ItemRecord, LabelRecord
from core.labels import Label
from core.protocols.prompt_parts import CRITERION_FORMATS
from storage.database import connect
from storage.transfer import imports
from tests.conftest import make_item, make_target
from tests.databases import create_database
from tests.openai_server import Server, run_server
from tests.paths import ROOT

ITEMS = 2
CRITERIA = ("helpfulness", "interpretability", "reasoning", "creativity")
IN_FLIGHT = 2 * 8
"""Two kills, 8 calls at once."""
CALLS = len(CRITERIA) * len(CRITERION_FORMATS) * 3 * ITEMS


def experiment_file(path: Path, address: str) -> Path:
    """Write the experiment: 4 criteria x 6 formats x 3 judges."""
    fields = {
        "protocol": "single-judge",
        "base": {"judge": {"name": "judge", "model": "judge-0", "address": address}, "criterion": ""},
        "axes": {
            "criterion": [
                {
                    "name": name,
                    "rubric": [f"Low - it has no {name} at all in any of its parts.", f"High - {name} throughout."],
                }
                for name in CRITERIA
            ],
            "format": list(CRITERION_FORMATS),
            "judge.model": ["judge-0", "judge-1", "judge-2"],
        },
    }
    path.write_text(yaml.safe_dump(fields))
    return path


def command(*words: str) -> list[str]:
    return [sys.executable, "cli.py", *words, "--study", "s"]


def kill_after(words: list[str], server: Server, calls: int) -> None:
    """Start a command, and kill its process when the server has received this many calls."""
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(server.log) < calls and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    assert process.poll() is None, "the command ended before it was killed"
    process.kill()
    process.wait()


@pytest.mark.slow
def test_an_experiment_that_is_killed_twice_pays_no_call_twice_but_those_in_flight(tmp_path: Path) -> None:
    url = create_database(tmp_path / "e.db")
    items = [ItemRecord(item=make_item(f"item {number}")) for number in range(ITEMS)]
    targets = [make_target(f"item {number}", criterion=name) for number in range(ITEMS) for name in CRITERIA]
    labels = [LabelRecord(label=Label(target=target, annotator="ann", value=1)) for target in targets]
    imports.import_records(connect(url), "s", [*items, *labels])
    with run_server(latency=0.02) as server:
        file = experiment_file(tmp_path / "table-5.yaml", server.address)
        words = command("experiment", str(file), "--database", url, "--json")
        kill_after(words, server, CALLS // 4)
        kill_after(words, server, CALLS // 2)
        finished = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    progress = json.loads(finished.stdout)
    assert (progress["finished"], progress["done"], progress["totals"]["calls"]) == (72, CALLS, CALLS)
    received = Counter((line["model"], line["prompt"]) for line in server.log)
    repeated = sum(received.values()) - len(received)
    assert len(received) == CALLS
    assert repeated <= progress["totals"]["interrupted"] <= IN_FLIGHT
    # A reply that was stored before the turn is reused when the run continues.
    assert progress["totals"]["reused"] <= IN_FLIGHT
    printed = subprocess.run(
        command("table", "table-5", "--rows", "format,judge.model", "--columns", "criterion", "--database", url),
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert printed.returncode == 0, printed.stderr
    lines = printed.stdout.splitlines()
    assert lines[1].split() == ["format", "judge.model", *CRITERIA]
    assert len(lines) == 3 + 18
