"""The route /ready, for proxies and monitoring: whether this server can store labels and execute runs."""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pages.parts import resources


def routes() -> list[BaseRoute]:
    """Return the route."""
    return [Route("/ready", ready)]


async def ready(_: Request) -> Response:
    """Return "ok" for the database and the worker, or a sentence, with status 503 if there is one. A worker of its own
    is only wanted while a run waits for it."""
    database = await run_in_threadpool(resources.database_problem)
    problems = {"database": database, "worker": await run_in_threadpool(resources.waiting_problem)}
    body = {part: problem or "ok" for part, problem in problems.items()}
    return JSONResponse(body, 503 if any(problems.values()) else 200, headers={"Cache-Control": "no-store"})
