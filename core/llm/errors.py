"""Converts the errors of servers and the exceptions of litellm into sentences for the user, without keys.

TemporaryFailure   429, 408, 5xx, no connection, a dropped connection, a timeout, a body that is not JSON
PermanentFailure   wrong key, unknown model, an invalid request, no credit
ContextExceeded    a request that is longer than the model's context
"""

import logging
import math
import os
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from json import JSONDecodeError
from types import ModuleType
from typing import Any, TypeVar

from core.errors import ContextExceeded, PermanentFailure, TemporaryFailure, TiebreakError, UnsupportedSchema
from core.frozen import valid_text
from core.llm.wire import FORMAT, LIMIT, OPTIONAL, optional_parameters
from core.trace import Ask, Spec

T = TypeVar("T")

# Imports litellm on first use: the import takes seconds, and most pages and commands do not need it.


@cache
def load_litellm() -> ModuleType:
    """Return litellm, configured not to log or to fetch anything; raises PermanentFailure if it is not installed."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise the import fetches a price list
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # otherwise the import reads a .env file
    try:
        import litellm
    except ImportError as error:
        raise PermanentFailure(
            f"A model without an address is called by litellm, which cannot be imported ({error}): install the "
            "packages of requirements.txt, or give the model an address."
        ) from error

    litellm.suppress_debug_info = True
    for logger in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):  # they may log keys and the texts of a study
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    return litellm  # type: ignore[no-any-return]


def is_loaded() -> bool:
    """Return whether litellm has been imported by `load_litellm` in this process."""
    return load_litellm.cache_info().currsize > 0


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
_CONTEXT_CODES = {"context_length_exceeded", "exceed_context_size_error", "request_too_large"}
# What providers without such a code write about a request that is too long.
_CONTEXT_MESSAGE = re.compile(
    r"context (?:length|window|size)|prompt is too long|input token count .* exceeds the maximum", re.IGNORECASE
)
_POLICY_CODES = {"content_policy_violation", "content_filter", "ResponsibleAIPolicyViolation"}
_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)S?$")
_SECRET = re.compile(r"\b(?:sk|pk|rk|gsk|xai|AIza|ghp|hf)[-_]?[A-Za-z0-9_\-]{12,}|(?<=Bearer )\S+")
# litellm puts the names of the exceptions it wraps before the provider's message.
_CLASS_NAMES = re.compile(r"^(?:litellm\.)?(?:\w+(?:Error|Exception|Timeout)\s*[:-]\s*)+")
# Characters of the provider's message; some send a whole HTML page.
_MAX_DETAIL = 300
# Seconds; a Retry-After header with more than a day is a mistake.
_MAX_RETRY_AFTER = 86_400.0


@dataclass(frozen=True)
class ServerError:
    """An error response of a server."""

    status: int
    message: str
    param: str = ""
    """The name of the parameter that the error is about, if the server states it."""
    codes: frozenset[str] = frozenset()
    """The provider's error codes and types, such as "insufficient_quota"."""


def to_problem(error: Exception, spec: Spec) -> TiebreakError:
    """Return the problem to raise in place of `error`."""
    if isinstance(error, TiebreakError):
        return error
    import openai  # litellm's classes derive from openai's, and it is loaded with litellm

    detail = plain_detail(str(error))
    if _is_caused_by(error, TimeoutError, openai.APITimeoutError):
        return TemporaryFailure(f"{spec.model} did not answer within {spec.timeout:g} seconds.")
    if _is_caused_by(error, JSONDecodeError):
        return TemporaryFailure(f"{spec.model} returned an invalid response: {detail}")
    if _is_caused_by(error, OSError, openai.APIConnectionError):
        return TemporaryFailure(f"The connection to {spec.model} failed: {detail}")
    if "LLM Provider NOT provided" in detail:
        return PermanentFailure(f"The provider of {spec.model!r} is unknown: write provider/model, or give an address.")
    if server_error := to_server_error(error):
        headers: Any = getattr(error, "litellm_response_headers", None) or {}
        return server_problem(server_error, spec, parse_retry_after(headers.get("retry-after")))
    if _codes(error) & _NO_CREDIT_CODES:
        return _no_credit(spec)
    return PermanentFailure(f"{spec.model} could not be called ({type(error).__name__}): {detail}")


def to_server_error(error: Exception) -> ServerError | None:
    """Return the server's error response behind an exception of litellm; None if no server responded."""
    status = getattr(error, "status_code", None)
    if not isinstance(status, int | str) or not str(status).isdigit():
        return None
    return ServerError(int(status), str(error), next(_body_fields(error, "param"), ""), _codes(error))


def server_problem(error: ServerError, spec: Spec, retry_after: float | None) -> TiebreakError:
    """Return the problem to raise for an error response; `retry_after` is the wait in seconds that it requests."""
    if error.codes & _NO_CREDIT_CODES:
        return _no_credit(spec)
    detail = plain_detail(error.message) or "the reply has no message"
    meaning = "had an internal error" if error.status >= 500 else _MEANINGS.get(error.status, "could not be called")
    message = f"{spec.model} {meaning} ({error.status}): {detail}"
    if error.codes & _CONTEXT_CODES or (error.status in (400, 413) and _CONTEXT_MESSAGE.search(error.message)):
        return ContextExceeded(message)
    if error.status >= 500 or error.status in _TEMPORARY_STATUSES:
        return TemporaryFailure(message, retry_after=retry_after)
    return PermanentFailure(message)


