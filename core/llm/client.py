"""Models that answer asks: LiteLLM for providers and servers, and ScriptedModel for tests; see also the router."""

import asyncio
import inspect
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence, Set
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

from pydantic import Field

from core.answers import Format
from core.errors import TemporaryFailure
from core.frozen import Frozen
from core.llm import errors, local_server
from core.llm.errors import (
    RefusedParameters,
    describe_omissions,
    is_refusal,
    refused_parameter,
    schema_refused,
    to_problem,
    to_server_error,
)
from core.llm.secrets import api_key
from core.llm.wire import (
    FORMAT,
    LIMIT,
    MAX_BYTES,
    Finish,
    TokenChoice,
    clean_text,
    extra_parameters,
    messages,
    optional_parameters,
    parameters,
    split_usage,
    to_finish,
    token_choices,
    token_count,
    too_large,
    with_entered_price,
)
from core.trace import Ask, Spec, Usage


class Reply(Frozen):
    """The text of a model's reply, why it ended, and what it cost."""

    text: str
    finish: Finish = "stop"
    usage: Usage = Usage()
    reasoning: str = ""
    """The model's reasoning, if the provider returns it separately."""
    tokens: tuple[TokenChoice, ...] = Field(default=(), exclude_if=lambda tokens: not tokens)
    """The tokens that log probabilities were requested for and returned, if they have a digit."""
    notes: tuple[str, ...] = ()
    """How the request differed from the ask, one sentence for each difference."""
    reused: str = ""
    """The run that made the call, if the reply was stored before; empty if the call was made now."""
    samples: int = Field(default=1, exclude_if=lambda samples: samples == 1)
    """The number of replies to the request: `usage` is this share of its prompt, duration and cost."""


class Model(Protocol):
    """Anything that answers asks; raises TemporaryFailure or PermanentFailure when it cannot."""

    async def complete(self, ask: Ask) -> Reply:
        """Return the reply to `ask.prompt`; raises UnsupportedSchema if the provider does not accept `ask.schema`."""
        ...

    async def answer_format(self, spec: Spec) -> Format:
        """Return the format in which answers are requested from a model with these settings."""
        ...

    async def close(self) -> None:
        """Close open connections. The model is not used in this event loop again."""


@runtime_checkable
class Sampler(Protocol):
    """A model that can return several replies to one prompt from one call."""

    async def sample(self, ask: Ask) -> list[Reply]:
        """Return up to `ask.samples` replies with the call's usage divided evenly; [] if `n` is not supported."""


@runtime_checkable
class StoredReplies(Protocol):
    """A model that has replies of earlier calls, which need no place among the concurrent calls and cost nothing."""

    async def find(self, ask: Ask) -> list[Reply]:
        """Return the stored replies to the requested samples of an ask, up to the first that is not stored."""
        ...

    def recorded(self, ask: Ask) -> AbstractAsyncContextManager[None]:
        """Return a context in which the call of an ask is recorded as about to be sent, and can be made."""
        ...

    async def stored(self, replies: Sequence[Reply]) -> None:
        """Return when replies of `complete` or `sample` are stored, which these do not wait for."""


Answer = Reply | str
Script = Callable[[Ask], Answer | Awaitable[Answer]]


class ScriptedModel:
    """Answers from a function of the ask, or from a list in order; `asked` holds every ask it received.

    ScriptedModel(lambda ask: "1" if ask.speaker == "ann" else "2")
    """

    def __init__(self, answers: Script | Iterable[Answer | Exception], format: Format = "text") -> None:
        """Answer from `answers`; `format` is how answers are requested if a judge's settings leave it open."""
        self._script = answers if callable(answers) else _script_from_list(answers)
        self._format = format
        self.asked: list[Ask] = []

    async def complete(self, ask: Ask) -> Reply:
        self.asked.append(ask)
        answer = self._script(ask)
        if inspect.isawaitable(answer):
            answer = await answer
        return answer if isinstance(answer, Reply) else Reply(text=answer)

    async def answer_format(self, spec: Spec) -> Format:
        """Return the format of the settings, otherwise the script's."""
        return self._format if spec.answer_format == "auto" else spec.answer_format

    async def close(self) -> None:
        """Do nothing: a script has no connections."""


