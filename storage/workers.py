"""Workers that share the runs of a PostgreSQL database; each is registered while it is alive."""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, func, insert, select, update
from sqlalchemy.orm import Mapped, Session
from sqlmodel import col

from storage.database import clock
from storage.tables import WorkerRow

LEASE = timedelta(seconds=15)
"""A worker that is not seen for this time has crashed: others continue its traces."""


def register(session: Session, name: str) -> int:
    """Register a worker under a name that none had before, and return its id."""
    query = insert(WorkerRow.__table__).values(name=name, seen_at=clock(session)).returning(col(WorkerRow.id))  # type: ignore[attr-defined]
    return int(session.execute(query).scalar_one())


def renew(session: Session, worker_id: int) -> bool:
    """Record that a worker is alive; return False if it has been removed: others may have claimed its traces."""
    query = update(WorkerRow).where(col(WorkerRow.id) == worker_id).values(seen_at=clock(session))
    return session.execute(query.returning(col(WorkerRow.id))).first() is not None


def remove(session: Session, worker_id: int) -> None:
    """Remove a worker that ends, with its calls."""
    session.execute(delete(WorkerRow).where(col(WorkerRow.id) == worker_id))


def remove_crashed(session: Session) -> None:
    """Remove the workers that are not alive; the reservations of their calls are deleted with them."""
    session.execute(delete(WorkerRow).where(col(WorkerRow.seen_at) <= clock(session) - LEASE))


def count(session: Session) -> int:
    """Return the number of workers that are alive."""
    return session.scalar(select(func.count()).where(col(WorkerRow.seen_at) > clock(session) - LEASE)) or 0


def is_alive(name: Mapped[str | None], at: datetime) -> ColumnElement[bool]:
    """Return whether a worker of this name is alive."""
    return select(col(WorkerRow.id)).where(col(WorkerRow.name) == name, col(WorkerRow.seen_at) > at - LEASE).exists()
