"""Means over the recorded calls of a protocol in a study, which estimates of new runs use."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.llm.costs import RecordedCalls
from storage.tables import EventRow, RunRow

MIN_RECORDED_CALLS = 20
"""With fewer calls, the length of a reply in the protocol's settings is used."""


def find(session: Session, study_id: int, protocol: str) -> RecordedCalls | None:
    """Return the mean tokens and seconds of a protocol's calls in a study; None if there are too few."""
    query = (
        select(func.count(), func.avg(col(EventRow.completion_tokens)), func.avg(col(EventRow.seconds)))
        .join(RunRow, col(RunRow.id) == col(EventRow.run_id))
        .where(col(RunRow.study_id) == study_id, col(RunRow.protocol) == protocol)
        .where(col(EventRow.type).in_(("turn", "unreadable")), col(EventRow.completion_tokens).is_not(None))
    )
    calls, tokens, seconds = session.execute(query).one()
    if calls < MIN_RECORDED_CALLS:
        return None
    return RecordedCalls(calls, float(tokens), None if seconds is None else float(seconds))
