"""Asks to a local server, through a client."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from core.answers.choice import Choice
from core.errors import TiebreakError
from core.llm.client import Model, Reply
from core.llm.router import Router
from core.trace import Ask, Spec


def make_ask(address: str | None, prompt: str = "Which is better?", **fields: Any) -> Ask:
    """Return an ask to the model at an address; `fields` are fields of its Spec."""
    spec = Spec(**{"model": "judge-1", "address": address, "timeout": 30} | fields)
    return Ask("a", "opinion", 0, spec, prompt, int)


def make_json_ask(address: str | None, prompt: str = "Which is better?", **fields: Any) -> Ask:
    """Return an ask for a choice in JSON."""
    return replace(make_ask(address, prompt, **fields), answer=Choice(), format="json")


def complete_ask(ask: Ask, client: Callable[[], Model] = Router) -> Reply | TiebreakError:
    """Return the reply, or the problem raised instead."""
    return complete_asks([ask], client)[0]


def with_client(client: Callable[[], Any], use: Callable[[Any], Awaitable[Any]]) -> Any:
    """Return the result of `use` with a client that is closed afterwards."""

    async def run() -> Any:
        model = client()
        try:
            return await use(model)
        finally:
            await model.close()

    return asyncio.run(run())


def complete_asks(asks: list[Ask], client: Callable[[], Model] = Router) -> list[Reply | TiebreakError]:
    """Return the reply or the problem of each ask, in sequence through one client."""

    async def use(model: Model) -> list[Reply | TiebreakError]:
        outcomes: list[Reply | TiebreakError] = []
        for ask in asks:
            try:
                outcomes.append(await model.complete(ask))
            except TiebreakError as error:
                outcomes.append(error)
        return outcomes

    return with_client(client, use)


def sample_ask(ask: Ask, client: Callable[[], Any] = Router) -> list[Reply]:
    """Return the replies of one call for several samples."""
    return with_client(client, lambda model: model.sample(ask))
