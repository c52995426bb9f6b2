"""The table of performance figures: python -m tests.bench.performance_table [--short] [--write]

Each figure is measured next to its anchor in the same run, so a ratio hardly depends on the machine. `--short` takes
less than a minute on an idle machine, for comparisons before and after a change; `--write` replaces the table in
docs/performance.md.
"""

import argparse
import asyncio
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from core.llm import PARALLEL_CALLS
from core.statistics.reports.agreement import agreement_rows
from storage.db import connections
from storage.transfer import samples
from tests.bench.clients import CLIENTS
from tests.bench.command_inputs import (
    LIKERT,
    crowd,
    debate_settings,
    judge_settings,
    plain_import,
    write_critiques,
    write_table,
)
from tests.bench.runs import CALLS_PER_MODEL, run_without_store, server, stored_run
from tests.paths import ROOT
from tests.storage.postgres import Server, binaries

PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- table of make bench -->", "<!-- end of the table -->"
LATENCY = 0.3
ITEMS = 12
UNITS_OF_CRITIQUE = 16
"""Calls of a critique: its reference answer, and 15 AIUs."""


@dataclass(frozen=True)
class Usage:
    """What a process has used."""

    wall: float
    cpu: float
    """Seconds."""
    megabytes: float
    """The peak of its resident memory."""


@dataclass(frozen=True)
class Figure:
    """One row of the table."""

    name: str
    ours: float
    unit: str
    anchor_name: str = ""
    anchor: float | None = None

    def cells(self) -> tuple[str, ...]:
        """Return the row's texts."""
        anchor = "" if self.anchor is None else f"{self.anchor_name}: {self.anchor:,.2f} {self.unit}"
        ratio = f"{self.ours / self.anchor:.2f}" if self.anchor else ""
        return self.name, f"{self.ours:,.2f} {self.unit}", anchor, ratio


@dataclass(frozen=True)
class Bench:
    """The options of a run of all measurements."""

    folder: Path
    short: bool

    @property
    def repeats(self) -> int:
        return 2 if self.short else 3

    @property
    def database(self) -> str:
        return f"sqlite:///{self.folder}/bench.db"

    def command(self, *words: str) -> Usage:
        """Return the medians of a command of cli.py; each time on a copy of the database."""
        used = [self._once(words) for _ in range(1 if words[:2] == ("data", "import") else self.repeats)]
        return Usage(*(statistics.median(values) for values in zip(*(vars(one).values() for one in used), strict=True)))

    def _once(self, words: tuple[str, ...]) -> Usage:
        options = () if words[0] == "--help" or "--database" in words else ("--database", self.database)
        return measure_process([sys.executable, "cli.py", *words, *options])


def measure_process(command: list[str]) -> Usage:
    """Run a command; raises RuntimeError if it fails."""
    with tempfile.TemporaryFile("w+") as output:
        # Linux counts the memory of the parent, so the parent is a small process.
        launcher = [sys.executable, "-m", "tests.bench.usage", *command]
        # Python stores compiled modules, as for every user: without them a command compiles 200 modules each time.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run(
            launcher, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=output, text=True, check=False
        )
        output.seek(0)
        if done.returncode:
            raise RuntimeError(output.read()[-2000:])
    return Usage(*json.loads(done.stdout))


def cpu_seconds(work: Callable[[], object], repeats: int = 1) -> float:
    """Return the median processor time of the repeats, after one to warm up if there are several."""
    durations = []
    for _ in range(repeats + (repeats > 1)):
        start = time.process_time()
        work()
        durations.append(time.process_time() - start)
    return statistics.median(durations[repeats > 1 :])


def measure_start(bench: Bench) -> Iterator[Figure]:
    python = [measure_process([sys.executable, "-c", "pass"]) for _ in range(bench.repeats)]
    start = statistics.median(one.wall for one in python)
    bench.command("data", "import", str(samples.path()), "--study", "debates")
    agreement = ["people", "agreement", "--study", "debates"]
    for name, words in (("`cli.py --help`", ["--help"]), ("`cli.py people agreement`, 32 items", agreement)):
        used = bench.command(*words)
        yield Figure(f"{name}, wall", used.wall, "s", "Python's start", start)
        yield Figure(f"{name}, memory", used.megabytes, "MB", "Python's start", python[0].megabytes)


