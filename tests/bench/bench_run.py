"""A whole run with its database: python -m tests.bench.bench_run

What bench_engine measures with nothing kept, measured again with every event committed to SQLite before its flow goes
on: 200 debates of 3 judges who never agree over 3 rounds (1,800 calls), 63 calls at once (21 to each of 3 models), on a
local server in a process of its own. Ideal time is calls x latency / 63.
"""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from core.formats.records import ItemRecord
from core.llm.client import LiteLLM
from core.protocols.registry import PROTOCOLS
from storage import runs, studies
from storage.database import connect, reading, upgrade, writing
from storage.transfer import imports
from storage.worker import launch
from storage.worker.launch import Order
from storage.worker.worker import carry_run, worker_name
from tests.bench.bench_engine import items, server, settings

EACH = 21


def seconds(count: int, address: str, folder: Path) -> float:
    """How long a run over `count` items takes from its claim to its end, litellm's import not counted."""
    engine = connect(f"sqlite:///{folder}/{count}-{time.monotonic_ns()}.db")
    upgrade(engine)
    imports.load(engine, "bench", [ItemRecord(item=item) for item in items(count)])
    with reading(engine) as session:
        study = studies.get(session, "bench")
    order = Order(study, PROTOCOLS["scaleeval"], settings(address), "bench", parallel=EACH)
    run_id = launch.make(engine, order)
    worker = worker_name()
    with writing(engine) as session:
        runs.take(session, run_id, worker)
    took = asyncio.run(_timed(engine, run_id, worker))
    _, progress = launch.progress(engine, run_id)
    if progress.totals.calls != count * 9:
        raise RuntimeError(f"{progress.totals.calls} calls where {count * 9} should be")
    engine.dispose()
    return took


async def _timed(engine, run_id: int, worker: str) -> float:
    model = LiteLLM()
    start = time.perf_counter()
    await carry_run(engine, run_id, model, worker=worker)
    took = time.perf_counter() - start
    await model.close()
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description="A run with its database.")
    parser.add_argument("--items", type=int, default=200)
    count = parser.parse_args().items
    with tempfile.TemporaryDirectory() as folder:
        for latency in (1.0, 0.1):
            with server(latency) as address:
                seconds(2, address, Path(folder))  # imports and connections
                took = seconds(count, address, Path(folder))
            calls = count * 9
            ideal = calls * latency / (3 * EACH)
            what = f"{count} debates kept in SQLite, {3 * EACH} at once, {latency:g} s a call: ideal / real"
            print(f"{what:<78} {ideal / took:>6.3f}   {calls / took:>5.0f} calls/s")


if __name__ == "__main__":
    main()
