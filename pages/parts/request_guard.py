"""Refuses requests from other sites, and adds security headers to every response.

One ASGI class covers the pages, the routes, Streamlit's socket and its uploads. Streamlit itself accepts a socket with
any Host and any Origin, so a page of another site could use a visitor's session (DNS rebinding).
"""

import base64
import hashlib
import ipaddress
import json
import os
import re
import secrets
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core import texts
from core.own_addresses import cookie_path, own_address
from pages.parts import languages

# Host names, separated by commas, under which a proxy serves Tiebreak.
HOSTS_VARIABLE = "TIEBREAK_HOSTS"
# Identifies a browser, so views before signing in count afterwards.
VISITOR_COOKIE = "tiebreak_visitor"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
# The code with which a socket is closed.
POLICY_VIOLATION = 1008


class RequestGuard:
    """Middleware that passes on requests to allowed hosts from pages of the same host."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = ()) -> None:
        """`hosts` are allowed in addition to this machine's loopback addresses."""
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request or a socket; other events are passed on."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif not self._is_allowed(scope):
            response = JSONResponse({"error": "forbidden", "message": "Requests from other sites are refused."}, 403)
            await refuse(scope, receive, send, response)
        elif scope["type"] == "websocket":
            await self._app(scope, receive, send)
        else:
            request = HTTPConnection(scope)
            is_page = scope["method"] == "GET" and VISITOR_COOKIE not in request.cookies
            with texts.speaking(languages.chosen(request.cookies)):
                await self._app(scope, receive, _with_headers(send, new_visitor() if is_page else ""))

    def _is_allowed(self, scope: Scope) -> bool:
        hosts, origins = (Headers(scope=scope).getlist(name) for name in ("host", "origin"))
        if len(hosts) != 1 or len(origins) > 1 or not self._is_own(hosts[0]):
            return False
        # Browsers send no Origin when a link is followed, but always with sockets and with requests that change data.
        # Scripts send none either; a page of another site cannot add their token to a request.
        if not origins:
            has_token = Headers(scope=scope).get("authorization", "").lower().startswith("bearer ")
            return scope["type"] == "http" and (scope["method"] in SAFE_METHODS or has_token)
        return _authority(origins[0]) == hosts[0].lower()

    def _is_own(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        # Browsers resolve "localhost" to this machine only, so the name cannot be rebound.
        return name == "localhost" or name in self._hosts or is_loopback(name)


def allowed_hosts() -> list[str]:
    """Return the host names in TIEBREAK_HOSTS."""
    return [name.strip() for name in os.environ.get(HOSTS_VARIABLE, "").split(",") if name.strip()]


def is_loopback(name: str) -> bool:
    """Return whether a host is an address of this machine; a name can be rebound to any address, and is not."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if address.version == 6 else None
    return (mapped or address).is_loopback


def _authority(origin: str) -> str:
    """Return the host and the port of an origin; empty for "null" and other schemes."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return ""
    return parts.netloc.lower() if parts.scheme in ("http", "https") else ""


async def refuse(scope: Scope, receive: Receive, send: Send, response: Response) -> None:
    """Answer a request, or close a socket."""
    if scope["type"] == "websocket":
        await receive()  # ASGI: the connect event comes before any message of the application
        await send({"type": "websocket.close", "code": POLICY_VIOLATION})
    else:
        await response(scope, receive, send)


def new_visitor() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(16)


def _with_headers(send: Send, visitor: str) -> Send:
    """Return `send` with the security headers, and a cookie on pages if the browser has none."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["X-Content-Type-Options"] = "nosniff"
            headers["Referrer-Policy"] = "same-origin"
            headers["X-Frame-Options"] = "DENY"
            headers.setdefault("Content-Security-Policy", content_security_policy())
            if visitor and headers.get("content-type", "").startswith("text/html"):
                scope = f"Path={cookie_path()}; HttpOnly; SameSite=Strict"
                headers.append("Set-Cookie", f"{VISITOR_COOKIE}={visitor}; {scope}")
        await send(message)

    return send_with_headers


@cache
def content_security_policy() -> str:
    """Return the policy of every response: nothing is loaded from other hosts, whatever a text contains.

    Streamlit's components run scripts and Plotly draws pictures that the page itself creates ("blob:").
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' blob: {' '.join(_script_hashes())}",
            "worker-src 'self' blob:",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "media-src 'self' data: blob:",
            "connect-src 'self'",
            "manifest-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


@cache
def page_html() -> str:
    """Return Streamlit's page with the name of the app and the address of the server.

    Without that address, its script looks for the server below the path of each page first, and is answered 404.
    """
    import streamlit

    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    address = f"location.origin + {json.dumps(own_address('/'))}"
    script = f"<script>window.__streamlit = {{ BACKEND_BASE_URL: {address} }}</script>"
    return page.replace("<title>Streamlit</title>", f"<title>Tiebreak</title>{script}")


def _script_hashes() -> list[str]:
    scripts = re.findall(r"<script>(.*?)</script>", page_html(), re.DOTALL)
    return [f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts]
