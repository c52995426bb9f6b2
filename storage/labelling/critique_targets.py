"""The targets of critiques: they exist as soon as the critiques do, so the queues of a study are complete from then on.

An import adds them with the items. `create_missing` adds those of studies that were imported by earlier versions.
"""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core import critique_ratings
from core.critiques import Critique, hypothesis_critiques
from core.labels import Target
from core.protocols.critique_baselines.protocol import QUALITY, pair_name
from storage import targets
from storage.database import Engine, reading, write
from storage.labelling import critique_queue
from storage.tables import TargetRow

NAMES = (critique_ratings.AIU_EXTRACTION.name, QUALITY)
"""The criteria of the ratings that every critique has."""


def of_item(item: str, critiques: Sequence[Critique]) -> list[Target]:
    """Return the targets of an item's critiques: AIUs and rating of each, and each two of one response."""
    listed = hypothesis_critiques(critiques)
    tasks = [critique_ratings.extraction_target(item, critique.id) for critique in listed]
    ratings = [Target(item=item, kind="likert", criterion=QUALITY, part=critique.id) for critique in listed]
    pairs = [
        Target(item=item, kind="preference", criterion=QUALITY, part=pair_name(first, second))
        for place, first in enumerate(listed)
        for second in listed[place + 1 :]
        if first.of == second.of
    ]
    return [*tasks, *ratings, *pairs]


def create_missing(engine: Engine, study_id: int) -> None:
    """Add the targets of the critiques of a study that has none; nothing is written if there is nothing to add."""
    with reading(engine) as session:
        missing = _missing(session, study_id)
    if missing:
        write(engine, lambda session: targets.get_or_create_ids(session, study_id, missing))


def _missing(session: Session, study_id: int) -> list[Target]:
    query = select(col(TargetRow.criterion)).where(
        col(TargetRow.study_id) == study_id, col(TargetRow.kind) == "likert", col(TargetRow.criterion).in_(NAMES)
    )
    if len(set(session.scalars(query.distinct()))) == len(NAMES):
        return []
    states = critique_queue.current_states(session, study_id)
    return [target for item, state in states.items() for target in of_item(item, state.critiques)]
