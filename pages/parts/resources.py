"""What all visits share: the database engine, the run worker and the model client."""

from core.formats import tiebreak
from core.llm.client import Model
from core.llm.router import Router
from storage import database, studies
from storage.database import Engine
from storage.transfer import imports, samples
from storage.worker import RunWorker


def engine() -> Engine:
    """Return the engine of the database that this server was started on."""
    return database.connect(database.database_url())


def prepare_database() -> None:
    """Migrate the database to this version; an empty one also gets the sample studies."""
    database.upgrade(engine())
    with database.reading(engine()) as session:
        empty = not studies.names(session)
    for name, protocol in reversed(samples.studies().items()) if empty else ():
        imports.import_records(engine(), name, tiebreak.read(samples.path(protocol)))


def run_worker() -> RunWorker:
    """Return the worker that executes runs in the background; it is not started yet."""
    return RunWorker(engine(), model_client)


def model_client() -> Model:
    """Return a client for language models."""
    return Router()