def is_refusal(error: Exception) -> bool:
    """Return whether the provider declined to answer this text because of its content policy."""
    refusal = load_litellm().exceptions.ContentPolicyViolationError
    return isinstance(error, refusal) or has_policy_code(_codes(error))


def has_policy_code(codes: Set[str]) -> bool:
    """Return whether one of a provider's error codes states a refusal because of its content policy."""
    return bool(codes & _POLICY_CODES)


def plain_detail(text: str) -> str:
    """Return the message of a provider on one line, without keys, tracebacks and class names, at most 300 characters.

    Of a traceback only the exception in its last line remains.
    """
    before, marker, traceback = text.replace("\\n", "\n").partition("Traceback (most recent call last)")
    last_line = traceback.strip().splitlines()[-1:] if marker else []
    text = " ".join([before, *(line for line in last_line if 'File "' not in line)])
    return _CLASS_NAMES.sub("", " ".join(redact_secrets(valid_text(text)).split()))[:_MAX_DETAIL]


def redact_secrets(text: str) -> str:
    """Return the text without the values of secret environment variables and without anything that looks like a key."""
    for name, value in os.environ.items():
        secret = value.strip()
        if _SECRET_NAME.search(name.upper()) and len(secret) >= 6:  # shorter values occur in ordinary words
            text = text.replace(secret, "[key]")
    return _SECRET.sub("[key]", text)


def _no_credit(spec: Spec) -> PermanentFailure:
    return PermanentFailure(f"The account for {spec.model} has no credit left.")


def _is_caused_by(error: BaseException, *classes: type[BaseException]) -> bool:
    return any(isinstance(cause, classes) for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and the chain of errors behind it; litellm wraps them up to three deep."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _codes(error: Exception) -> frozenset[str]:
    return frozenset(_body_fields(error, "code"))


def _body_fields(error: Exception, name: str) -> Iterator[str]:
    """Yield a field of every error body in the chain of exceptions."""
    bodies = [getattr(cause, "body", None) for cause in _causes(error)]
    return (str(body[name]) for body in bodies if isinstance(body, dict) and body.get(name))


def parse_retry_after(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header, a number or a date, between 0 and a day; None if it is neither."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = _seconds_until(value)
    return None if math.isnan(seconds) else min(max(0.0, seconds), _MAX_RETRY_AFTER)


def _seconds_until(date: str) -> float:
    """Return the seconds from now until a date; NaN if the text is not a date."""
    try:
        return (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return math.nan


# Parameters that a server does not accept.
#
# A refused parameter is omitted and the request is repeated; the reply has a note about it. The limit on tokens is
# sent under its newer name instead. A refused JSON schema raises UnsupportedSchema, because the prompt has to change
# as well. A client remembers the parameters that a model refused, and omits them from later calls.

_UNSUPPORTED_CODES = {"unsupported_parameter", "unsupported_value", "unknown_parameter"}
_UNSUPPORTED = re.compile(
    r"not (?:\w+ )?(?:supported|permitted|allowed|available|implemented)|(?:does|do)(?: not|n't) (?:support|accept)"
    r"|unsupported|unavailable|unknown|unrecogni[sz]ed|unexpected",
    re.IGNORECASE,
)
_FORMAT = re.compile(r"response_format|json[_ ]?schema|structured[_ ]output|guided_|grammar", re.IGNORECASE)
# Statuses with which servers refuse a parameter.
_REFUSING = {400, 415, 422, 501}


class ParameterRefused(Exception):
    """A request was refused because of the parameter that the message names."""


class RefusedParameters:
    """The parameters refused by each model at each address, which later calls omit."""

    def __init__(self) -> None:
        self._names: dict[tuple[str | None, str], frozenset[str]] = {}

    async def send(
        self, ask: Ask, omitted: frozenset[str], request: Callable[[frozenset[str]], Awaitable[T]]
    ) -> tuple[T, tuple[str, ...]]:
        """Return the result of a request, repeated without each parameter that it raises ParameterRefused for.

        `request` gets the names of the parameters to omit, at first those known and `omitted`. In addition a sentence
        for each omission. Raises UnsupportedSchema: without a schema the prompt has to change.
        """
        known = self._names.get((ask.spec.address, ask.spec.model), frozenset())
        refused = frozenset[str]()
        while FORMAT not in (without := known | omitted | refused):  # ends: each repetition omits one more
            try:
                result = await request(without)
            except ParameterRefused as error:
                refused |= {str(error)}
                continue
            if refused:
                self._names[ask.spec.address, ask.spec.model] = known | refused
            names = [name for name in optional_parameters(ask) if name in without and name != LIMIT]
            return result, tuple(
                f"{ask.spec.model} does not accept {name}: the parameter was omitted." for name in names
            )
        raise UnsupportedSchema(
            f"{ask.spec.model} does not accept the JSON schema of the answer; it is asked for text instead."
        )


def refused_parameter(error: ServerError, sent: Mapping[str, Any]) -> str | None:
    """Return the optional parameter that a server refuses; None if the error is about something else."""
    if error.status not in _REFUSING:
        return None
    if FORMAT in sent and _FORMAT.search(f"{error.param} {error.message}"):
        return FORMAT
    if not error.codes & _UNSUPPORTED_CODES and not _UNSUPPORTED.search(error.message):
        return None
    for name in OPTIONAL:
        if name in sent and (error.param == name or re.search(rf"\b{name}\b", error.message)):
            return name
    return None