def measure_runs(bench: Bench) -> Iterator[Figure]:
    critiques = write_critiques(bench.folder / "critiques.jsonl", ITEMS)
    bench.command("data", "import", str(samples.path()), "--study", "debates")
    bench.command("data", "import", str(critiques), "--study", "critiques")
    with server(LATENCY) as address:
        debates = debate_settings(bench.folder / "debates.yaml", address)
        common = "runs start --fresh --study debates --protocol scaleeval --settings"
        used = bench.command(*common.split(), str(debates), "--limit", str(ITEMS))
        calls = 2 * 3 * LATENCY  # two batches of eight calls to each judge, in three rounds
        yield from _run_figures(f"`cli.py runs start`, {ITEMS} debates, 0.3 s a call", used, calls)
        judge = judge_settings(bench.folder / "judge.yaml", address)
        common = "runs start --fresh --study critiques --protocol metacritique --settings"
        for parallel in (5, 8, PARALLEL_CALLS) if not bench.short else (PARALLEL_CALLS,):
            used = bench.command(*common.split(), str(judge), "--parallel", str(parallel))
            calls = ITEMS * UNITS_OF_CRITIQUE * LATENCY / parallel
            yield from _run_figures(f"`cli.py runs start`, {ITEMS} critiques, {parallel} at once", used, calls)


def _run_figures(name: str, used: Usage, calls: float) -> Iterator[Figure]:
    yield Figure(f"{name}, wall", used.wall, "s", "its calls alone", calls)
    yield Figure(f"{name}, processor", used.cpu, "s")
    yield Figure(f"{name}, memory", used.megabytes, "MB")


def measure_clients(bench: Bench) -> Iterator[Figure]:
    count = 500 if bench.short else 1500
    rates: dict[str, list[float]] = {name: [] for name in CLIENTS}
    with server(0.1) as address:
        for number in range(bench.repeats + 1):
            for name, rate in rates.items():
                taken = asyncio.run(CLIENTS[name](address, count if number else 64))
                if number:
                    rate.append(count / taken)
    ours = statistics.median(rates.pop("router"))
    for name, rate in rates.items():
        yield Figure("calls, 64 at once, 0.1 s a call", ours, "calls/s", name, statistics.median(rate))


def measure_store(bench: Bench) -> Iterator[Figure]:
    count, stored, alone = 40 if bench.short else 200, [], []
    with server(0.1) as address:
        for number in range(bench.repeats + 1):  # the first one imports and connects
            stored.append(count * 9 / asyncio.run(stored_run(count if number else 2, address, bench.folder)))
            alone.append(count * 9 / asyncio.run(run_without_store(count if number else 2, address)))
    name = f"{count} debates stored in SQLite, {3 * CALLS_PER_MODEL} at once, 0.1 s a call"
    without = statistics.median(alone[1:])
    yield Figure(name, statistics.median(stored[1:]), "calls/s", "without a store", without)


def measure_import(bench: Bench) -> Iterator[Figure]:
    cpu = {}
    for items in (1_000, 10_000) if bench.short else (1_000, 10_000, 100_000):
        table, mapping = write_table(bench.folder, items)
        name, used = f"import of {items:,} items, {3 * items:,} labels", _import(bench, table, mapping)
        plain = cpu_seconds(lambda file=table: plain_import(file))
        yield Figure(f"{name}, processor", used.cpu, "s", "csv and sqlite3 alone", plain)
        yield Figure(f"{name}, memory", used.megabytes, "MB")
        cpu[items] = used.cpu
    yield from _growth("import, processor: growth from 10 times the items", cpu)
    items = 3_000 if bench.short else 30_000
    used = _import(bench, *write_table(bench.folder, items, verdicts=True))
    name = f"import of {items:,} items, verdicts of 3 judges"
    yield Figure(f"{name}, processor", used.cpu, "s")
    yield Figure(f"{name}, memory", used.megabytes, "MB")
    if (programs := binaries()) is not None:
        yield from _import_into_postgresql(bench, max(cpu), Server(programs))


