"""The number of traces of each run, which is stored with the run, so a list of traces has a total without counting."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from storage import audit
from storage.tables import RunRow, StudyRow, TraceRow


@dataclass(frozen=True)
class Difference:
    """A run whose stored number of traces differs from the number that it has."""

    run_id: int
    study_id: int
    study: str
    run: str
    stored: int
    again: int


def update_sizes(session: Session, run_ids: Collection[int]) -> None:
    """Count the traces of runs again, in the transaction that has added some."""
    statement = update(RunRow).where(col(RunRow.id).in_(run_ids)).values(traces=_counted())
    session.execute(statement, execution_options={"synchronize_session": False})


def differences(session: Session, study_id: int | None = None) -> list[Difference]:
    """Return the differences of the runs of a study, or of all studies."""
    counted = _counted().label("again")
    query = (
        select(col(RunRow.id), col(StudyRow.id), col(StudyRow.name), col(RunRow.name), col(RunRow.traces), counted)
        .join(StudyRow, col(StudyRow.id) == col(RunRow.study_id))
        .where(col(RunRow.traces) != counted)
        .order_by(col(RunRow.id))
    )
    if study_id is not None:
        query = query.where(col(RunRow.study_id) == study_id)
    return [Difference(*row) for row in session.execute(query)]


def rebuild(session: Session, study_id: int | None = None) -> list[Difference]:
    """Correct the numbers of a study, or of all, and return what differed; each study has an audit entry."""
    found = differences(session, study_id)
    update_sizes(session, [difference.run_id for difference in found])
    audit.record_rebuilt(session, [difference.study_id for difference in found], "numbers of traces", "run")
    return found


def _counted() -> Any:
    own = select(func.count()).where(col(TraceRow.run_id) == col(RunRow.id))
    return own.correlate(RunRow).scalar_subquery()
