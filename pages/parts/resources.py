"""What all visits share: the database, and the thread that carries runs."""

from core.formats import tiebreak
from core.models import Model
from storage import database, imports, sample, studies
from storage.database import Engine
from storage.engine import Carrier

SAMPLE = next(iter(sample.STUDIES))
"""The sample study that a newcomer sees first."""


def engine() -> Engine:
    """The store that this server was started on."""
    return database.connect(database.address())


def prepare() -> None:
    """Bring the database to this version, with the sample studies where it holds nothing yet."""
    database.upgrade(engine())
    with database.reading(engine()) as session:
        empty = not studies.names(session)
    for name, file in reversed(sample.STUDIES.items()) if empty else ():
        imports.load(engine(), name, tiebreak.read(sample.path(file)))


def carrier() -> Carrier:
    """Whatever carries runs beside the pages."""
    return Carrier(engine(), model)


def model() -> Model:
    """Whoever answers asks."""
    from core.models import LiteLLM  # costs seconds: only once a run is asked for

    return LiteLLM()
