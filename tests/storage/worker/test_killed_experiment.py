"""ScaleEval's Table 5 from its file, killed twice: no call is repeated but those in flight."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import cli
from core.formats.records import ItemRecord, LabelRecord
from core.labels import Label
from storage.db.connections import connect
from storage.transfer import imports
from tests.conftest import make_item, make_target
from tests.databases import create_database
from tests.openai_server import Server, run_server
from tests.papers.packs import write_variant
from tests.paths import ROOT
from tests.storage.shared import expire_claims

SCENARIOS = {"brainstorming": "helpfulness", "coding": "interpretability"}
"""Scenario -> the criterion of ScaleEval's Tables 3 and 5."""
FORMATS = ["general", "masked"]
CELLS = len(FORMATS) * len(SCENARIOS) * 3
"""Runs: three judges."""
ITEMS = 6
"""Items of each scenario."""
IN_FLIGHT = 2 * 8
"""Two kills, 8 calls at once."""


def prepare_study(folder: Path) -> str:
    """Create a study with items in the scenarios, with a label of each; return the database's URL."""
    url = create_database(folder / "e.db")
    names = [(f"{scenario} {number}", scenario) for scenario in SCENARIOS for number in range(ITEMS)]
    records: list[Any] = [ItemRecord(item=make_item(name, scenario=scenario)) for name, scenario in names]
    for name, scenario in names:
        target = make_target(name, criterion=SCENARIOS[scenario])
        records.append(LabelRecord(label=Label(target=target, annotator="ann", value=1)))
    imports.import_records(connect(url), "s", records)
    return url


def command(url: str, *words: str) -> list[str]:
    return [sys.executable, "cli.py", "experiments", *words, "--study", "s", "--database", url]


def run(url: str, *words: str) -> str:
    """Run a command in this process and return what it prints."""
    done = CliRunner().invoke(cli.app, command(url, *words)[2:])
    assert done.exit_code == 0, done.stderr
    return done.stdout


def run_and_kill(url: str, file: Path, server: Server, calls: int) -> None:
    """Execute an experiment, killed when the server has received this many calls."""
    process = subprocess.Popen(
        command(url, "run", str(file), "--json"), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert server.wait_for_requests(calls)
    assert process.poll() is None, "the command ended before it was killed"
    process.kill()
    process.wait()
    expire_claims(connect(url))


@pytest.mark.slow
def test_an_experiment_that_is_killed_twice_pays_no_call_twice_but_those_in_flight(tmp_path: Path) -> None:
    url, calls = prepare_study(tmp_path), CELLS * ITEMS
    keep = {"format": FORMATS, "criterion and scenario": [f"{SCENARIOS[name]} · {name}" for name in SCENARIOS]}
    with run_server(latency=0.02) as server:
        file = write_variant(
            tmp_path, "scaleeval/table-5", server.address, choices="012", keep=keep, limit=ITEMS, reference="gold"
        )
        run_and_kill(url, file, server, calls // 4)
        run_and_kill(url, file, server, calls // 2)
        progress = json.loads(run(url, "run", str(file), "--json"))
    received = Counter((line["model"], line["prompt"]) for line in server.log)
    totals = progress["totals"]
    assert (progress["finished"], progress["done"], totals["calls"]) == (CELLS, calls, calls)
    assert len(received) == calls
    assert received.total() - calls <= totals["interrupted"] <= IN_FLIGHT
    # A reply that was stored before the turn is reused when the run continues.
    assert totals["reused"] <= IN_FLIGHT
    lines = run(url, "table", "scaleeval-table-5", "--statistic", "accuracy").splitlines()
    assert lines[1].split() == ["format", "criterion", "and", "scenario", "judge-0-0", "judge-1-1", "judge-2-2"]
    assert len(lines) == 3 + len(FORMATS) * len(SCENARIOS)
