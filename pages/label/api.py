"""The JSON routes of the workbench, under /api/label: authentication, authorisation, and the replies of storage.

See docs/workbench-api.md. Every error is a code and one sentence.
"""

import asyncio
import hmac
import json
import logging
import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from core import remote_images
from core.errors import TiebreakError
from core.items import target_item
from core.llm import images
from core.own_addresses import own_address
from core.texts import _, mark
from pages.label.parts import workbench
from pages.parts import account_guard, resources, shell
from storage.accounts import access
from storage.accounts.registry import Actor
from storage.db import audit, connections, guards
from storage.db.columns import sanitize
from storage.db.errors import DatabaseUnavailable
from storage.labelling import actions, blocks, claims, effects, queue_view, tasks
from storage.labelling.context import Json, QueueContext, Refused, Unknown, find_task, open_context
from storage.runs import trace_opinions
from storage.studies import annotators, items, studies, study_images
from storage.transfer import deletions

# The checks of a request to the workbench: its size, its form, its token, and who is signed in.
#
# The origin is checked for all requests by `pages.parts.request_guard`.

# Bytes. Fifty actions with reasons of ordinary length take a tenth of it.
LARGEST_BODY = 1_000_000
# Levels of lists and objects in a body. An edit of AIUs has six.
DEEPEST = 32

MOST_USES = 10_000
# Account, token, study, route and address of a use -> the hour of its last entry in the audit log.
_recorded_uses: dict[tuple[object, ...], int] = {}


