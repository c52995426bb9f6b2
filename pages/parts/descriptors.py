"""Refuses new pages while few file descriptors are free, so that labels and open pages go on.

A page takes one descriptor for its socket and three for the event loop that Streamlit creates for its session, and
keeps with up to 128 closed sessions. Without a free one a server accepts no connection at all.
"""

import os
import resource
from contextlib import suppress

from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from core.own_addresses import route_path
from pages.parts import account_guard

WANTED = 65_536
"""Descriptors of this process, if the system allows them; the usual limit is 1,024."""
RESERVE = 256
"""Descriptors for requests, the database and models, but at most a quarter of all."""
FOLDERS = ("/proc/self/fd", "/dev/fd")
FULL = "This server has as many open pages as it can serve. Close pages that you do not need, or try again in a minute."


class DescriptorGuard:
    """Middleware that refuses new pages with a sentence; half of the reserve is for open pages that connect again."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request or a socket; everything that is no page is passed on."""
        if scope["type"] == "websocket" and is_full(0.5):
            await account_guard.reload_new_socket(scope, receive, send)
        elif scope["type"] == "http" and _is_page(scope) and is_full(1.0):
            await PlainTextResponse(FULL, 503, {"Retry-After": "60", "Cache-Control": "no-store"})(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _is_page(scope: Scope) -> bool:
    return route_path(scope["path"]) in account_guard.PAGE_PATHS and account_guard.is_navigation(HTTPConnection(scope))


def is_full(share: float) -> bool:
    """Return whether fewer descriptors than a share of the reserve are free."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return False
    return limit - count_open() < share * min(RESERVE, limit // 4)


def count_open() -> int:
    """Return the number of open descriptors of this process; 0 on a system that does not list them."""
    for folder in FOLDERS:
        with suppress(OSError):
            return len(os.listdir(folder))
    return 0


def raise_limit() -> None:
    """Raise the limit of this process to WANTED, as far as the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
