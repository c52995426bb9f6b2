"""Log probabilities of tokens, as the OpenAI protocol returns them: the tokens of a reply with their alternatives.

Only tokens with a digit are kept: they are used for ratings, and those of a whole reply take 100 kB.
"""

import math
from collections.abc import Mapping
from typing import Any

from core.frozen import Frozen

MAX_TOKENS = 64
"""Tokens with a digit that are kept, the last ones of a reply."""
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
        alternatives = _alternatives(entry, token)
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


def _alternatives(entry: Mapping[str, Any], token: str) -> dict[str, float]:
    listed = entry.get("top_logprobs")
    entries = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    found = {
        str(one["token"]): float(one["logprob"])
        for one in entries[:MAX_ALTERNATIVES]
        if isinstance(one.get("token"), str) and _is_log_probability(one.get("logprob"))
    }
    if found and token not in found and _is_log_probability(entry.get("logprob")):
        found[token] = float(entry["logprob"])
    return found


def _is_log_probability(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value) and value <= 1e-6
