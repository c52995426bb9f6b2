"""Erasing a person: nothing in the database names them afterwards, and their labels stay under a random name or not."""

import gzip
import json
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Text, and_, delete, func, or_, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from storage.db import audit, tables
from storage.db.connections import batches
from storage.labels import targets as target_summaries
from storage.studies import annotators
from storage.transfer.participation import PERSON

# The type of an event that names who withdrew a reading.
WITHDRAWN = "reading_withdrawn"
BATCH = 500
# Tables whose rows of the person are removed in any case.
REMOVED: tuple[Any, ...] = (
    tables.AccountRow,  # with its sessions, API tokens and invitations
    tables.MemberRow,
    tables.DraftRow,
    tables.RepeatDraftRow,
    tables.LeaseRow,
    tables.ActionRow,
    tables.UndoEntryRow,
    tables.GuidelinesReadRow,
)
# Tables of what the person did, which stays under the random name if labels are kept.
WORK: tuple[Any, ...] = (
    tables.LabelRow,
    tables.AdjudicationRow,
    tables.TrainingAnswerRow,
    tables.RepeatRow,
    tables.MarkRow,
    tables.OpinionViewRow,
)
REMARKS = ("flag", "note")
# Free text of people, which is not changed.
TEXTS: tuple[tuple[Any, str], ...] = (
    (tables.LabelRow, "reason"),
    (tables.RepeatRow, "reason"),
    (tables.AdjudicationRow, "reason"),
    (tables.MarkRow, "text"),
    (tables.ReplyRow, "text"),
)


class Labels(StrEnum):
    """What happens to the labels, adjudications and answers to training items."""

    keep = "keep"
    """They stay under a random name."""
    remove = "remove"


@dataclass(frozen=True)
class Erasure:
    """What was removed and changed."""

    alias: str
    """The random name in place of the person's; empty if nothing of the person stays."""
    removed: dict[str, int]
    """Table -> rows."""
    renamed: dict[str, int]
    """Table -> rows that named the person and do not any more."""
    mentions: dict[str, int]
    """Table and column -> free texts that contain the name as words; they are not changed."""


def erase(session: Session, name: str, labels: Labels) -> Erasure:
    """Erase an annotator; raises TiebreakError if there is none, or if it is the only administrator.

    On PostgreSQL this needs the owner of the table audit, whose triggers it passes over.
    """
    annotator_id = annotators.find_id(session, name)
    if annotator_id is None:
        raise TiebreakError(f"There is no annotator called {name!r}.")
    row = session.get_one(tables.AnnotatorRow, annotator_id)
    name, alias = row.name, f"erased {secrets.token_hex(4)}"
    _check_administrator(session, row.id)
    _count_in_studies(session, row.id)
    removed = _remove(session, row.id, name, labels)
    person = (PERSON + name, PERSON + alias)
    unread = (
        update(tables.UnreadReplyRow).where(col(tables.UnreadReplyRow.read_by) == person[0]).values(read_by=person[1])
    )
    renamed = {
        "event": _rename_in_events(session, name, alias),
        "unread_reply": _changed(session, unread),
        "deleted_run": _rename_in_deleted_runs(session, name, alias),
        "audit": _rename_in_audit(session, name, alias),
    }
    _rename_in_rules(session, name, alias)
    row.name = alias
    session.flush()
    edits = session.scalar(select(func.count()).where(col(tables.AiuEditRow.annotator_id) == row.id))
    stays = labels is Labels.keep or bool(edits)  # edits are numbered, and AIUs follow from all of them
    if not stays:
        session.delete(row)
    audit.record(session, audit.Action.account, change="person erased", account=alias, labels=labels.value)
    return Erasure(alias if stays else "", _nonzero(removed), _nonzero(renamed), _mentions(session, name))


def _check_administrator(session: Session, annotator_id: int) -> None:
    own = col(tables.AccountRow.annotator_id) == annotator_id
    administrates = session.scalar(select(col(tables.AccountRow.id)).where(own, col(tables.AccountRow.administrator)))
    enabled = (col(tables.AccountRow.administrator), col(tables.AccountRow.disabled_at).is_(None))
    others = select(col(tables.AccountRow.id)).where(~own, *enabled)
    if administrates is not None and session.scalars(others).first() is None:
        raise TiebreakError("This is the only administrator: make another account one first (accounts change).")


def _remove(session: Session, annotator_id: int, name: str, labels: Labels) -> dict[str, int]:
    """Remove rows of the person; return table -> rows."""
    chosen = {table: col(table.annotator_id) == annotator_id for table in REMOVED}
    own = col(tables.ReplyRow.annotator_id) == annotator_id
    chosen[tables.ReplyRow] = or_(own, col(tables.ReplyRow.author_id) == annotator_id)
    chosen[tables.MarkRow] = and_(
        col(tables.MarkRow.annotator_id) == annotator_id, col(tables.MarkRow.mark).in_(REMARKS)
    )
    chosen[tables.SignInAttemptRow] = col(tables.SignInAttemptRow.name) == name
    targets = select(col(tables.LabelRow.target_id)).where(col(tables.LabelRow.annotator_id) == annotator_id).distinct()
    labelled = list(session.scalars(targets)) if labels is Labels.remove else []
    if labels is Labels.remove:
        chosen |= {table: col(table.annotator_id) == annotator_id for table in WORK}
        for target_ids in batches(sorted(labelled), BATCH):
            target_summaries.lock_targets(session, target_ids)
    removed = {
        str(table.__tablename__): _changed(session, delete(table).where(which)) for table, which in chosen.items()
    }
    for target_ids in batches(labelled, BATCH):
        target_summaries.count_labels(session, target_ids)
    return removed


