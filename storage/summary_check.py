"""Compares the summaries that are stored with targets to the labels and opinions they follow from, and corrects them.

The writers update them (`storage.target_summaries`); a difference is a fault, or a change from outside of Tiebreak.
"""

from dataclasses import dataclass

from sqlalchemy import or_, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Target
from storage import audit, target_summaries, targets
from storage.database import batches
from storage.tables import ItemRow, StudyRow, TargetRow

BATCH = 2_000
"""Targets in a statement."""


@dataclass(frozen=True)
class Difference:
    """A target whose stored summary differs from the one computed from its labels and opinions."""

    target_id: int
    study_id: int
    study: str
    target: Target
    counted: int
    counted_again: int
    disputed: bool
    disputed_again: bool


def differences(session: Session, study_id: int | None = None) -> list[Difference]:
    """Return the differences of a study, or of all studies, in the order of the targets."""
    counted = target_summaries.counted_labels().label("counted_again")
    disputed = target_summaries.is_disputed().label("disputed_again")
    query = (
        select(
            col(TargetRow.id), col(StudyRow.id), col(StudyRow.name), col(ItemRow.key), col(TargetRow.kind),
            col(TargetRow.criterion), col(TargetRow.part), col(TargetRow.counted), counted, col(TargetRow.disputed),
            disputed,
        )
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(StudyRow, col(StudyRow.id) == col(TargetRow.study_id))
        .where(or_(col(TargetRow.counted) != counted, col(TargetRow.disputed) != disputed))
        .order_by(col(TargetRow.id))
    )  # fmt: skip
    if study_id is not None:
        query = query.where(col(TargetRow.study_id) == study_id)
    return [
        Difference(id, study, name, targets.from_columns(item, kind, criterion, part), own, again, bool(was), bool(now))
        for id, study, name, item, kind, criterion, part, own, again, was, now in session.execute(query)
    ]


def rebuild(session: Session, study_id: int | None = None) -> list[Difference]:
    """Correct the summaries of a study, or of all studies, and return what differed; each study has an audit entry.

    Targets are locked before they are counted, so labels that are stored meanwhile are counted too.
    """
    found = differences(session, study_id)
    for batch in batches([difference.target_id for difference in found], BATCH):
        target_summaries.lock_targets(session, batch)
        target_summaries.count_labels_of(session, batch)
        target_summaries.mark_disputed(session, batch)
    audit.record_rebuilt(session, [difference.study_id for difference in found], "summaries", "target")
    return found