def _import(bench: Bench, table: Path, mapping: Path, *options: str) -> Usage:
    return bench.command("data", "import", str(table), "--map", str(mapping), "--study", table.stem, *options)


def _import_into_postgresql(bench: Bench, items: int, server: Server) -> Iterator[Figure]:
    files, url = write_table(bench.folder, items), server.url(server.create())
    engine = connections.connect(url)
    connections.upgrade(engine)
    engine.dispose()
    before = server.cpu_seconds()
    used = _import(bench, *files, "--database", url)
    of_server = server.cpu_seconds() - before
    server.stop()
    name = f"import of {items:,} items, {3 * items:,} labels into PostgreSQL"
    yield Figure(f"{name}, processor of client and server", used.cpu + of_server, "s")
    yield Figure(f"{name}, processor of the server", of_server, "s")
    yield Figure(f"{name}, memory of the client", used.megabytes, "MB")


def measure_agreement(bench: Bench) -> Iterator[Figure]:
    by_items = {
        items: _agreement(items, 3, bench) for items in ((1_000, 10_000) if bench.short else (1_000, 10_000, 100_000))
    }
    for items, elapsed in by_items.items():
        yield Figure(f"agreement with intervals, {items:,} items x 3 annotators, ordinal, processor", elapsed, "s")
    yield from _growth("agreement: growth from 10 times the items", by_items)
    for raters in (10, 30) if bench.short else (10, 30, 100, 123):
        elapsed = _agreement(350, raters, bench)
        yield Figure(f"agreement with intervals, 350 items x {raters} annotators, ordinal, processor", elapsed, "s")
    if not bench.short:
        used = measure_process([sys.executable, "-m", "tests.bench.command_inputs", "crowd"])
        yield Figure("the same with 123 annotators in a process of its own, memory", used.megabytes, "MB")


def _agreement(items: int, raters: int, bench: Bench) -> float:
    frame = crowd(items, raters)
    return cpu_seconds(lambda: agreement_rows(frame, by="all", scales=LIKERT), 1 if raters > 30 else bench.repeats)


def _growth(name: str, seconds_by_size: dict[int, float]) -> Iterator[Figure]:
    """Yield the factor by which the cost of the largest size exceeds that of the one before."""
    *_, smaller, larger = seconds_by_size.values()
    yield Figure(name, larger / smaller, "times")


MEASUREMENTS: tuple[Callable[[Bench], Iterator[Figure]], ...] = (
    measure_start,
    measure_runs,
    measure_clients,
    measure_store,
    measure_import,
    measure_agreement,
)


HEADER = ("figure", "Tiebreak", "anchor, same run", "ratio")


def machine() -> str:
    """Return the processor, Python and the load as a sentence."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    priority = os.getpriority(os.PRIO_PROCESS, 0)
    hardware = f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"
    return f"{day}, {hardware}; load average at the end {load}; priority {priority}."


def markdown(figures: list[Figure]) -> str:
    """Return the table."""
    rows = [HEADER, ("---",) * 4, *(figure.cells() for figure in figures)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/performance.md")
    parser.add_argument("--only", choices=[one.__name__.removeprefix("measure_") for one in MEASUREMENTS])
    arguments = parser.parse_args()
    figures: list[Figure] = []
    print(" | ".join(HEADER))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), arguments.short)
        for measurement in MEASUREMENTS:
            if arguments.only in (None, measurement.__name__.removeprefix("measure_")):
                for figure in measurement(bench):
                    print(" | ".join(figure.cells()), flush=True)
                    figures.append(figure)
    print(machine())
    if arguments.write:
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(BEGIN)
        table = f"{BEGIN}\n{machine()}\n\n{markdown(figures)}\n{END}"
        PAGE.write_text(before + table + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
