"""The route /metrics for Prometheus, on this machine only: requests of this process, and counts of the database."""

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.errors import TiebreakError
from core.own_addresses import route_path
from pages.parts import account_guard, resources
from storage.db import connections
from storage.db.errors import DBAPIError
from storage.reports import server_counts

MEASURED = ("/api/label/", "/ready")
"""Beginnings of the paths whose requests are measured. The pages themselves use one socket."""
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
            with connections.reading(resources.engine()) as session:
                counts = server_counts.count(session)
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


def routes() -> list[BaseRoute]:
    """Return the route."""
    return [Route("/metrics", metrics)]


async def metrics(request: Request) -> Response:
    """Return all metrics as text."""
    if not account_guard.is_local(request):
        message = "Metrics are available on the server's machine only."
        return JSONResponse({"error": "forbidden", "message": message}, 403)
    content = await run_in_threadpool(generate_latest, REGISTRY)
    return Response(content, media_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


REGISTRY.register(DatabaseCollector())
ProcessCollector(registry=REGISTRY)
