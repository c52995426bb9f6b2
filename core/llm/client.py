"""Models that answer asks: LiteLLM for providers, servers and the local model, and ScriptedModel for tests."""

import asyncio
import inspect
import os
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Literal, Protocol, runtime_checkable

from core.frozen import Frozen
from core.llm import litellm_loader, local_server
from core.llm.errors import is_refusal, to_problem
from core.problems import PermanentFailure, TemporaryFailure
from core.trace import Ask, Spec, Usage

Finish = Literal["stop", "cut off", "refused"]


class Reply(Frozen):
    """The text of a model's reply, why it ended, and what it cost."""

    text: str
    finish: Finish = "stop"
    usage: Usage = Usage()


class Model(Protocol):
    """Anything that answers asks; raises TemporaryFailure or PermanentFailure when it cannot."""

    async def complete(self, ask: Ask) -> Reply: ...

    async def close(self) -> None:
        """Close open connections. The model is not used in this event loop again."""


@runtime_checkable
class Sampler(Protocol):
    """A model that can return several replies to one prompt from one call."""

    async def sample(self, ask: Ask) -> list[Reply]:
        """Return up to `ask.samples` replies with the call's usage divided evenly; [] where `n` is not supported."""


Answer = Reply | str
Script = Callable[[Ask], Answer | Awaitable[Answer]]


class ScriptedModel:
    """Answers from a function of the ask, or from a list in order; `asked` holds every ask it received.

    ScriptedModel(lambda ask: "1" if ask.speaker == "ann" else "2")
    """

    def __init__(self, answers: Script | Iterable[Answer | Exception]) -> None:
        self._script = answers if callable(answers) else _script_from_list(answers)
        self.asked: list[Ask] = []

    async def complete(self, ask: Ask) -> Reply:
        self.asked.append(ask)
        answer = self._script(ask)
        if inspect.isawaitable(answer):
            answer = await answer
        return answer if isinstance(answer, Reply) else Reply(text=answer)

    async def close(self) -> None:
        """Do nothing: a script has no connections."""


class LiteLLM:
    """Any model that litellm supports, any OpenAI-compatible server, and the local model."""

    async def complete(self, ask: Ask) -> Reply:
        """Make one call, without retries: the caller decides about them."""
        return (await self._call(ask))[0]

    async def sample(self, ask: Ask) -> list[Reply]:
        """Make one call with the provider's `n`, without retries; a provider may return fewer than requested."""
        if local_server.is_local(ask.spec) or not await asyncio.to_thread(_supports_n, ask.spec):
            return []
        return await self._call(ask)

    async def _call(self, ask: Ask) -> list[Reply]:
        # In threads, because they block the event loop: the first import for seconds, the local server's start for one.
        if not litellm_loader.is_loaded():
            await asyncio.to_thread(litellm_loader.load_litellm)
        litellm = litellm_loader.load_litellm()
        is_local = local_server.is_local(ask.spec)
        request = await asyncio.to_thread(_request, ask) if is_local else _request(ask)
        start = time.perf_counter()
        try:
            async with asyncio.timeout(ask.spec.timeout):  # litellm's own timeout does not cover every provider
                response = await litellm.acompletion(**request)
        except Exception as error:
            if is_refusal(error):
                return [Reply(text="", finish="refused", usage=Usage(seconds=_seconds_since(start)))]
            raise to_problem(error, ask.spec) from None
        return _parse_response(response, ask, _seconds_since(start))

    async def close(self) -> None:
        """Close the connections of this event loop only; call it before the loop ends."""
        if not litellm_loader.is_loaded():
            return
        clients = litellm_loader.load_litellm().in_memory_llm_clients_cache.cache_dict
        ending = f"-{id(asyncio.get_running_loop())}"  # litellm's cache keys end in the id of the client's loop
        for name in [name for name in clients if str(name).endswith(ending)]:
            closing = clients.pop(name).close()
            if inspect.isawaitable(closing):
                await closing


class SuggestedModel(Frozen):
    """A model that a form can suggest."""

    model: str
    note: str = ""


def available_models() -> list[SuggestedModel]:
    """Return the local model and models whose provider's key is in the environment; forms accept any other name."""
    models = []
    if local_server.is_installed():
        models.append(SuggestedModel(model=local_server.MODEL_NAME, note=local_server.DESCRIPTION))
    for variable, names in _SUGGESTED_MODELS.items():
        if os.environ.get(variable):
            models += [SuggestedModel(model=name, note=f"key from {variable}") for name in names]
    return models


