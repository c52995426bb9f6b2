"""Lets nobody without a session past the public paths, once the server has accounts.

Without accounts a name is enough to sign in, so only this machine is served. This ASGI class is the outer check: it
covers Streamlit's pages, uploads and downloads, and ends open sockets with their session. What an account may do in a
study is decided by `storage.accounts.access`.
"""

import re
import time
from urllib.parse import quote, unquote, urlsplit

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from core.errors import TiebreakError
from core.own_addresses import own_address, route_path
from core.texts import _
from pages.parts import resources
from pages.parts.request_guard import POLICY_VIOLATION, VISITOR_COOKIE, is_loopback, new_visitor, refuse
from pages.parts.sections import SECTIONS
from storage.accounts import logins, tokens
from storage.accounts.registry import Actor, Identity
from storage.db import connections, errors, guards
from storage.studies import annotators

SESSION_COOKIE = "tiebreak_session"
# Set by Streamlit after a sign-in at an OIDC provider.
OIDC_COOKIE = "_streamlit_user"
# Beginnings of paths without any data of a study.
PUBLIC = (
    "/account/",
    "/static/",
    "/assets/",
    "/component/",
    "/_stcore/bidi-components/",
    "/_stcore/health",
    "/_stcore/host-config",
    "/favicon",
    "/auth/",
)
# Whole paths without any data of a study; metrics are answered to this machine only.
PUBLIC_PATHS = ("/ready", "/metrics", "/oauth2callback")
# Whole paths of the pages, at which Streamlit answers its page without data.
PAGE_PATHS = frozenset({"/"} | {f"/{section.path}" for section in SECTIONS})
# Streamlit's routes of a sign-in at an OIDC provider.
PROVIDER_PATHS = ("/auth/login", "/oauth2callback")
# In the query of the sign-in, after one at a provider that failed.
FAILED_PARAMETER = "failed"
# The name of the identity in the scope of a request.
IDENTITY = "tiebreak_identity"
# How old the last check of a socket's session may be.
CHECK_SECONDS = 2.0
LOCAL_ONLY = (
    "This server has no accounts, so it is available on its own machine only. "
    "Its operator can add accounts: python cli.py accounts add NAME"
)


