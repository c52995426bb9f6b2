"""Pauses that providers have asked for with Retry-After: every process on the database observes them."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.database import clock, upsert
from storage.stored_models import stored_models
from storage.tables import ModelPauseRow, RunRow


def key(model: object, address: object) -> str:
    """Return the name under which the pause of a model at an address is stored; None is the provider's own address."""
    return f"{model} {address or ''}"


def record(session: Session, model: str, seconds: float) -> None:
    """Let no process call a model, named with its address, for some seconds; a longer pause remains."""
    at = clock(session)
    session.execute(delete(ModelPauseRow).where(col(ModelPauseRow.until) <= at))
    if remaining(session).get(model, 0.0) < seconds:
        upsert(session, ModelPauseRow, ["model"], {"model": model, "until": at + timedelta(seconds=seconds)})


def remaining(session: Session) -> dict[str, float]:
    """Return the models that may not be called now, each with the remaining seconds."""
    return {model: seconds for model, (_, seconds) in _pauses(session).items()}


def describe(session: Session, run_ids: Collection[int]) -> str:
    """Return until when models of requested runs may not be called, as a sentence without its full stop; or ""."""
    pauses = _pauses(session)
    return _describe(pauses, list(_settings(session, run_ids).values())) if pauses else ""


def describe_by_run(session: Session, run_ids: Collection[int]) -> dict[int, str]:
    """Return run id -> until when its models may not be called, of those of the requested runs for which it is so."""
    pauses = _pauses(session)
    described = (
        {run: _describe(pauses, [settings]) for run, settings in _settings(session, run_ids).items()} if pauses else {}
    )
    return {run: text for run, text in described.items() if text}


def _settings(session: Session, run_ids: Collection[int]) -> dict[int, list[Any]]:
    """Return run id -> what names the models of a requested run."""
    query = select(col(RunRow.id), col(RunRow.settings), col(RunRow.extractor))
    rows = session.execute(query.where(col(RunRow.id).in_(run_ids), col(RunRow.state) == "requested"))
    return {run: [settings, extractor] for run, settings, extractor in rows}


def _describe(pauses: Mapping[str, tuple[datetime, float]], settings: list[Any]) -> str:
    names = {key(name, address): name for name, address, *_ in stored_models(settings)}
    return "; ".join(
        f"the provider of {names[model]} asked to wait until {until.astimezone(UTC):%H:%M:%S} UTC"
        for model, (until, _) in sorted(pauses.items())
        if model in names
    )


def _pauses(session: Session) -> dict[str, tuple[datetime, float]]:
    """Return the models that may not be called now, each with the end of its pause and the seconds until then."""
    rows = session.execute(select(col(ModelPauseRow.model), col(ModelPauseRow.until))).all()
    if not rows:  # almost always, before every call
        return {}
    at = clock(session)
    return {model: (until, (until - at).total_seconds()) for model, until in rows if until > at}
