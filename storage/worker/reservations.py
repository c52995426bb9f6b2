"""Calls in progress of workers that share a run: the limits of concurrent calls and of costs hold over all of them."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import delete, func, insert, select, text, update
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.db.connections import insert_missing
from storage.db.tables import ReservationRow, SpendingRow
from storage.runs import calls, experiments, runs

LOCK = 8_442_326
"""The class of the advisory locks of runs: one call at a time is counted for each run."""


@dataclass(frozen=True)
class Paused:
    """The model may not be called for some seconds, because its provider asked for it."""

    seconds: float


class CeilingReached(Exception):
    """The costs and reservations of a run leave no room for a call, and no call in progress can release any."""


def reserve(
    session: Session, run_id: int, worker_id: int, model: str, *, slots: int, dollars: float, ceiling: float | None
) -> int | Paused | None:
    """Reserve one of `slots` concurrent calls to a model, and what it costs at most; return the id of the call.

    Returns None if it has to wait for other calls; raises CeilingReached if waiting would not help.
    """
    if (pause := calls.remaining_pause(session).get(model)) is not None:
        return Paused(pause)
    session.execute(text("SELECT pg_advisory_xact_lock(:class, :run)"), {"class": LOCK, "run": run_id})
    in_progress = select(func.count()).where(col(ReservationRow.run_id) == run_id, col(ReservationRow.model) == model)
    if (session.scalar(in_progress) or 0) >= slots:
        return None
    if ceiling is not None:
        spent = _spent(session, run_id)
        reserved = (
            session.scalar(select(func.sum(col(ReservationRow.dollars))).where(col(ReservationRow.run_id) == run_id))
            or 0.0
        )
        if spent >= ceiling or spent + reserved + dollars > ceiling:
            if reserved > 0:
                return None
            raise CeilingReached
    row = {"run_id": run_id, "worker_id": worker_id, "model": model, "dollars": dollars}
    query = insert(ReservationRow.__table__).values(row).returning(col(ReservationRow.id))  # type: ignore[attr-defined]
    return int(session.execute(query).scalar_one())


def release(session: Session, run_id: int, call_id: int, dollars: float) -> None:
    """End a call, and add what has been spent."""
    if dollars:
        session.execute(text("SELECT pg_advisory_xact_lock(:class, :run)"), {"class": LOCK, "run": run_id})
        spent = update(SpendingRow).where(col(SpendingRow.run_id) == run_id)
        session.execute(spent.values(dollars=col(SpendingRow.dollars) + dollars))
    session.execute(delete(ReservationRow).where(col(ReservationRow.id) == call_id))


def of_worker(session: Session, worker_id: int) -> set[int]:
    """Return the ids of a worker's calls in progress."""
    return set(session.scalars(select(col(ReservationRow.id)).where(col(ReservationRow.worker_id) == worker_id)))


def remove(session: Session, call_ids: Collection[int]) -> None:
    """End calls without costs: their worker knows nothing of them."""
    session.execute(delete(ReservationRow).where(col(ReservationRow.id).in_(call_ids)))


def _spent(session: Session, run_id: int) -> float:
    query = select(col(SpendingRow.dollars)).where(col(SpendingRow.run_id) == run_id)
    spent = session.scalar(query)
    if spent is None:
        _, spent = experiments.budget(session, runs.get(session, run_id))
        insert_missing(session, SpendingRow, [{"run_id": run_id, "dollars": spent}])
    return spent
