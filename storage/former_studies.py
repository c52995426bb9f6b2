"""Studies that were renamed or deleted, or that their members lost, for windows and links of earlier times."""

import hmac
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from storage import access
from storage.accounts.identity import Actor
from storage.deletions import PERIOD
from storage.labelling.opaque_ids import OpaqueIds
from storage.operations import reading_for
from storage.read_guard import STUDY
from storage.tables import AuditRow, StudyRow


class StudyDeleted(TiebreakError):
    """A study that was deleted, and that the actor had a role in."""


class NoLongerMember(TiebreakError):
    """The study of a window whose annotator has lost the role in it."""

    def __init__(self) -> None:
        super().__init__("You are no longer a member of this study.")


@dataclass(frozen=True)
class Found:
    """The study that a window or a link means."""

    id: int
    name: str
    """Its present name, or the one that it had when it was deleted."""
    deleted_at: datetime | None

    @property
    def problem(self) -> str:
        """A sentence about a deleted study; empty for another one."""
        if self.deleted_at is None:
            return ""
        until = self.deleted_at + PERIOD
        return f"The study {self.name!r} was deleted. An owner can restore it until {until:%Y-%m-%d}."


def find(session: Session, actor: Actor, name: str, study_id: int | None = None) -> Found | None:
    """Return the study with an id, or else the one that has, or last had, a name.

    None if there is none that the actor has a role in. Former names are those of the audit log.
    """
    found = _by_id(session, study_id) if study_id is not None else _by_name(session, name)
    if found is None or not _has_role(session, actor, found.id):
        return None
    return Found(found.id, found.deleted_name or found.name, found.deleted_at)


def check_member(session: Session, actor: Actor, study_id: int, token: str) -> None:
    """Raise NoLongerMember for a window that was opened with a role in a study, if the actor has none now.

    The window's token proves that. To others, a study without a role does not exist.
    """
    row = _by_id(session, study_id)
    if row is None or _has_role(session, actor, study_id):
        return
    expected = OpaqueIds(bytes.fromhex(row.secret)).csrf_token(actor.name)
    if hmac.compare_digest(token.encode(), expected.encode()):
        raise NoLongerMember


def _by_id(session: Session, study_id: int) -> StudyRow | None:
    return session.get(StudyRow, study_id)


def _by_name(session: Session, name: str) -> StudyRow | None:
    present = select(StudyRow).where(col(StudyRow.name) == name, col(StudyRow.deleted_at).is_(None))
    if (row := session.scalars(present).first()) is not None or not name:
        return row
    newest = select(col(AuditRow.study_id)).where(col(AuditRow.study) == name).order_by(col(AuditRow.id).desc())
    with reading_for(STUDY):
        former = session.scalar(newest.limit(1))
    return None if former is None else _by_id(session, former)


def _has_role(session: Session, actor: Actor, study_id: int) -> bool:
    return access.is_unrestricted(session, actor) or access.role_of(session, study_id, actor.name) is not None
