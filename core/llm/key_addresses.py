"""The addresses to which the keys in environment variables may be sent, as the operator of the server allows them.

Settings of a run can be written by anyone who can start one. Without this list they could send any key to any address.
"""

import os
from urllib.parse import SplitResult, urlsplit

VARIABLE = "TIEBREAK_KEY_ADDRESSES"
_DEFAULT_PORTS = {"http": 80, "https": 443}


def is_allowed(variable: str, address: str) -> bool:
    """Return whether the key in a variable may be sent to the server at an address.

    The environment variable TIEBREAK_KEY_ADDRESSES lists the allowed pairs, separated by white space:
    `LAB_API_KEY=http://127.0.0.1:8000/v1 TOGETHER_API_KEY=https://api.together.xyz/v1`.
    """
    requested = _normalized(address)
    pairs = (entry.partition("=") for entry in os.environ.get(VARIABLE, "").split())
    return requested is not None and any(name == variable and _normalized(url) == requested for name, _, url in pairs)


def describe_refusal(variable: str, address: str) -> str:
    """Return a sentence, without its subject, about a key that may not be sent to an address."""
    return (
        f'may not be sent to {address}: the operator of this server allows it with {VARIABLE}="{variable}={address}".'
    )


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
