"""Calls per second of each client of an OpenAI-compatible address: python -m tests.bench.bench_client

64 concurrent calls of 100 ms to a local server in a separate process; the ideal is 640 calls/s. The clients are
measured alternately in one process, and a ratio is the median of the ratios of each round, so other load affects both:

- bare litellm    asyncio.gather over litellm.acompletion
- bare aiohttp    asyncio.gather over one aiohttp session, the text read from the JSON
- direct client   core.llm.openai_compatible, the goal is 2.3 times bare litellm
- router          the same, behind core.llm.router
- litellm client  core.llm.client.LiteLLM
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiohttp

from core.llm.client import LiteLLM, Model
from core.llm.errors import load_litellm
from core.llm.openai_compatible import OpenAICompatible
from core.llm.router import Router
from core.trace import Ask, Spec
from tests.bench.bench_runner import server

CONCURRENT_CALLS = 64
LATENCY = 0.1
GOAL = 2.3
PROMPT = (
    "Question {number}: which answer is better?\n\n" + "An answer of ordinary length, which gives its reasons. " * 40
)
Call = Callable[[str], Awaitable[str]]
"""From a prompt to the text of the reply."""


@dataclass(frozen=True)
class Measurement:
    """One round of one client: elapsed seconds, and CPU seconds of this process."""

    seconds: float
    cpu_seconds: float


async def measure_calls(call: Call, count: int) -> Measurement:
    """Make `count` calls, 64 concurrently."""
    semaphore = asyncio.Semaphore(CONCURRENT_CALLS)

    async def limited_call(number: int) -> str:
        async with semaphore:
            return await call(PROMPT.format(number=number))

    start, cpu_start = time.perf_counter(), time.process_time()
    texts = await asyncio.gather(*(limited_call(number) for number in range(count)))
    measured = Measurement(time.perf_counter() - start, time.process_time() - cpu_start)
    if not all(text[-1:] == "1" for text in texts):
        raise RuntimeError("a call failed")
    return measured


async def bare_litellm(address: str, count: int) -> Measurement:
    litellm = load_litellm()

    async def call(prompt: str) -> str:
        response = await litellm.acompletion(
            model="openai/judge-1",
            messages=[{"role": "user", "content": prompt}],
            api_base=address,
            api_key="none",
            temperature=0.0,
            max_tokens=1024,
            timeout=120,
            max_retries=0,
        )
        return response.choices[0].message.content

    return await measure_calls(call, count)


async def bare_aiohttp(address: str, count: int) -> Measurement:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def call(prompt: str) -> str:
            body = {"model": "judge-1", "messages": [{"role": "user", "content": prompt}], "max_tokens": 1024}
            async with session.post(f"{address}/chat/completions", json=body) as response:
                return (await response.json())["choices"][0]["message"]["content"]

        return await measure_calls(call, count)


def measure_client(client: Callable[[], Model]) -> Callable[[str, int], Awaitable[Measurement]]:
    """Return the measurement of one of the project's clients."""

    async def measure(address: str, count: int) -> Measurement:
        model, spec = client(), Spec(model="judge-1", address=address)

        async def call(prompt: str) -> str:
            return (await model.complete(Ask("a", "opinion", 0, spec, prompt, int))).text

        try:
            return await measure_calls(call, count)
        finally:
            await model.close()

    return measure


CLIENTS: dict[str, Callable[[str, int], Awaitable[Measurement]]] = {
    "bare litellm": bare_litellm,
    "bare aiohttp": bare_aiohttp,
    "direct client": measure_client(OpenAICompatible),
    "router": measure_client(Router),
    "litellm client": measure_client(LiteLLM),
}


def measure_rounds(count: int, rounds: int) -> dict[str, list[Measurement]]:
    """Measure every client in each round, after a first round that is not counted (imports, first connections)."""
    measured: dict[str, list[Measurement]] = {name: [] for name in CLIENTS}
    with server(LATENCY) as address:
        for number in range(rounds + 1):
            for name, measure in CLIENTS.items():
                result = asyncio.run(measure(address, count if number else CONCURRENT_CALLS))
                if number:
                    measured[name].append(result)
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description="Calls per second of each client.")
    parser.add_argument("--calls", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    measured = measure_rounds(arguments.calls, arguments.rounds)
    reference = measured["bare litellm"]
    print(f"{arguments.calls} calls of {LATENCY * 1000:g} ms, {CONCURRENT_CALLS} concurrent, {arguments.rounds} rounds")
    print(f"{'client':<16} {'calls/s':>8} {'CPU ms per call':>16} {'ratio to bare litellm':>22}")
    for name, results in measured.items():
        rate = statistics.median(arguments.calls / result.seconds for result in results)
        cpu_milliseconds = statistics.median(result.cpu_seconds / arguments.calls * 1000 for result in results)
        ratio = statistics.median(
            base.seconds / result.seconds for base, result in zip(reference, results, strict=True)
        )
        goal = f"  goal {GOAL}" if name in ("direct client", "router") else ""
        print(f"{name:<16} {rate:>8.0f} {cpu_milliseconds:>16.2f} {ratio:>22.2f}{goal}")


if __name__ == "__main__":
    main()
