"""The sockets of pages: the limit of their number, and middleware that holds periodic requests back.

A page takes one descriptor for its socket and three for the event loop that Streamlit creates for its session, and
keeps with up to 128 closed sessions. Without a free one a server accepts no connection at all.

A periodic request of a page is passed on only when no run of the page is in progress. Otherwise Streamlit may lose the
messages of that run: see docs/decisions/020-no-periodic-request-during-a-run.md.
"""

import resource
import time
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

# Descriptors of this process, if the system allows them; the usual limit is 1,024.
WANTED = 65_536
# Seconds after the last request or begin of a run from which periodic requests are passed on again: Streamlit answers
# no request of a fragment that the page has no more.
LIMIT = 10.0


def raise_limit() -> None:
    """Raise the limit of this process to WANTED, as far as the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


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
