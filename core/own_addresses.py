"""Addresses of this server's own routes, which begin with the path under which a proxy serves it."""

import re

from core.errors import TiebreakError

_BASE_PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
_base = ""


def set_base_path(path: str) -> None:
    """Set the path of the server, such as "tiebreak" or "/labs/tiebreak"; empty for the whole host.

    Raises TiebreakError if it has other characters than letters, digits, and "-", "_", ".", "~" between slashes.
    """
    global _base
    base = f"/{path.strip('/')}".rstrip("/")
    if not _BASE_PATH.fullmatch(base):
        raise TiebreakError(f"server.baseUrlPath is not a path: {path}")
    _base = base


def own_address(path: str) -> str:
    """Return the address of a route: "/tiebreak/ready" for "/ready"."""
    return _base + path


def route_path(path: str) -> str:
    """Return the path of a request without the server's path: "/ready" for "/tiebreak/ready".

    It is empty for a path outside, at which this server has no route.
    """
    if path == _base:
        return "/"
    return path.removeprefix(_base) if path.startswith(f"{_base}/") else ""


def cookie_path() -> str:
    """Return the path of cookies, so they are not sent to other sites on the same host."""
    return _base or "/"
