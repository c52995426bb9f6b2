"""Whoever answers an ask: a model behind litellm, a local one, or a script that stands in for both."""

import asyncio
import inspect
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable
from types import ModuleType
from typing import Any, Literal, Protocol, runtime_checkable

from core.frozen import Frozen
from core.llm import local_server
from core.llm.errors import refused, trouble
from core.problems import Permanent, Temporary
from core.trace import Ask, Spec, Usage

Finish = Literal["stop", "cut off", "refused"]


class Reply(Frozen):
    """What a model said, and how it came to an end."""

    text: str
    finish: Finish = "stop"
    usage: Usage = Usage()


class Model(Protocol):
    """Anything that answers; raises Temporary or Permanent when it cannot."""

    async def ask(self, ask: Ask) -> Reply: ...

    async def close(self) -> None:
        """Nothing more will be asked in this event loop."""


@runtime_checkable
class Sampler(Protocol):
    """A model that can be asked for several replies to one prompt in one call."""

    async def sample(self, ask: Ask) -> list[Reply]:
        """Up to `ask.samples` replies, what they took shared out evenly; none where the provider has no `n`."""


Answer = Reply | str
Script = Callable[[Ask], Answer | Awaitable[Answer]]


class ScriptedModel:
    """Answers from a function of the ask, or from a list in order; `asked` holds every ask it saw.

    ScriptedModel(lambda ask: "1" if ask.speaker == "ann" else "2")
    """

    def __init__(self, answers: Script | Iterable[Answer | Exception]) -> None:
        self._script = answers if callable(answers) else _reader(answers)
        self.asked: list[Ask] = []

    async def ask(self, ask: Ask) -> Reply:
        self.asked.append(ask)
        answer = self._script(ask)
        if inspect.isawaitable(answer):
            answer = await answer
        return answer if isinstance(answer, Reply) else Reply(text=answer)

    async def close(self) -> None:
        """A script holds nothing open."""


class LiteLLM:
    """Any model that litellm knows, any OpenAI-compatible address, and the local model."""

    async def ask(self, ask: Ask) -> Reply:
        """One call, tried once: whoever calls decides whether to try again."""
        return (await self._replies(ask))[0]

    async def sample(self, ask: Ask) -> list[Reply]:
        """One call with the provider's own `n`, tried once; a provider may send fewer than were asked for."""
        if _is_local(ask.spec) or not await asyncio.to_thread(_has_n, ask.spec):
            return []
        return await self._replies(ask)

    async def _replies(self, ask: Ask) -> list[Reply]:
        litellm = _loaded[0] if _loaded else await asyncio.to_thread(_litellm)
        request = await asyncio.to_thread(_request, ask) if _is_local(ask.spec) else _request(ask)
        start = time.perf_counter()
        try:
            async with asyncio.timeout(ask.spec.timeout):
                response = await litellm.acompletion(**request)
        except Exception as error:
            if refused(error):
                return [Reply(text="", finish="refused", usage=Usage(seconds=_since(start)))]
            raise trouble(error, ask.spec) from None
        return _read(response, ask, _since(start))

    async def close(self) -> None:
        """Close the connections of this event loop, and of no other: call it before the loop ends."""
        if not _loaded:
            return
        clients = _loaded[0].in_memory_llm_clients_cache.cache_dict
        mine = f"-{id(asyncio.get_running_loop())}"  # litellm's own mark on the clients of a loop
        for name in [name for name in clients if str(name).endswith(mine)]:
            closing = clients.pop(name).close()
            if inspect.isawaitable(closing):
                await closing


class Offer(Frozen):
    """A model that a form can offer."""

    model: str
    note: str = ""


def available() -> list[Offer]:
    """The local model, then those whose provider's key is in the environment; a form also takes any other name."""
    local = [Offer(model=local_server.NAME, note=local_server.WEAK)] if local_server.installed() else []
    return local + [
        Offer(model=model, note=f"key from {variable}")
        for variable, models in _OFFERED.items()
        if os.environ.get(variable)
        for model in models
    ]


_OFFERED = {
    "OPENAI_API_KEY": ("gpt-5.5", "gpt-5.4-mini", "gpt-5.4-nano"),
    "ANTHROPIC_API_KEY": ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"),
    "GEMINI_API_KEY": ("gemini/gemini-pro-latest", "gemini/gemini-flash-latest"),
    "MISTRAL_API_KEY": ("mistral/mistral-large-latest", "mistral/mistral-small-latest"),
    "DEEPSEEK_API_KEY": ("deepseek/deepseek-v4-pro", "deepseek/deepseek-v4-flash"),
    "GROQ_API_KEY": ("groq/openai/gpt-oss-120b",),
    "XAI_API_KEY": ("xai/grok-4.7",),
}
"""A few of each provider's models in litellm's table, the strongest first."""


_loaded: list[ModuleType] = []


