"""The training items of a study: targets with a known answer, entered by the owner or taken from adjudications."""

from dataclasses import dataclass
from typing import cast

from sqlalchemy import delete, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.labels import Kind, Target, Value
from storage import studies, targets
from storage.database import insert_all, upsert
from storage.labelling.opaque_ids import OpaqueIds
from storage.labelling.training import QUEUES
from storage.labelling.work import QueueName, queue_of
from storage.tables import AdjudicationRow, ItemRow, KnownAnswerRow, LabelRow, TargetRow, now


@dataclass(frozen=True)
class ListedItem:
    """A training item as the owner of a study sees it."""

    target_id: int
    item: str
    kind: Kind
    queue: QueueName
    criterion: str
    part: str
    value: Value
    reason: str


def list_items(session: Session, study_id: int) -> list[ListedItem]:
    """Return the training items of a study in the order of the items."""
    query = (
        select(KnownAnswerRow, TargetRow, col(ItemRow.key))
        .join(TargetRow, col(TargetRow.id) == col(KnownAnswerRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(col(KnownAnswerRow.study_id) == study_id)
        .order_by(col(ItemRow.position), col(TargetRow.id))
    )
    return [
        ListedItem(
            target.id, item, cast(Kind, target.kind), name, target.criterion, target.part, known.value, known.reason
        )
        for known, target, item in session.execute(query)
        if (name := queue_of(target.kind, target.criterion)) is not None
    ]


def add(session: Session, study_id: int, target: Target, value: Value, reason: str = "") -> None:
    """Make a target a training item, or change its known answer.

    Raises TiebreakError for a value that is not on the scale, and for a kind of target that has no training.
    """
    if queue_of(target.kind, target.criterion) not in QUEUES:
        raise TiebreakError("There is no training for targets of this kind.")
    studies.check_value(studies.scales(session, study_id), target.kind, target.criterion, value)
    target_id = targets.get_or_create_id(session, study_id, target)
    row = {"study_id": study_id, "target_id": target_id, "value": value, "reason": reason.strip(), "at": now()}
    upsert(session, KnownAnswerRow, ("target_id",), row)


def remove(session: Session, study_id: int, target_ids: list[int]) -> None:
    """Remove training items; their stored answers are kept."""
    of_study = col(KnownAnswerRow.study_id) == study_id
    session.execute(delete(KnownAnswerRow).where(of_study, col(KnownAnswerRow.target_id).in_(target_ids)))


def candidates(session: Session, study_id: int) -> list[tuple[int, Value, str]]:
    """Return (target, value, reason) of the adjudicated targets that are not training items yet.

    In a random order of the study, unlabelled ones first.
    """
    query = (
        select(AdjudicationRow, TargetRow)
        .join(TargetRow, col(TargetRow.id) == col(AdjudicationRow.target_id))
        .where(col(TargetRow.study_id) == study_id)
        .order_by(col(AdjudicationRow.id))
    )
    newest = {target.id: row for row, target in session.execute(query) if _has_training(target)}
    used = set(session.scalars(select(col(KnownAnswerRow.target_id)).where(col(KnownAnswerRow.study_id) == study_id)))
    labelled = set(session.scalars(select(col(LabelRow.target_id)).where(col(LabelRow.target_id).in_(newest))))
    ids = OpaqueIds(studies.secret(session, study_id))
    unused = [(target_id, row.value, row.reason) for target_id, row in newest.items() if target_id not in used]
    return sorted(unused, key=lambda candidate: (candidate[0] in labelled, ids.digest("training item", candidate[0])))


def possible_targets(session: Session, study_id: int) -> list[Target]:
    """Return the targets of a study that can be training items and are not, in the order of the items."""
    query = (
        select(TargetRow, col(ItemRow.key))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .outerjoin(KnownAnswerRow, col(KnownAnswerRow.target_id) == col(TargetRow.id))
        .where(col(TargetRow.study_id) == study_id, col(KnownAnswerRow.id).is_(None))
        .order_by(col(ItemRow.position), col(TargetRow.id))
    )
    return [
        targets.from_columns(item, row.kind, row.criterion, row.part)
        for row, item in session.execute(query)
        if _has_training(row)
    ]


def _has_training(row: TargetRow) -> bool:
    return queue_of(row.kind, row.criterion) in QUEUES


def draw(session: Session, study_id: int, count: int) -> int:
    """Make adjudicated targets training items, `count` at most; return how many."""
    chosen = candidates(session, study_id)[:count]
    rows = [
        {"study_id": study_id, "target_id": target_id, "value": value, "reason": reason, "at": now()}
        for target_id, value, reason in chosen
    ]
    insert_all(session, KnownAnswerRow, rows)
    return len(rows)
