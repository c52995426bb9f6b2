"""The share of a run's time that is spent waiting for models: python -m tests.bench.bench_runner

200 debates of 3 judges who never agree over 3 rounds (1,800 calls), 64 calls at once, on a local server in a process
of its own. Two measurements:

- 1 s a call:    ideal / real time, where ideal is calls x latency / 64; the goal is 0.9 or more.
- 100 ms a call: the runner's calls/s divided by those of asyncio.gather over litellm.acompletion with the same prompts,
  measured alternately in one process; the goal is 0.85 or more.

Both need an idle machine. The CPU time per call does not: the runner's own share is measured with a scripted model in
place of litellm.
"""

import argparse
import asyncio
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from core.items import Criterion, Item, Response
from core.llm.client import Model, ScriptedModel
from core.llm.limits import ConcurrencyLimit, Limits
from core.llm.router import Router
from core.protocols import Judge, trace_rng
from core.protocols.registry import PROTOCOLS
from core.protocols.scaleeval.settings import Settings
from core.runner import Record, run_flow
from core.trace import Ask, Event, Spec, TurnCompleted

CONCURRENT_CALLS = 64
Row = tuple[str, str, str]
"""Measurement, result, goal."""


class SharedLimit(Limits):
    """64 concurrent calls over all three judges, instead of a limit for each model."""

    def __init__(self) -> None:
        super().__init__()
        self._shared = ConcurrencyLimit(CONCURRENT_CALLS)

    def concurrency_limit(self, spec: Spec) -> ConcurrencyLimit:
        return self._shared


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


async def run_traces(
    count: int,
    address: str,
    record: Callable[[Item], Record],
    model: Model | None = None,
    limits: Limits | None = None,
) -> tuple[float, list[TurnCompleted]]:
    """Return the seconds of the whole run, and its turns."""
    protocol, chosen_settings, templates = PROTOCOLS["scaleeval"], settings(address), PROTOCOLS["scaleeval"].prompts
    model, limits = model or Router(), limits or SharedLimit()
    turns: list[TurnCompleted] = []

    def recorder(item: Item) -> Record:
        store_event = record(item)

        async def record_event(event: Event) -> None:
            if isinstance(event, TurnCompleted):
                turns.append(event)
            await store_event(event)

        return record_event

    start = time.perf_counter()
    flows = [
        (protocol.flow(item, chosen_settings, trace_rng(1, item), templates), recorder(item)) for item in items(count)
    ]
    await asyncio.gather(*(run_flow(flow, model, store_event, limits=limits) for flow, store_event in flows))
    seconds = time.perf_counter() - start
    await model.close()
    if len(turns) != count * 9:
        raise RuntimeError(f"{len(turns)} turns instead of {count * 9}: the server failed")
    return seconds, turns


async def call_directly(turns: list[TurnCompleted], address: str) -> float:
    """Return the seconds of the same prompts through litellm alone."""
    import litellm

    slots = asyncio.Semaphore(CONCURRENT_CALLS)

    async def call(completed: TurnCompleted) -> None:
        async with slots:
            await litellm.acompletion(
                model=f"openai/{completed.turn.model}",
                messages=[{"role": "user", "content": completed.turn.prompt}],
                api_base=address,
                api_key="none",
                temperature=0.0,
                max_tokens=1024,
                timeout=120,
                max_retries=0,
            )

    start = time.perf_counter()
    await asyncio.gather(*(call(completed) for completed in turns))
    return time.perf_counter() - start


def discard(item: Item) -> Record:
    async def record(event: Event) -> None:
        return None

    return record


@contextmanager
def server(latency: float) -> Iterator[str]:
    """Start a server in its own process, and yield its base address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tests.openai_server", "--port", str(port), "--latency", str(latency)]
    process = subprocess.Popen(command)
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(10)


def rows(record: Callable[[Item], Record] = discard, count: int = 200, times: int = 3) -> list[Row]:
    """Return the rows of the table; `record(item)` returns the recorder of one trace."""
    with server(1.0) as address:
        waiting = asyncio.run(_efficiency(count, address, record))
    with server(0.1) as address:
        ratio, calls, cpu = asyncio.run(_ratio(count, address, record, times))
    cpu_alone = asyncio.run(_own_work(count, record))
    return [
        (f"{count} debates, {CONCURRENT_CALLS} at once, 1 s a call: ideal / real time", f"{waiting:.3f}", ">= 0.9"),
        ("the same, 100 ms a call: runner / gather over litellm", f"{ratio:.3f}", ">= 0.85"),
        ("the same: the runner's calls a second", f"{calls:.0f}", ""),
        ("CPU a call with litellm, ms", f"{cpu * 1000:.2f}", ""),
        ("CPU a call of the runner alone, ms", f"{cpu_alone * 1000:.2f}", ""),
    ]


async def _efficiency(count: int, address: str, record: Callable[[Item], Record]) -> float:
    await run_traces(2, address, discard)  # imports and connections
    seconds, turns = await run_traces(count, address, record)
    return len(turns) * 1.0 / CONCURRENT_CALLS / seconds


async def _ratio(count: int, address: str, record: Callable[[Item], Record], times: int) -> tuple[float, float, float]:
    """Return runner / litellm alone, the runner's calls a second, and its CPU seconds a call."""
    _, turns = await run_traces(count, address, discard)
    timings, cpu = [], []
    for _ in range(times):
        before = time.process_time()
        runner_seconds, _ = await run_traces(count, address, record)
        cpu.append((time.process_time() - before) / len(turns))
        timings.append((runner_seconds, await call_directly(turns, address)))
    calls = len(turns) / statistics.median(runner_seconds for runner_seconds, _ in timings)
    return (
        statistics.median(direct_seconds / runner_seconds for runner_seconds, direct_seconds in timings),
        calls,
        min(cpu),
    )


async def _own_work(count: int, record: Callable[[Item], Record]) -> float:
    """Return the CPU seconds of a call to a scripted model."""

    def answer(ask: Ask) -> str:
        return "Both were compared on the criterion. " * 16 + f"\n\n{ask.spec.model[-1]}"

    before = time.process_time()
    _, turns = await run_traces(count, "http://nowhere/v1", record, ScriptedModel(answer))
    return (time.process_time() - before) / len(turns)


def _wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError("the server did not start")


def main() -> None:
    parser = argparse.ArgumentParser(description="The efficiency of the runner.")
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    for measurement, figure, goal in rows(count=options.items, times=options.times):
        print(f"{measurement:<70} {figure:>8}  {goal}")


if __name__ == "__main__":
    main()
