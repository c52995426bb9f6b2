"""Models that answer asks: LiteLLM for providers and servers, and ScriptedModel for tests; see also the router."""

import asyncio
import inspect
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Set
from functools import lru_cache
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

from pydantic import Field

from core.answers.answer import Format
from core.errors import TemporaryFailure
from core.frozen import Frozen
from core.llm import errors, local_server, wire
from core.llm.secrets import api_key
from core.trace import Ask, Spec, Usage


class Reply(Frozen):
    """The text of a model's reply, why it ended, and what it cost."""

    text: str
    finish: wire.Finish = "stop"
    usage: Usage = Usage()
    reasoning: str = ""
    """The model's reasoning, if the provider returns it separately."""
    tokens: tuple[wire.TokenChoice, ...] = Field(default=(), exclude_if=lambda tokens: not tokens)
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
        self._refused = errors.RefusedParameters()

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
        return "json" if wire.FORMAT in supported else "text"

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
                return await self._replies(litellm, ask, start)
        except Exception as error:
            if errors.is_refusal(error):
                return [refusal(start)]
            raise errors.to_problem(error, ask.spec) from None

    async def _replies(self, litellm: ModuleType, ask: Ask, start: float) -> list[Reply]:
        """Make the call, and repeat it without each parameter that the provider refuses; raises UnsupportedSchema."""

        async def request(omitted: frozenset[str]) -> Any:
            arguments = _request(ask, omitted)
            try:
                return await litellm.acompletion(**arguments)
            except Exception as error:
                server_error = errors.to_server_error(error)
                name = errors.refused_parameter(server_error, arguments) if server_error else None
                if name is None:
                    raise
                raise errors.ParameterRefused(name) from None

        supported = _supported_parameters(ask.spec.model, ask.spec.address is None)
        unsupported = (
            frozenset(wire.optional_parameters(ask)) - supported - {wire.LIMIT} if supported else frozenset[str]()
        )
        response, notes = await self._refused.send(ask, unsupported, request)
        data = response.model_dump()
        for choice in data["choices"]:
            fields = choice["message"].get("provider_specific_fields") or {}
            choice["message"]["refusal"] = fields.get("refusal")
        # The price list says nothing about a server at its own address, whatever its model is called.
        cost = None if ask.spec.address else response._hidden_params.get("response_cost")
        dollars = None if cost is None else float(cost)
        replies = parse_replies(data, ask, seconds_since(start), dollars, notes)
        if sum(len(reply.text) for reply in replies) > wire.MAX_BYTES:
            raise wire.too_large(ask.spec)
        return replies

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


def available_models() -> dict[str, str]:
    """Return model -> note for the local model and models whose provider's key is in the environment.

    Forms suggest them, and accept any other name.
    """
    models = {local_server.MODEL_NAME: local_server.DESCRIPTION} if local_server.is_installed() else {}
    for variable, names in _SUGGESTED_MODELS.items():
        if os.environ.get(variable):
            models |= dict.fromkeys(names, f"key from {variable}")
    return models


# A few of each provider's models in litellm's price list, the strongest first.
_SUGGESTED_MODELS = {
    "OPENAI_API_KEY": ("gpt-5.5", "gpt-5.4-mini", "gpt-5.4-nano"),
    "ANTHROPIC_API_KEY": ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"),
    "GEMINI_API_KEY": ("gemini/gemini-pro-latest", "gemini/gemini-flash-latest"),
    "MISTRAL_API_KEY": ("mistral/mistral-large-latest", "mistral/mistral-small-latest"),
    "DEEPSEEK_API_KEY": ("deepseek/deepseek-v4-pro", "deepseek/deepseek-v4-flash"),
    "GROQ_API_KEY": ("groq/openai/gpt-oss-120b",),
    "XAI_API_KEY": ("xai/grok-4.7",),
}


def _request(ask: Ask, omitted: Set[str]) -> dict[str, Any]:
    spec = ask.spec
    extra = wire.extra_parameters(spec)
    return {
        "messages": wire.messages(ask),
        "timeout": spec.timeout,
        "num_retries": 0,  # the runner retries, and records every attempt
        "max_retries": 0,
        "drop_params": True,  # some models accept no temperature
        **wire.parameters(ask, omitted),
        **({"extra_body": extra} if extra else {}),  # as arguments of litellm they could name another server
        **_route(spec),
    }


def _route(spec: Spec) -> dict[str, Any]:
    """Return where the call goes and its key. An address never gets a key that was not named for it."""
    if spec.address is None:
        return {"model": spec.model}
    key = api_key(spec) or "none"  # the client requires a key; servers without authentication ignore it
    return {"model": f"openai/{spec.model}", "api_base": spec.address, "api_key": key}


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
        return supported - {wire.FORMAT}  # JSON without a schema does not suffice
    return supported


def parse_replies(
    data: Any, ask: Ask, seconds: float, dollars: float | None, notes: tuple[str, ...] = ()
) -> list[Reply]:
    """Return the replies of a response, which is untrusted, at most as many as were requested.

    Raises TemporaryFailure if there is none, or if one ended with an error.
    """
    fields = data if isinstance(data, Mapping) else {}
    choices = fields.get("choices")
    listed = choices if isinstance(choices, list) else []
    with_message = [one for one in listed if isinstance(one, Mapping) and isinstance(one.get("message"), Mapping)]
    chosen = with_message[: ask.samples]
    if not chosen:
        raise TemporaryFailure(f"{ask.spec.model} returned a response without a message.")
    if any(choice.get("finish_reason") == "error" for choice in chosen):
        raise TemporaryFailure(f"{ask.spec.model} ended its reply with an error.")
    stated = fields.get("usage")
    counts = stated if isinstance(stated, Mapping) else {}
    usage = Usage(
        prompt_tokens=wire.token_count(counts.get("prompt_tokens")),
        completion_tokens=wire.token_count(counts.get("completion_tokens")),
        seconds=seconds,
        dollars=dollars,
    )
    shares = wire.split_usage(wire.with_entered_price(usage, ask.spec), len(chosen))
    replies = [_reply(choice, share, notes) for choice, share in zip(chosen, shares, strict=True)]
    return [reply.model_copy(update={"samples": len(replies)}) for reply in replies]


def _reply(choice: Mapping[str, Any], usage: Usage, notes: tuple[str, ...]) -> Reply:
    message = choice["message"]
    declined = wire.content_text(message.get("refusal"))
    text = wire.clean_text(wire.content_text(message.get("content")) or declined)
    return Reply(
        text=text,
        tokens=wire.token_choices(choice.get("logprobs"), text),
        finish=wire.to_finish(choice.get("finish_reason"), declined),
        usage=usage,
        reasoning=wire.clean_text(wire.content_text(message.get("reasoning_content") or message.get("reasoning"))),
        notes=notes,
    )


def refusal(start: float) -> Reply:
    """Return the empty reply of a provider that declined because of its policy."""
    return Reply(text="", finish="refused", usage=Usage(seconds=seconds_since(start)))


def seconds_since(start: float) -> float:
    """Return the duration of a call that began at `start`."""
    return round(time.perf_counter() - start, 3)


def _script_from_list(answers: Iterable[Answer | Exception]) -> Script:
    remaining = iter(answers)

    def next_answer(ask: Ask) -> Answer:
        answer = next(remaining)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return next_answer
