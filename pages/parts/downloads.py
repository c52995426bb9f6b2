"""Downloads: CSV of figures, safe to open in a spreadsheet, and files that are written when they are requested.

The latter have a route of their own, under /files. They are not deferred downloads of Streamlit: the next run of any
page can remove such a file before the browser has fetched it.
"""

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, fields
from html import escape
from typing import Any
from urllib.parse import quote

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from core.errors import TiebreakError
from core.formats.tables import csv_text
from pages.parts import account_guard, visitor

MakeFile = Callable[[], bytes]
MAX_FILES = 500
"""Files that can be requested; those offered first are forgotten first."""


@dataclass(frozen=True)
class File:
    """A file that is written when it is requested."""

    make: MakeFile
    name: str
    mime: str


_files: OrderedDict[str, tuple[File, int | None]] = OrderedDict()
"""Token -> file and the account of its visitor, if there are accounts; a token is known to its visitor only."""
_lock = threading.Lock()


def dataclass_csv(row_type: type[Any], rows: Iterable[Any]) -> str:
    """Return instances of a flat dataclass as CSV, one column per field."""
    return csv_text([field.name for field in fields(row_type)], (astuple(row) for row in rows))


def draw_csv_download(text: str, file_name: str, key: str = "download") -> None:
    """Draw the button that downloads `text`."""
    st.download_button(
        "Download as CSV",
        text,
        file_name=file_name,
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key=key,
    )


def draw_file_link(label: str, file: File, key: str) -> None:
    """Draw the link that downloads a file."""
    token = st.session_state.setdefault(f"_{key}_file", secrets.token_urlsafe(16))
    with _lock:
        _files[token] = (file, visitor.current_actor().account_id)
        _files.move_to_end(token)
        while len(_files) > MAX_FILES:
            _files.popitem(last=False)
    st.html(f'<a class="file-link" href="/files/{token}" download>{escape(label)}</a>')


def routes() -> list[BaseRoute]:
    """Return the route of the files."""
    return [Route("/files/{token}", send_file)]


async def send_file(request: Request) -> Response:
    """Return a file that was offered to this visitor."""
    file, owner = _files.get(request.path_params["token"], (None, None))
    actor = account_guard.identity_of(request).actor
    if file is None or owner != (actor and actor.account_id):
        return PlainTextResponse("This file is no longer offered: reload the page.", 404)
    try:
        content = await run_in_threadpool(file.make)
    except TiebreakError as error:
        return PlainTextResponse(str(error), 409)
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.name, safe='')}",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(content, media_type=file.mime, headers=headers)
