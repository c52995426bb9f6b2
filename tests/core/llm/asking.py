"""Asks to a local server, through a client."""

import asyncio
from collections.abc import Callable
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


def complete_asks(asks: list[Ask], client: Callable[[], Model] = Router) -> list[Reply | TiebreakError]:
    """Return the reply or the problem of each ask, in sequence through one client."""

    async def run() -> list[Reply | TiebreakError]:
        model = client()
        outcomes: list[Reply | TiebreakError] = []
        try:
            for ask in asks:
                try:
                    outcomes.append(await model.complete(ask))
                except TiebreakError as error:
                    outcomes.append(error)
            return outcomes
        finally:
            await model.close()

    return asyncio.run(run())


def sample_ask(ask: Ask, client: Callable[[], Any] = Router) -> list[Reply]:
    """Return the replies of one call for several samples."""

    async def run() -> list[Reply]:
        model = client()
        try:
            return await model.sample(ask)
        finally:
            await model.close()

    return asyncio.run(run())