def _count_in_studies(session: Session, annotator_id: int) -> None:
    """Count the change in the studies with labels of the person, for what is computed from them."""
    labelled = select(col(tables.LabelRow.study_id)).where(col(tables.LabelRow.annotator_id) == annotator_id)
    study = update(tables.StudyRow).where(col(tables.StudyRow.id).in_(labelled))
    _changed(session, study.values(removals=col(tables.StudyRow.removals) + 1))


def _rename_in_rules(session: Session, name: str, alias: str) -> None:
    """Rename the person in the assignments of all studies."""

    def renamed(listed: Sequence[str]) -> list[str]:
        return [alias if one == name else one for one in listed]

    for row in session.scalars(select(tables.StudyRow)):
        listed, groups = row.rules.get("annotators") or (), row.rules.get("groups") or {}
        if name in (*listed, *(one for group in groups.values() for one in group)):
            assigned = {scenario: renamed(group) for scenario, group in groups.items()}
            row.rules = row.rules | {"annotators": renamed(listed), "groups": assigned}


def _rename_in_events(session: Session, name: str, alias: str) -> int:
    """Rename who read replies and withdrew readings."""
    body = sql_cast(col(tables.EventRow.body), Text)
    of_person = or_(_contains(body, PERSON + name), col(tables.EventRow.type) == WITHDRAWN)
    key = (col(tables.EventRow.trace_id), col(tables.EventRow.seq))
    changed = 0
    for trace_id, seq, stored in session.execute(select(*key, col(tables.EventRow.body)).where(of_person)).all():
        new = _renamed_readers(stored, name, alias)
        if new != stored:
            query = update(tables.EventRow).where(key[0] == trace_id, key[1] == seq).values(body=new)
            changed += _changed(session, query)
    return changed


def _rename_in_deleted_runs(session: Session, name: str, alias: str) -> int:
    changed = 0
    for row in session.scalars(select(tables.DeletedRunRow)):
        text = gzip.decompress(row.records).decode()
        if _encoded(name) in text:
            renamed = [_renamed_readers(json.loads(line), name, alias) for line in text.splitlines()]
            lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in renamed]
            row.records = gzip.compress("".join(lines).encode())
            changed += 1
    return changed


def _renamed_readers(value: Any, name: str, alias: str) -> Any:
    """Return JSON-like data of events with another name of the person who read replies and withdrew readings."""
    if isinstance(value, list):
        return [_renamed_readers(one, name, alias) for one in value]
    if not isinstance(value, dict):
        return PERSON + alias if value == PERSON + name else value
    changed = {key: _renamed_readers(one, name, alias) for key, one in value.items()}
    if changed.get("type") == WITHDRAWN and changed.get("by") == name:
        changed["by"] = alias
    return changed


def _rename_in_audit(session: Session, name: str, alias: str) -> int:
    """Rename the actor and the person in details, and remove the addresses of the person."""
    changed = 0
    named = or_(col(tables.AuditRow.actor) == name, _contains(sql_cast(col(tables.AuditRow.details), Text), name))
    columns = (col(tables.AuditRow.id), col(tables.AuditRow.actor), col(tables.AuditRow.details))
    with _without_audit_triggers(session):
        for id, actor, details in session.execute(select(*columns).where(named)).all():
            values: dict[str, Any] = {"actor": alias, "address": ""} if actor == name else {}
            if (renamed := _renamed_in_texts(details, name, alias)) != details:
                values["details"] = renamed
            if values:
                changed += _changed(
                    session, update(tables.AuditRow).where(col(tables.AuditRow.id) == id).values(**values)
                )
    return changed


def _renamed_in_texts(value: Any, name: str, alias: str) -> Any:
    if isinstance(value, str):
        return _word(name).sub(alias, value)
    if isinstance(value, list):
        return [_renamed_in_texts(one, name, alias) for one in value]
    if isinstance(value, dict):
        return {_renamed_in_texts(key, name, alias): _renamed_in_texts(one, name, alias) for key, one in value.items()}
    return value


@contextmanager
def _without_audit_triggers(session: Session) -> Iterator[None]:
    """Let entries of the audit log be changed in the block; the triggers are part of the transaction."""
    session.flush()
    connection = session.connection()
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("ALTER TABLE audit DISABLE TRIGGER audit_change")
        yield
        connection.exec_driver_sql("ALTER TABLE audit ENABLE TRIGGER audit_change")
        return
    query = "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = 'audit_update'"
    trigger = connection.exec_driver_sql(query).scalar_one()
    connection.exec_driver_sql("DROP TRIGGER audit_update")
    yield
    connection.exec_driver_sql(trigger)


def _mentions(session: Session, name: str) -> dict[str, int]:
    """Return table and column -> free texts with the name."""
    found = {}
    for table, column in TEXTS:
        text = getattr(table, column)
        texts = session.scalars(select(text).where(text.contains(name, autoescape=True)))
        found[f"{table.__tablename__}.{column}"] = sum(bool(_word(name).search(text)) for text in texts)
    return _nonzero(found)


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


def _encoded(text: str) -> str:
    """Return a text as it is within a text of JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _contains(column: Any, text: str) -> Any:
    return column.contains(_encoded(text), autoescape=True)


def _changed(session: Session, statement: Any) -> int:
    """Execute a change, and return the number of its rows."""
    result: Any = session.execute(statement, execution_options={"synchronize_session": False})
    return int(result.rowcount)


def _nonzero(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}
