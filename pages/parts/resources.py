"""Resources shared by all visits: the database engine, the run worker and the model client."""

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Concatenate, ParamSpec, TypeVar

from core.errors import TiebreakError
from core.formats import tiebreak
from core.llm.client import Model
from core.llm.router import Router
from storage.accounts import registry
from storage.db import connections, errors, guards
from storage.db.connections import Engine, Session
from storage.runs import calls, runs
from storage.studies import studies, study_images
from storage.transfer import deletions, imports, samples
from storage.worker import RunWorker

log = logging.getLogger("tiebreak")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
DAY_SECONDS = 24 * 3600.0
WORKER_VARIABLE = "TIEBREAK_OWN_WORKER"
NO_WORKER = "No worker is connected: requested runs wait until one is started (cli.py server worker)."


def engine() -> Engine:
    """Return the engine of the database that this server was started on."""
    return connections.connect(connections.database_url())


def read(
    function: Callable[Concatenate[Session, Arguments], Result], *args: Arguments.args, **options: Arguments.kwargs
) -> Result:
    """Return the result of a function that only reads the database, in a session of its own."""
    with connections.reading(engine()) as session:
        return function(session, *args, **options)


def prepare_database() -> bool:
    """Migrate the database to this version; an empty one also gets the sample studies. Return whether it was empty."""
    if migrated := connections.upgrade(engine()):
        log.info(migrated)
    with connections.writing(engine()) as session:
        deletions.remove_expired(session)
        empty = not studies.names(session) and not deletions.deleted_studies(session)
    for name, protocol in reversed(samples.studies().items()) if empty else ():
        imports.import_records(engine(), name, tiebreak.read(samples.path(protocol)))
    return empty


def add_showcase() -> None:
    """Add the showcase, which a new user sees first; it takes seconds, so the first visit does not wait for it."""
    with guards.operation():
        guards.grant(guards.EVERY_STUDY, "manage")
        try:
            imports.import_records(engine(), samples.SHOWCASE_NAME, tiebreak.read(samples.SHOWCASE))
        except (TiebreakError, errors.DBAPIError) as error:
            log.warning("The showcase could not be added: %s", error)


async def remove_expired_daily() -> None:
    """Remove what has expired, once a day, until the server ends; after an error, the next day."""

    def remove() -> None:
        with guards.operation():
            guards.grant(guards.EVERY_STUDY, "manage")
            connections.write(engine(), deletions.remove_expired)

    while True:
        await asyncio.sleep(DAY_SECONDS)
        try:
            await asyncio.to_thread(remove)
        except (TiebreakError, errors.DBAPIError) as error:
            log.warning("What has expired could not be removed: %s", error)


def has_accounts() -> bool:
    """Return whether people sign in with accounts; without them a name is enough."""
    return read(registry.exist)


_workers: list[RunWorker] = []


def start_worker() -> RunWorker | None:
    """Start the worker that executes runs in the background, and return it; None if the setting says so."""
    if not has_own_worker():
        return None
    worker = RunWorker(engine(), model_client)
    worker.start()
    _workers[:] = [worker]
    return worker


def has_own_worker() -> bool:
    """Return whether this server executes runs; False leaves them to workers in processes of their own."""
    return os.environ.get(WORKER_VARIABLE, "").strip().lower() not in ("off", "0", "false", "no")


def worker_problem() -> str:
    """Return why requested runs are not executed, by this server or by workers of their own; empty while they are.

    Workers of their own are registered on PostgreSQL only.
    """
    if has_own_worker():
        return _workers[0].problem() if _workers else "The worker that executes runs is not running."
    if engine().dialect.name != "postgresql":
        return ""
    with suppress(TiebreakError, errors.DBAPIError):  # whether the database works is asked elsewhere
        return "" if read(calls.count_workers) else NO_WORKER
    return ""


def waiting_problem() -> str:
    """Return why runs are not executed, if this server should execute them or a run waits for another worker."""
    problem = worker_problem()
    return problem if has_own_worker() or not problem or read(runs.is_any_requested) else ""


def database_problem() -> str:
    """Return why the database cannot be used, as a sentence; empty while it can."""
    try:
        read(studies.names)
    except TiebreakError as error:
        return str(error)
    except errors.DBAPIError as error:
        return errors.describe(error)
    return ""


def model_client() -> Model:
    """Return a client for language models."""
    return Router()


def image_route(study: studies.Study) -> study_images.Route:
    """Return the function that names the addresses of a study's images of other hosts on this server."""
    return read(study_images.routes, study.id, study.rules.image_hosts)
