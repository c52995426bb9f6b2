"""Versions of a study's guidelines, and the version that each annotator has read."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats.study_records import GuidelinesRecord
from storage.database import insert_missing, upsert
from storage.fingerprints import to_utc
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


def add_imported(session: Session, study_id: int, versions: Sequence[GuidelinesRecord]) -> None:
    """Add the versions of a file that the study does not have; the study must be locked.

    Raises TiebreakError where the study has another text under the same version.
    """
    query = select(col(GuidelinesRow.version), col(GuidelinesRow.text)).where(col(GuidelinesRow.study_id) == study_id)
    stored = dict(session.execute(query).all())
    for record in versions:
        if stored.setdefault(record.version, record.text) != record.text:
            raise TiebreakError(f"Version {record.version} of the guidelines has another text in this study.")
    rows = [
        {"study_id": study_id, "version": version.version, "text": version.text, "at": to_utc(version.at) or now()}
        for version in versions
    ]
    insert_missing(session, GuidelinesRow, rows)


def of_study(session: Session, study_id: int) -> list[GuidelinesRecord]:
    """Return every version, oldest first."""
    query = select(GuidelinesRow).where(col(GuidelinesRow.study_id) == study_id).order_by(col(GuidelinesRow.version))
    return [GuidelinesRecord(version=row.version, text=row.text, at=row.at) for row in session.scalars(query)]


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
    """Record that an annotator has read a version; an older version than the recorded one changes nothing."""
    newest = current(session, study_id).version
    read = max(min(version, newest), read_version(session, study_id, annotator_id))
    row = {"study_id": study_id, "annotator_id": annotator_id, "version": read, "at": now()}
    upsert(session, GuidelinesReadRow, ("study_id", "annotator_id"), row)
