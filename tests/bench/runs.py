"""Debates of judges who never agree, on a local server in a process of its own, for benchmarks of runs."""

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from core.items import Criterion, Item, Response
from core.llm.limits import Limits
from core.llm.router import Router
from core.protocols import Judge, trace_rng
from core.protocols.registry import PROTOCOLS
from core.protocols.scaleeval.settings import Settings
from core.runner import run_flow
from core.trace import Event, Spec, TurnCompleted
from tests.browser.conftest import free_port
from tests.waiting import wait_for


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
