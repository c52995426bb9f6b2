"""Files that a page offers: CSV of figures, safe to open in a spreadsheet, exports, settings, and images of items.

They have a route of their own, under /files, which checks the visitor and the role again. They are not downloads or
images of Streamlit: its route /media serves a file to everybody who has the address, and the next run of any page can
remove a deferred download before the browser has fetched it.
"""

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from core.errors import TiebreakError
from core.own_addresses import own_address
from pages.parts import account_guard, permissions
from storage.accounts.access import Forbidden, Permission
from storage.db import guards

MakeFile = Callable[[], bytes]
# Files that can be requested, five of a chart; those offered first are forgotten first.
MAX_FILES = 3_000


@dataclass(frozen=True)
class File:
    """A file that is written when it is requested."""

    make: MakeFile
    name: str
    mime: str
    kind: str = ""
    """What the audit log calls it; a file without a kind is not recorded."""


# A file, the account of its visitor (None on a server without accounts), and what records its export; it raises
# Forbidden if the visitor may no longer have it.
Offer = tuple[File, int | None, Callable[[str], None]]
# Token -> offer, of all visitors; a token is known to its visitor only.
_offers: OrderedDict[str, Offer] = OrderedDict()
_lock = threading.Lock()


def draw_csv_download(make: Callable[[], str], file_name: str, key: str = "download") -> None:
    """Draw the link that downloads the text that `make` returns; it is called when the file is requested."""
    draw_file_link("Download as CSV", File(lambda: make().encode(), file_name, "text/csv", kind=file_name), key)


def draw_text_link(label: str, text: str, file_name: str, key: str, *, kind: str, mime: str = "text/csv") -> None:
    """Draw the link that downloads `text`."""
    draw_file_link(label, File(text.encode, file_name, mime, kind), key)


def draw_file_link(label: str, file: File, key: str, permission: Permission | None = None) -> None:
    """Draw the link that downloads a file, for visitors with the permission of the page or the one given."""
    st.html(f'<a class="file-link" href="{offer(file, key, permission)}" download>{escape(label)}</a>')


def offer(file: File, key: str, permission: Permission | None = None) -> str:
    """Return the address at which this visitor can request a file."""
    token = st.session_state.setdefault(f"_{key}_file", secrets.token_urlsafe(16))
    offered = file, account_guard.current_actor().account_id, permissions.export_check(permission)
    with _lock:
        _offers[token] = offered
        _offers.move_to_end(token)
        while len(_offers) > MAX_FILES:
            _offers.popitem(last=False)
    return own_address(f"/files/{token}")


def routes() -> list[BaseRoute]:
    """Return the route of the files."""
    return [Route("/files/{token}", send_file)]


async def send_file(request: Request) -> Response:
    """Return a file that was offered to this visitor."""
    offered, actor = _offers.get(request.path_params["token"]), account_guard.identity_of(request).actor
    if offered is None or offered[1] != (actor and actor.account_id):
        return PlainTextResponse("This file is no longer offered: reload the page.", 404)
    file, _, check = offered
    try:
        content = await run_in_threadpool(_content, file, check)
    except TiebreakError as error:
        return PlainTextResponse(str(error), 403 if isinstance(error, Forbidden) else 409)
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.name, safe='')}",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(content, media_type=file.mime, headers=headers)


@guards.reading_operation()
def _content(file: File, check: Callable[[str], None]) -> bytes:
    check(file.kind)
    return file.make()
