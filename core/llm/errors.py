"""Turns what a provider's library raises into a sentence for a person, with no key in it.

Temporary   429, 408, 5xx, no connection, a dropped one, time-out, a body that is not JSON
Permanent   wrong key, unknown model, a request that is refused as wrong, no money left
"""

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import Any

from core.problems import Permanent, Problem, Temporary
from core.trace import Spec

_PASSING = {408, 409, 425, 429}
_MEANING = {
    400: "says that the request is wrong",
    401: "does not accept the key",
    402: "wants to be paid first",
    403: "does not allow this",
    404: "does not know this model",
    408: "took too long",
    429: "asks for fewer calls",
}
_NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached"}
_POLICY = {"content_policy_violation", "content_filter", "ResponsibleAIPolicyViolation"}
_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)S?$")
_SECRET = re.compile(r"\b(?:sk|pk|rk|gsk|xai|AIza|ghp|hf)[-_]?[A-Za-z0-9_\-]{12,}|(?<=Bearer )\S+")
_PREFIX = re.compile(r"^(?:litellm\.)?(?:\w+(?:Error|Exception|Timeout)\s*[:-]\s*)+")


def trouble(error: Exception, spec: Spec) -> Problem:
    """The problem to raise in place of `error`."""
    if isinstance(error, Problem):
        return error
    status, detail = _status(error), _detail(error)
    kinds = {type(cause).__name__ for cause in _causes(error)}
    if isinstance(error, TimeoutError) or kinds & {"Timeout", "APITimeoutError"}:
        return Temporary(f"{spec.model} did not answer within {spec.timeout:g} seconds.")
    if any(isinstance(cause, JSONDecodeError) for cause in _causes(error)):
        return Temporary(f"{spec.model} sent something that is no answer: {detail}")
    if "APIConnectionError" in kinds or any(isinstance(cause, OSError) for cause in _causes(error)):
        return Temporary(f"{spec.model} could not be reached, or hung up: {detail}")
    if "LLM Provider NOT provided" in detail:
        return Permanent(f"Nobody knows who serves {spec.model!r}: write it as provider/model, or give an address.")
    if _codes(error) & _NO_CREDIT:
        return Permanent(f"The account for {spec.model} has no credit left.")
    sentence = f"{spec.model} {_meaning(status)} ({status or type(error).__name__}): {detail}"
    if status is not None and (status >= 500 or status in _PASSING):
        return Temporary(sentence, after=_after(error))
    return Permanent(sentence)


def refused(error: Exception) -> bool:
    """Whether the provider declined to answer this text, by its own policy."""
    return type(error).__name__ == "ContentPolicyViolationError" or bool(_codes(error) & _POLICY)


def scrubbed(text: str) -> str:
    """The text without any value of this process's secret variables, and without what looks like a key."""
    for name, value in os.environ.items():
        if _SECRET_NAME.search(name.upper()) and len(value) >= 6:
            text = text.replace(value, "[key]")
    return _SECRET.sub("[key]", text)


def _meaning(status: int | None) -> str:
    if status is None:
        return "cannot be asked"
    return _MEANING.get(status, "has trouble of its own" if status >= 500 else "cannot be asked")


def _detail(error: Exception) -> str:
    """The provider's own words: one line, no key, no library's prefixes."""
    return _PREFIX.sub("", " ".join(scrubbed(str(error)).split()))[:300]


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and all that led to it; litellm wraps three deep."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _codes(error: Exception) -> set[str]:
    """The provider's own error codes, such as "insufficient_quota"."""
    bodies = [getattr(cause, "body", None) for cause in _causes(error)]
    found = [body.get("code") for body in bodies if isinstance(body, dict)]
    return {str(code) for code in found if code}


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None)
    return int(status) if isinstance(status, int | str) and str(status).isdigit() else None


def _after(error: Exception) -> float | None:
    """Seconds of the Retry-After header, which may be a number or a date."""
    headers: Any = getattr(error, "litellm_response_headers", None) or {}
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        return _until(value)


def _until(date: str) -> float | None:
    try:
        return max(0.0, (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
