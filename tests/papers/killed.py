"""An experiment of docs/papers whose process is killed twice, on the local server."""

import json
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.experiments import design
from core.formats.records import ItemRecord, LabelRecord
from core.labels import Label
from storage.db.connections import connect
from storage.transfer import imports
from tests.conftest import make_item, make_target
from tests.databases import create_database
from tests.openai_server import Server
from tests.papers.packs import load, write_variant
from tests.paths import ROOT

SCENARIOS = {
    "brainstorming": "helpfulness", "coding": "interpretability", "math": "reasoning", "writing": "creativity",
}  # fmt: skip
"""Scenario -> the criterion of ScaleEval's Tables 3 and 5."""
CELLS = len(design(load("scaleeval/table-5")))
IN_FLIGHT = 2 * 8
"""Two kills, 8 calls at once."""


@dataclass(frozen=True)
class Killed:
    """An experiment that was killed twice and then finished."""

    progress: dict[str, Any]
    different: int
    """Requests with different models or prompts that the server received."""
    repeated: int
    """Requests that it received again."""


def prepare_study(folder: Path, items: int) -> str:
    """Create a study with items in the four scenarios, with a label of each; return the database's URL."""
    url = create_database(folder / "e.db")
    names = [(f"{scenario} {number}", scenario) for scenario in SCENARIOS for number in range(items)]
    records: list[Any] = [ItemRecord(item=make_item(name, scenario=scenario)) for name, scenario in names]
    for name, scenario in names:
        target = make_target(name, criterion=SCENARIOS[scenario])
        records.append(LabelRecord(label=Label(target=target, annotator="ann", value=1)))
    imports.import_records(connect(url), "s", records)
    return url


def command(url: str, *words: str) -> list[str]:
    return [sys.executable, "cli.py", *words, "--study", "s", "--database", url]


def run(url: str, *words: str) -> str:
    """Run a command and return what it prints; raises RuntimeError with its error."""
    done = subprocess.run(command(url, *words), cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def execute_and_kill(folder: Path, url: str, server: Server, name: str, **fields: Any) -> Killed:
    """Execute a pack of ScaleEval's Table 5, killed after a quarter and after half of its calls, then to its end."""
    file = write_variant(folder, name, server.address, choices="012", **fields)
    calls, before = CELLS * fields["limit"], len(server.log)
    for share in (4, 2):
        _kill_after(command(url, "experiments", "run", str(file), "--json"), server, before + calls // share)
    progress = json.loads(run(url, "experiments", "run", str(file), "--json"))
    received = Counter((line["model"], line["prompt"]) for line in server.log[before:])
    return Killed(progress, len(received), sum(received.values()) - len(received))


def print_table(url: str, experiment: str, statistic: str) -> str:
    return run(url, "experiments", "table", experiment, "--statistic", statistic)


def _kill_after(words: list[str], server: Server, calls: int) -> None:
    """Start a command, and kill its process when the server has received this many calls."""
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(server.log) < calls and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    if process.poll() is not None:
        raise RuntimeError("the command ended before it was killed")
    process.kill()
    process.wait()
