"""Validates the untrusted contents of chat completions: text, finish reason and numbers of tokens."""

import os
from collections.abc import Mapping
from typing import Any, Literal

from core.errors import PermanentFailure
from core.trace import MAX_USAGE, Spec, Usage

Finish = Literal["stop", "cut off", "refused", "too long"]
REFUSED = ("content_filter", "refusal")
CUT_OFF = ("length", "max_tokens")
MAX_BYTES = 8 * 2**20
"""Bytes of a response, decompressed; a reply of 4,096 tokens has about 20 kB."""
MIN_KEY_LENGTH = 8
"""Characters; a placeholder such as "EMPTY" or "ollama" is a word that a reply may contain."""


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


def too_large(spec: Spec, max_bytes: int = MAX_BYTES) -> PermanentFailure:
    """Return the problem of a response with more than the maximum size."""
    return PermanentFailure(f"{spec.model} sent a response of more than {max_bytes / 2**20:g} MB.")


def content_text(content: object) -> str:
    """Return the text of a message: a string, or the text parts of a list of parts (Mistral and some proxies)."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
    return "".join(part for part in parts if isinstance(part, str))


def reasoning_text(message: Mapping[str, Any]) -> str:
    """Return the reasoning that a server returns separately: vLLM and DeepSeek, or OpenRouter and Ollama."""
    return content_text(message.get("reasoning_content") or message.get("reasoning"))


def clean_text(text: str) -> str:
    """Return a reply's text as it is stored: valid Unicode, without the keys in the environment."""
    text = valid_text(text)
    for key in _keys() if text else ():
        text = text.replace(key, "[key]")
    return text


def valid_text(text: str) -> str:
    """Return the text without NUL and lone surrogates, which servers and databases reject."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "\ufffd")


def _keys() -> list[str]:
    values = [os.environ[name].strip() for name in list(os.environ) if name.endswith("_API_KEY")]
    return sorted((value for value in values if len(value) >= MIN_KEY_LENGTH), key=len, reverse=True)
