"""Rejects settings that contain keys: the settings of a run are stored and shown, and keys must never be."""

import math
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from core.errors import PermanentFailure, TiebreakError
from core.frozen import Frozen
from core.llm.wire import FIXED
from core.trace import Spec, model_specs

# The addresses to which the keys in environment variables may be sent, as the operator of the server allows them.
#
# Settings of a run can be written by anyone who can start one. Without this list they could send any key to any
# address.

VARIABLE = "TIEBREAK_KEY_ADDRESSES"
_DEFAULT_PORTS = {"http": 80, "https": 443}


def is_key_allowed(variable: str, address: str) -> bool:
    """Return whether the key in a variable may be sent to the server at an address.

    The environment variable TIEBREAK_KEY_ADDRESSES lists the allowed pairs, separated by white space:
    `LAB_API_KEY=http://127.0.0.1:8000/v1 TOGETHER_API_KEY=https://api.together.xyz/v1`.
    """
    requested = _normalized(address)
    pairs = (entry.partition("=") for entry in os.environ.get(VARIABLE, "").split())
    return requested is not None and any(name == variable and _normalized(url) == requested for name, _, url in pairs)


_REFUSAL = 'may not be sent to {1}: the operator of this server allows it with TIEBREAK_KEY_ADDRESSES="{0}={1}".'


def _normalized(address: str) -> tuple[str, str, int, str] | None:
    """Return scheme, host, port and path of an address; None for one that has more than these."""
    try:
        parts: SplitResult = urlsplit(address)
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    if not parts.hostname or parts.username or parts.password or parts.query or parts.fragment:
        return None
    return parts.scheme, parts.hostname, port, parts.path.rstrip("/")


KEY_PREFIX = re.compile(r"(?:sk|pk|rk|gsk|xai|pplx|hf|ghp|r8|AIza|AKIA)[-_A-Za-z0-9]{16,}")
# 28 or more letters and digits without a separator: the longest model names have dashes and slashes.
RANDOM_TEXT = re.compile(r"(?=[^0-9]*[0-9])(?=[^a-zA-Z]*[a-zA-Z])[A-Za-z0-9+=]{28,}")
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*_API_KEY")
ADVICE = (
    "Keys are never typed here, stored or logged: set an environment variable, and enter the variable's name instead."
)


def describe_problem(model: str, address: str, variable: str) -> str:
    """Return why a model's fields cannot be stored with a run, as a sentence; empty if they can."""
    if any(looks_like_key(text) for text in (*model.split("/"), variable)):
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
    if variable and not is_key_allowed(variable, address):
        return f"the key in {variable} {_REFUSAL.format(variable, address)}"
    return ""


def check_key(spec: Spec) -> None:
    """Raise TiebreakError if a model's fields have a key, or an address to which its key may not be sent."""
    if problem := describe_problem(spec.model, spec.address or "", spec.key_variable or ""):
        raise TiebreakError(f"The model cannot be used: {problem}")  # its name may be the key


def looks_like_key(text: str) -> bool:
    """Return whether a text looks like a key: a provider's prefix, or a long random sequence of letters and digits."""
    return bool(KEY_PREFIX.match(text) or RANDOM_TEXT.fullmatch(text))


def find_problems(settings: Frozen) -> Iterator[tuple[str, str]]:
    """Yield (dotted path, reason) of what no call can use in the models of settings, and of what cannot be stored."""
    for path, spec in model_specs(settings):
        yield from ((f"{path}.{name}" if path else name, reason) for name, reason in describe_problems(spec))
        problem = describe_problem(spec.model, spec.address or "", spec.key_variable or "")
        words = (word for text in _texts((spec.system, spec.extra)) for word in text.split())
        if problem or any(looks_like_key(word) for word in words):
            where = "its system message or extra parameters contain"
            yield path, problem or f"{where} something that looks like a key. {ADVICE}"


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
    if not is_key_allowed(variable, spec.address or ""):
        refusal = _REFUSAL.format(variable, spec.address or "its provider")
        raise PermanentFailure(f"The key of {spec.model}, {variable}, {refusal}")
    key = os.environ.get(variable, "").strip()
    if not key:
        raise PermanentFailure(
            f"The key of {spec.model} should be in the environment variable {variable}, which is not set."
        )
    if not key.isascii() or not key.isprintable():
        raise PermanentFailure(f"The environment variable {variable} contains characters that no key has.")
    return key


# Refuses settings of a model that no call can use, before a run is created.
#
# The settings of stored runs are not checked again: they can be opened, whatever they contain.

# The levels of the providers; a model accepts some of them.
REASONING_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max", "default")
MOST_TOKENS = 10_000_000
# Seconds.
LONGEST_TIMEOUT = 86_400.0
# The lowest and the highest value of each number.
RANGES: dict[str, tuple[float, float]] = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "max_tokens": (1, MOST_TOKENS),
    "max_tokens_ceiling": (1, MOST_TOKENS),
    "transcript_tokens": (100, MOST_TOKENS),
    "timeout": (0.1, LONGEST_TIMEOUT),
    "seed": (-(2**63), 2**63 - 1),
}
# Parameters with a setting of their own. `reasoning_effort` may be in `extra`, for a level that only a server has.
OWN_SETTINGS = ("temperature", "top_p", "seed", "max_tokens")


def describe_problems(spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield (field, reason) of every value of a model that no call can use."""
    for name, (lowest, highest) in RANGES.items():
        value = getattr(spec, name)
        if value is not None and not (math.isfinite(value) and lowest <= value <= highest):
            yield name, f"this should be a number from {lowest:,} to {highest:,}, not {value:g}."
    # A ceiling that nobody set is the default, and a longer first reply is then not requested again.
    if "max_tokens_ceiling" in spec.model_fields_set and spec.max_tokens_ceiling < spec.max_tokens:
        yield "max_tokens_ceiling", f"this should be at least max_tokens, {spec.max_tokens:,}."
    if spec.reasoning_effort is not None and spec.reasoning_effort not in REASONING_EFFORTS:
        yield "reasoning_effort", f"this should be one of {', '.join(REASONING_EFFORTS)}."
    for name in spec.extra:
        if name in FIXED:
            yield "extra", f"this cannot set {name!r}: Tiebreak sets it in every request."
        elif name in OWN_SETTINGS:
            yield "extra", f"this cannot set {name!r}: it is a setting of its own."
