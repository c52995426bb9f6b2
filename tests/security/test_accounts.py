"""Accounts over HTTP: the cookie of a session, who gets past the guard, and what a stolen session is worth."""

import logging
import re
from datetime import timedelta
from html import unescape
from types import SimpleNamespace
from urllib.parse import quote

import pytest
import streamlit as st
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError
from starlette.applications import Starlette
from starlette.responses import RedirectResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

import app
from core.errors import TiebreakError
from pages.account import routes
from pages.account.routes import local_path
from pages.parts import account_guard, resources
from pages.parts.account_guard import COOKIE, SESSION_COOKIE
from storage.accounts import logins, registry, tokens
from storage.db import audit
from storage.db.connections import reading, write, writing
from storage.db.tables import LoginRow, now
from tests.accounts import PASSWORD, add_account, enter, fast_hashes, one_trace
from tests.pages.visits import page_text, prepare_copy, visit
from tests.sessions import read

pytestmark = pytest.mark.usefixtures(fast_hashes.__name__)
HOST = "http://127.0.0.1:8501"
UPLOAD = "/_stcore/upload_file/session/file"
PRIVATE = ["/api/label/session", "/files/token", "/media/file", "/_stcore/metrics", "/_stcore/agent/openapi.json"]
QUEUE = {"study": "s", "kind": "disagreements"}


@pytest.fixture
def engine():
    """A database with a study and the account of ann, who is an administrator."""
    prepare_copy(one_trace)
    add_account(resources.engine(), "ann")
    return resources.engine()


def browser(cookie="", address=HOST):
    local = {"client": ("127.0.0.1", 1), "headers": {"origin": address}}
    client = TestClient(app.app, base_url=address, follow_redirects=False, **local)
    if cookie:
        client.cookies.set(SESSION_COOKIE, cookie)
    return client


def revoke(engine, cookie):
    with writing(engine) as session:
        logins.revoke(session, logins.identify(session, cookie).login_id)


def post_sign_in(client, name="ann", password=PASSWORD, **fields):
    return client.post("/account/sign-in", data={"name": name, "password": password} | fields)


@pytest.mark.parametrize(("address", "secure"), [(HOST, False), ("https://localhost", True)])
def test_the_cookie_of_a_session_cannot_be_read_by_scripts_nor_sent_by_other_sites(engine, address, secure):
    reply = post_sign_in(browser(address=address), next="/traces?trace=1")
    assert (reply.status_code, reply.headers["location"]) == (303, "/traces?trace=1")
    cookies = reply.headers.get_list("set-cookie")
    for cookie, path, days in zip(cookies, ("/", "/account/"), (30, 365), strict=True):
        flags = {part.strip().lower() for part in cookie.split(";")[1:]}
        assert {"httponly", "samesite=strict", f"path={path}", f"max-age={days * 24 * 3600}"} == flags - {"secure"}
        assert ("secure" in flags) == secure
    assert reply.headers["cache-control"] == "no-store"


def test_a_wrong_password_draws_the_form_again_without_a_cookie_and_with_escaped_fields(engine):
    reply = post_sign_in(browser(), name='"><script>alert(1)</script>', password="wrong", next='/x"onload=')
    assert reply.status_code == 401
    assert "The name or the password is wrong." in reply.text
    assert "<script>alert" not in reply.text and '/x"onload' not in reply.text
    assert "set-cookie" not in reply.headers


def test_a_browser_that_has_signed_in_does_so_after_wrong_passwords_of_others_at_its_address(engine):
    own, other = browser(), browser()
    device = post_sign_in(own).cookies["tiebreak_device"]
    own.cookies.delete(SESSION_COOKIE)
    assert [post_sign_in(other, password="wrong").status_code for _ in range(10)] == [401] * 10
    assert post_sign_in(other).status_code == 429
    assert post_sign_in(own).status_code == 303
    assert browser(device).get("/api/label/session", params=QUEUE).status_code == 401  # it is no session
    assert browser(f"{device}.{device}").get("/api/label/session", params=QUEUE).status_code == 401


