"""The states of a queue's targets by id, and claims of single targets, which lock the target and not the study."""

from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, delete, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.database import clock, upsert
from storage.labelling.queue import ONE_EACH, Queue, entry_query, full_condition
from storage.tables import ItemRow, LeaseRow, TargetRow


@dataclass(frozen=True)
class TargetState:
    """One target in a queue by its id, as one annotator sees it; see `QueueEntry`."""

    id: int
    item: str
    labelled: bool
    skipped: bool
    flagged: bool
    full: bool
    scenario: str | None = None
    position: int = 0
    """The place of the item in the study."""


def target_states(session: Session, queue: Queue, annotator_id: int, overlap: int) -> list[TargetState]:
    """Return the whole queue by the ids of its targets."""
    rows = session.execute(_state_query(queue), _parameters(session, annotator_id, overlap))
    return [
        TargetState(id, item, bool(labelled), bool(skipped), bool(flagged), bool(full), scenario, position)
        for id, item, _, _, _, labelled, skipped, flagged, full, scenario, position in rows
    ]


@lru_cache(maxsize=256)  # as `entry_query`
def _state_query(queue: Queue) -> Select[*tuple[Any, ...]]:
    """Select what `entry_query` does, then scenario and position."""
    columns = (col(ItemRow.scenario), col(ItemRow.position))
    return entry_query(queue).add_columns(*columns).group_by(*columns)


def is_full(session: Session, target_id: int, annotator_id: int, overlap: int) -> bool:
    """Return whether as many others as the overlap allows have labelled a target, or have a lease of it."""
    query = select(full_condition()).select_from(TargetRow).where(col(TargetRow.id) == target_id)
    parameters = _parameters(session, annotator_id, overlap)
    return bool(session.execute(query, parameters).scalar_one())


def lock_target(session: Session, target_id: int) -> None:
    """Lock a target until the end of the transaction: claims and labels of it wait for each other.

    SQLite has one writer at a time anyway.
    """
    row = select(col(TargetRow.id)).where(col(TargetRow.id) == target_id)
    session.execute(row.with_for_update(key_share=True))


def claim(session: Session, target_id: int, annotator_id: int, *, overlap: int, minutes: int) -> bool:
    """Lease a target, or extend the lease; return False where it is full. Only the target is locked."""
    lock_target(session, target_id)
    if is_full(session, target_id, annotator_id, overlap):
        return False
    until = clock(session) + timedelta(minutes=minutes)
    upsert(session, LeaseRow, ONE_EACH, {"target_id": target_id, "annotator_id": annotator_id, "until": until})
    return True


def release_all(session: Session, queue: Queue, annotator_id: int) -> None:
    """End every claim of an annotator in a queue. Labels need none, and drafts stay."""
    of_kind = select(col(TargetRow.id)).where(
        col(TargetRow.study_id) == queue.study_id, col(TargetRow.kind) == queue.kind
    )
    own = col(LeaseRow.annotator_id) == annotator_id
    session.execute(delete(LeaseRow).where(own, col(LeaseRow.target_id).in_(of_kind)))


def _parameters(session: Session, annotator_id: int, overlap: int) -> dict[str, Any]:
    return {"annotator": annotator_id, "overlap": overlap, "now": clock(session)}
