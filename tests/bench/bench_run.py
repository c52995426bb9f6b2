"""A run whose calls are all stored: python -m tests.bench.bench_run [--reused N]

1,112 debates of 3 judges who never agree over 3 rounds (10,008 calls) on a local server in a process of its own, with
every event committed to SQLite before its flow continues; then the same run again. Measured N times.
"""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

import commands  # noqa: F401  # the collector's threshold of cli.py
from core.formats.records import ItemRecord
from core.llm.router import Router
from core.protocols.registry import PROTOCOLS
from storage.db.connections import connect, reading, upgrade, writing
from storage.runs import claims
from storage.studies import studies
from storage.transfer import imports
from storage.worker import RunRequest, create_run, execute_run, worker_name
from storage.worker._launch import progress as run_progress
from tests.bench.runs import items, server, settings

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
