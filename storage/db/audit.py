"""The audit log: who signed in, saw, exported, decided and changed what. The database refuses changes of its rows.

Rows have no foreign keys: they stay when a study or an account is deleted.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import Row, Select, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.wording import format_count
from storage.db import connections
from storage.db.columns import Page, page_by_id
from storage.db.tables import AuditRow, StudyRow

# Characters of a text in the details.
LONGEST_TEXT = 500
# The actor of what nobody in particular does, such as the import of the samples.
SERVER = "server"
COLUMNS = ("at", "actor", "action", "study", "address", "details")


class Action(StrEnum):
    """What an entry is about."""

    sign_in = "sign-in"
    failed_sign_in = "failed sign-in"
    session = "session"
    account = "account"
    token = "token"
    """A new, used or revoked API token. A use is recorded once an hour for each study, route and address."""
    role = "role"
    view = "view"
    """Of judges' opinions or other people's labels that makes later labels not blind."""
    export = "export"
    adjudication = "adjudication"
    import_ = "import"
    settings = "settings"
    """Any other change of a study: its rules, criteria, prompts, inputs, training, name."""
    run = "run"
    """The start of a run, with the names of the variables of its keys."""


# An entry of the log: a row with the columns of `AuditRow`.
Entry = Row[*tuple[Any, ...]]


@dataclass(frozen=True)
class Filter:
    """Which entries are listed; None means all."""

    study_id: int | None = None
    actions: tuple[str, ...] = ()
    actor: str = ""
    """A part of the name, in any case."""
    until: date | None = None
    """The last day, in UTC."""


_actor: ContextVar[str | None] = ContextVar("audit_actor", default=None)
_process_actor = [SERVER]


def set_process_actor(name: str) -> None:
    """Set the actor of changes outside of `acting`, such as those of a command."""
    _process_actor[0] = name


@contextmanager
def acting(name: str) -> Iterator[None]:
    """Set the actor of the changes within the block."""
    token = _actor.set(name or "visitor")
    try:
        yield
    finally:
        _actor.reset(token)


def actor_name() -> str:
    """Return the name of the actor of changes now."""
    return _actor.get() or _process_actor[0]


def record_change(session: Session, study_id: int, change: str) -> None:
    """Add an entry about a change of a study."""
    record(session, Action.settings, study_id=study_id, change=change)


@dataclass(frozen=True)
class Difference:
    """A row whose stored summary differs from the one that is computed again."""

    id: int
    study_id: int
    again: Any
    cells: Mapping[str, Any]
    """What the row is of, and the summary as it is stored and as it is computed, by the names of their columns."""


def record_rebuilt(session: Session, found: Sequence[Difference], summaries: str, noun: str) -> None:
    """Add an entry to each study about its rebuilt summaries, with their number."""
    for study_id, number in Counter(one.study_id for one in found).items():
        record_change(session, study_id, f"{summaries} of {format_count(number, noun)} rebuilt")


def record(
    session: Session,
    action: Action,
    *,
    study_id: int | None = None,
    actor: str | None = None,
    address: str = "",
    **details: object,
) -> None:
    """Add an entry, in the transaction of what it is about. Details are names and numbers, never keys or tokens."""
    name = None if study_id is None else session.scalar(select(col(StudyRow.name)).where(col(StudyRow.id) == study_id))
    session.add(
        AuditRow(
            at=connections.clock(session),
            actor=actor or actor_name(),
            action=action.value,
            study_id=study_id,
            study=name or "",
            address=address[:80],
            details={key: _shortened(value) for key, value in details.items()},
        )
    )


def entries(session: Session, filter: Filter, *, limit: int | None = None) -> list[Entry]:
    """Return the newest entries, newest first."""
    query = _filtered(select(AuditRow), filter).order_by(col(AuditRow.id).desc()).limit(limit)
    return list(connections.execute(session, query))


def page(session: Session, filter: Filter, *, after: int, size: int) -> Page[Entry]:
    """Return the page of entries, newest first, that begins after an entry."""
    id = col(AuditRow.id)
    found = page_by_id(session, _filtered(select(id), filter), id, after=after, size=size, newest_first=True)
    query = _filtered(select(AuditRow), filter).where(id.in_(found.rows)).order_by(id.desc())
    return found.with_rows(list(connections.execute(session, query)))


def count(session: Session, filter: Filter) -> int:
    """Return the number of entries."""
    total: int = session.execute(_filtered(select(func.count(col(AuditRow.id))), filter)).scalar_one()
    return total


def cells(entry: Entry) -> dict[str, str]:
    """Return an entry as it is listed and exported: column -> text."""
    details = "; ".join(f"{name}: {_text(value)}" for name, value in entry.details.items())
    texts = {name: getattr(entry, name) for name in COLUMNS}
    return texts | {"at": f"{entry.at:%Y-%m-%d %H:%M:%S}Z", "details": details}


def _filtered(query: Select[*tuple[Any, ...]], filter: Filter) -> Select[*tuple[Any, ...]]:
    if filter.study_id is not None:
        query = query.where(col(AuditRow.study_id) == filter.study_id)
    if filter.actions:
        query = query.where(col(AuditRow.action).in_(filter.actions))
    if filter.actor.strip():
        query = query.where(func.lower(col(AuditRow.actor)).contains(filter.actor.strip().lower(), autoescape=True))
    if filter.until is not None:
        query = query.where(col(AuditRow.at) < datetime.combine(filter.until + timedelta(days=1), time(), UTC))
    return query


def _shortened(value: object) -> object:
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    if isinstance(value, Mapping):
        return {str(key): _shortened(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_shortened(one) for one in list(value)[:50]]
    return value


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
