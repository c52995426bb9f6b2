"""Annotators: the people who label, adjudicate and view results, by name.

An annotator can have an account (`storage.accounts`). Without any account a name is enough to sign in.
"""

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.annotator_names import MAX_NAME_LENGTH as MAX_NAME_LENGTH
from core.annotator_names import normalize_name as normalize_name
from storage.database import insert_missing
from storage.tables import AnnotatorRow, now


def find_id(session: Session, name: str) -> int | None:
    """Return the id of the annotator called `name`; None for one without any activity yet."""
    return session.scalars(select(col(AnnotatorRow.id)).where(col(AnnotatorRow.name) == normalize_name(name))).first()


def get_or_create_id(session: Session, name: str) -> int:
    """Return the id of the annotator called `name`, who is added if new."""
    existing = find_id(session, name)
    return existing if existing is not None else get_or_create_ids(session, [name])[name]


def get_or_create_ids(session: Session, names: Iterable[str]) -> dict[str, int]:
    """Return name -> id for many annotators, with the names as passed."""
    normalized = {name: normalize_name(name) for name in names}
    known = _ids_by_name(session)
    new = sorted(set(normalized.values()) - known.keys())
    if new:
        insert_missing(session, AnnotatorRow, [{"name": name, "created_at": now()} for name in new])
        known = _ids_by_name(session)
    return {name: known[stored] for name, stored in normalized.items()}


def names(session: Session) -> list[str]:
    """Return the names of all annotators, sorted."""
    return sorted(_ids_by_name(session))


def _ids_by_name(session: Session) -> dict[str, int]:
    return dict(session.execute(select(col(AnnotatorRow.name), col(AnnotatorRow.id))).all())
