"""Tables of workers that share runs: who they are, which calls they make, and what the runs have cost."""

from datetime import datetime

from sqlalchemy import Index
from sqlmodel import Field

from storage.tables.table import Table, datetime_column, owner_column


class WorkerRow(Table, table=True):
    """A worker that executes single traces. It is alive while it renews `seen_at`; see `storage.workers`."""

    __tablename__ = "worker"
    id: int = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    """Also in `claimed_by` of the traces that it executes."""
    seen_at: datetime = Field(sa_column=datetime_column())
    """By the clock of the database."""


class ReservationRow(Table, table=True):
    """A call to a model in progress. It occupies one of the concurrent calls of its run to the model."""

    __tablename__ = "reservation"
    __table_args__ = (Index(None, "run_id", "model"), Index(None, "worker_id"))
    id: int = Field(default=None, primary_key=True)
    run_id: int = Field(sa_column=owner_column("run.id"))
    worker_id: int = Field(sa_column=owner_column("worker.id"))
    model: str
    dollars: float = 0.0
    """The most that it can cost, reserved from the ceiling of the run."""


class SpendingRow(Table, table=True):
    """What the calls of a run with a ceiling have cost, including calls whose events could not be stored."""

    __tablename__ = "spending"
    run_id: int = Field(sa_column=owner_column("run.id", key=True))
    dollars: float = 0.0


class ModelPauseRow(Table, table=True):
    """Until when a provider lets a model be called by no process; see `storage.model_pauses`."""

    __tablename__ = "model_pause"
    model: str = Field(primary_key=True)
    """The model with its address, as in the reservations."""
    until: datetime = Field(sa_column=datetime_column())
    """By the clock of the database."""
