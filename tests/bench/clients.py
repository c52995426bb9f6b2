"""Clients of an OpenAI-compatible address, each with 64 concurrent calls: the router, and two libraries alone."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import aiohttp

from core.llm.errors import load_litellm
from core.llm.router import Router
from core.trace import Ask, Spec

CONCURRENT_CALLS = 64
PROMPT = (
    "Question {number}: which answer is better?\n\n" + "An answer of ordinary length, which gives its reasons. " * 40
)
Call = Callable[[str], Awaitable[str]]
"""From a prompt to the text of the reply."""


async def measure_calls(call: Call, count: int) -> float:
    """Make `count` calls, 64 concurrently; returns the seconds."""
    semaphore = asyncio.Semaphore(CONCURRENT_CALLS)

    async def limited_call(number: int) -> str:
        async with semaphore:
            return await call(PROMPT.format(number=number))

    start = time.perf_counter()
    texts = await asyncio.gather(*(limited_call(number) for number in range(count)))
    seconds = time.perf_counter() - start
    if not all(text[-1:] == "1" for text in texts):
        raise RuntimeError("a call failed")
    return seconds


async def bare_litellm(address: str, count: int) -> float:
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


async def bare_aiohttp(address: str, count: int) -> float:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def call(prompt: str) -> str:
            body = {"model": "judge-1", "messages": [{"role": "user", "content": prompt}], "max_tokens": 1024}
            async with session.post(f"{address}/chat/completions", json=body) as response:
                return (await response.json())["choices"][0]["message"]["content"]

        return await measure_calls(call, count)


async def router(address: str, count: int) -> float:
    model, spec = Router(), Spec(model="judge-1", address=address)

    async def call(prompt: str) -> str:
        return (await model.complete(Ask("a", "opinion", 0, spec, prompt))).text

    try:
        return await measure_calls(call, count)
    finally:
        await model.close()


CLIENTS = {"bare litellm": bare_litellm, "bare aiohttp": bare_aiohttp, "router": router}
"""Each returns the seconds of a number of calls."""
