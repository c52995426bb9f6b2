"""Runs of debates for `performance_table`, on a local model server in a process of its own, with a store and without.

Three judges never agree over three rounds, so a debate has nine calls.
"""

import asyncio
import socket
import subprocess
import sys
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
from storage.db.connections import connect, reading, writing
from storage.runs import claims
from storage.studies import studies
from storage.transfer import imports
from storage.worker import RunRequest, create_run, execute_run, worker_name
from storage.worker._launch import progress as run_progress
from tests.browser.conftest import free_port
from tests.databases import create_database
from tests.waiting import wait_for

CALLS_PER_MODEL = 21


async def stored_run(count: int, address: str, folder: Path) -> float:
    """Return the seconds of a run over `count` items, from its claim to its end; every event is committed to SQLite."""
    engine = connect(create_database(folder / f"{count}-{time.monotonic_ns()}.db"))
    imports.import_records(engine, "bench", [ItemRecord(item=item) for item in items(count)])
    with reading(engine) as session:
        study = studies.get(session, "bench")
    request = RunRequest(study, PROTOCOLS["scaleeval"], settings(address), "bench", parallel=CALLS_PER_MODEL)
    run_id, worker, model = create_run(engine, request), worker_name(), Router()
    with writing(engine) as session:
        claims.claim_run(session, run_id, worker)
    start = time.perf_counter()
    await execute_run(engine, run_id, model, worker=worker)
    seconds = time.perf_counter() - start
    await model.close()
    calls = run_progress(engine, run_id)[1].totals.calls
    engine.dispose()
    if calls != count * 9:
        raise RuntimeError(f"{calls} calls instead of {count * 9}: the server failed")
    return seconds


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


async def run_without_store(count: int, address: str) -> float:
    """Return the seconds of a whole run without a store."""
    protocol, chosen_settings, model = PROTOCOLS["scaleeval"], settings(address), Router()
    limits = Limits(parallel=CALLS_PER_MODEL)
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
