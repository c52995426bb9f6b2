"""The states of a queue's tasks, and claims of single tasks, which lock the task and not the study."""

from datetime import timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, delete, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.database import clock, upsert
from storage.labelling import checks, critique_queue
from storage.labelling.queue import ONE_EACH, Queue, TargetState, entry_query, is_full
from storage.labelling.work import Task, Work
from storage.tables import ItemRow, LeaseRow, TargetRow


def target_states(session: Session, work: Work) -> list[TargetState]:
    """Return the whole queue by the ids of its tasks."""
    if work.name == "aius":
        return critique_queue.critique_states(session, work.queue, work.annotator_id, work.study.rules.overlap)
    parameters = {"annotator": work.annotator_id, "overlap": work.study.rules.overlap, "now": clock(session)}
    rows = session.execute(_state_query(work.queue), parameters)
    return [
        TargetState(
            id,
            item,
            bool(labelled),
            bool(skipped),
            bool(flagged),
            bool(full),
            scenario,
            position,
            labels=int(labelled),
            available=int(labelled or not full),
        )
        for id, item, _, _, _, labelled, skipped, flagged, full, scenario, position in rows
    ]


@lru_cache(maxsize=256)  # as `entry_query`
def _state_query(queue: Queue) -> Select[*tuple[Any, ...]]:
    """Select the columns of `entry_query`, then scenario and position."""
    columns = (col(ItemRow.scenario), col(ItemRow.position))
    return entry_query(queue).add_columns(*columns).group_by(*columns)


def lock_task(session: Session, task: Task) -> None:
    """Lock a task until the end of the transaction: claims and labels of it wait for each other.

    SQLite has one writer at a time anyway.
    """
    row = select(col(TargetRow.id)).where(col(TargetRow.id) == task.id)
    session.execute(row.with_for_update(key_share=True))


def is_complete(session: Session, work: Work, task: Task, target_id: int) -> bool:
    """Return whether as many others as the overlap allows have labelled a target, or have a claim of its task.

    Training items and hidden checks never are.
    """
    if checks.ignores_overlap(session, work, target_id):
        return False
    return is_full(session, target_id, work.annotator_id, work.study.rules.overlap, leased=task.id)


def claim(session: Session, work: Work, task: Task) -> bool:
    """Lease a task, or extend the lease; return False if it is full. Only the task is locked.

    Expired leases of the task end here: those of closed browsers are removed nowhere else.
    """
    lock_task(session, task)
    expired = (col(LeaseRow.target_id) == task.id, col(LeaseRow.until) <= clock(session))
    session.execute(delete(LeaseRow).where(*expired))
    if _is_task_full(session, work, task):
        return False
    until = clock(session) + timedelta(minutes=work.study.rules.lease_minutes)
    upsert(session, LeaseRow, ONE_EACH, {"target_id": task.id, "annotator_id": work.annotator_id, "until": until})
    return True


def _is_task_full(session: Session, work: Work, task: Task) -> bool:
    if work.name != "aius":
        return is_complete(session, work, task, task.id)
    overlap = work.study.rules.overlap
    return critique_queue.is_critique_full(session, work.queue, work.annotator_id, overlap, task.target)


def release(session: Session, work: Work, task: Task) -> None:
    """End the annotator's claim of a task."""
    own = (col(LeaseRow.annotator_id) == work.annotator_id, col(LeaseRow.target_id) == task.id)
    session.execute(delete(LeaseRow).where(*own))


def release_all(session: Session, work: Work) -> None:
    """End every claim of the annotator in a queue. Labels need none, and drafts stay."""
    of_kind = select(col(TargetRow.id)).where(
        col(TargetRow.study_id) == work.queue.study_id, col(TargetRow.kind) == work.queue.kind
    )
    own = col(LeaseRow.annotator_id) == work.annotator_id
    session.execute(delete(LeaseRow).where(own, col(LeaseRow.target_id).in_(of_kind)))
