"""Converts the exceptions of litellm into sentences for the user, without keys.

TemporaryFailure   429, 408, 5xx, no connection, a dropped connection, a timeout, a body that is not JSON
PermanentFailure   wrong key, unknown model, an invalid request, no credit
"""

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import Any

from core.llm.litellm_loader import load_litellm
from core.problems import PermanentFailure, Problem, TemporaryFailure
from core.trace import Spec

_TEMPORARY_STATUSES = {408, 409, 425, 429}
_MEANINGS = {
    400: "rejected the request as invalid",
    401: "rejected the key",
    402: "requires a payment",
    403: "denied access",
    404: "does not know this model",
    408: "took too long",
    429: "is limiting the rate of calls",
}
_NO_CREDIT_CODES = {"insufficient_quota", "billing_hard_limit_reached"}
_POLICY_CODES = {"content_policy_violation", "content_filter", "ResponsibleAIPolicyViolation"}
_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)S?$")
_SECRET = re.compile(r"\b(?:sk|pk|rk|gsk|xai|AIza|ghp|hf)[-_]?[A-Za-z0-9_\-]{12,}|(?<=Bearer )\S+")
_CLASS_NAMES = re.compile(r"^(?:litellm\.)?(?:\w+(?:Error|Exception|Timeout)\s*[:-]\s*)+")
"""litellm puts the names of the exceptions it wraps before the provider's message."""
_MAX_DETAIL = 300
"""Characters of the provider's message; some send a whole HTML page."""


def to_problem(error: Exception, spec: Spec) -> Problem:
    """Return the problem to raise in place of `error`."""
    if isinstance(error, Problem):
        return error
    import openai  # litellm's classes derive from openai's, and it is loaded with litellm

    status, detail = _status(error), _detail(error)
    if _is_caused_by(error, TimeoutError, openai.APITimeoutError):
        return TemporaryFailure(f"{spec.model} did not answer within {spec.timeout:g} seconds.")
    if _is_caused_by(error, JSONDecodeError):
        return TemporaryFailure(f"{spec.model} returned an invalid response: {detail}")
    if _is_caused_by(error, OSError, openai.APIConnectionError):
        return TemporaryFailure(f"The connection to {spec.model} failed: {detail}")
    if "LLM Provider NOT provided" in detail:
        return PermanentFailure(f"The provider of {spec.model!r} is unknown: write provider/model, or give an address.")
    if _codes(error) & _NO_CREDIT_CODES:
        return PermanentFailure(f"The account for {spec.model} has no credit left.")
    message = f"{spec.model} {_meaning(status)} ({status or type(error).__name__}): {detail}"
    if status is not None and (status >= 500 or status in _TEMPORARY_STATUSES):
        return TemporaryFailure(message, retry_after=_retry_after(error))
    return PermanentFailure(message)


def is_refusal(error: Exception) -> bool:
    """Whether the provider declined to answer this text because of its content policy."""
    refusal = load_litellm().exceptions.ContentPolicyViolationError
    return isinstance(error, refusal) or bool(_codes(error) & _POLICY_CODES)


def redact_secrets(text: str) -> str:
    """Return the text without the values of secret environment variables and without anything that looks like a key."""
    for name, value in os.environ.items():
        if _SECRET_NAME.search(name.upper()) and len(value) >= 6:  # shorter values occur in ordinary words
            text = text.replace(value, "[key]")
    return _SECRET.sub("[key]", text)


def _meaning(status: int | None) -> str:
    if status is not None and status >= 500:
        return "had an internal error"
    return _MEANINGS.get(status or 0, "could not be called")


def _detail(error: Exception) -> str:
    """Return the provider's message on one line, without keys and class names."""
    return _CLASS_NAMES.sub("", " ".join(redact_secrets(str(error)).split()))[:_MAX_DETAIL]


def _is_caused_by(error: BaseException, *classes: type[BaseException]) -> bool:
    return any(isinstance(cause, classes) for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and the chain of errors behind it; litellm wraps them up to three deep."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _codes(error: Exception) -> set[str]:
    """Return the provider's error codes, such as "insufficient_quota"."""
    bodies = [getattr(cause, "body", None) for cause in _causes(error)]
    codes = [body.get("code") for body in bodies if isinstance(body, dict)]
    return {str(code) for code in codes if code}


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None)
    return int(status) if isinstance(status, int | str) and str(status).isdigit() else None


def _retry_after(error: Exception) -> float | None:
    """Return the seconds of the Retry-After header, which may be a number or a date."""
    headers: Any = getattr(error, "litellm_response_headers", None) or {}
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        return _seconds_until(value)


def _seconds_until(date: str) -> float | None:
    try:
        return max(0.0, (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
