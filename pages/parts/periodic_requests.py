"""Passes on a periodic request of a page only when no run of the page is in progress.

Otherwise Streamlit may lose the messages of that run: see docs/decisions/020-no-periodic-request-during-a-run.md.
"""

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

LIMIT = 10.0
"""Seconds after the last request or begin of a run from which periodic requests are passed on again: Streamlit answers
no request of a fragment that the page has no more."""


class PeriodicRequestFilter:
    """Middleware that reads the messages of each socket of a page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a socket; other events are passed on."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        runs = RunsOfPage()

        async def receive_needed() -> Message:
            while True:
                message = await receive()
                if not message.get("bytes") or runs.needs(message["bytes"]):
                    return message

        async def send_noted(message: Message) -> None:
            if message.get("bytes"):
                runs.note(message["bytes"])
            await send(message)

        await self._app(scope, receive_needed, send_noted)


class RunsOfPage:
    """Whether a run of one socket's page is in progress: from the request, or the begin, until the end was sent."""

    def __init__(self) -> None:
        self._since = float("-inf")

    def needs(self, content: bytes) -> bool:
        """Return whether Streamlit needs a message of the browser: the browser repeats a periodic request soon."""
        received = BackMsg.FromString(content)
        if received.WhichOneof("type") == "rerun_script":
            now = time.monotonic()
            if received.rerun_script.is_auto_rerun and now < self._since + LIMIT:
                return False
            self._since = now
        return True

    def note(self, content: bytes) -> None:
        """Note the begin or the end of a run in a message to the browser.

        An end before a further run, as after `st.rerun`, is none.
        """
        sent = ForwardMsg.FromString(content)
        match sent.WhichOneof("type"):
            case "new_session":
                self._since = time.monotonic()
            case "script_finished" if sent.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                self._since = float("-inf")
