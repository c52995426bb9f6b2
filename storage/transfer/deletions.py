"""Deleted studies and runs: they can be restored for some time, and are in no list and no figure.

A deleted study stays in its tables, under another name, and cannot be found by its former one. A deleted run is removed
from all tables, so that no query can count it, and its records are stored. Labels belong to targets, not to runs: they
stay.
"""

import gzip
import hmac
import io
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats import tiebreak
from core.texts import _
from storage.accounts import access, sign_in
from storage.accounts.registry import Actor
from storage.db import audit, dialects
from storage.db.connections import clock
from storage.db.guards import STUDY, reading_for
from storage.db.opaque_ids import OpaqueIds
from storage.db.tables import (
    AuditRow,
    DeletedRunRow,
    ExperimentRow,
    LiveTraceRow,
    LoginRow,
    RunRow,
    SignInAttemptRow,
    StudyRow,
    TraceRow,
)
from storage.labels import designs
from storage.runs import runs
from storage.studies import studies
from storage.transfer import exports, imports

# How long a deleted study or run can be restored.
PERIOD = timedelta(days=30)
# Days after which the addresses of people are removed.
ADDRESS_DAYS = ("TIEBREAK_ADDRESS_DAYS", 90)
ACTIVE = ("requested", "cancelling")
# Columns that an import sets otherwise: it does not resume a run that was executed elsewhere.
RUN_FIELDS = ("source", "state", "repeat", "fresh", "experiment_id", "cell")


@dataclass(frozen=True)
class Deleted:
    """A deleted study or run as it is listed."""

    id: int
    name: str
    deleted_at: datetime
    until: datetime
    """When it is removed for good."""
    traces: int = 0
    """Of a run."""


def delete_study(session: Session, study_id: int) -> None:
    """Delete a study; raises TiebreakError while one of its runs is being executed."""
    studies.lock(session, study_id)
    row = session.get_one(StudyRow, study_id)
    if row.deleted_at is not None:
        raise TiebreakError(f"The study {row.deleted_name!r} is deleted already.")
    active = exists().where(col(RunRow.study_id) == study_id, col(RunRow.state).in_(ACTIVE))
    if session.scalar(select(active)):
        raise TiebreakError("A run of this study is being executed; cancel it first.")
    audit.record_change(session, study_id, "study deleted")
    row.deleted_name, row.deleted_at = row.name, clock(session)
    row.name = f"{row.name} (deleted {study_id})"


def restore_study(session: Session, study_id: int) -> str:
    """Restore a deleted study and return its name, which has a number if the former one is in use."""
    studies.lock(session, study_id)
    row = session.get_one(StudyRow, study_id)
    if row.deleted_at is None or row.deleted_name is None:
        raise TiebreakError(f"The study {row.name!r} is not deleted.")
    used, name, number = set(studies.names(session)), row.deleted_name, 1
    while name in used:
        number += 1
        name = f"{row.deleted_name} ({number})"
    row.name, row.deleted_name, row.deleted_at = name, None, None
    session.flush()
    audit.record_change(session, study_id, "study restored")
    return name


def deleted_studies(session: Session) -> list[Deleted]:
    """Return the studies that can be restored, the newest deletion first."""
    query = select(StudyRow).where(~studies.is_present()).order_by(col(StudyRow.deleted_at).desc())
    return [
        Deleted(row.id, row.deleted_name, row.deleted_at, row.deleted_at + PERIOD)
        for row in session.scalars(query)
        if row.deleted_at is not None and row.deleted_name is not None
    ]


def delete_run(session: Session, run_id: int) -> None:
    """Delete a run with its traces, opinions and stored calls; raises TiebreakError while it is being executed."""
    run = runs.get(session, run_id)
    studies.lock(session, run.study_id)
    row = session.scalars(select(RunRow).where(col(RunRow.id) == run_id).with_for_update()).one()
    session.refresh(row)
    if row.state in ACTIVE:
        raise TiebreakError(f"The run {row.name!r} is being executed; cancel it first.")
    content = io.BytesIO()
    with gzip.open(content, "wt", encoding="utf-8", newline="\n") as stream:
        tiebreak.write(exports.run_records(session, row.study_id, run_id), stream)
    session.add(
        DeletedRunRow(
            study_id=row.study_id,
            name=row.name,
            traces=session.scalars(select(func.count()).where(col(TraceRow.run_id) == run_id)).one(),
            fields=row.model_dump(include=set(RUN_FIELDS)),
            records=content.getvalue(),
            deleted_at=clock(session),
        )
    )
    session.execute(delete(RunRow).where(col(RunRow.id) == run_id))
    audit.record_change(session, row.study_id, f"run {row.name} deleted")
    _count_change(session, row.study_id)


