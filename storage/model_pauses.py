"""Pauses that providers have asked for with Retry-After: every process on the database observes them."""

from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.database import clock, upsert
from storage.tables import ModelPauseRow


def record(session: Session, model: str, seconds: float) -> None:
    """Let no process call a model, named with its address, for some seconds; a longer pause remains."""
    at = clock(session)
    session.execute(delete(ModelPauseRow).where(col(ModelPauseRow.until) <= at))
    if remaining(session).get(model, 0.0) < seconds:
        upsert(session, ModelPauseRow, ["model"], {"model": model, "until": at + timedelta(seconds=seconds)})


def remaining(session: Session) -> dict[str, float]:
    """Return the models that may not be called now, each with the remaining seconds."""
    rows = session.execute(select(col(ModelPauseRow.model), col(ModelPauseRow.until))).all()
    if not rows:  # almost always, before every call
        return {}
    at = clock(session)
    return {model: (until - at).total_seconds() for model, until in rows if until > at}
