"""The pages before a session: sign-in and invitations. They are plain HTML, and forms that work without scripts."""

import json
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Literal
from urllib.parse import parse_qs, quote, unquote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from core.errors import TiebreakError
from core.own_addresses import cookie_path, own_address, route_path
from core.texts import LANGUAGES, _, language, mark, number
from pages.parts import account_guard, languages, resources, shell
from pages.parts.account_guard import OIDC_COOKIE, SESSION_COOKIE
from storage.accounts import logins, registry, sign_in, tokens
from storage.db import audit, connections
from storage.db.errors import DatabaseUnavailable

# Bytes.
LARGEST_FORM = 10_000
LONGEST_PATH = 2000
TEMPLATE = (shell.PAGES / "account" / "static" / "page.html").read_text(encoding="utf-8")
HEADERS = {"Cache-Control": "no-store"}
# Names the device, so that wrong passwords from elsewhere do not refuse its sign-ins.
DEVICE_COOKIE = "tiebreak_device"
DEVICE_SECONDS = 365 * 24 * 3600
# The page that was asked for before a sign-in at a provider, which leads back to the first page.
NEXT_COOKIE = "tiebreak_next"
# How long a sign-in at a provider may take.
NEXT_SECONDS = 900
Form = dict[str, str]


# The status of a form that is drawn again with the sentence of an error; 400 for others.
STATUSES: dict[type[TiebreakError], int] = {
    sign_in.TooManyAttempts: 429,
    sign_in.WrongPassword: 401,
    DatabaseUnavailable: 503,
}


def routes() -> list[BaseRoute]:
    """Return the routes, with those of the style sheet and the script."""
    return [
        Route("/account/sign-in", draw_sign_in),
        Route("/account/sign-in", post_sign_in, methods=["POST"]),
        Route("/account/invitation", lambda _: _invitation_page()),  # the token is in the fragment of the address
        Route("/account/invitation", post_invitation, methods=["POST"]),
        Route("/account/invitation/name", post_invitation_name, methods=["POST"]),
        Route("/account/oidc", enter_by_oidc),
        Route(languages.CHOICE, choose_language),
        Mount("/assets/account", StaticFiles(directory=shell.PAGES / "account" / "static")),
    ]


async def draw_sign_in(request: Request) -> Response:
    """Draw the form of the sign-in; with a session, or without any account, go on to the app."""
    identity = await run_in_threadpool(account_guard.identify, request)
    following = local_path(request.query_params.get("next", ""))
    if not identity.accounts or identity.actor is not None:
        return RedirectResponse(following, 303, headers=HEADERS)
    if account_guard.FAILED_PARAMETER not in request.query_params:
        return _remember_page(_sign_in_page(following), request, following)
    following = local_path(unquote(request.cookies.get(NEXT_COOKIE, "")))
    return _sign_in_page(following, problem=_(FAILED))


async def post_sign_in(request: Request) -> Response:
    """Sign in with a name and a password."""

    def enter(form: Form) -> Response:
        cookie = sign_in.sign_in(
            resources.engine(),
            form.get("name", ""),
            form.get("password", ""),
            address=client_address(request),
            browser=request.headers.get("user-agent", ""),
            device=request.cookies.get(DEVICE_COOKIE, ""),
        )
        return with_session(RedirectResponse(local_path(form.get("next", "")), 303), request, cookie)

    return await _post(
        request, enter, lambda form, text: _sign_in_page(form.get("next", ""), form.get("name", ""), text)
    )


async def post_invitation(request: Request) -> Response:
    """Set the password of an invited account, and sign in."""

    def accept(form: Form) -> Response:
        engine, address, password = resources.engine(), client_address(request), form.get("password", "")
        browser = request.headers.get("user-agent", "")
        if password != form.get("again", ""):
            raise TiebreakError(_("The two passwords differ."))
        registry.check(password)
        sign_in.limit_invitations(engine, address)
        hashed = registry.hash_password(password)

        def finish(session: connections.Session) -> str:
            account = tokens.accept(session, form.get("token", ""), hashed)
            audit.record(session, audit.Action.sign_in, actor=account.name, address=address, by="invitation")
            return logins.create(session, account.id, address=address, browser=browser)

        return with_session(RedirectResponse(own_address("/"), 303), request, connections.write(engine, finish))

    return await _post(request, accept, lambda form, text: _invitation_page(form.get("token", ""), text))


async def post_invitation_name(request: Request) -> Response:
    """Return the name of the account that an invitation is for, or the sentence for an invalid invitation."""
    form = await _read_form(request) or {}
    try:
        account = await run_in_threadpool(resources.read, tokens.account_of, form.get("token", ""))
        return PlainTextResponse(account.name, headers=HEADERS)
    except TiebreakError as error:
        return PlainTextResponse(str(error), 400, headers=HEADERS)


