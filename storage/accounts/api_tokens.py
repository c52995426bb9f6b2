"""API tokens: named, revocable credentials of scripts that act as an account."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, or_, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from storage.accounts import logins
from storage.accounts.registry import Account, Actor, Identity, exist
from storage.db import audit, connections
from storage.db.audit import Action
from storage.db.tables import AccountRow, AnnotatorRow, ApiTokenRow

PREFIX = "tiebreak_"
"""So that scanners for secrets recognise a token."""
USED_INTERVAL = timedelta(minutes=1)
LONGEST_NAME = 80


@dataclass(frozen=True)
class ApiToken:
    """A token as it is listed."""

    id: int
    name: str
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None


def create(session: Session, account: Account, name: str, lifetime: timedelta | None = None) -> str:
    """Return a new token, which is shown once; raises TiebreakError for a name that the account has used."""
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise TiebreakError(f"The name of a token has 1 to {LONGEST_NAME} printable characters.")
    if account.disabled_at is not None:
        raise TiebreakError(f"The account of {account.name!r} is disabled.")
    row = ApiTokenRow
    if session.scalar(select(col(row.id)).where(col(row.account_id) == account.id, col(row.name) == name)) is not None:
        raise TiebreakError(f"{account.name} has had a token named {name!r} already.")
    token, at = PREFIX + logins.new_token(), connections.clock(session)
    session.add(
        ApiTokenRow(
            account_id=account.id,
            name=name,
            token=logins.hash_token(token),
            created_at=at,
            expires_at=None if lifetime is None else at + lifetime,
        )
    )
    audit.record(session, Action.token, change="created", account=account.name, token=name)
    return token


def active(session: Session, account: Account) -> list[ApiToken]:
    """Return the tokens of an account that can be used, by name."""
    query = select(ApiTokenRow).where(col(ApiTokenRow.account_id) == account.id, *_is_active(session))
    rows = session.scalars(query.order_by(col(ApiTokenRow.name)))
    return [ApiToken(row.id, row.name, row.created_at, row.expires_at, row.used_at) for row in rows]


def revoke(session: Session, account: Account, name: str) -> None:
    """End a token; raises TiebreakError if the account has no such token."""
    query = (
        update(ApiTokenRow)
        .where(
            col(ApiTokenRow.account_id) == account.id,
            col(ApiTokenRow.name) == name,
            col(ApiTokenRow.revoked_at).is_(None),
        )
        .values(revoked_at=connections.clock(session))
    )
    if not session.scalars(query.returning(col(ApiTokenRow.id))).all():
        raise TiebreakError(f"{account.name} has no token named {name[:80]!r}.")
    audit.record(session, Action.token, change="revoked", account=account.name, token=name)


def identify(session: Session, token: str) -> Identity:
    """Return who sends a token; nobody if it is unknown, revoked or expired."""
    if not exist(session):
        return Identity(accounts=False)
    query = (
        select(col(ApiTokenRow.name), col(AnnotatorRow.name), col(AccountRow.id), col(AccountRow.administrator))
        .select_from(ApiTokenRow)
        .join(AccountRow, col(AccountRow.id) == col(ApiTokenRow.account_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(AccountRow.annotator_id))
        .where(
            col(ApiTokenRow.token) == logins.hash_token(token),
            *_is_active(session),
            col(AccountRow.disabled_at).is_(None),
        )
    )
    row = session.execute(query).first()
    return Identity(True) if row is None else Identity(True, Actor(*row[1:]), token=row[0])


def is_use_due(session: Session, token: str) -> bool:
    """Return whether the time of the token's last use should be stored again."""
    query = select(col(ApiTokenRow.used_at)).where(col(ApiTokenRow.token) == logins.hash_token(token))
    used = session.scalar(query)
    return used is None or connections.clock(session) - used > USED_INTERVAL


def record_use(session: Session, token: str) -> None:
    """Store the time of the last use."""
    query = update(ApiTokenRow).where(col(ApiTokenRow.token) == logins.hash_token(token))
    session.execute(query.values(used_at=connections.clock(session)))


def _is_active(session: Session) -> tuple[ColumnElement[bool], ...]:
    expiry = col(ApiTokenRow.expires_at)
    return col(ApiTokenRow.revoked_at).is_(None), or_(expiry.is_(None), expiry > connections.clock(session))
