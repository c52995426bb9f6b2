"""One ask to a local server, through litellm."""

import asyncio
from typing import Any

from core.llm.client import LiteLLM, Reply
from core.problems import Problem
from core.trace import Ask, Spec


def an_ask(address: str | None, prompt: str = "Which is better?", **fields: Any) -> Ask:
    spec = Spec(**{"model": "judge-1", "address": address, "timeout": 5} | fields)
    return Ask("a", "opinion", 0, spec, prompt, int)


def answered(ask: Ask) -> Reply | Problem:
    """The reply, or the problem in its place."""

    async def one() -> Reply | Problem:
        model = LiteLLM()
        try:
            return await model.ask(ask)
        except Problem as problem:
            return problem
        finally:
            await model.close()

    return asyncio.run(one())
