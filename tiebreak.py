"""The public Python API: studies as pandas frames for notebooks, and the interface for authors of protocols.

    import tiebreak

    study = tiebreak.open("sqlite:///tiebreak.db").study("Sample: ScaleEval")
    study.labels()                       # one row per label that counts
    study.agreement(by="scenario")       # Fleiss' kappa, alpha, AC1, ... with intervals
    study.alignment()                    # every judge against people
    study.figure("judges")               # a Plotly figure: accuracy of each judge with its interval
    study.compare_runs("a", "b").pairs   # changed verdicts, agreement and difference in accuracy of two runs

Names in `__all__` are stable; everything else may move between versions.
"""

from typing import TYPE_CHECKING

from core.answers.answer import Answer, Passage, Reading
from core.answers.choice import Choice
from core.answers.lists import Aspects, Claims
from core.answers.number import Number, Rating
from core.answers.option import Option, Truth
from core.answers.scores import Scores, Weights
from core.errors import TiebreakError, UnreadableReply
from core.frozen import Frozen
from core.items import Criterion, Item, Response
from core.labels import Kind, Opinion, Scale, Target, Value
from core.protocols import Judge, Protocol, check_unique_names
from core.protocols.conformance import check_protocol
from core.protocols.prompt_parts import criterion_text, item_material
from core.templates import Material, Templates, render
from core.trace import Ask, Flow, Spec, Turn, Verdict
from core.verdicts import combine_verdicts, contention

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from storage.transfer.study_frames import RunComparison, Study

__all__ = [
    "Answer",
    "Ask",
    "Aspects",
    "Choice",
    "Claims",
    "Criterion",
    "Database",
    "Flow",
    "Frozen",
    "Item",
    "Judge",
    "Kind",
    "Material",
    "Number",
    "Opinion",
    "Option",
    "Passage",
    "Problem",
    "Protocol",
    "Rating",
    "Reading",
    "Response",
    "RunComparison",
    "Scale",
    "Scores",
    "Spec",
    "Study",
    "Target",
    "Templates",
    "TiebreakError",
    "Truth",
    "Turn",
    "Unreadable",
    "UnreadableReply",
    "Value",
    "Verdict",
    "Weights",
    "check_protocol",
    "check_unique_names",
    "combine_verdicts",
    "contention",
    "criterion_text",
    "item_material",
    "open",
    "render",
]

# The former names of these exceptions; existing plug-ins raise and catch them.
Problem = TiebreakError
Unreadable = UnreadableReply


def __getattr__(name: str) -> object:
    """Import the frames of studies, and with them pandas and all reports, when they are first used."""
    if name not in ("RunComparison", "Study"):
        raise AttributeError(f"module 'tiebreak' has no attribute {name!r}")
    from storage.transfer import study_frames

    return getattr(study_frames, name)


def open(url: str | None = None) -> "Database":
    """Open a database and migrate it to this version; without `url`, the one that the app and the command line use.

    Raises TiebreakError if it cannot be reached, and if a file of SQLite does not exist: none is created.
    """
    from storage.db import connections

    full_url = connections.database_url(url)
    if (missing := connections.missing_file(full_url)) is not None:
        raise TiebreakError(
            f"There is no database file {missing!r}: check the address and {connections.URL_VARIABLE}, and the folder "
            "in which Python runs. The server and `cli.py data import` create a new one."
        )
    engine = connections.connect(full_url)
    connections.upgrade(engine)
    return Database(engine)


class Database:
    """An open database."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine

    def studies(self) -> list[str]:
        """The names of its studies, newest first."""
        from storage.db.connections import reading
        from storage.studies import studies

        with reading(self._engine) as session:
            return studies.names(session)

    def study(self, name: str) -> "Study":
        """The study called `name`; raises TiebreakError if there is none."""
        from storage.db.connections import reading
        from storage.studies import studies
        from storage.transfer.study_frames import Study

        with reading(self._engine) as session:
            return Study(self._engine, studies.get(session, name))
