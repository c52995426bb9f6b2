"""The body of a chat completion request."""

from collections.abc import Sequence, Set
from typing import Any

from core.errors import PermanentFailure
from core.llm.local_server import is_local, limit_lengths
from core.llm.replies import valid_text
from core.trace import Ask, Spec

FORMAT = "response_format"
LIMIT, NEWER_LIMIT = "max_tokens", "max_completion_tokens"
LOGPROBS, ALTERNATIVES = "logprobs", "top_logprobs"
OPTIONAL = (FORMAT, "temperature", "top_p", "seed", "reasoning_effort", LIMIT, ALTERNATIVES, LOGPROBS)
"""Parameters that can be omitted from a request."""
FIXED = ("model", "messages", "n", "stream", FORMAT)
"""Parameters that `extra` cannot set."""


def chat_body(ask: Ask, omitted: Set[str] = frozenset()) -> dict[str, Any]:
    """Return the request body for an ask, without the parameters in `omitted`."""
    spec = ask.spec
    body: dict[str, Any] = {"model": spec.model, "messages": messages(ask), "stream": False}
    body |= parameters(ask, omitted)
    return body | extra_parameters(spec)


def parameters(ask: Ask, omitted: Set[str]) -> dict[str, Any]:
    """Return the parameters of an ask, without those in `omitted`."""
    chosen = {name: value for name, value in optional_parameters(ask).items() if name not in omitted}
    if {LOGPROBS, ALTERNATIVES} & omitted:  # each is refused or useless without the other
        chosen = {name: value for name, value in chosen.items() if name not in (LOGPROBS, ALTERNATIVES)}
    if LIMIT in omitted:
        chosen[NEWER_LIMIT] = ask.spec.max_tokens
    return chosen | ({"n": ask.samples} if ask.samples > 1 else {})


def extra_parameters(spec: Spec) -> dict[str, Any]:
    """Return the additional fields of the settings; raise PermanentFailure for one that they cannot set."""
    if fixed := [name for name in spec.extra if name in FIXED]:
        raise PermanentFailure(f"The extra parameters of {spec.model} cannot set {fixed[0]!r}.")
    return dict(spec.extra)


def optional_parameters(ask: Ask) -> dict[str, Any]:
    """Return the optional parameters of an ask that have a value, by their names in the protocol."""
    spec = ask.spec
    values = {
        FORMAT: response_format(ask),
        "temperature": spec.temperature,
        "top_p": spec.top_p,
        "seed": spec.seed,
        "reasoning_effort": spec.reasoning_effort,
        LIMIT: spec.max_tokens,
        LOGPROBS: True if ask.top_logprobs else None,
        ALTERNATIVES: ask.top_logprobs,
    }
    return {name: value for name, value in values.items() if value is not None}


def messages(ask: Ask) -> list[dict[str, Any]]:
    """Return the system message, if there is one, the conversation so far, and the prompt.

    The system message is the template's, then that of the settings. Images belong to the first message of the user.
    """
    text = "\n\n".join(filter(None, (ask.system, ask.spec.system)))
    system = [{"role": "system", "content": valid_text(text)}] if text else []
    first, *others = (*ask.history, ask.prompt)
    conversation = [_with_images(first, ask.images), *map(valid_text, others)]
    roles = ("user", "assistant")
    return system + [{"role": roles[index % 2], "content": content} for index, content in enumerate(conversation)]


def _with_images(text: str, images: Sequence[str]) -> str | list[dict[str, Any]]:
    """Return the text, or its parts if there are images."""
    if not images:
        return valid_text(text)
    parts = [{"type": "image_url", "image_url": {"url": image}} for image in images]
    return [{"type": "text", "text": valid_text(text)}, *parts]


def response_format(ask: Ask) -> dict[str, Any] | None:
    """Return the parameter that requests structured output with a JSON schema; None for an answer in text."""
    schema = ask.schema
    if schema is None:
        return None
    if is_local(ask.spec):
        schema = limit_lengths(schema)
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
