"""What looks like a key is refused before a run is made: a run's settings are stored and shown, and keys never are."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from core.frozen import Frozen
from core.trace import Spec

SECRET = re.compile(r"(?:sk|pk|rk|gsk|xai|pplx|hf|ghp|r8|AIza|AKIA)[-_A-Za-z0-9]{16,}")
RANDOM = re.compile(r"(?=[^0-9]*[0-9])(?=[^a-zA-Z]*[a-zA-Z])[A-Za-z0-9+=]{28,}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*_API_KEY")
HIDDEN = (
    "Keys are never typed here, stored or logged: put it in an environment variable, and write the variable's name."
)


def refusal(model: str, address: str, variable: str) -> str:
    """Why a judge's words cannot be stored with a run, in a sentence; empty where they can."""
    if any(looks_secret(text) for text in (model, variable)):
        return f"that looks like a key. {HIDDEN}"
    if variable and not VARIABLE.fullmatch(variable):
        return 'the variable\'s name has to end in "_API_KEY", such as MY_SERVER_API_KEY.'
    if not address:
        return ""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return "the server's address should look like http://127.0.0.1:8000/v1."
    if parts.username or parts.password or parts.query:
        return f"the server's address holds more than an address. {HIDDEN}"
    return ""


def looks_secret(text: str) -> bool:
    """Whether a text looks like a key: the prefix of a provider, or a long jumble of letters and digits."""
    return bool(SECRET.match(text) or RANDOM.fullmatch(text))


def troubles(settings: Frozen) -> Iterator[tuple[str, str]]:
    """Where in the settings a model's words cannot be stored, and why."""
    for place, spec in _specs(settings, ""):
        if found := refusal(spec.model, spec.address or "", spec.key_variable or ""):
            yield place, found


def _specs(value: Any, place: str) -> Iterator[tuple[str, Spec]]:
    match value:
        case Spec():
            yield place, value
        case Frozen():
            for name in type(value).model_fields:
                yield from _specs(getattr(value, name), f"{place}.{name}" if place else name)
        case tuple() | list():
            for number, inner in enumerate(value):
                yield from _specs(inner, f"{place}.{number}")
