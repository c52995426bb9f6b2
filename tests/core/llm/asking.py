"""One ask to a local server, through litellm."""

import asyncio
from typing import Any

from core.llm.client import LiteLLM, Reply
from core.problems import Problem
from core.trace import Ask, Spec


def make_ask(address: str | None, prompt: str = "Which is better?", **fields: Any) -> Ask:
    """Return an ask to the model at an address; `fields` are fields of its Spec."""
    spec = Spec(**{"model": "judge-1", "address": address, "timeout": 5} | fields)
    return Ask("a", "opinion", 0, spec, prompt, int)


def complete_ask(ask: Ask) -> Reply | Problem:
    """Return the reply, or the problem raised instead."""

    async def run() -> Reply | Problem:
        model = LiteLLM()
        try:
            return await model.complete(ask)
        except Problem as problem:
            return problem
        finally:
            await model.close()

    return asyncio.run(run())
