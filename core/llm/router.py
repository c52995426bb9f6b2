"""Selects the client for each ask: servers at an address are called directly, providers through litellm."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from core.answers.answer import Format
from core.llm.client import LiteLLM, Model, Reply, Sampler
from core.llm.local_server import is_local
from core.trace import Ask, Spec

if TYPE_CHECKING:
    from core.llm.openai_compatible import OpenAICompatible

Result = TypeVar("Result")


class Router:
    """Every model that a run can name. A client is created, and its library imported, for the first ask to it."""

    def __init__(self) -> None:
        self._direct: OpenAICompatible | None = None
        self._litellm: LiteLLM | None = None

    async def complete(self, ask: Ask) -> Reply:
        """Make one call, without retries."""
        return await self.model_for(ask.spec).complete(ask)

    async def answer_format(self, spec: Spec) -> Format:
        """Return the format in which answers are requested from a model with these settings."""
        return await self.model_for(spec).answer_format(spec)

    async def sample(self, ask: Ask) -> list[Reply]:
        """Make one call for several replies; return [] if `n` is not supported."""
        model = self.model_for(ask.spec)
        return await model.sample(ask) if isinstance(model, Sampler) else []

    async def close(self) -> None:
        """Close the connections of this event loop."""
        for model in (self._direct, self._litellm):
            if model is not None:
                await model.close()

    def model_for(self, spec: Spec) -> Model:
        """Return the client for a model."""
        if spec.address is None and not is_local(spec):
            self._litellm = self._litellm or LiteLLM()
            return self._litellm
        if self._direct is None:
            from core.llm.openai_compatible import OpenAICompatible  # imports aiohttp, which most commands do not need

            self._direct = OpenAICompatible()
        return self._direct


def call(request: Callable[[Model], Coroutine[Any, Any, Result]], model: Model | None = None) -> Result:
    """Return the result of a request to a model outside a run; the model is closed afterwards."""

    async def wait() -> Result:
        client = model or Router()
        try:
            return await request(client)
        finally:
            await client.close()

    return asyncio.run(wait())
