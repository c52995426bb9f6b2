"""Requests and sockets from other sites are refused on every route, and responses carry the security headers."""

import asyncio

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

import app
from pages.parts.request_guard import RequestGuard, content_security_policy

HOST = "127.0.0.1:8501"
ORIGIN = f"http://{HOST}"
SOCKET = "/_stcore/stream"
FOREIGN = [
    {"host": "evil.example", "origin": "http://evil.example"},
    {"host": "evil.example:8501", "origin": ORIGIN},
    {"host": HOST, "origin": "http://evil.example"},
    {"host": HOST, "origin": "http://localhost:9999"},
    {"host": HOST, "origin": "null"},
    {"host": HOST, "origin": f"http://{HOST}.evil.example"},
    {"host": HOST, "origin": f"ftp://{HOST}"},
    {"host": "", "origin": ORIGIN},
    {"host": "192.0.2.1", "origin": "http://192.0.2.1"},
]


async def reached(scope, receive, send):
    """An application that accepts everything."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
    else:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"reached"})


def request(headers, *, method="GET", hosts=(), kind="http", repeated=()):
    """Return the first message that the guard sends for a request."""
    sent = []

    async def receive():
        return {"type": "websocket.connect" if kind == "websocket" else "http.request"}

    async def send(message):
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in (*headers.items(), *repeated)]
    scope = {"type": kind, "method": method, "path": "/", "headers": raw}
    asyncio.run(RequestGuard(reached, hosts)(scope, receive, send))
    return sent[0]


@pytest.mark.parametrize("headers", [*FOREIGN, {"host": HOST}])
def test_a_socket_of_another_site_or_without_an_origin_is_closed(headers):
    assert request(headers, kind="websocket") == {"type": "websocket.close", "code": 1008}


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_a_request_of_another_site_is_refused(headers, method):
    assert request(headers, method=method)["status"] == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_a_change_without_an_origin_is_refused(method):
    assert request({"host": HOST}, method=method)["status"] == 403


@pytest.mark.parametrize("host", [HOST, "localhost:8501", "[::1]:8501", "127.0.0.1"])
def test_the_server_s_own_pages_are_answered(host):
    own = {"host": host, "origin": f"http://{host}"}
    assert request(own, kind="websocket")["type"] == "websocket.accept"
    assert request(own, method="POST")["status"] == 200
    assert request({"host": host})["status"] == 200


def test_the_hosts_of_a_proxy_are_allowed_by_name():
    behind_proxy = {"host": "lab.example", "origin": "https://lab.example"}
    assert request(behind_proxy, kind="websocket", hosts=["Lab.example"])["type"] == "websocket.accept"
    assert request(behind_proxy, kind="websocket")["type"] == "websocket.close"


def test_repeated_host_headers_are_refused():
    assert request({"host": HOST}, repeated=[("host", "evil")])["status"] == 403


PATHS = ["/", "/_stcore/health", "/ready", "/api/label/session", "/assets/workbench/workbench.js"]


@pytest.mark.parametrize("path", [*PATHS, "/_stcore/upload_file/session/file"])
def test_every_response_has_the_security_headers_and_requests_of_another_site_are_refused(path):
    client = TestClient(app.app, base_url=ORIGIN, client=("127.0.0.1", 1))
    headers = client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == content_security_policy()
    assert client.get(path, headers={"host": "evil.example"}).status_code == 403
    assert client.put(path, headers={"origin": "http://evil.example"}, content=b"x").status_code == 403


@pytest.mark.parametrize("headers", [FOREIGN[0], {"host": HOST}])
def test_the_socket_of_streamlit_is_guarded(headers):
    with (
        pytest.raises(WebSocketDisconnect) as closed,
        TestClient(app.app, base_url=ORIGIN, client=("127.0.0.1", 1)).websocket_connect(SOCKET, headers=headers),
    ):
        pass
    assert closed.value.code == 1008


def test_the_policy_allows_no_other_host():
    sources = [word for directive in content_security_policy().split("; ") for word in directive.split()[1:]]
    allowed = {"'none'", "'self'", "'unsafe-inline'", "data:", "blob:"}
    assert {word for word in sources if not word.startswith("'sha256-")} <= allowed