class LiteLLM:
    """Any model that litellm supports, and any OpenAI-compatible server."""

    def __init__(self) -> None:
        self._refused = RefusedParameters()

    async def complete(self, ask: Ask) -> Reply:
        """Make one call, without retries: the caller decides about them."""
        return (await self._call(ask))[0]

    async def answer_format(self, spec: Spec) -> Format:
        """Return the format of the settings; "auto" is JSON if the provider accepts a schema.

        An OpenAI-compatible server is asked for JSON, because servers that refuse the schema say so.
        """
        if spec.answer_format != "auto":
            return spec.answer_format
        if spec.address is not None:
            return "json"
        supported = await asyncio.to_thread(_supported_parameters, spec.model, True)
        return "json" if FORMAT in supported else "text"

    async def sample(self, ask: Ask) -> list[Reply]:
        """Make one call with the provider's `n`, without retries; a provider may return fewer than requested."""
        if "n" not in await asyncio.to_thread(_supported_parameters, ask.spec.model, ask.spec.address is None):
            return []
        return await self._call(ask)

    async def _call(self, ask: Ask) -> list[Reply]:
        if not errors.is_loaded():  # in a thread, because the import blocks the event loop for seconds
            await asyncio.to_thread(errors.load_litellm)
        litellm = errors.load_litellm()
        start = time.perf_counter()
        try:
            async with asyncio.timeout(ask.spec.timeout):  # litellm's own time-out does not cover every provider
                return await self._call_without_refused(litellm, ask, start)
        except Exception as error:
            if is_refusal(error):
                return [Reply(text="", finish="refused", usage=Usage(seconds=_seconds_since(start)))]
            raise to_problem(error, ask.spec) from None

    async def _call_without_refused(self, litellm: ModuleType, ask: Ask, start: float) -> list[Reply]:
        """Make the call, and repeat it without each parameter that the provider refuses; raises UnsupportedSchema."""
        omitted = self._refused.names(ask.spec) | _unsupported_parameters(ask)
        if FORMAT in omitted:
            raise schema_refused(ask.spec)
        refused: set[str] = set()
        while True:
            request = _request(ask, omitted)
            try:
                response = await litellm.acompletion(**request)
                break
            except Exception as error:
                server_error = to_server_error(error)
                name = refused_parameter(server_error, request) if server_error else None
                if server_error is None or name is None:
                    raise
                if name == FORMAT:
                    raise schema_refused(ask.spec) from None
                refused.add(name)
                omitted |= {name}
        self._refused.add(ask.spec, refused)
        return _parse_response(response, ask, _seconds_since(start), describe_omissions(ask, omitted))

    async def close(self) -> None:
        """Close the connections of this event loop only; call it before the loop ends."""
        if not errors.is_loaded():
            return
        clients = errors.load_litellm().in_memory_llm_clients_cache.cache_dict
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


def _request(ask: Ask, omitted: Set[str]) -> dict[str, Any]:
    """Return the arguments of `litellm.acompletion`."""
    spec = ask.spec
    extra = extra_parameters(spec)
    return {
        "messages": messages(ask),
        "timeout": spec.timeout,
        "num_retries": 0,  # the runner retries, and records every attempt
        "max_retries": 0,
        "drop_params": True,  # some models accept no temperature
        **parameters(ask, omitted),
        **({"extra_body": extra} if extra else {}),  # as arguments of litellm they could name another server
        **_route(spec),
    }


def _route(spec: Spec) -> dict[str, Any]:
    """Return where the call goes and its key. An address never gets a key that was not named for it."""
    if spec.address is None:
        return {"model": spec.model}
    key = api_key(spec) or "none"  # the client requires a key; servers without authentication ignore it
    return {"model": f"openai/{spec.model}", "api_base": spec.address, "api_key": key}


def _unsupported_parameters(ask: Ask) -> frozenset[str]:
    """Return the parameters of an ask that its model does not accept, according to litellm."""
    supported = _supported_parameters(ask.spec.model, ask.spec.address is None)
    return frozenset(optional_parameters(ask)) - supported - {LIMIT} if supported else frozenset()


@lru_cache(maxsize=256)
def _supported_parameters(model: str, is_provider_model: bool) -> frozenset[str]:
    """Return the parameters that a model accepts, according to litellm; empty if it does not know."""
    litellm = errors.load_litellm()
    name = model if is_provider_model else f"openai/{model}"
    try:
        supported = frozenset(litellm.get_supported_openai_params(name) or ())
    except Exception:  # an unknown provider: the call itself will report it
        return frozenset()
    if is_provider_model and not litellm.supports_response_schema(model):
        return supported - {FORMAT}  # JSON without a schema does not suffice
    return supported


def _parse_response(response: Any, ask: Ask, seconds: float, notes: tuple[str, ...]) -> list[Reply]:
    """Return the replies of a call, at most as many as were requested."""
    choices = response.choices[: ask.samples]
    if not choices:
        raise TemporaryFailure(f"{ask.spec.model} returned a response without a message.")
    if sum(len(choice.message.content or "") for choice in choices) > MAX_BYTES:
        raise too_large(ask.spec)
    usages = split_usage(with_entered_price(_usage(response, ask.spec, seconds), ask.spec), len(choices))
    replies = [_reply(choice, usage, notes) for choice, usage in zip(choices, usages, strict=True)]
    return [reply.model_copy(update={"samples": len(replies)}) for reply in replies]


def _reply(choice: Any, usage: Usage, notes: tuple[str, ...]) -> Reply:
    message = choice.message
    refusal = (getattr(message, "provider_specific_fields", None) or {}).get("refusal") or ""
    text = clean_text(message.content or refusal)
    return Reply(
        text=text,
        tokens=token_choices(_as_mapping(getattr(choice, "logprobs", None)), text),
        finish=to_finish(choice.finish_reason, refusal),
        usage=usage,
        reasoning=clean_text(getattr(message, "reasoning_content", None) or ""),
        notes=notes,
    )


def _as_mapping(value: Any) -> Any:
    """Return an object of litellm as a mapping; anything else unchanged."""
    return value.model_dump() if hasattr(value, "model_dump") else value


def _usage(response: Any, spec: Spec, seconds: float) -> Usage:
    usage = getattr(response, "usage", None)
    return Usage(
        prompt_tokens=token_count(getattr(usage, "prompt_tokens", None)),
        completion_tokens=token_count(getattr(usage, "completion_tokens", None)),
        seconds=seconds,
        dollars=_dollars(response, spec),
    )


def _dollars(response: Any, spec: Spec) -> float | None:
    """Return the cost by litellm's price list; None for a server at its own address, whatever its model is called."""
    if spec.address is not None:
        return None
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