class AccountGuard:
    """Middleware that checks the session of every request, and of every message of a socket."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request or a socket; other events and public paths are passed on."""
        if scope["type"] == "http" and route_path(scope["path"]) in PROVIDER_PATHS:
            send = _lead_to_sign_in_after_failure(scope, receive, send)
        if scope["type"] not in ("http", "websocket") or is_public(route_path(scope["path"])):
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        try:
            identity = await run_in_threadpool(identify, connection)
        except (TiebreakError, errors.DBAPIError) as error:
            sentence = str(error) if isinstance(error, TiebreakError) else errors.describe(error)
            await refuse(scope, receive, send, error_reply(503, "unavailable", sentence))
            return
        scope[IDENTITY] = identity
        if not identity.accounts and not is_local(connection):
            await refuse(scope, receive, send, error_reply(403, "forbidden", LOCAL_ONLY))
        elif scope["type"] == "websocket" and identity.accounts and identity.actor is None:
            await reload_new_socket(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._app(scope, _checked(connection, identity, receive, send), send)
        elif identity.accounts and identity.actor is None and not _is_shell(connection):
            await refuse(scope, receive, send, _signed_out(connection))
        else:
            await self._app(scope, receive, send)


def is_public(path: str) -> bool:
    """Return whether the path of a route is answered without a session."""
    return path.startswith(PUBLIC) or path in PUBLIC_PATHS


def is_local(connection: HTTPConnection) -> bool:
    """Return whether a request comes from this machine, under an address of this machine.

    A proxy names its client in X-Forwarded-For, which uvicorn puts in the place of the proxy's own address.
    """
    name = urlsplit(f"//{connection.headers.get('host', '')}").hostname or ""
    client = connection.client.host if connection.client else ""
    own_client = connection.client is None or is_loopback(client)  # a Unix socket has no client's address
    return own_client and (name == "localhost" or is_loopback(name))


def identity_of(connection: HTTPConnection) -> Identity:
    """Return who sends a request, as this middleware has found it."""
    found: Identity = connection.scope[IDENTITY]
    return found


def bearer_token(headers: Headers) -> str | None:
    """Return the token of an Authorization header; None if there is no such header."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def identify(connection: HTTPConnection) -> Identity:
    """Return who sends a request, by its token or else by its cookie; the time of the use is stored now and then."""
    token, engine = bearer_token(connection.headers), resources.engine()
    with connections.reading(engine) as session:
        if token is not None:
            identity = tokens.identify(session, token)
        else:
            identity = logins.identify(session, connection.cookies.get(SESSION_COOKIE, ""))
        is_due = logins.is_use_due(session, identity)
    if is_due:
        connections.write(engine, lambda session: logins.record_use(session, identity))
    return identity


def _lead_to_sign_in_after_failure(scope: Scope, receive: Receive, send: Send) -> Send:
    """Return `send` for a route of a sign-in at a provider: if that fails, the sign-in is drawn again with a sentence.

    Streamlit leads to the first page then, which has no session and stays empty, or answers with two words.
    """
    failed = False

    async def send_or_redirect(message: Message) -> None:
        nonlocal failed
        if message["type"] != "http.response.start":
            return None if failed else await send(message)
        headers = Headers(raw=message["headers"])
        failed = not _is_signing_in(headers)
        if not failed:
            return await send(message)
        response = RedirectResponse(f"{own_address('/account/sign-in')}?{FAILED_PARAMETER}=provider", 303)
        response.raw_headers += [(name, value) for name, value in message["headers"] if name.lower() == b"set-cookie"]
        await response(scope, receive, send)

    return send_or_redirect


def _is_signing_in(headers: Headers) -> bool:
    """Return whether an answer of Streamlit leads to the provider, or has the provider's claims in a cookie."""
    if urlsplit(headers.get("location", "")).netloc:
        return True
    cookies = (cookie for cookie in headers.getlist("set-cookie") if cookie.startswith(OIDC_COOKIE))
    return any("max-age=0" not in cookie.lower() for cookie in cookies)


def _checked(connection: HTTPConnection, identity: Identity, receive: Receive, send: Send) -> Receive:
    """Return `receive` for a socket that is closed when its session ends, or when the first account is added.

    The page is loaded again, so it shows the sign-in. Otherwise it would stay as it is and look as if it worked.
    """
    checked_at = time.monotonic()

    async def receive_checked() -> Message:
        nonlocal checked_at
        message = await receive()
        if message["type"] != "websocket.receive" or time.monotonic() - checked_at < CHECK_SECONDS:
            return message
        try:
            current = await run_in_threadpool(identify, connection)
        except (TiebreakError, errors.DBAPIError):  # the page itself reports it
            return message
        checked_at = time.monotonic()
        if current == identity:
            return message
        await _reload(send)
        return {"type": "websocket.disconnect", "code": POLICY_VIOLATION}

    return receive_checked


async def reload_new_socket(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer the socket of a page without a session: a browser shows no reason of a socket that was not accepted."""
    await receive()
    protocols = scope.get("subprotocols") or [None]
    await send({"type": "websocket.accept", "subprotocol": protocols[0]})
    await _reload(send)


async def _reload(send: Send) -> None:
    """Let Streamlit's page load its address again, and close its socket."""
    message = ForwardMsg()
    message.metadata.cacheable = False
    message.auth_redirect.url = ""  # relative to the page's own address
    await send({"type": "websocket.send", "bytes": message.SerializeToString()})
    await send({"type": "websocket.close", "code": POLICY_VIOLATION})


def _is_shell(connection: HTTPConnection) -> bool:
    """Return whether a link of another site to a page was followed, so the browser sent no strict cookies.

    Streamlit's page without data is answered; its socket is of this site and has the cookies. Any client can send these
    headers, so no other route is answered for them. The return from an OIDC provider, which has a cookie with claims,
    comes from another site too, but has no session yet.
    """
    if OIDC_COOKIE in connection.cookies or route_path(connection.scope["path"]) not in PAGE_PATHS:
        return False
    return is_navigation(connection) and connection.headers.get("sec-fetch-site") == "cross-site"


def is_navigation(connection: HTTPConnection) -> bool:
    """Return whether a browser asks for a page."""
    return connection.scope["method"] == "GET" and "text/html" in connection.headers.get("accept", "")


def _signed_out(connection: HTTPConnection) -> Response:
    if not is_navigation(connection):
        return error_reply(401, "signed_out", _("You are signed out; sign in to continue."))
    query = connection.scope.get("query_string", b"").decode("latin-1")
    path = f"{connection.scope['path']}?{query}" if query else connection.scope["path"]
    page = "oidc" if OIDC_COOKIE in connection.cookies else "sign-in"
    return RedirectResponse(f"{own_address(f'/account/{page}')}?next={quote(path, safe='')}", 303)


def error_reply(status: int, code: str, message: str) -> Response:
    """Return an error as a code and one sentence."""
    return JSONResponse({"error": code, "message": message}, status, headers={"Cache-Control": "no-store"})


# Who looks at a page: by the session's cookie, or by the name in a cookie on a server without accounts.

COOKIE = "tiebreak_annotator"


def current_identity() -> Identity:
    """Return whom the session's cookie names, as the database had it when this run of the page asked first."""
    return guards.once("identity", _read_identity)


def _read_identity() -> Identity:
    cookie = st.context.cookies.get(SESSION_COOKIE, "")
    return resources.read(logins.identify, cookie if isinstance(cookie, str) else "")


def current_actor() -> Actor:
    """Return who acts; the name is empty if nobody is signed in."""
    identity = current_identity()
    return identity.actor or Actor("" if identity.accounts else _named_annotator() or "")


def current_annotator() -> str | None:
    """Return the name of the annotator who is signed in; None if nobody is, or if the cookie has no valid name."""
    return current_actor().name or None


def current_visitor() -> str:
    """Return a token of this browser, otherwise of this session, for views before signing in."""
    token = st.context.cookies.get(VISITOR_COOKIE)
    if isinstance(token, str) and re.fullmatch(r"[\w-]{16,64}", token):
        return token
    return str(st.session_state.setdefault("visitor", new_visitor()))


def _named_annotator() -> str | None:
    name = st.session_state.get("annotator")
    if name is None:
        name = st.context.cookies.get(COOKIE, "")
    if not isinstance(name, str) or not name:
        return None
    try:
        return annotators.normalize_name(unquote(name))
    except TiebreakError:
        return None