_SUGGESTED_MODELS = {
    "OPENAI_API_KEY": ("gpt-5.5", "gpt-5.4-mini", "gpt-5.4-nano"),
    "ANTHROPIC_API_KEY": ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"),
    "GEMINI_API_KEY": ("gemini/gemini-pro-latest", "gemini/gemini-flash-latest"),
    "MISTRAL_API_KEY": ("mistral/mistral-large-latest", "mistral/mistral-small-latest"),
    "DEEPSEEK_API_KEY": ("deepseek/deepseek-v4-pro", "deepseek/deepseek-v4-flash"),
    "GROQ_API_KEY": ("groq/openai/gpt-oss-120b",),
    "XAI_API_KEY": ("xai/grok-4.7",),
}
"""A few of each provider's models in litellm's price list, the strongest first."""


def _request(ask: Ask) -> dict[str, Any]:
    """Return the arguments of `litellm.acompletion`."""
    spec = ask.spec
    return {
        "messages": [{"role": "user", "content": _content(ask)}],
        "temperature": spec.temperature,
        "max_tokens": spec.max_tokens,
        "timeout": spec.timeout,
        "num_retries": 0,  # the runner retries, and records every attempt
        "max_retries": 0,
        "drop_params": True,  # some models accept no temperature
        **({"n": ask.samples} if ask.samples > 1 else {}),
    } | (_local_route(ask) if local_server.is_local(spec) else _route(spec))


def _local_route(ask: Ask) -> dict[str, Any]:
    route = {"model": "openai/local", "api_base": local_server.start_server(), "api_key": "none"}
    return route | {"extra_body": {"grammar": ask.grammar}} if ask.grammar else route


def _route(spec: Spec) -> dict[str, Any]:
    """Return where the call goes and its key. An address never gets a key that was not named for it."""
    if spec.address is None:
        return {"model": spec.model}
    return {"model": f"openai/{spec.model}", "api_base": spec.address, "api_key": _key(spec)}


def _key(spec: Spec) -> str:
    variable = spec.key_variable
    if not variable:
        return "none"  # the client requires a key; servers without authentication ignore it
    if not variable.endswith("_API_KEY"):
        raise PermanentFailure(
            f'The key of {spec.model} cannot come from {variable}: the name has to end in "_API_KEY".'
        )
    if not os.environ.get(variable):
        raise PermanentFailure(
            f"The key of {spec.model} should be in the environment variable {variable}, which is not set."
        )
    return os.environ[variable]


def _content(ask: Ask) -> str | list[dict[str, Any]]:
    if not ask.images:
        return ask.prompt
    images = [{"type": "image_url", "image_url": {"url": image}} for image in ask.images]
    return [{"type": "text", "text": ask.prompt}, *images]


def _supports_n(spec: Spec) -> bool:
    """Whether the provider accepts `n`, according to litellm."""
    try:
        parameters = litellm_loader.load_litellm().get_supported_openai_params(_route(spec)["model"])
    except Exception:  # an unknown provider: the call itself will report it
        return False
    return "n" in (parameters or ())


def _parse_response(response: Any, ask: Ask, seconds: float) -> list[Reply]:
    """Return the replies of a call, at most as many as were requested."""
    if not response.choices:
        raise TemporaryFailure(f"{ask.spec.model} returned a response without a message.")
    choices = response.choices[: ask.samples]
    usages = _split_usage(_usage(response, ask.spec, seconds), len(choices))
    return [_reply(choice, usage) for choice, usage in zip(choices, usages, strict=True)]


def _reply(choice: Any, usage: Usage) -> Reply:
    refusal = (getattr(choice.message, "provider_specific_fields", None) or {}).get("refusal")
    text = choice.message.content or ""
    return Reply(text=text or refusal or "", finish=_finish(choice, refusal), usage=usage)


def _split_usage(usage: Usage, count: int) -> list[Usage]:
    """Return the usage of one call in `count` parts that add up to it."""
    if count == 1:
        return [usage]

    def share(tokens: int | None, index: int) -> int | None:
        return None if tokens is None else tokens // count + (index < tokens % count)

    return [
        Usage(
            prompt_tokens=share(usage.prompt_tokens, index),
            completion_tokens=share(usage.completion_tokens, index),
            seconds=None if usage.seconds is None else usage.seconds / count,
            dollars=None if usage.dollars is None else usage.dollars / count,
        )
        for index in range(count)
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
    """Return the cost by litellm's price list; None for a server at its own address, whatever its model is called."""
    if spec.address is not None:
        return None
    if local_server.is_local(spec):
        return 0.0
    cost = response._hidden_params.get("response_cost")  # computed by litellm with every call
    return None if cost is None else float(cost)


def _seconds_since(start: float) -> float:
    return round(time.perf_counter() - start, 3)


def _script_from_list(answers: Iterable[Answer | Exception]) -> Script:
    remaining = iter(answers)

    def next_answer(ask: Ask) -> Answer:
        answer = next(remaining)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return next_answer
