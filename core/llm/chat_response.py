"""Parses the response of a server that speaks the chat completions protocol: replies or an error.

The response is untrusted: a field may be missing, of another type, very large, or contain the key of the request.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from core.errors import TemporaryFailure
from core.llm.client import Reply
from core.llm.errors import ServerError, plain_detail
from core.llm.replies import (
    clean_text,
    content_text,
    reasoning_text,
    split_usage,
    to_finish,
    token_count,
    with_entered_price,
)
from core.llm.token_probabilities import token_choices
from core.trace import Ask, Usage

_TITLE = re.compile(r"<title[^>]*>([^<]*)", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_TEXT_EXAMINED = 4096
"""Characters of an error that is not JSON."""


def parse_json(body: bytes) -> Any:
    """Return the body as JSON; None if it is invalid, nested too deeply, or has too long a number."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def parse_error(status: int, body: bytes, data: Any) -> ServerError | None:
    """Return the error in a response; None if there is none. Gateways also send errors with status 200."""
    fields = data.get("error") if isinstance(data, Mapping) else None
    if status < 400 and not fields:
        return None
    if isinstance(data, Mapping) and not fields:
        fields = data  # vLLM's older form, FastAPI's "detail"
    if not isinstance(fields, Mapping):
        return ServerError(_status(status, None), fields if isinstance(fields, str) else page_text(body))
    inner = fields.get("innererror")
    codes = [fields.get("code"), fields.get("type"), inner.get("code") if isinstance(inner, Mapping) else None]
    return ServerError(
        status=_status(status, fields.get("code")),
        message=_message(fields),
        param=str(fields.get("param") or ""),
        codes=frozenset(str(code) for code in codes if isinstance(code, str | int)),
    )


def page_text(body: bytes) -> str:
    """Return the title of an HTML page, or the text of any other body that is not JSON."""
    text = body[:_TEXT_EXAMINED].decode("utf-8", "replace")
    title = _TITLE.search(text)
    return title[1].strip() if title else " ".join(_TAG.sub(" ", text).split())


def parse_replies(
    data: Any, ask: Ask, seconds: float, dollars: float | None, notes: tuple[str, ...] = ()
) -> list[Reply]:
    """Return the replies of a response, at most as many as were requested.

    Raises TemporaryFailure if there is none, or if one ended with an error.
    """
    choices = data.get("choices") if isinstance(data, Mapping) else None
    chosen = [choice for choice in choices if _is_message(choice)][: ask.samples] if isinstance(choices, list) else []
    if not chosen:
        raise TemporaryFailure(f"{ask.spec.model} returned a response without a message.")
    if any(choice.get("finish_reason") == "error" for choice in chosen):
        raise TemporaryFailure(f"{ask.spec.model} ended its reply with an error.")
    used = split_usage(with_entered_price(_usage(data, seconds, dollars), ask.spec), len(chosen))
    replies = [_reply(choice, usage, notes) for choice, usage in zip(chosen, used, strict=True)]
    return [reply.model_copy(update={"samples": len(replies)}) for reply in replies]


def invalid_response(body: bytes, ask: Ask) -> TemporaryFailure:
    """Return the problem of a body that is not valid JSON."""
    start = body[:64].lstrip()
    reason = "its JSON is malformed" if start[:1] in (b"{", b"[") else "it is not JSON"
    if start[:1] == b"<":
        reason = f'it is a web page, "{plain_detail(page_text(body))}"'
    if not start:
        reason = "it is empty"
    return TemporaryFailure(f"{ask.spec.model} returned an invalid response: {reason}.")


def _status(status: int, code: object) -> int:
    """Return the status of an error; an error sent with status 200 has it as its code."""
    if status >= 400:
        return status
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def _message(fields: Mapping[str, Any]) -> str:
    for name in ("message", "detail", "error", "msg"):
        value = fields.get(name)
        if value:
            return value if isinstance(value, str) else json.dumps(value)[:_TEXT_EXAMINED]
    return json.dumps(fields)[:_TEXT_EXAMINED]


def _is_message(choice: object) -> bool:
    return isinstance(choice, Mapping) and isinstance(choice.get("message"), Mapping)


def _reply(choice: Mapping[str, Any], usage: Usage, notes: tuple[str, ...]) -> Reply:
    message = choice["message"]
    refusal = content_text(message.get("refusal"))
    text = clean_text(content_text(message.get("content")) or refusal)
    return Reply(
        text=text,
        tokens=token_choices(choice.get("logprobs"), text),
        finish=to_finish(choice.get("finish_reason"), refusal),
        usage=usage,
        reasoning=clean_text(reasoning_text(message)),
        notes=notes,
    )


def _usage(data: Mapping[str, Any], seconds: float, dollars: float | None) -> Usage:
    usage = data.get("usage")
    counts = usage if isinstance(usage, Mapping) else {}
    return Usage(
        prompt_tokens=token_count(counts.get("prompt_tokens")),
        completion_tokens=token_count(counts.get("completion_tokens")),
        seconds=seconds,
        dollars=dollars,
    )