@pytest.mark.parametrize("headers", [{"origin": "http://evil.example"}, {"origin": "null"}, {"origin": ""}])
@pytest.mark.parametrize("path", ["/account/sign-in", "/account/invitation"])
def test_forms_of_other_sites_are_refused(engine, path, headers):
    cookie = enter(engine, "ann")
    client = browser(cookie)
    assert client.post(path, data={"name": "ann", "password": PASSWORD}, headers=headers).status_code == 403
    assert read(engine, logins.identify, cookie).actor is not None


@pytest.mark.parametrize(
    ("content", "kind"), [("x" * 10_001, "application/x-www-form-urlencoded"), ("{}", "application/json")]
)
def test_an_invalid_form_is_refused(engine, content, kind):
    reply = browser().post("/account/sign-in", content=content, headers={"content-type": kind})
    assert reply.status_code == 400


@pytest.mark.parametrize(("method", "path"), [*(("GET", path) for path in PRIVATE), ("PUT", UPLOAD)])
def test_without_a_session_data_is_refused_and_with_one_it_is_not(engine, method, path):
    """Neither an invented cookie nor a name is a session."""
    named = browser()
    named.cookies.set(COOKIE, "ann")
    for client in (browser(), browser("invented.cookie"), named):
        assert client.request(method, path, params=QUEUE).status_code == 401
    assert browser(enter(engine, "ann")).request(method, path, params=QUEUE).status_code != 401


@pytest.mark.parametrize("path", ["/ready", "/_stcore/health", "/account/sign-in", "/account/invitation"])
def test_public_paths_need_no_session(engine, path):
    assert browser().get(path).status_code in (200, 503)  # 503: no worker runs, or Streamlit's runtime is not started


def test_a_page_leads_to_the_sign_in_and_back(engine):
    client = browser()
    page = {"accept": "text/html", "sec-fetch-site": "none"}
    reply = client.get("/traces?trace=1&study=s%20t", headers=page)
    assert reply.status_code == 303
    assert reply.headers["location"] == "/account/sign-in?next=%2Ftraces%3Ftrace%3D1%26study%3Ds%2520t"
    form = client.get(reply.headers["location"])
    assert 'value="/traces?trace=1&amp;study=s%20t"' in form.text
    link_of_another_site = page | {"sec-fetch-site": "cross-site"}
    assert client.get("/traces", headers=link_of_another_site).status_code == 200
    assert {client.get(path, params=QUEUE, headers=link_of_another_site).status_code for path in PRIVATE} == {303}
    assert browser(enter(engine, "ann")).get("/account/sign-in?next=/runs").headers["location"] == "/runs"


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/x\n/y",
        "/\t/evil.example",
        " //evil.example",
        "javascript:alert(1)",
        "evil.example",
        "/" + "x" * 3000,
        "",
        "/account/x",
    ],
)
def test_the_sign_in_leads_to_no_other_site(path, engine, monkeypatch):
    assert local_path(path) == "/"
    monkeypatch.setattr(routes, "sign_in_by_provider", lambda request: "cookie")
    client = browser()
    client.cookies.set("tiebreak_next", quote(path, safe=""), path="/account/")
    assert 'content="0; url=/"' in client.get("/account/oidc").text
    assert browser(enter(engine, "ann")).get("/account/sign-in", params={"next": path}).headers["location"] == "/"


@pytest.fixture
def provider(monkeypatch):
    """Offer the sign-in of one provider."""
    monkeypatch.setattr(routes, "providers", lambda: ["default"])
    monkeypatch.setattr(routes, "links", list)


