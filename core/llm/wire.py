"""What is sent to a model and what it returns: the body of a chat completion request, and the contents of a completion.

A call has an identity: what is sent, and which independent draw of it is wanted. Two calls with the same content and
the same draw have the same key, in any trace and in any run, so the reply of one can be reused for the other. Left out
is what does not reach the model: names of judges, prices, time-outs and keys.
"""

import hashlib
import json
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import Any, Literal

from core.errors import PermanentFailure
from core.frozen import Frozen, valid_text
from core.llm.local_server import is_local, limit_lengths
from core.templates import split_messages
from core.trace import MAX_USAGE, Ask, Spec, Usage

# Validates the untrusted contents of chat completions: text, finish reason and numbers of tokens.

Finish = Literal["stop", "cut off", "refused", "too long"]
REFUSED = ("content_filter", "refusal")
CUT_OFF = ("length", "max_tokens")
# Bytes of a response, decompressed; a reply of 4,096 tokens has about 20 kB.
MAX_BYTES = 8 * 2**20
# Characters; a placeholder such as "EMPTY" or "ollama" is a word that a reply may contain.
MIN_KEY_LENGTH = 8


def to_finish(reason: object, refusal: str) -> Finish:
    """Return how a reply ended, from the provider's finish reason and refusal message."""
    if refusal or reason in REFUSED:
        return "refused"
    return "cut off" if reason in CUT_OFF else "stop"


def token_count(value: object) -> int | None:
    """Return a number of tokens stated by a provider; None for an impossible value."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_USAGE:
        return None
    return value


def with_entered_price(usage: Usage, spec: Spec) -> Usage:
    """Return the usage with the cost by the prices in the settings, if there are any and the tokens are known."""
    if None in (spec.prompt_price, spec.completion_price, usage.prompt_tokens, usage.completion_tokens):
        return usage
    prompt = (usage.prompt_tokens or 0) * (spec.prompt_price or 0.0)
    completion = (usage.completion_tokens or 0) * (spec.completion_price or 0.0)
    return usage.model_copy(update={"dollars": (prompt + completion) / 1e6})


def split_usage(usage: Usage, count: int) -> list[Usage]:
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


def too_large(spec: Spec) -> PermanentFailure:
    """Return the problem of a response with more than the maximum size."""
    return PermanentFailure(f"{spec.model} sent a response of more than {MAX_BYTES / 2**20:g} MB.")


def content_text(content: object) -> str:
    """Return the text of a message: a string, or the text parts of a list of parts (Mistral and some proxies)."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
    return "".join(part for part in parts if isinstance(part, str))


def clean_text(text: str) -> str:
    """Return a reply's text as it is stored: valid Unicode, without the keys in the environment."""
    text = valid_text(text)
    for key in _keys() if text else ():
        text = text.replace(key, "[key]")
    return text


def partial_text(text: str, length: int) -> str:
    """Return the end of a text that is still being written; the beginning of a key in the environment is held back."""
    longest = max(map(len, _keys()), default=0)
    text = clean_text(text[-length - longest :])[-length:]
    for key in _keys():
        shown = next((size for size in range(len(key) - 1, 0, -1) if text.endswith(key[:size])), 0)
        text = text[: len(text) - shown] if shown >= MIN_KEY_LENGTH // 2 else text
    return text


def _keys() -> list[str]:
    values = [os.environ[name].strip() for name in list(os.environ) if name.endswith("_API_KEY")]
    return sorted((value for value in values if len(value) >= MIN_KEY_LENGTH), key=len, reverse=True)


FORMAT = "response_format"
LIMIT, NEWER_LIMIT = "max_tokens", "max_completion_tokens"
LOGPROBS, ALTERNATIVES = "logprobs", "top_logprobs"
# Parameters that can be omitted from a request.
OPTIONAL = (FORMAT, "temperature", "top_p", "seed", "reasoning_effort", LIMIT, ALTERNATIVES, LOGPROBS)
# Parameters that `extra` cannot set.
FIXED = ("model", "messages", "n", "stream", FORMAT)


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
    roles = ("user", "assistant")
    texts = [split_messages(roles[index % 2], text) for index, text in enumerate((*ask.history, ask.prompt))]
    (role, first), *others = (message for messages in texts for message in messages)
    conversation = [(role, _with_images(first, ask.images)), *((role, valid_text(text)) for role, text in others)]
    return system + [{"role": role, "content": content} for role, content in conversation]


