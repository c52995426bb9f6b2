"""Routes beside the pages: readiness and metrics for monitoring, images of other hosts, and transcripts.

The metrics are answered to this machine only: requests of this process, and counts of the database. The server fetches
images for the hosts that a study allows.
"""

import base64
import binascii
import json
import time
from collections.abc import Iterator
from functools import cache

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core import texts
from core.errors import TiebreakError
from core.llm import images
from core.own_addresses import route_path
from core.remote_images import is_stored
from pages.parts import account_guard, resources
from pages.parts.request_guard import page_html
from storage.accounts import access
from storage.accounts.registry import Actor, Identity
from storage.db import connections
from storage.db.errors import DBAPIError
from storage.reports import contents
from storage.studies import studies, study_images, transcripts

IMAGE_HEADERS = {"Cache-Control": "private, max-age=86400", "Content-Security-Policy": "default-src 'none'; sandbox"}
# Beginnings of the paths whose requests are measured. The pages themselves use one socket.
MEASURED = ("/api/label/", "/ready")
BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
REGISTRY = CollectorRegistry()
REQUESTS = Histogram(
    "tiebreak_request_seconds", "Duration of requests.", ("path", "status"), buckets=BUCKETS, registry=REGISTRY
)


class DatabaseCollector(Collector):
    """Reads the database whenever the metrics are requested."""

    def collect(self) -> Iterator[Metric]:
        """Yield whether the database and the worker are available, and the counts."""
        works = not resources.worker_problem()
        yield GaugeMetricFamily("tiebreak_worker_up", "Whether a worker executes requested runs.", works)
        try:
            counts = resources.read(contents.count)
        except (TiebreakError, DBAPIError):
            yield GaugeMetricFamily("tiebreak_database_up", "Whether the database is available.", 0)
            return
        yield GaugeMetricFamily("tiebreak_database_up", "Whether the database is available.", 1)
        yield CounterMetricFamily("tiebreak_labels", "Labels, changed ones included.", counts.labels)
        yield GaugeMetricFamily("tiebreak_claims", "Targets that annotators have claimed.", counts.claims)
        for name, text, label, numbers in (
            ("tiebreak_runs", "Runs by state.", "state", counts.runs),
            ("tiebreak_traces", "Traces by outcome.", "outcome", counts.traces),
        ):
            family = GaugeMetricFamily(name, text, labels=[label])
            for value, number in numbers.items():
                family.add_metric([value], number)
            yield family


class RequestTimer:
    """Middleware that measures requests."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request; everything else is passed on."""
        route = route_path(scope["path"]) if scope["type"] == "http" else ""
        if not route.startswith(MEASURED):
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def send_measured(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_measured)
        finally:
            path = "/".join(route.split("/")[:4])  # no name or id of a longer path becomes a label
            known = path if status != 404 else "unknown"
            REQUESTS.labels(known, str(status)).observe(time.perf_counter() - start)