def test_a_sign_in_at_a_provider_leads_to_the_page_that_was_asked_for(engine, provider, monkeypatch):
    client = browser()
    asked = client.get("/traces?trace=1&study=s%20t", headers={"accept": "text/html", "sec-fetch-site": "none"})
    page = client.get(asked.headers["location"])
    flags = page.headers["set-cookie"].lower()
    assert flags.startswith("tiebreak_next=") and "httponly" in flags and "samesite=lax" in flags
    monkeypatch.setattr(routes, "sign_in_by_provider", lambda request: "cookie")
    reply = client.get("/account/oidc?next=%2F")
    assert 'content="0; url=/traces?trace=1&amp;study=s%20t"' in reply.text
    assert "tiebreak_next" not in client.cookies
    assert 'content="0; url=/"' in client.get("/account/oidc?next=%2F").text


RETURNED = {"accept": "text/html", "sec-fetch-site": "cross-site"}
"""The headers of a browser that comes from the provider."""


@pytest.mark.parametrize("path", ["/oauth2callback?error=access_denied&state=x", "/auth/login?provider=unknown"])
def test_a_failed_sign_in_at_a_provider_leads_back_to_the_sign_in_with_a_sentence(engine, path):
    client = browser()
    client.cookies.set("tiebreak_next", quote("/traces?trace=1", safe=""), path="/account/")
    reply = client.get(path, headers=RETURNED)
    assert reply.status_code == 303
    page = client.get(reply.headers["location"], headers=RETURNED).text
    assert routes.FAILED in page and 'name="next" value="/traces?trace=1"' in page


@pytest.mark.parametrize(
    ("path", "location", "cookies"),
    [
        ("/oauth2callback", "/", {"set-cookie": "_streamlit_user=claims"}),
        ("/auth/login", "https://id.example/authorize", {}),
    ],
)
def test_a_sign_in_at_a_provider_that_goes_on_is_left_as_it_is(path, location, cookies):
    def answer(_):
        return RedirectResponse(location, 302, cookies)

    served = account_guard.AccountGuard(Starlette(routes=[Route(path, answer)]))
    reply = TestClient(served, base_url=HOST, follow_redirects=False).get(path)
    assert (reply.status_code, reply.headers["location"]) == (302, location)


def test_a_session_that_is_used_goes_on_until_its_sign_out_and_its_use_is_stored_now_and_then(engine):
    cookie = enter(engine, "ann")
    almost = now() - logins.IDLE + timedelta(hours=1)
    write(engine, lambda session: session.execute(update(LoginRow).values(used_at=almost)))
    used = []
    for _ in range(2):
        assert browser(cookie).get("/api/label/session", params=QUEUE).status_code == 200
        used += read(engine, lambda session: session.scalars(select(LoginRow.used_at)).all())
    assert used[0] == used[1] > almost + timedelta(days=6)
    revoke(engine, cookie)
    assert browser(cookie).get("/api/label/session", params=QUEUE).status_code == 401


def test_a_page_is_loaded_again_when_its_session_is_revoked(engine, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(account_guard, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    cookie = enter(engine, "ann")

    async def echo(scope, receive, send):
        served.append(scope["path"])
        await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            await send({"type": "websocket.send", "text": "answered"})

    def check_reloaded(socket):
        message = ForwardMsg.FromString(socket.receive_bytes())
        assert (message.WhichOneof("type"), message.auth_redirect.url) == ("auth_redirect", ""), "the page's address"
        with pytest.raises(WebSocketDisconnect):
            socket.receive_text()

    served = []
    client = TestClient(account_guard.AccountGuard(echo), base_url=HOST, client=("127.0.0.1", 1))
    visitor = {"headers": {"cookie": f"{SESSION_COOKIE}={cookie}"}, "subprotocols": ["streamlit", "xsrf", "earlier"]}
    with client.websocket_connect("/_stcore/stream", **visitor) as socket:
        socket.send_text("first")
        assert socket.receive_text() == "answered"
        assert socket.receive_text() == "answered"
        revoke(engine, cookie)
        clock[0] = 101.9
        socket.send_text("before the next check")
        assert socket.receive_text() == "answered"
        clock[0] = 102.0
        socket.send_text("second")
        check_reloaded(socket)
    with client.websocket_connect("/_stcore/stream", **visitor) as again:
        assert again.accepted_subprotocol == "streamlit", "otherwise browsers read no message"
        check_reloaded(again)
    assert len(served) == 1, "a page without a session is not served"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (TiebreakError("The file is gone."), "The file is gone."),
        (OperationalError("SELECT a secret", {}, ValueError("locked")), "The database reported an error: locked."),
    ],
)
def test_nobody_is_let_in_while_the_database_cannot_be_read(monkeypatch, error, message):
    def fail(_):
        raise error

    monkeypatch.setattr(account_guard, "identify", fail)
    reply = browser().get("/api/label/session")
    assert (reply.status_code, reply.json()) == (503, {"error": "unavailable", "message": message})


