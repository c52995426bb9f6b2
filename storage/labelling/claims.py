"""Claims of single tasks, which lock the task and not the study."""

from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import bindparam, delete, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.database import clock, execute, upsert
from storage.labelling import checks, critique_queue
from storage.labelling.queue import ONE_EACH, read_claims
from storage.labelling.work import Task, Work
from storage.tables import LeaseRow, TargetRow
from storage.target_summaries import lock_targets


def is_complete(session: Session, work: Work, task: Task, target_id: int) -> tuple[bool, bool]:
    """Return whether as many others as the overlap allows have labelled a target, or have a claim of its task.

    Also whether the annotator's label of it is not blind. Expired leases of the task end here: those of closed browsers
    are removed nowhere else. Training items and hidden checks never are complete.
    """
    full, viewed, _ = _completeness(session, work, task, target_id)
    return full, viewed


def _completeness(session: Session, work: Work, task: Task, target_id: int) -> tuple[bool, bool, datetime]:
    """Return `is_complete`, and the time of the database."""
    found = read_claims(session, target_id, work.annotator_id, work.study.rules.overlap, leased=task.id)
    if found.expired:
        execute(session, _delete_expired(), {"target": task.id, "now": found.at})
    return found.full and not checks.ignores_overlap(session, work, target_id), found.viewed, found.at


def claim(session: Session, work: Work, task: Task) -> bool:
    """Lease a task, or extend the lease; return False if it is full. Only the task is locked."""
    lock_targets(session, [task.id])
    full, at = _task_completeness(session, work, task)
    if full:
        return False
    until = at + timedelta(minutes=work.study.rules.lease_minutes)
    upsert(session, LeaseRow, ONE_EACH, {"target_id": task.id, "annotator_id": work.annotator_id, "until": until})
    return True


def renew(session: Session, work: Work, task: Task) -> bool:
    """Extend the annotator's lease of a task; return False if there is none, or if it expired and the task is full."""
    query = select(col(LeaseRow.id)).where(
        col(LeaseRow.annotator_id) == work.annotator_id, col(LeaseRow.target_id) == task.id
    )
    return session.scalars(query).first() is not None and claim(session, work, task)


@cache  # to build the statement takes longer than to execute it
def _delete_expired() -> Any:
    table: Any = LeaseRow
    return delete(table.__table__).where(
        col(LeaseRow.target_id) == bindparam("target"), col(LeaseRow.until) <= bindparam("now")
    )


def _task_completeness(session: Session, work: Work, task: Task) -> tuple[bool, datetime]:
    """Return whether a task is full for the annotator, and the time of the database."""
    if work.name != "aius":
        full, _, at = _completeness(session, work, task, task.id)
        return full, at
    at = clock(session)
    execute(session, _delete_expired(), {"target": task.id, "now": at})
    state = critique_queue.critique_state(session, work.queue, work.annotator_id, work.study.rules.overlap, task)
    return state is not None and state.full and not checks.is_check(session, work, state.parts), at


def release(session: Session, work: Work, task: Task) -> None:
    """End the annotator's claim of a task."""
    own = (col(LeaseRow.annotator_id) == work.annotator_id, col(LeaseRow.target_id) == task.id)
    session.execute(delete(LeaseRow).where(*own))


def release_all(session: Session, work: Work) -> None:
    """End every claim of the annotator in a queue. Labels need none, and drafts are unchanged."""
    of_kind = select(col(TargetRow.id)).where(
        col(TargetRow.study_id) == work.queue.study_id, col(TargetRow.kind) == work.queue.kind
    )
    own = col(LeaseRow.annotator_id) == work.annotator_id
    session.execute(delete(LeaseRow).where(own, col(LeaseRow.target_id).in_(of_kind)))