async def choose_language(request: Request) -> Response:
    """Remember a language in a cookie, and go on to a page."""
    left = urlsplit(request.headers.get("referer", ""))
    following = request.query_params.get("next") or f"{left.path}?{left.query}"
    response = RedirectResponse(local_path(following), 303, headers=HEADERS)
    chosen = request.query_params.get("language", "")
    if chosen in LANGUAGES:
        _set_cookie(response, request, languages.COOKIE, chosen, DEVICE_SECONDS, cookie_path(), samesite="lax")
    return response


async def enter_by_oidc(request: Request) -> Response:
    """Turn the sign-in at an OIDC provider, which Streamlit has verified, into a session."""
    following = local_path(request.query_params.get("next", ""))
    if following == own_address("/"):
        following = local_path(unquote(request.cookies.get(NEXT_COOKIE, "")))
    try:
        cookie = await run_in_threadpool(sign_in_by_provider, request)
    except TiebreakError as error:
        response: Response = _sign_in_page(following, problem=str(error), status=403)
    else:
        # The browser came here from the provider. It sends a strict cookie only if this site asks for the next page.
        title, link = _("Signing in"), _("Continue")
        page = _page(title, f'<p><a href="{escape(following)}">{escape(link)}</a></p>', refresh=following)
        response = with_session(page, request, cookie)
    for name in request.cookies:
        if name.startswith(OIDC_COOKIE):
            response.delete_cookie(name, path=cookie_path())
    response.delete_cookie(NEXT_COOKIE, path=own_address("/account/"))
    return response


def _remember_page(response: Response, request: Request, following: str) -> Response:
    """Store the page that was asked for in a cookie, if the sign-in may lead over a provider.

    The browser returns from another site, to which it sends no strict cookies.
    """
    if providers() and following != own_address("/"):
        page, path = quote(following, safe=""), own_address("/account/")
        _set_cookie(response, request, NEXT_COOKIE, page, NEXT_SECONDS, path, samesite="lax")
    return response


def _set_cookie(
    response: Response,
    request: Request,
    name: str,
    value: str,
    seconds: int,
    path: str,
    samesite: Literal["lax", "strict"] = "strict",
) -> None:
    """Add a cookie that scripts cannot read."""
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, seconds, path=path, httponly=True, samesite=samesite, secure=secure)


def with_session(response: Response, request: Request, cookie: str) -> Response:
    """Add the cookies of a new session and of its device."""
    response.headers["Cache-Control"] = "no-store"
    _set_cookie(response, request, SESSION_COOKIE, cookie, int(logins.LIFETIME.total_seconds()), cookie_path())
    device, path = logins.device_of(cookie), own_address("/account/")
    _set_cookie(response, request, DEVICE_COOKIE, device, DEVICE_SECONDS, path)
    return response


def client_address(request: Request) -> str:
    """Return the address of the browser; a proxy on this machine states it in X-Forwarded-For."""
    return request.client.host if request.client else ""


def local_path(path: str) -> str:
    """Return the path of a page on this server; that of the first page for anything else, such as another site."""
    first = own_address("/")
    is_path = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    if not is_path or len(path) > LONGEST_PATH:
        return first
    parts = urlsplit(path)
    route = route_path(parts.path)
    is_other = bool(parts.scheme or parts.netloc) or not route or route.startswith("/account/")
    return first if is_other else path


async def _post(
    request: Request, act: Callable[[Form], Response], draw: Callable[[Form, str], HTMLResponse]
) -> Response:
    """Read a form and act on it; an error draws it again."""
    form = await _read_form(request)
    try:
        if form is None:
            raise TiebreakError(_("The form is invalid."))
        return await run_in_threadpool(act, form)
    except TiebreakError as error:
        page = draw(form or {}, str(error))
        page.status_code = next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 400)
        return page


async def _read_form(request: Request) -> Form | None:
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > LARGEST_FORM:
            return None
    if content_type != "application/x-www-form-urlencoded":
        return None
    try:
        fields = parse_qs(content.decode(), keep_blank_values=True, max_num_fields=20)
    except ValueError:
        return None
    return {name: values[0] for name, values in fields.items()}


def _sign_in_page(following: str, name: str = "", problem: str = "", status: int = 200) -> HTMLResponse:
    study = parse_qs(urlsplit(local_path(following)).query).get("study", [""])[0][:200]
    labels = _("Name"), _("Password"), _("Sign in")
    name_label, password_label, button = map(escape, labels)
    advice = escape(_("For an account, or a new password, ask the operator of this server for an invitation."))
    continued = escape(_("You continue with the study “{study}”.")).format(study=f"<bdi>{escape(study)}</bdi>")
    content = f"""
{f'<p class="note">{continued}</p>' if study else ""}
<form method="post" action="{own_address("/account/sign-in")}">
  <input type="hidden" name="next" value="{escape(local_path(following))}">
  <label>{name_label} <input name="name" dir="auto" value="{escape(name[:200])}" autocomplete="username" required
    autofocus></label>
  <label>{password_label} <input name="password" type="password" autocomplete="current-password" required></label>
  <button>{button}</button>
</form>
{"".join(f'<p><a class="other" href="{escape(url)}">{escape(label)}</a></p>' for label, url in links())}
<p class="note">{advice}</p>
<p class="note">{languages.links(local_path(following))}</p>"""
    return _page(_("Sign in"), content, problem, status=status)