def restore_run(session: Session, study_id: int, deleted_id: int) -> str:
    """Restore a deleted run of a study and return its name; raises TiebreakError if another run has that name."""
    row = session.get(DeletedRunRow, deleted_id)
    if row is None or row.study_id != study_id:
        raise TiebreakError(f"There is no deleted run {deleted_id}.")
    studies.lock(session, row.study_id)
    same_name = select(RunRow).where(col(RunRow.study_id) == row.study_id, col(RunRow.name) == row.name)
    if session.scalars(same_name).first() is not None:
        raise TiebreakError(f"The study has another run called {row.name!r}, so the deleted one cannot be restored.")
    with gzip.open(io.BytesIO(row.records), "rt", encoding="utf-8", newline="\n") as stream:
        stored = (tiebreak.parse_record(line, number) for number, line in enumerate(stream, 1))
        imports.add_records(session, row.study_id, stored)
    restored = session.scalars(same_name).one()
    experiment = row.fields.get("experiment_id")
    is_gone = experiment is not None and session.get(ExperimentRow, experiment) is None
    for name, value in (row.fields | ({"experiment_id": None, "cell": None} if is_gone else {})).items():
        setattr(restored, name, value)
    session.delete(row)
    audit.record_change(session, row.study_id, f"run {row.name} restored")
    _count_change(session, row.study_id)
    return row.name


def deleted_runs(session: Session, study_id: int) -> list[Deleted]:
    """Return the runs of a study that can be restored, the newest deletion first."""
    row = DeletedRunRow
    query = select(col(row.id), col(row.name), col(row.deleted_at), col(row.traces)).where(
        col(row.study_id) == study_id
    )
    return [
        Deleted(id, name, at, at + PERIOD, traces)
        for id, name, at, traces in session.execute(query.order_by(col(row.id).desc()))
    ]


def remove_expired(session: Session) -> None:
    """Remove addresses, deleted studies and runs, and watched traces, older than the time for which they are kept.

    Raises TiebreakError for a setting that is no positive number.
    """
    limit = clock(session) - PERIOD
    session.execute(delete(DeletedRunRow).where(col(DeletedRunRow.deleted_at) < limit))
    session.execute(delete(StudyRow).where(col(StudyRow.deleted_at) < limit))
    at, days = clock(session), timedelta(days=dialects.number(*ADDRESS_DAYS, smallest=1))
    session.execute(delete(SignInAttemptRow).where(col(SignInAttemptRow.at) < at - sign_in.WINDOW))
    session.execute(delete(LiveTraceRow).where(col(LiveTraceRow.watched_until) < at))
    entries = update(AuditRow).where(col(AuditRow.address) != "", col(AuditRow.at) < at - days)
    session.execute(entries.values(address=""), execution_options={"synchronize_session": False})
    unused = (col(LoginRow.address) != "") | (col(LoginRow.browser) != "")
    logins = update(LoginRow).where(unused, col(LoginRow.used_at) < at - days)
    session.execute(logins.values(address="", browser=""), execution_options={"synchronize_session": False})


def _count_change(session: Session, study_id: int) -> None:
    session.get_one(StudyRow, study_id).removals += 1
    session.flush()
    designs.apply_to_study(session, study_id)


# Studies that were renamed or deleted, or that their members lost, for windows and links of earlier times.


class StudyDeleted(TiebreakError):
    """A study that was deleted, and that the actor had a role in."""


class NoLongerMember(TiebreakError):
    """The study of a window whose annotator has lost the role in it."""


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
        day = f"{until:%Y-%m-%d}"
        return _("The study {name!r} was deleted. An owner can restore it until {day}.", name=self.name, day=day)


def find_former(session: Session, actor: Actor, name: str, study_id: int | None = None) -> Found | None:
    """Return the study with an id, or else the one that has, or last had, a name.

    None if there is none that the actor has a role in. Former names are those of the audit log.
    """
    found = session.get(StudyRow, study_id) if study_id is not None else _by_name(session, name)
    if found is None or not _has_role(session, actor, found.id):
        return None
    return Found(found.id, found.deleted_name or found.name, found.deleted_at)


def check_member(session: Session, actor: Actor, study_id: int, token: str) -> None:
    """Raise NoLongerMember for a window that was opened with a role in a study, if the actor has none now.

    The window's token proves that. To others, a study without a role does not exist.
    """
    row = session.get(StudyRow, study_id)
    if row is None or _has_role(session, actor, study_id):
        return
    expected = OpaqueIds(bytes.fromhex(row.secret)).csrf_token(actor.name)
    if hmac.compare_digest(token.encode(), expected.encode()):
        raise NoLongerMember("You are no longer a member of this study.")


def _by_name(session: Session, name: str) -> StudyRow | None:
    present = select(StudyRow).where(col(StudyRow.name) == name, col(StudyRow.deleted_at).is_(None))
    if (row := session.scalars(present).first()) is not None or not name:
        return row
    newest = select(col(AuditRow.study_id)).where(col(AuditRow.study) == name).order_by(col(AuditRow.id).desc())
    with reading_for(STUDY):
        former = session.scalar(newest.limit(1))
    return None if former is None else session.get(StudyRow, former)


def _has_role(session: Session, actor: Actor, study_id: int) -> bool:
    return access.is_unrestricted(session, actor) or access.role_of(session, study_id, actor.name) is not None
