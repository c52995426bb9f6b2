"""The workbench on a plain page: the application's routes and storage in this process, without a page of Streamlit."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from pages.label import api
from pages.parts.account_guard import AccountGuard
from tests.browser.conftest import free_port
from tests.waiting import wait_for

HTML = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Workbench</title>
<meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1"><style>body { margin: 0 }</style>
<script type="module" src="/assets/workbench/workbench.js"></script></head>
<body><main><h1 hidden>Workbench</h1><label-workbench></label-workbench></main></body></html>"""
OWN = "script-src 'self'; img-src 'self' data:; connect-src 'self'; style-src 'self' 'unsafe-inline'"


async def page(_: Request) -> Response:
    return HTMLResponse(HTML, headers={"Content-Security-Policy": f"default-src 'none'; {OWN}"})


class Server:
    """The ASGI application, with faults that a test sets. It answers from the test's own database, during a test."""

    def __init__(self) -> None:
        self.address = ""
        self.is_open, self.active = False, 0
        self.delay, self.drop_every, self.posts = 0.0, 0, 0
        self._app = AccountGuard(Starlette(routes=[*api.routes(), Route("/", page)]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        if not self.is_open:
            return await Response(status_code=503)(scope, receive, send)
        self.active += 1
        try:
            if scope["path"].endswith("/actions"):
                send = await self._with_faults(send)
            await self._app(scope, receive, send)
        finally:
            self.active -= 1

    async def _with_faults(self, send: Send) -> Send:
        """The reply to actions that are carried out can come late, or break off: the browser does not learn of it."""
        self.posts += 1
        is_dropped = self.drop_every and self.posts % self.drop_every == 0
        await asyncio.sleep(self.delay)

        async def broken(message: dict) -> None:
            if message["type"] == "http.response.start":
                await send(message | {"headers": [(b"content-length", b"1000")]})
            else:
                await send({"type": "http.response.body", "body": b"{", "more_body": False})

        return broken if is_dropped else send

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Answer during a test, without faults at its start; wait for what it left behind."""
        self.delay, self.drop_every, self.posts, self.is_open = 0.0, 0, 0, True
        yield
        self.is_open = False
        assert wait_for(lambda: not self.active)


@contextmanager
def running() -> Iterator[Server]:
    """Serve in a thread."""
    application, port = Server(), free_port()
    config = uvicorn.Config(application, host="127.0.0.1", port=port, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    assert wait_for(lambda: server.started)
    application.address = f"http://127.0.0.1:{port}"
    yield application
    server.should_exit = server.force_exit = True
    thread.join()
