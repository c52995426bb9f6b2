"""A run whose calls are all stored: python -m tests.bench.bench_run [--reused N]

1,112 debates of 3 judges who never agree over 3 rounds (10,008 calls) on a local server in a process of its own, with
every event committed to SQLite before its flow continues; then the same run again. Measured N times.
"""

import argparse
import asyncio
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import commands  # noqa: F401  # the collector's threshold of cli.py
from core.formats.records import ItemRecord
from core.items import Criterion, Item, Response
from core.llm.limits import Limits
from core.llm.router import Router
from core.protocols import Judge, trace_rng
from core.protocols.registry import PROTOCOLS
from core.protocols.scaleeval.settings import Settings
from core.runner import run_flow
from core.trace import Event, Spec, TurnCompleted
from storage.db.connections import connect, reading, upgrade, writing
from storage.runs import claims
from storage.studies import studies
from storage.transfer import imports
from storage.worker import RunRequest, create_run, execute_run, worker_name
from storage.worker._launch import progress as run_progress
from tests.browser.conftest import free_port
from tests.waiting import wait_for

CALLS_PER_MODEL = 21
REUSED_CALLS = 10_000


def seconds(count: int, address: str, folder: Path, *, reused: bool = False) -> float:
    """Return the seconds of a run over `count` items, from its claim to its end, without the import of litellm.

    With `reused`, of the same run again, whose calls are all stored.
    """
    engine = connect(f"sqlite:///{folder}/{count}-{time.monotonic_ns()}.db")
    upgrade(engine)
    imports.import_records(engine, "bench", [ItemRecord(item=item) for item in items(count)])
    with reading(engine) as session:
        study = studies.get(session, "bench")
    request = RunRequest(study, PROTOCOLS["scaleeval"], settings(address), "bench", parallel=CALLS_PER_MODEL)
    for again in range(1 + reused):
        run_id = create_run(engine, request)
        worker = worker_name()
        with writing(engine) as session:
            claims.claim_run(session, run_id, worker)
        elapsed = asyncio.run(_timed(engine, run_id, worker))
        totals = run_progress(engine, run_id)[1].totals
        if (totals.calls, totals.reused) != (count * 9, again * count * 9):
            raise RuntimeError(f"{totals.calls} calls and {totals.reused} reused instead of {count * 9}")
    engine.dispose()
    return elapsed


async def _timed(engine, run_id: int, worker: str) -> float:
    model = Router()
    start = time.perf_counter()
    await execute_run(engine, run_id, model, worker=worker)
    elapsed = time.perf_counter() - start
    await model.close()
    return elapsed


def items(count: int) -> list[Item]:
    text = "An answer of ordinary length, with a claim and the reason for the claim, in two clauses. " * 8
    return [
        Item(id=f"item-{n}", prompt=f"Question {n}: why?", responses=(Response(text=text), Response(text=text + "2")))
        for n in range(count)
    ]


def settings(address: str) -> Settings:
    judges = [Judge(name=f"j{n}", spec=Spec(model=f"judge-{n}", address=address)) for n in range(3)]
    rubric = tuple(f"Level {n} - the response is of level {n} in every respect that matters here." for n in range(1, 6))
    return Settings(judges=tuple(judges), criterion=Criterion(name="helpfulness", rubric=rubric), rounds=3)


async def run_debates(count: int, address: str, limits: Limits) -> float:
    """Return the seconds of a whole run without a store."""
    protocol, chosen_settings, model = PROTOCOLS["scaleeval"], settings(address), Router()
    turns = 0

    async def record(event: Event) -> None:
        nonlocal turns
        turns += isinstance(event, TurnCompleted)

    start = time.perf_counter()
    flows = [protocol.flow(item, chosen_settings, trace_rng(1, item), protocol.prompts) for item in items(count)]
    await asyncio.gather(*(run_flow(flow, model, record, limits=limits) for flow in flows))
    seconds = time.perf_counter() - start
    await model.close()
    if turns != count * 9:
        raise RuntimeError(f"{turns} turns instead of {count * 9}: the server failed")
    return seconds


@contextmanager
def server(latency: float) -> Iterator[str]:
    """Start a server in its own process, and yield its base address."""
    port = free_port()
    command = [sys.executable, "-m", "tests.openai_server", "--port", str(port), "--latency", str(latency)]
    process = subprocess.Popen(command)
    try:
        if not wait_for(lambda: _listens(port)):
            raise TimeoutError("the server did not start")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(10)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def main() -> None:
    parser = argparse.ArgumentParser(description="A run whose calls are all stored.")
    parser.add_argument("--reused", type=int, default=1, metavar="N")
    count = -(-REUSED_CALLS // 9)
    for _ in range(parser.parse_args().reused):
        with tempfile.TemporaryDirectory() as folder, server(0.0) as address:
            elapsed = seconds(count, address, Path(folder), reused=True)
        measurement = f"{count * 9:,} stored calls, all reused: seconds"
        print(f"{measurement:<78} {elapsed:>6.3f}   {count * 9 / elapsed:>5.0f} calls/s", flush=True)


if __name__ == "__main__":
    main()
