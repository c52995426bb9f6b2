"""What all visits share: the database, and the thread that carries runs."""

from core.formats import tiebreak
from core.llm.client import Model
from storage import database, studies
from storage.database import Engine
from storage.transfer import imports, samples
from storage.worker.worker import Carrier


def engine() -> Engine:
    """The store that this server was started on."""
    return database.connect(database.address())


def prepare() -> None:
    """Bring the database to this version, with the sample studies where it holds nothing yet."""
    database.upgrade(engine())
    with database.reading(engine()) as session:
        empty = not studies.names(session)
    for name, protocol in reversed(samples.studies().items()) if empty else ():
        imports.load(engine(), name, tiebreak.read(samples.path(protocol)))


def carrier() -> Carrier:
    """Whatever carries runs beside the pages."""
    return Carrier(engine(), model)


def model() -> Model:
    """Whoever answers asks."""
    from core.llm.client import LiteLLM  # costs seconds: only once a run is asked for

    return LiteLLM()
