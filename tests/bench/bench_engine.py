"""How much of a run's time is waiting for models: python -m tests.bench.bench_engine

200 debates of 3 judges who never agree over 3 rounds (1,800 calls), 64 calls at once, on a local server in a process
of its own. Two figures:

- 1 s a call:    ideal / real time, where ideal is calls x latency / 64; the goal is 0.9 or more.
- 100 ms a call: the engine's calls/s over those of a bare asyncio.gather over litellm.acompletion with the same
  prompts, run in the same process by turns; the goal is 0.85 or more.

Both need a machine that does nothing else. The CPU time that a call costs, told beside them, does not: the engine's own
share is measured with a scripted model in litellm's place.
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
from core.llm.client import LiteLLM, Model, ScriptedModel
from core.llm.limits import ConcurrencyLimit, Limits
from core.protocols.protocol import trace_random
from core.protocols.registry import PROTOCOLS
from core.protocols.scaleeval.protocol import Judge, Settings
from core.runner import Record, run_flow
from core.trace import Ask, Event, Spec, TurnTaken

AT_ONCE = 64
Row = tuple[str, str, str]
"""What was measured, the figure, the goal."""


class OneLane(Limits):
    """64 calls at once over all three judges."""

    def __init__(self) -> None:
        super().__init__()
        self._one = ConcurrencyLimit(AT_ONCE)

    def lane(self, spec: Spec) -> ConcurrencyLimit:
        return self._one


def items(count: int) -> list[Item]:
    text = "An answer of ordinary length, which says what it says and then says why it is so. " * 8
    return [
        Item(id=f"item-{n}", prompt=f"Question {n}: why?", responses=(Response(text=text), Response(text=text + "2")))
        for n in range(count)
    ]


def settings(address: str) -> Settings:
    judges = [Judge(name=f"j{n}", spec=Spec(model=f"judge-{n}", address=address)) for n in range(3)]
    rubric = tuple(f"Level {n} - the response is of level {n} in every respect that matters here." for n in range(1, 6))
    return Settings(judges=tuple(judges), criterion=Criterion(name="helpfulness", rubric=rubric), rounds=3)


async def engine(
    count: int, address: str, record: Callable[[Item], Record], model: Model | None = None
) -> tuple[float, list[TurnTaken]]:
    """Seconds for the whole run, and its turns."""
    protocol, chosen, texts = PROTOCOLS["scaleeval"], settings(address), PROTOCOLS["scaleeval"].prompts
    model, limits = model or LiteLLM(), OneLane()
    turns: list[TurnTaken] = []

    def recording(item: Item) -> Record:
        store = record(item)

        async def recorded(event: Event) -> None:
            if isinstance(event, TurnTaken):
                turns.append(event)
            await store(event)

        return recorded

    start = time.perf_counter()
    flows = [(protocol.flow(item, chosen, trace_random(1, item), texts), recording(item)) for item in items(count)]
    await asyncio.gather(*(run_flow(flow, model, store, limits=limits) for flow, store in flows))
    seconds = time.perf_counter() - start
    if len(turns) != count * 9:
        raise RuntimeError(f"{len(turns)} turns where {count * 9} should be: something is wrong with the server")
    return seconds, turns


async def bare(turns: list[TurnTaken], address: str) -> float:
    """Seconds for the same prompts, straight through litellm."""
    import litellm

    places = asyncio.Semaphore(AT_ONCE)

    async def call(taken: TurnTaken) -> None:
        async with places:
            await litellm.acompletion(
                model=f"openai/{taken.turn.model}",
                messages=[{"role": "user", "content": taken.turn.prompt}],
                api_base=address,
                api_key="none",
                temperature=0.0,
                max_tokens=1024,
                timeout=120,
                max_retries=0,
            )

    start = time.perf_counter()
    await asyncio.gather(*(call(taken) for taken in turns))
    return time.perf_counter() - start


def no_op(item: Item) -> Record:
    async def record(event: Event) -> None:
        return None

    return record


@contextmanager
def server(latency: float) -> Iterator[str]:
    """The base address of a server in its own process."""
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


def rows(record: Callable[[Item], Record] = no_op, count: int = 200, times: int = 3) -> list[Row]:
    """The table's rows; `record(item)` gives the recorder of one trace."""
    with server(1.0) as address:
        waiting = asyncio.run(_efficiency(count, address, record))
    with server(0.1) as address:
        ratio, calls, work = asyncio.run(_ratio(count, address, record, times))
    own = asyncio.run(_own_work(count, record))
    return [
        (f"{count} debates, {AT_ONCE} at once, 1 s a call: ideal / real time", f"{waiting:.3f}", ">= 0.9"),
        ("the same, 100 ms a call: engine / bare gather over litellm", f"{ratio:.3f}", ">= 0.85"),
        ("the same: the engine's calls a second", f"{calls:.0f}", ""),
        ("CPU a call with litellm, ms", f"{work * 1000:.2f}", ""),
        ("CPU a call of the engine alone, ms", f"{own * 1000:.2f}", ""),
    ]


async def _efficiency(count: int, address: str, record: Callable[[Item], Record]) -> float:
    await engine(2, address, no_op)  # imports and connections
    seconds, turns = await engine(count, address, record)
    return len(turns) * 1.0 / AT_ONCE / seconds


async def _ratio(count: int, address: str, record: Callable[[Item], Record], times: int) -> tuple[float, float, float]:
    """Engine over bare, the engine's calls a second, and its CPU seconds a call."""
    _, turns = await engine(count, address, no_op)
    both, work = [], []
    for _ in range(times):
        before = time.process_time()
        ours, _ = await engine(count, address, record)
        work.append((time.process_time() - before) / len(turns))
        both.append((ours, await bare(turns, address)))
    calls = len(turns) / statistics.median(ours for ours, _ in both)
    return statistics.median(plain / ours for ours, plain in both), calls, min(work)


async def _own_work(count: int, record: Callable[[Item], Record]) -> float:
    """CPU seconds a call where the model takes none."""

    def answer(ask: Ask) -> str:
        return "Both were weighed against the criteria. " * 16 + f"\n\n{ask.spec.model[-1]}"

    before = time.process_time()
    _, turns = await engine(count, "http://nowhere/v1", record, ScriptedModel(answer))
    return (time.process_time() - before) / len(turns)


def _wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError("the server did not start")


def main() -> None:
    parser = argparse.ArgumentParser(description="The engine's efficiency.")
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args()
    for what, figure, goal in rows(count=given.items, times=given.times):
        print(f"{what:<70} {figure:>8}  {goal}")


if __name__ == "__main__":
    main()
