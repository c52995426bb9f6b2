"""Versions of a study's guidelines, and which one an annotator has read."""

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.database import insert_missing, upsert
from storage.tables import GuidelinesReadRow, GuidelinesRow, now


@dataclass(frozen=True)
class Guidelines:
    """A version of the guidelines; version 0 is a study without any."""

    version: int
    text: str


def add_version(session: Session, study_id: int, text: str) -> None:
    """Add a version, unless the newest one has this text. The study must be locked (see `storage.studies.lock`)."""
    newest = current(session, study_id)
    if text != newest.text:
        row = {"study_id": study_id, "version": newest.version + 1, "text": text, "at": now()}
        insert_missing(session, GuidelinesRow, [row])


def current(session: Session, study_id: int) -> Guidelines:
    """Return the newest version."""
    query = (
        select(col(GuidelinesRow.version), col(GuidelinesRow.text))
        .where(col(GuidelinesRow.study_id) == study_id)
        .order_by(col(GuidelinesRow.version).desc())
    )
    newest = session.execute(query.limit(1)).first()
    return Guidelines(*newest) if newest is not None else Guidelines(0, "")


def read_version(session: Session, study_id: int, annotator_id: int) -> int:
    """Return the newest version that an annotator has read; 0 for none."""
    query = select(func.max(col(GuidelinesReadRow.version))).where(
        col(GuidelinesReadRow.study_id) == study_id, col(GuidelinesReadRow.annotator_id) == annotator_id
    )
    return session.scalars(query).one() or 0


def mark_read(session: Session, study_id: int, annotator_id: int, version: int) -> None:
    """Record that an annotator has read a version; an older one than before changes nothing."""
    newest = current(session, study_id).version
    read = max(min(version, newest), read_version(session, study_id, annotator_id))
    row = {"study_id": study_id, "annotator_id": annotator_id, "version": read, "at": now()}
    upsert(session, GuidelinesReadRow, ("study_id", "annotator_id"), row)