class Failed(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def annotator_key(work: QueueContext) -> str:
    """Return the annotator's name for the browser's outbox."""
    return f"a-{work.ids.digest('annotator', work.annotator).hex()[:16]}"


def signed_in(request: Request) -> Actor:
    """Return the annotator of the token or the session; on a server without accounts, the one whom a cookie names."""
    identity = account_guard.identity_of(request)
    if identity.actor is not None:
        return identity.actor
    if not identity.accounts and account_guard.bearer_token(request.headers) is None:
        with suppress(TiebreakError):
            return Actor(annotators.normalize_name(unquote(request.cookies.get(account_guard.COOKIE, ""))))
    raise Failed(401, "signed_out", _("You are signed out; sign in to continue."))


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
    with audit.acting(identity.actor.name), connections.writing(resources.engine()) as session:
        details = {"change": "used", "token": identity.token, "route": route}
        audit.record(session, audit.Action.token, study_id=study_id, address=address, **details)
    _recorded_uses[use] = hour


def check_token(request: Request, work: QueueContext, body: Json) -> None:
    """Raise Failed unless the request has the session's token and names the annotator who is signed in.

    A script with an API token needs neither: browsers do not send such a token for another site.
    """
    if account_guard.bearer_token(request.headers) is not None:
        return
    if not hmac.compare_digest(
        request.headers.get("x-csrf-token", "").encode(), work.ids.csrf_token(work.annotator).encode()
    ):
        raise Failed(403, "csrf", _("The session's token is missing or outdated."))
    if body.get("annotator") != annotator_key(work):
        raise Failed(409, "other_annotator", _("You are signed in as another annotator in this browser."))


async def read_body(request: Request) -> Json:
    """Return the JSON object of a request's body."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Failed(400, "invalid", "The body should be JSON.")
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > LARGEST_BODY:
            raise Failed(413, "too_large", _("The request is too large."))
    try:
        body = json.loads(content, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        raise Failed(400, "invalid", "The body should be JSON.") from None
    if not isinstance(body, dict):
        raise Failed(400, "invalid", "The body should be a JSON object.")
    if _is_deeper(body, DEEPEST):
        raise Failed(400, "invalid", f"The body has more than {DEEPEST} levels of lists and objects.")
    # The texts of actions are sanitized one by one: a pasted NUL must not block the other actions of an outbox.
    check_texts({name: value for name, value in body.items() if name != "actions"})
    return body


def _finite(text: str) -> float:
    """Return a number; raises ValueError for NaN, Infinity and one like 1e999, which no reply could contain."""
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
    for _level in range(most):
        containers = [inner for inner in level if isinstance(inner, dict | list)]
        level = [one for inner in containers for one in (inner.values() if isinstance(inner, dict) else inner)]
    return any(isinstance(inner, dict | list) for inner in level)


def is_count(value: object) -> bool:
    """Return whether a value is a whole number from 0 that a database can store."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


# Tasks that a browser can list as known.
MOST_KNOWN = 5_000
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
ARCHIVED = mark("The study {name!r} was archived: its items are not offered now.")


# Error -> status and code of the answer; the first that matches.
STATUSES: tuple[tuple[type[Exception], int, str], ...] = (
    (Unknown, 404, "unknown"),
    (deletions.StudyDeleted, 410, "deleted"),
    (Refused, 403, "refused"),
    (deletions.NoLongerMember, 403, "removed"),
    (access.Forbidden, 403, "forbidden"),
    (DatabaseUnavailable, 503, "unavailable"),  # the browser sends the request again
    (TiebreakError, 400, "invalid"),
)


@dataclass(frozen=True)
class Call:
    """A checked request: whose queue it is about, its query, and its body if it has one."""

    work: QueueContext
    query: dict[str, str]
    body: Json


Handler = Callable[[Call], Json | Response]


class Scripts(StaticFiles):
    """The files of the element, and KaTeX as Streamlit ships it, in a file whose name has a version.

    A browser asks each time whether they changed: old scripts and a new API do not mix.
    """

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Return the file of an address below the folder."""
        if path != "katex.js":
            return super().lookup_path(path)
        [script] = (Path(st.__file__).parent / "static" / "static" / "js").glob("katex.*.js")
        return str(script), script.stat()

    def file_response(self, *args: Any, **keywords: Any) -> Response:
        """Return a file that is validated on every use."""
        response = super().file_response(*args, **keywords)
        response.headers["Cache-Control"] = "no-cache"
        return response


def routes() -> list[BaseRoute]:
    """Return the routes of the workbench, with those of its scripts."""
    return [
        Route("/api/label/session", _endpoint(session)),
        Route("/api/label/tasks", _endpoint(next_tasks), methods=["POST"]),
        Route("/api/label/tasks/{task}", _endpoint(one_task)),
        Route("/api/label/actions", _endpoint(perform), methods=["POST"]),
        Route("/api/label/history", _endpoint(history)),
        Route("/api/label/presence", _endpoint(presence), methods=["POST"]),
        Route("/api/label/image", _endpoint(image)),
        Mount("/assets/workbench", Scripts(directory=shell.PAGES / "label" / "workbench")),
    ]


def session(call: Call) -> Json:
    """Return the annotator and the queue: the first request of the element."""
    work = call.work
    past = history(call)
    with connections.reading(resources.engine()) as opened:
        newest = studies.current_guidelines(opened, work.study.id)
        return {
            "csrf": work.ids.csrf_token(work.annotator),
            "annotator": {"key": annotator_key(work), "name": work.annotator},
            "study": {
                "id": work.study.id,
                "name": work.study.name,
                "home": f"{own_address('/home')}?{urlencode({'study': work.study.name})}",
            },
            "kind": work.name,
            "title": _(workbench.QUEUE_PAGES[work.name].title),
            "rules": {
                "reveal": work.study.rules.reveal and trace_opinions.exist(opened, work.study.id),
                "evidence": work.study.rules.evidence,
                "reason": work.study.rules.reason,
                "quick": False,
            },
            "guidelines": {
                "version": newest.version,
                "read": studies.read_guidelines_version(opened, work.study.id, work.annotator_id),
                "format": "markdown",
                "text": newest.text,
            },
            "progress": queue_view.progress(queue_view.open_view(opened, work)),
            "history": past,
        }


def next_tasks(call: Call) -> Json:
    """Return the next tasks; nothing is claimed."""
    have, count = call.body.get("have", []), call.body.get("count", 30)
    if not isinstance(have, list) or len(have) > MOST_KNOWN or not all(isinstance(name, str) for name in have):
        raise Failed(400, "invalid", "The list of known items is invalid.")
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= tasks.MOST:
        raise Failed(400, "invalid", f"Between 1 and {tasks.MOST} items can be requested.")
    tab = next((tab for tab in queue_view.TABS if tab == call.query.get("tab", "todo")), None)
    if tab is None:
        raise Failed(400, "invalid", _("There is no such tab."))
    if call.work.study.archived:
        raise Failed(410, "archived", _(ARCHIVED, name=call.work.study.name))
    first, again = call.query.get("item") or None, call.body.get("again") is True
    with connections.reading(resources.engine()) as opened:
        reply = tasks.next_tasks(opened, call.work, have=have, count=count, tab=tab, first=first, again=again)
        reply["guidelines"] = {"version": studies.current_guidelines(opened, call.work.study.id).version}
    _reveal(call.work, reply["tasks"])
    return reply


def one_task(call: Call) -> Json:
    """Return one task of the queue."""
    with connections.reading(resources.engine()) as opened:
        task_jsons = tasks.task_jsons(opened, call.work, [tasks.open_task(opened, call.work, call.query["task"])])
    _reveal(call.work, task_jsons)
    return task_jsons[0]


def perform(call: Call) -> Json:
    """Execute actions."""
    work, body = call.work, call.body
    sent, client, after = body.get("actions"), body.get("client"), body.get("after", 0)
    if not isinstance(sent, list) or not 0 < len(sent) <= actions.MOST or not all(map(_has_number, sent)):
        raise Failed(400, "invalid", f"A request has 1 to {actions.MOST} actions with numbers.")
    if not isinstance(client, str) or not 0 < len(client) <= 64 or not is_count(after):
        raise Failed(400, "invalid", "The request has no client or no number.")
    try:
        results = actions.perform(resources.engine(), work, client, sent, after=after, first=body.get("first") is True)
    except actions.OutOfSequence:
        raise Failed(409, "sequence", "Earlier actions are missing.") from None
    known = max((action.get("guidelines") or 0 for action in sent if is_count(action.get("guidelines"))), default=0)
    with connections.reading(resources.engine()) as opened:
        newest = studies.current_guidelines(opened, work.study.id)
        reply: Json = {"results": results, "stack": effects.count_entries(opened, work)}
        if any(action.get("type") != "draft" for action in sent):  # a draft changes no number on the screen
            reply["progress"] = queue_view.progress(queue_view.open_view(opened, work, again=False))
    if newest.version > known:
        reply["guidelines"] = {"version": newest.version, "format": "markdown", "text": newest.text}
    if work.study.archived:
        reply["archived"] = _(ARCHIVED, name=work.study.name)
    return reply


def history(call: Call) -> Json:
    """Return older entries of the undo stack."""
    entries = resources.read(effects.history, call.work, call.query.get("before"))
    _reveal(call.work, entries["tasks"])
    return entries


def presence(call: Call) -> Json:
    """Renew the claim of the task on the screen, or end all claims when the page is left. It creates no claim."""
    work, name, engine = call.work, call.body.get("task"), resources.engine()
    if call.body.get("leaving") is True:
        connections.write(engine, lambda opened: claims.release_all(opened, work))
        return {"claim": "free"}
    if not isinstance(name, str):
        raise Failed(400, "invalid", "The request names no item.")
    if connections.write(engine, lambda opened: claims.renew(opened, work, tasks.open_task(opened, work, name))):
        return {"claim": "mine"}
    with connections.reading(engine) as opened:
        return {"claim": tasks.task_jsons(opened, work, [find_task(opened, work, name)])[0]["claim"]}


def image(call: Call) -> Response:
    """Return an image of a task, named by its block: the path may reveal the system."""
    with connections.reading(resources.engine()) as opened:
        task = tasks.open_task(opened, call.work, call.query.get("task", ""))
        item = target_item(items.get(opened, call.work.study.id, task.target.item), task.target)
    path = blocks.image_path(item, call.query.get("block", ""))
    study = call.work.study
    with suppress(TiebreakError, OSError):  # the sentence would name the path
        if path is not None and not images.is_url(path):
            loaded = images.read_image(images.media_folder(study.name), path)
            return Response(loaded.content, media_type=loaded.type, headers=HEADERS)
        if path is not None and remote_images.is_allowed(path, study.rules.image_hosts):
            remote = asyncio.run(study_images.RemoteImages().get(path))
            return Response(remote.content, media_type=remote.type, headers=HEADERS)
    raise Failed(404, "unknown", "There is no such image.")


def _reveal(work: QueueContext, task_jsons: list[Json]) -> None:
    """Add the reveals of the labelled tasks that the annotator may see."""
    if any(target["version"] != "0" for task in task_jsons for target in task["targets"]):
        with connections.reading(resources.engine()) as opened:
            found = [find_task(opened, work, task["id"]) for task in task_jsons]
            seen = tasks.add_reveals(opened, work, task_jsons, found)
        tasks.record_views(resources.engine(), work, seen)


def _endpoint(handle: Handler) -> Callable[[Request], Any]:
    """Return the handler as an endpoint with its checks and its errors."""

    async def endpoint(request: Request) -> Response:
        try:
            body = await read_body(request) if request.method == "POST" else {}
            reply = await run_in_threadpool(_answer, handle, request, body)
        except Failed as failed:
            return account_guard.error_reply(failed.status, failed.code, str(failed))
        except ClientDisconnect:
            return account_guard.error_reply(
                400, "invalid", "The connection was closed before the request was complete."
            )
        except (TiebreakError, Refused) as error:
            status, code = next((status, code) for kind, status, code in STATUSES if isinstance(error, kind))
            return account_guard.error_reply(status, code, str(error))
        except Exception:
            logging.getLogger("tiebreak").exception("A request of the workbench raised an exception.")
            return account_guard.error_reply(
                500, "unavailable", _("An unexpected error occurred; its details are in the server's log.")
            )
        return reply if isinstance(reply, Response) else JSONResponse(reply, headers=HEADERS)

    return endpoint


@guards.operation()
def _answer(handle: Handler, request: Request, body: Json) -> Json | Response:
    guards.enforce()
    query = dict(request.query_params) | {name: str(value) for name, value in request.path_params.items()}
    actor = signed_in(request)
    check_texts(query)
    run_id = number_in_query(query.get("run", ""))
    study_id = number_in_query(query.get("study_id", ""))
    with connections.reading(resources.engine()) as opened:
        if study_id is not None:
            deletions.check_member(opened, actor, study_id, request.headers.get("x-csrf-token", ""))
        study = study_name(opened, actor, query.get("study", ""), study_id)
        if study not in access.study_names(opened, actor):  # as if it did not exist
            raise Unknown(_("There is no study called {name!r}.", name=study[:80]))
        access.require(opened, studies.get(opened, study).id, actor, access.Permission.label)
        is_new = annotators.find_id(opened, actor.name) is None
    with (connections.writing if is_new else connections.reading)(resources.engine()) as opened:
        work = open_context(
            opened,
            query.get("kind", ""),
            study,
            actor.name,
            criterion=query.get("criterion") or None,
            scenario=query.get("scenario") or None,
            run_id=run_id,
        )
    if request.method == "POST":
        check_token(request, work, body)
    record_token_use(request, work.study.id)
    return handle(Call(work, query, body))


def study_name(opened: connections.Session, actor: Actor, name: str, study_id: int | None) -> str:
    """Return the present name of the study that a window was opened for; raises StudyDeleted."""
    if study_id is None and name in studies.names(opened):
        return name
    found = deletions.find_former(opened, actor, name, study_id)
    if found is None:
        return name
    if found.problem:
        raise deletions.StudyDeleted(found.problem)
    return found.name


def _has_number(action: object) -> bool:
    return isinstance(action, dict) and is_count(action.get("seq")) and action["seq"] > 0