def test_a_server_without_accounts_serves_this_machine_only():
    prepare_copy(one_trace)
    for client, host, status in [
        (("127.0.0.1", 5), HOST, 200),
        (("::1", 5), "http://localhost:8501", 200),
        (("::ffff:127.0.0.1", 5), HOST, 200),
        (("unknown", 5), HOST, 403),
        (("192.0.2.1", 5), HOST, 403),
        (("127.0.0.1", 5), "http://lab.example", 403),
    ]:
        guarded = TestClient(account_guard.AccountGuard(answer), base_url=host, client=client)
        assert guarded.get("/").status_code == status
        assert guarded.get("/ready").status_code == 200
    add_account(resources.engine(), "ann")
    remote = TestClient(account_guard.AccountGuard(answer), base_url="http://lab.example", client=("192.0.2.1", 5))
    assert remote.get("/").status_code == 401


async def answer(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def test_a_script_labels_with_an_api_token_without_a_cookie_and_csrf_token(engine):
    account = add_account(engine, "bob")
    token = write(engine, lambda session: tokens.create_token(session, account, "script"))
    write(engine, lambda session: registry.set_administrator(session, account.id, True))
    script = TestClient(app.app, base_url=HOST, client=("127.0.0.1", 1), headers={"authorization": f"Bearer {token}"})
    assert script.get("/api/label/session", params=QUEUE).json()["annotator"]["name"] == "bob"
    reply = script.post("/api/label/tasks", params=QUEUE, json={"have": [], "count": 3})
    assert len(reply.json()["tasks"]) == 1
    script.post("/api/label/tasks", params=QUEUE, json={"have": [], "count": 3})
    with reading(engine) as session:
        used = [entry for entry in audit.entries(session, audit.Filter(actions=("token",))) if entry.study]
    assert {(entry.actor, entry.study, entry.address) for entry in used} == {("bob", "s", "127.0.0.1")}
    routes = [entry.details["route"] for entry in used]
    assert routes == ["POST /api/label/tasks", "GET /api/label/session"], "once an hour"
    assert token not in repr(used)
    write(engine, lambda session: tokens.revoke(session, account, "script"))
    assert script.get("/api/label/session", params=QUEUE).status_code == 401
    invented = {"authorization": "Bearer tiebreak_invented"}
    assert browser(enter(engine, "ann")).get("/api/label/session", params=QUEUE, headers=invented).status_code == 401


def test_a_page_reads_the_session_from_its_cookie_each_time_it_is_drawn(engine, monkeypatch):
    cookie = enter(engine, "ann")
    monkeypatch.setattr(type(st.context), "cookies", property(lambda _: {SESSION_COOKIE: cookie}))
    shown = visit("setup/account")
    assert "ann · administrator" in page_text(shown)
    revoke(engine, cookie)
    assert "You are signed out" in page_text(shown.run())
    monkeypatch.setattr(type(st.context), "cookies", property(lambda _: {COOKIE: "ann"}))
    assert "You are signed out" in page_text(visit("setup/account")), "a name is not enough"


def test_an_invitation_signs_in_once(engine):
    account = read(engine, registry.get, "ann")
    token = write(engine, lambda session: tokens.invite(session, account))
    client = browser()
    fields = {"token": token, "password": "a new sentence", "again": "a new sentence"}
    assert client.post("/account/invitation/name", data={"token": token}).text == "ann"
    different = client.post("/account/invitation", data=fields | {"again": "another password"})
    assert "The two passwords differ." in different.text
    assert "at least 10" in client.post("/account/invitation", data=fields | {"password": "x", "again": "x"}).text
    reply = client.post("/account/invitation", data=fields)
    assert reply.status_code == 303
    assert client.get("/api/label/session", params=QUEUE).json()["annotator"]["name"] == "ann"
    assert client.post("/account/invitation", data=fields).status_code == 400
    used = browser().post("/account/invitation/name", data={"token": token})
    assert used.status_code == 400 and "unknown, expired or used" in used.text
    assert post_sign_in(browser()).status_code == 401
    assert post_sign_in(browser(), password="a new sentence").status_code == 303


def test_nothing_secret_is_logged(engine, caplog):
    caplog.set_level(logging.DEBUG)
    account = read(engine, registry.get, "ann")
    invitation = write(engine, lambda session: tokens.invite(session, account))
    token = write(engine, lambda session: tokens.create_token(session, account, "script"))
    client = browser()
    post_sign_in(client)
    client.get("/api/label/session", params=QUEUE, headers={"authorization": f"Bearer {token}"})
    cookie = client.cookies[SESSION_COOKIE]
    form = {"token": invitation, "password": "a new sentence", "again": "a new sentence"}
    assert client.post("/account/invitation", data=form).status_code == 303
    for secret in (cookie, cookie.partition(".")[0], token, invitation, PASSWORD, "a new sentence"):
        assert secret not in caplog.text


def test_a_claim_that_streamlit_did_not_sign_is_refused(engine, provider):
    client = browser()
    client.cookies.set("_streamlit_user", '{"is_logged_in": true, "iss": "x", "sub": "7", "email": "ann@lab.example"}')
    reply = client.get("/account/oidc")
    assert reply.status_code == 403
    assert SESSION_COOKIE not in reply.headers.get("set-cookie", "")


def test_a_claim_that_streamlit_signed_becomes_a_session(engine, provider):
    from streamlit.web.server.server_util import get_cookie_secret
    from streamlit.web.server.starlette.starlette_app_utils import create_signed_value

    add_account(engine, "bob", email="bob@lab.example", administrator=True)
    claims = (
        '{"is_logged_in": true, "iss": "https://id", "sub": "7", "email": "bob@lab.example", "email_verified": true}'
    )
    client = browser()
    signed = create_signed_value(get_cookie_secret(), "_streamlit_user", claims).decode()
    client.cookies.set("_streamlit_user", signed)
    page = client.get("/traces", headers=RETURNED)
    reply = client.get(page.headers["location"])
    assert 'http-equiv="refresh" content="0; url=/traces"' in reply.text
    cookies = reply.headers.get_list("set-cookie")
    session_cookie = next(cookie for cookie in cookies if cookie.startswith(SESSION_COOKIE)).lower()
    assert "httponly" in session_cookie and "samesite=strict" in session_cookie
    assert any(cookie.startswith('_streamlit_user=""') for cookie in cookies)
    assert client.get("/api/label/session", params=QUEUE).json()["annotator"]["name"] == "bob"


def test_pages_before_a_session_are_in_the_chosen_language_and_an_unknown_one_is_not_stored(engine):
    client = browser()
    client.headers["accept-language"] = "de"
    page = client.get("/account/sign-in?next=/traces").text
    assert '<html lang="en">' in page
    [link] = re.findall(r'href="([^"]*)" [^>]*>Deutsch<', page)
    assert client.get(unescape(link)).headers["location"] == "/traces"
    client.get("/account/language", params={"language": "../en"})
    assert '<html lang="de">' in client.get("/account/sign-in").text
    assert "Der Name oder das Passwort ist falsch." in post_sign_in(client, password="wrong").text
    assert '<html lang="de">' in client.get("/home", headers=RETURNED).text
