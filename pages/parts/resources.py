"""Resources shared by all visits: the database engine, the run worker and the model client."""

import asyncio
import logging
import os
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from core.errors import TiebreakError
from core.formats import tiebreak
from core.llm.client import Model
from core.llm.router import Router
from storage.accounts import registry
from storage.db import connections, errors, guards
from storage.db.connections import Engine, Session
from storage.runs import claims
from storage.studies import studies, study_images
from storage.transfer import deletions, imports, samples
from storage.worker import RunWorker

log = logging.getLogger("tiebreak")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
DAY_SECONDS = 24 * 3600.0
WORKER_VARIABLE = "TIEBREAK_OWN_WORKER"
NO_WORKER = "Requested runs wait for a worker (cli.py server worker)."


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
    """Return why this server does not execute requested runs; empty while it does, or if it leaves them to workers."""
    if not has_own_worker():
        return ""
    return _workers[0].problem() if _workers else "The worker that executes runs is not running."


def execution_problem() -> str:
    """Return why requested runs are not executed, here or by workers of their own; empty while they are."""
    is_waiting = not has_own_worker() and read(claims.unclaimed)
    return NO_WORKER if is_waiting else worker_problem()


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