def _with_images(text: str, images: Sequence[str]) -> str | list[dict[str, Any]]:
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


# Log probabilities of tokens, as the OpenAI protocol returns them: the tokens of a reply with their alternatives.
#
# Only tokens with a digit are kept: they are used for ratings, and those of a whole reply take 100 kB.

# Tokens with a digit that are kept, the last ones of a reply.
MAX_TOKENS = 64
MAX_ALTERNATIVES = 20


class TokenChoice(Frozen):
    """A token of a reply, and what could have been in its place."""

    start: int
    """The place of its first character in the reply."""
    token: str
    alternatives: Mapping[str, float]
    """Token -> its log probability, with the token itself."""


def token_choices(logprobs: Any, text: str) -> tuple[TokenChoice, ...]:
    """Return the tokens with a digit from the `logprobs` field of a reply; empty if it has none for this text.

    The field is untrusted: tokens that do not add up to the text have no known place, and entries of other types or
    with impossible numbers are left out.
    """
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(content, list) or not all(isinstance(entry, Mapping) for entry in content):
        return ()
    pieces = [_bytes(entry) for entry in content]
    lead = len(text) - len(text.lstrip())
    joined = b"".join(pieces).decode("utf-8", "replace")
    offset = joined.find(text.strip())
    if not text.strip() or offset < 0:
        return ()
    choices, before = [], b""
    for entry, piece in zip(content, pieces, strict=True):
        token = piece.decode("utf-8", "replace")
        listed = entry.get("top_logprobs")
        entries = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
        found = {
            str(one["token"]): float(one["logprob"])
            for one in entries[:MAX_ALTERNATIVES]
            if isinstance(one.get("token"), str) and _is_log_probability(one.get("logprob"))
        }
        if found and token not in found and _is_log_probability(entry.get("logprob")):
            found[token] = float(entry["logprob"])
        alternatives = found
        if alternatives and any(character.isdigit() for character in token):
            start = len(before.decode("utf-8", "replace")) - offset + lead
            choices.append(TokenChoice(start=start, token=token, alternatives=alternatives))
        before += piece
    return tuple(choice for choice in choices if choice.start + len(choice.token) > 0)[-MAX_TOKENS:]


def _bytes(entry: Mapping[str, Any]) -> bytes:
    """Return a token's bytes: a character can consist of several tokens."""
    given = entry.get("bytes")
    if isinstance(given, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in given):
        return bytes(given)
    token = entry.get("token")
    return token.encode("utf-8", "replace") if isinstance(token, str) else b""


def _is_log_probability(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value) and value <= 1e-6


NO_CALL = Usage(prompt_tokens=0, completion_tokens=0, seconds=0.0, dollars=0.0)
# The settings of a model that are sent, with `extra`.
SENT = ("model", "address", "temperature", "max_tokens", "top_p", "seed", "reasoning_effort", "system")


def content_digest(ask: Ask) -> str:
    """Return the SHA-256 of what is sent for an ask: model, address, parameters, JSON schema, messages and images."""
    spec = ask.spec
    content = [spec.model, spec.address, optional_parameters(ask), spec.extra, messages(ask)]
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def call_keys(ask: Ask, repeat: int) -> list[str]:
    """Return the key of each reply that an ask requests.

    `repeat` is the number of the run's repetition; the ask has its draws and its attempt.
    """
    content = content_digest(ask)
    return [
        hashlib.sha256(f"{content} {repeat} {draw} {ask.attempt}".encode()).hexdigest()
        for draw in (ask.draws if ask.samples > 1 else ask.draws[:1])
    ]


class DrawCounter:
    """Numbers the asks of one trace that have the same content: each is another sample of the same reply."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[object, ...]] = Counter()

    def draws(self, asks: Sequence[Ask]) -> list[int]:
        """Return the draw of each ask of the next round, from 0."""
        found = []
        for ask in asks:
            parameters = (getattr(ask.spec, name) for name in SENT)
            content = (*parameters, json.dumps(ask.spec.extra, sort_keys=True, default=str), ask.prompt, ask.images)
            found.append(self._counts[content])
            self._counts[content] += 1
        return found
