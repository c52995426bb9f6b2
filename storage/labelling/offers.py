"""Pairs of responses that are offered to annotators although the judges agree on them, or have not judged them."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats.study_records import ScaleRecord
from core.labels import PREFERENCE, Kind
from core.pairs import pair_parts
from storage import audit, studies, targets
from storage.audit import Action
from storage.database import batches
from storage.item_selection import rank
from storage.labelling.work import CRITERIA
from storage.studies import Study
from storage.tables import ItemRow, TargetRow
from storage.targets import TargetKey

KIND: Kind = "preference"
IDS_IN_STATEMENT = 500


@dataclass(frozen=True)
class Offer:
    """The result of an offer."""

    added: int
    """Pairs that are in the annotators' queue now, and were not before."""
    drawn: int
    total: int
    """All pairs of the study on the criterion."""


def criteria(session: Session, study_id: int) -> list[str]:
    """Return the criteria on which pairs can be offered: the study's, and those on which judges compared pairs."""
    judged = select(col(TargetRow.criterion)).where(col(TargetRow.study_id) == study_id, col(TargetRow.kind) == KIND)
    names = {one.name for one in studies.criteria(session, study_id)} | set(session.scalars(judged.distinct()))
    return sorted(names - set(CRITERIA.values()))


def offer(session: Session, study: Study, criterion: str, *, count: int | None = None, seed: int = 0) -> Offer:
    """Add pairs on a criterion to the annotators' queue: `count` of all pairs, drawn at random, or every pair for None.

    A larger sample with the same seed contains the smaller one. Each added pair gets the study's overlap. Raises
    TiebreakError if the study has no such criterion, or no item with two responses.
    """
    names = criteria(session, study.id)
    if criterion not in names:
        raise TiebreakError(
            f"The study has no criterion {criterion!r}; it has: {', '.join(names) or 'none; add it on Studies'}."
        )
    pairs = list(_pairs(session, study.id, criterion))
    if not pairs:
        raise TiebreakError("The study has no item with two responses.")
    drawn = pairs if count is None else sorted(pairs, key=lambda pair: rank(seed, f"{pair[0]}:{pair[3]}"))[:count]
    if (KIND, criterion) not in studies.scales(session, study.id):
        studies.declare_scale(session, study.id, ScaleRecord(kind=KIND, criterion=criterion, scale=PREFERENCE))
    added = _add(session, study, list(targets.get_or_create_by_keys(session, study.id, drawn).values()))
    audit.record(
        session, Action.settings, study_id=study.id, change="pairs offered", criterion=criterion, drawn=len(drawn),
        added=added, seed=seed,
    )  # fmt: skip
    return Offer(added, len(drawn), len(pairs))


def _pairs(session: Session, study_id: int, criterion: str) -> Iterator[TargetKey]:
    """Yield the pairs that were judged or labelled of each item, or all of its pairs if there are none."""
    query = select(col(TargetRow.item_id), col(TargetRow.part)).where(col(TargetRow.study_id) == study_id)
    known: dict[int, list[str]] = defaultdict(list)
    for item_id, part in session.execute(
        query.where(col(TargetRow.kind) == KIND, col(TargetRow.criterion) == criterion)
    ):
        known[item_id].append(part)
    responses = func.json_array_length(col(ItemRow.body)["responses"])
    items = select(col(ItemRow.id), col(ItemRow.key), responses).where(col(ItemRow.study_id) == study_id)
    for item_id, key, count in session.execute(items.order_by(col(ItemRow.position))):
        for part in known.get(item_id) or pair_parts(count):
            yield key, KIND, criterion, part


def _add(session: Session, study: Study, target_ids: list[int]) -> int:
    """Set the overlap of targets that are not offered yet; returns how many these are."""
    added = 0
    for batch in batches(target_ids, IDS_IN_STATEMENT):
        statement = (
            update(TargetRow)
            .where(col(TargetRow.id).in_(batch), col(TargetRow.disputed).is_(False))
            .values(overlap=study.rules.overlap, disputed=True)
            .returning(col(TargetRow.id))
        )
        added += len(session.scalars(statement, execution_options={"synchronize_session": False}).all())
    return added
