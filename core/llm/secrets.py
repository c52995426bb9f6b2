"""Rejects settings that contain keys: the settings of a run are stored and shown, and keys must never be."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from core.errors import PermanentFailure
from core.frozen import Frozen
from core.llm import key_addresses
from core.trace import Spec, model_specs

KEY_PREFIX = re.compile(r"(?:sk|pk|rk|gsk|xai|pplx|hf|ghp|r8|AIza|AKIA)[-_A-Za-z0-9]{16,}")
RANDOM_TEXT = re.compile(r"(?=[^0-9]*[0-9])(?=[^a-zA-Z]*[a-zA-Z])[A-Za-z0-9+=]{28,}")
"""28 or more letters and digits without a separator: the longest model names have dashes and slashes."""
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*_API_KEY")
ADVICE = (
    "Keys are never typed here, stored or logged: set an environment variable, and enter the variable's name instead."
)


def describe_problem(model: str, address: str, variable: str) -> str:
    """Return why a model's fields cannot be stored with a run, as a sentence; empty if they can."""
    if any(looks_like_key(text) for text in (model, variable)):
        return f"that looks like a key. {ADVICE}"
    if variable and not VARIABLE_NAME.fullmatch(variable):
        return 'the variable\'s name has to end in "_API_KEY", such as MY_SERVER_API_KEY.'
    if not address:
        return ""
    try:
        parts = urlsplit(address)
    except ValueError:  # an unmatched bracket of an IPv6 address
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return "the server's address should look like http://127.0.0.1:8000/v1."
    if parts.username or parts.password or parts.query:
        return f"the server's address contains more than an address. {ADVICE}"
    if variable and not key_addresses.is_allowed(variable, address):
        return f"the key in {variable} {key_addresses.describe_refusal(variable, address)}"
    return ""


def looks_like_key(text: str) -> bool:
    """Return whether a text looks like a key: a provider's prefix, or a long random sequence of letters and digits."""
    return bool(KEY_PREFIX.match(text) or RANDOM_TEXT.fullmatch(text))


def find_problems(settings: Frozen) -> Iterator[tuple[str, str]]:
    """Yield (dotted path, reason) of every model in the settings whose fields cannot be stored."""
    for path, spec in model_specs(settings):
        problem = describe_problem(spec.model, spec.address or "", spec.key_variable or "")
        words = (word for text in _texts((spec.system, spec.extra)) for word in text.split())
        if problem or any(looks_like_key(word) for word in words):
            yield (
                path,
                problem or f"its system message or extra parameters contain something that looks like a key. {ADVICE}",
            )


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in JSON-like data; the names in a mapping are not included."""
    match value:
        case str():
            yield value
        case Mapping():
            for element in value.values():
                yield from _texts(element)
        case tuple() | list():
            for element in value:
                yield from _texts(element)


def api_key(spec: Spec) -> str:
    """Return the key in the environment variable that a model names, without white space around it; empty for none.

    Raises PermanentFailure when the variable cannot be used.
    """
    variable = spec.key_variable
    if not variable:
        return ""
    if not variable.endswith("_API_KEY"):
        raise PermanentFailure(
            f'The key of {spec.model} cannot come from {variable}: the name has to end in "_API_KEY".'
        )
    if not key_addresses.is_allowed(variable, spec.address or ""):
        refusal = key_addresses.describe_refusal(variable, spec.address or "its provider")
        raise PermanentFailure(f"The key of {spec.model}, {variable}, {refusal}")
    key = os.environ.get(variable, "").strip()
    if not key:
        raise PermanentFailure(
            f"The key of {spec.model} should be in the environment variable {variable}, which is not set."
        )
    if not key.isascii() or not key.isprintable():
        raise PermanentFailure(f"The environment variable {variable} contains characters that no key has.")
    return key