def _litellm() -> ModuleType:
    """litellm, imported when it is first needed (it takes seconds), silent, and off the network."""
    if _loaded:
        return _loaded[0]
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # or it fetches a price list
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # or it reads a .env file
    import litellm

    litellm.suppress_debug_info = True
    for logger in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):  # they may log keys and people's texts
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    _loaded.append(litellm)
    return litellm  # type: ignore[no-any-return]


def _request(ask: Ask) -> dict[str, Any]:
    """The arguments of `litellm.acompletion`."""
    spec = ask.spec
    return {
        "messages": [{"role": "user", "content": _content(ask)}],
        "temperature": spec.temperature,
        "max_tokens": spec.max_tokens,
        "timeout": spec.timeout,
        "num_retries": 0,
        "max_retries": 0,
        "drop_params": True,  # some models take no temperature
        **({"n": ask.samples} if ask.samples > 1 else {}),
    } | (_local(ask) if _is_local(spec) else _route(spec))


def _is_local(spec: Spec) -> bool:
    return spec.model == local_server.NAME and spec.address is None


def _local(ask: Ask) -> dict[str, Any]:
    here = {"model": "openai/local", "api_base": local_server.address(), "api_key": "none"}
    return here | {"extra_body": {"grammar": ask.grammar}} if ask.grammar else here


def _route(spec: Spec) -> dict[str, Any]:
    """Where the ask goes and with which key. An address never gets a key that was not named for it."""
    if spec.address is None:
        return {"model": spec.model}
    return {"model": f"openai/{spec.model}", "api_base": spec.address, "api_key": _key(spec)}


def _key(spec: Spec) -> str:
    variable = spec.key_variable
    if not variable:
        return "none"
    if not variable.endswith("_API_KEY"):
        raise Permanent(f'The key of {spec.model} cannot come from {variable}: the name has to end in "_API_KEY".')
    if not os.environ.get(variable):
        raise Permanent(f"The key of {spec.model} should be in the environment variable {variable}, which is not set.")
    return os.environ[variable]


def _content(ask: Ask) -> str | list[dict[str, Any]]:
    if not ask.images:
        return ask.prompt
    images = [{"type": "image_url", "image_url": {"url": image}} for image in ask.images]
    return [{"type": "text", "text": ask.prompt}, *images]


def _has_n(spec: Spec) -> bool:
    """Whether litellm knows the provider to take `n`."""
    try:
        taken = _litellm().get_supported_openai_params(_route(spec)["model"])
    except Exception:  # an unknown provider: the call itself will say so
        return False
    return "n" in (taken or ())


def _read(response: Any, ask: Ask, seconds: float) -> list[Reply]:
    """Every reply of a call, at most as many as were asked for."""
    if not response.choices:
        raise Temporary(f"{ask.spec.model} sent an answer without a message.")
    choices = response.choices[: ask.samples]
    shares = _shared(_usage(response, ask.spec, seconds), len(choices))
    return [_reply(choice, usage) for choice, usage in zip(choices, shares, strict=True)]


def _reply(choice: Any, usage: Usage) -> Reply:
    refusal = (getattr(choice.message, "provider_specific_fields", None) or {}).get("refusal")
    text = choice.message.content or ""
    return Reply(text=text or refusal or "", finish=_finish(choice, refusal), usage=usage)


def _shared(usage: Usage, count: int) -> list[Usage]:
    """What one call took, in `count` parts that add up to it."""
    if count == 1:
        return [usage]

    def part(tokens: int | None, place: int) -> int | None:
        return None if tokens is None else tokens // count + (place < tokens % count)

    return [
        Usage(
            prompt_tokens=part(usage.prompt_tokens, place),
            completion_tokens=part(usage.completion_tokens, place),
            seconds=None if usage.seconds is None else usage.seconds / count,
            dollars=None if usage.dollars is None else usage.dollars / count,
        )
        for place in range(count)
    ]


def _finish(choice: Any, refusal: str | None) -> Finish:
    if refusal or choice.finish_reason in ("content_filter", "refusal"):
        return "refused"
    return "cut off" if choice.finish_reason in ("length", "max_tokens") else "stop"


def _usage(response: Any, spec: Spec, seconds: float) -> Usage:
    usage = getattr(response, "usage", None)
    return Usage(
        prompt_tokens=getattr(usage, "prompt_tokens", None),
        completion_tokens=getattr(usage, "completion_tokens", None),
        seconds=seconds,
        dollars=_dollars(response, spec),
    )


def _dollars(response: Any, spec: Spec) -> float | None:
    """By litellm's table; a server at an address of its own has no known price, whatever its model is called."""
    if spec.address is not None:
        return None
    if _is_local(spec):
        return 0.0
    cost = response._hidden_params.get("response_cost")  # litellm.completion_cost, which it has worked out already
    return None if cost is None else float(cost)


def _since(start: float) -> float:
    return round(time.perf_counter() - start, 3)


def _reader(answers: Iterable[Answer | Exception]) -> Script:
    waiting = iter(answers)

    def following(ask: Ask) -> Answer:
        answer = next(waiting)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return following