async def metrics(request: Request) -> Response:
    """Return all metrics as text."""
    if not account_guard.is_local(request):
        return account_guard.error_reply(403, "forbidden", "Metrics are available on the server's machine only.")
    content = await run_in_threadpool(generate_latest, REGISTRY)
    return Response(content, media_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


async def ready(_: Request) -> Response:
    """Return "ok" for the database and this server's worker, or a sentence, with status 503 if there is one."""
    database = await run_in_threadpool(resources.database_problem)
    problems = {"database": database, "worker": await run_in_threadpool(resources.worker_problem)}
    body = {part: problem or "ok" for part, problem in problems.items()}
    return JSONResponse(body, 503 if any(problems.values()) else 200, headers={"Cache-Control": "no-store"})


@cache
def _images() -> study_images.RemoteImages:
    return study_images.RemoteImages()


async def remote_image(request: Request) -> Response:
    """Return an image whose address a study has signed; a sentence with status 404 if it cannot be shown."""
    study, address, mark = (request.query_params.get(name, "") for name in ("study", "url", "mark"))
    try:
        identity = account_guard.identity_of(request)
        if not await run_in_threadpool(_may_see, identity, study, address, mark):
            raise TiebreakError("There is no such image.")
        image = await (
            run_in_threadpool(_stored_image, study, address) if is_stored(address) else _images().get(address)
        )
    except TiebreakError as error:
        return account_guard.error_reply(404, "unknown", str(error))
    return Response(image.content, media_type=image.type, headers=IMAGE_HEADERS)


def _stored_image(study: str, address: str) -> images.Image:
    name = resources.read(studies.by_id, int(study)).name
    return images.read_image(images.media_folder(name), address)


def _may_see(identity: Identity, study: str, address: str, mark: str) -> bool:
    """Return whether a visitor may open the study, and the study has signed the address."""
    with connections.reading(resources.engine()) as session:
        return _may_open(session, identity, study) and study_images.is_signed(session, int(study), address, mark)


def _may_open(session: connections.Session, identity: Identity, study: str) -> bool:
    """Return whether a text is the id of a study that the visitor may open."""
    if not (study.isascii() and study.isdigit() and len(study) < 10):
        return False
    return access.allows(session, int(study), identity.actor or Actor(""), access.Permission.open)


async def transcript(request: Request) -> Response:
    """Return the parts of a transcript, those with an image that can be shown marked `image`."""
    study, digest = (request.query_params.get(name, "") for name in ("study", "digest"))
    identity = account_guard.identity_of(request)
    content = await run_in_threadpool(_transcript_json, identity, study, digest)
    if content is None:
        return account_guard.error_reply(404, "unknown", "There is no such transcript.")
    headers = {"Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff"}
    return Response(content, media_type="application/json", headers=headers)


def _transcript_json(identity: Identity, study: str, digest: str) -> bytes | None:
    """Return a transcript of a study that the visitor may open as JSON."""
    with connections.reading(resources.engine()) as session:
        if not _may_open(session, identity, study):
            return None
        found = dict(transcripts.by_digest(session, int(study), [digest])).get(digest)
    if found is None:
        return None
    shown = {part.number for part in found.parts if part.kind == "image" and _is_image(part.content)}
    if not shown:
        return found.model_dump_json().encode()
    parts = [part.model_dump(mode="json") | ({"image": True} if part.number in shown else {}) for part in found.parts]
    return json.dumps({"parts": parts}).encode()


def _is_image(address: str) -> bool:
    """Return whether an address is a data URI whose content is an image of the type that it states."""
    declared, _, encoded = address.partition(";base64,")
    try:
        content = base64.b64decode(encoded, validate=True)
        return declared == f"data:{images.detect_type(content, 'image')}"
    except (TiebreakError, binascii.Error):
        return False


async def page(_: Request) -> Response:
    """Return the page in which the browser draws every page."""
    html = page_html().replace('<html lang="en">', f'<html lang="{texts.language()}">')
    return HTMLResponse(html, headers={"Cache-Control": "no-cache"})


async def catalogue(request: Request) -> Response:
    """Return the texts of scripts in a language; none for an unknown one."""
    language = request.path_params["language"]
    known = language if language in texts.LANGUAGES else texts.SOURCE
    return Response(texts.as_json(known), media_type="application/json", headers={"Cache-Control": "no-cache"})


def routes() -> list[BaseRoute]:
    """Return the routes."""
    pages = (Route(path, page) for path in account_guard.PAGE_PATHS)
    own = {
        "/assets/texts/{language}": catalogue,
        "/ready": ready,
        "/metrics": metrics,
        study_images.ROUTE: remote_image,
        transcripts.ROUTE: transcript,
    }
    return [*pages, *(Route(path, endpoint) for path, endpoint in own.items())]


REGISTRY.register(DatabaseCollector())
ProcessCollector(registry=REGISTRY)