def _invitation_page(token: str = "", problem: str = "") -> HTMLResponse:
    labels = _("Password"), _("The same again"), _("Set password and sign in"), _("You sign in as “{name}”.")
    password_label, again_label, button, account = map(escape, labels)
    rule = _("At least {number} characters, and not mainly common words or sequences.")
    rule = escape(rule.format(number=number(registry.SHORTEST)))
    once = escape(_("The link of an invitation works once."))
    content = f"""
<form method="post" action="{own_address("/account/invitation")}">
  <input type="hidden" name="token" id="token" value="{escape(token[:200])}">
  <p id="account" role="status" data-text="{account}"></p>
  <label>{password_label} <input name="password" type="password" autocomplete="new-password"
    minlength="{registry.SHORTEST}" required autofocus></label>
  <label>{again_label} <input name="again" type="password" autocomplete="new-password" required></label>
  <button>{button}</button>
</form>
<p class="note">{rule} {once}</p>
<script type="module" src="{own_address("/assets/account/invitation.js")}"></script>"""
    return _page(_("Choose a password"), content, problem)


def _page(title: str, content: str, problem: str = "", *, refresh: str = "", status: int = 200) -> HTMLResponse:
    parts = {
        "STYLE": f'<link rel="stylesheet" href="{own_address("/assets/account/account.css")}">',
        "LANGUAGE": language(),
        "PRODUCT": escape(_("Tiebreak: labels of people, and judges compared with them")),
        "TITLE": escape(title),
        "REFRESH": f'<meta http-equiv="refresh" content="0; url={escape(refresh)}">' if refresh else "",
        "PROBLEM": f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else "",
        "CONTENT": content,
    }
    text = TEMPLATE
    for name, value in parts.items():
        text = text.replace(f"<!--{name}-->", value)
    return HTMLResponse(text, status, headers=HEADERS)


# Sign-in at an OpenID Connect provider through Streamlit's own login, configured in .streamlit/secrets.toml.
#
# Streamlit's routes (/auth/login, /oauth2callback) talk to the provider and put its verified claims into a signed
# cookie. Here the cookie is exchanged for a session of Tiebreak, which the server can end.

FAILED = mark("The sign-in at the provider has failed; try again.")


def links() -> list[tuple[str, str]]:
    """Return (label, address) of every provider that is configured."""
    from streamlit.auth_util import encode_provider_token

    login, label = own_address("/auth/login"), _("Sign in with {provider}")
    return [
        (label.format(provider="OpenID Connect" if name == "default" else name), f"{login}?provider={quote(token)}")
        for name, token in ((name, encode_provider_token(name)) for name in providers())
    ]


def providers() -> list[str]:
    """Return the names of the providers in the section "auth" of the secrets; "default" is the one without a name."""
    from streamlit.auth_util import get_secrets_auth_section

    section = get_secrets_auth_section()
    if not section or "redirect_uri" not in section or "cookie_secret" not in section:
        return []
    named = [name for name, value in section.items() if isinstance(value, Mapping) and "client_id" in value]
    return (["default"] if "client_id" in section else []) + named


def sign_in_by_provider(request: Request) -> str:
    """Return the cookie of a new session for the claims that Streamlit stored; raises TiebreakError."""
    claims, browser = read_claims(request), request.headers.get("user-agent", "")
    return sign_in.sign_in_by_claims(resources.engine(), claims, address=client_address(request), browser=browser)


def read_claims(request: Request) -> dict[str, Any]:
    """Return the claims in Streamlit's cookie; raises TiebreakError unless Streamlit has signed it."""
    from streamlit.auth_util import get_cookie_with_chunks
    from streamlit.web.server.server_util import get_cookie_secret
    from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value

    if not providers():  # without a secret of its own, Streamlit signs with a key that is not meant for this
        raise TiebreakError(_(FAILED))
    secret = get_cookie_secret()

    def decode(name: str) -> bytes | None:
        value = request.cookies.get(name)
        return None if value is None else decode_signed_value(secret, name, value)

    content = get_cookie_with_chunks(decode, OIDC_COOKIE)
    try:
        claims = json.loads(content or b"")
    except ValueError:
        raise TiebreakError(_(FAILED)) from None
    if not isinstance(claims, dict) or not claims.get("is_logged_in"):
        raise TiebreakError(_(FAILED))
    return claims
