"""The checks of a request to the workbench: its size, its form, its token, and who is signed in.

The origin is checked for all requests by `pages.parts.request_guard`.
"""

import hmac
import json
import math
import time
from urllib.parse import unquote

from starlette.requests import Request

from core.errors import TiebreakError
from pages.parts import account_guard, resources
from pages.parts.visitor import COOKIE
from storage import annotators, audit, database
from storage.accounts.identity import Actor
from storage.audit import Action
from storage.json_columns import sanitize
from storage.labelling.work import Json, Work

LARGEST_BODY = 1_000_000
"""Bytes. Fifty actions with reasons of ordinary length take a tenth of it."""
DEEPEST = 32
"""Levels of lists and objects in a body. An edit of AIUs has six."""

MOST_USES = 10_000
_recorded_uses: dict[tuple[object, ...], int] = {}
"""Account, token, study, route and address of a use -> the hour of its last entry in the audit log."""


class Failed(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def annotator_key(work: Work) -> str:
    """Return the annotator's name for the browser's outbox."""
    return f"a-{work.ids.digest('annotator', work.annotator).hex()[:16]}"


def csrf_token(work: Work) -> str:
    """Return the token that a request from another site does not have."""
    return work.ids.csrf_token(work.annotator)


def signed_in(request: Request) -> Actor:
    """Return the annotator of the token or the session; on a server without accounts, the one whom a cookie names."""
    identity = account_guard.identity_of(request)
    if identity.actor is not None:
        return identity.actor
    if identity.accounts or account_guard.bearer_token(request.headers) is not None:
        raise Failed(401, "signed_out", "You are signed out; sign in to continue.")
    try:
        return Actor(annotators.normalize_name(unquote(request.cookies.get(COOKIE, ""))))
    except TiebreakError:
        raise Failed(401, "signed_out", "You are signed out; sign in to continue.") from None


def record_token_use(request: Request, study_id: int) -> None:
    """Add an entry to the audit log, once an hour, if an API token is used for a route of a study."""
    identity = account_guard.identity_of(request)
    if identity.actor is None or not identity.token:
        return
    route = f"{request.method} {request.scope['route'].path}"
    address = request.client.host if request.client else ""
    use, hour = (identity.actor.account_id, identity.token, study_id, route, address), int(time.time() // 3600)
    if _recorded_uses.get(use) == hour:
        return
    if len(_recorded_uses) >= MOST_USES:
        _recorded_uses.clear()
    with audit.acting(identity.actor.name), database.writing(resources.engine()) as session:
        details = {"change": "used", "token": identity.token, "route": route}
        audit.record(session, Action.token, study_id=study_id, address=address, **details)
    _recorded_uses[use] = hour


def check_token(request: Request, work: Work, body: Json) -> None:
    """Raise Failed unless the request has the session's token and names the annotator who is signed in.

    A script with an API token needs neither: browsers do not send such a token for another site.
    """
    if account_guard.bearer_token(request.headers) is not None:
        return
    if not hmac.compare_digest(request.headers.get("x-csrf-token", "").encode(), csrf_token(work).encode()):
        raise Failed(403, "csrf", "The session's token is missing or outdated.")
    if body.get("annotator") != annotator_key(work):
        raise Failed(409, "other_annotator", "You are signed in as another annotator in this browser.")


async def read_body(request: Request) -> Json:
    """Return the JSON object of a request's body."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Failed(400, "invalid", "The body should be JSON.")
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > LARGEST_BODY:
            raise Failed(413, "too_large", "The request is too large.")
    try:
        body = json.loads(content, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        raise Failed(400, "invalid", "The body should be JSON.") from None
    if not isinstance(body, dict):
        raise Failed(400, "invalid", "The body should be a JSON object.")
    if _is_deeper(body, DEEPEST):
        raise Failed(400, "invalid", f"The body has more than {DEEPEST} levels of lists and objects.")
    # The texts of actions are sanitized one by one: a pasted NUL must not block the other actions of an outbox.
    check_texts({name: value for name, value in body.items() if name != "actions"})
    return body


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    """Return a number; raises ValueError for one like 1e999, which no reply could contain."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number


def check_texts(fields: Json) -> None:
    """Raise Failed for text that a database cannot store: NUL, or half of a surrogate pair."""
    if sanitize(fields) != fields:
        raise Failed(400, "invalid", "This text contains characters that cannot be stored.")


def number_in_query(text: str) -> int | None:
    """Return an id in a query; None if there is none. Raises Failed for one that nothing can have."""
    if not text:
        return None
    if not (text.isdecimal() and len(text) < 12 and is_count(int(text))):
        raise Failed(400, "invalid", "The run and the study_id should be numbers.")
    return int(text)


def _is_deeper(value: object, most: int) -> bool:
    level = [value]
    for _ in range(most):
        containers = [inner for inner in level if isinstance(inner, dict | list)]
        level = [one for inner in containers for one in (inner.values() if isinstance(inner, dict) else inner)]
    return any(isinstance(inner, dict | list) for inner in level)


def is_count(value: object) -> bool:
    """Return whether a value is a whole number from 0 that a database can store."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
