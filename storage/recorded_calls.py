"""Means over the recorded calls of a protocol in a study, which estimates of new runs use."""

from collections.abc import Collection

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.llm.costs import RecordedCalls
from storage.stored_models import model_names
from storage.tables import EventRow, RunRow

MIN_RECORDED_CALLS = 20
"""With fewer calls, the length of a reply in the protocol's settings is used."""
MIN_TIMED_CALLS = 5
"""With fewer calls of the same models, no duration is expected: one model takes a hundred times as long as another."""


def find(session: Session, study_id: int, protocol: str, models: Collection[str]) -> RecordedCalls | None:
    """Return the mean tokens of a protocol's calls in a study, and the mean seconds of those of runs with the same
    models; None if there are too few of both.
    """
    of_protocol = (col(RunRow.study_id) == study_id, col(RunRow.protocol) == protocol)
    events = (
        select(col(EventRow.run_id), func.count(), func.sum(col(EventRow.completion_tokens)),
               func.count(col(EventRow.seconds)), func.sum(col(EventRow.seconds)))
        .join(RunRow, col(RunRow.id) == col(EventRow.run_id))
        .where(*of_protocol)
        .where(col(EventRow.type).in_(("turn", "unreadable")), col(EventRow.completion_tokens).is_not(None))
        .group_by(col(EventRow.run_id))
    )  # fmt: skip
    found = session.execute(events).all()
    runs = session.execute(select(col(RunRow.id), col(RunRow.settings)).where(*of_protocol)).all()
    same = {run for run, settings in runs if model_names(settings) == sorted(models)}
    of_models = [row for row in found if row[0] in same]
    calls, tokens = sum(row[1] for row in found), sum(row[2] or 0 for row in found)
    timed, seconds = sum(row[3] for row in of_models), sum((row[4] or 0.0) for row in of_models)
    mean_tokens = tokens / calls if calls >= MIN_RECORDED_CALLS else None
    mean_seconds = seconds / timed if timed >= MIN_TIMED_CALLS else None
    if mean_tokens is None and mean_seconds is None:
        return None
    return RecordedCalls(calls, mean_tokens, mean_seconds)
