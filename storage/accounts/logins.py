"""Sessions: a random token in a signed cookie, of which the database has the hash."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from storage import audit, database
from storage.accounts import tokens
from storage.accounts.identity import Actor, Identity
from storage.accounts.registry import Account, by_id, exist
from storage.audit import Action
from storage.tables import AccountRow, AnnotatorRow, LoginRow

LIFETIME = timedelta(days=30)
"""From the sign-in to the end of a session."""
IDLE = timedelta(days=7)
"""A session that was not used for this long has ended."""
USED_INTERVAL = timedelta(minutes=10)
"""How often the time of the last use is stored."""


@dataclass(frozen=True)
class Login:
    """A session as it is listed."""

    id: int
    account: str
    created_at: datetime
    used_at: datetime
    address: str
    browser: str


def create(session: Session, account_id: int, *, address: str, browser: str) -> str:
    """Store a new session and return the value of its cookie, which is stored nowhere."""
    token, at = tokens.new_token(), database.clock(session)
    session.add(
        LoginRow(
            account_id=account_id,
            token=tokens.hash_token(token),
            created_at=at,
            used_at=at,
            expires_at=at + LIFETIME,
            address=address[:80],
            browser="".join(filter(str.isprintable, browser))[:200],
        )
    )
    return tokens.sign(token, tokens.get_or_create_secret(session))


def device_of(cookie: str) -> str:
    """Return the name of the device on which a session began, for a cookie that outlives the session.

    It is the stored hash, from which nobody can compute the session's cookie.
    """
    return tokens.hash_token(cookie.partition(".")[0])


def identify(session: Session, cookie: str) -> Identity:
    """Return who sends the cookie: nobody if its session has ended, its secret is another, or there are no accounts."""
    if not exist(session):
        return Identity(accounts=False)
    row = _find(session, cookie)
    if row is None:
        return Identity(accounts=True)
    login, name, administrator = row
    return Identity(True, Actor(name, login.account_id, administrator), login.id)


def is_use_due(session: Session, login_id: int) -> bool:
    """Return whether the time of the last use should be stored again."""
    used = session.scalar(select(col(LoginRow.used_at)).where(col(LoginRow.id) == login_id))
    return used is not None and database.clock(session) - used > USED_INTERVAL


def record_use(session: Session, login_id: int) -> None:
    """Store the time of the last use."""
    session.execute(update(LoginRow).where(col(LoginRow.id) == login_id).values(used_at=database.clock(session)))


def active(session: Session, account: Account | None = None) -> list[Login]:
    """Return the sessions that have not ended, newest first, of one account or of all."""
    query = (
        select(LoginRow, col(AnnotatorRow.name))
        .join(AccountRow, col(AccountRow.id) == col(LoginRow.account_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(AccountRow.annotator_id))
        .where(*_is_active(session))
        .order_by(col(LoginRow.id).desc())
    )
    if account is not None:
        query = query.where(col(LoginRow.account_id) == account.id)
    return [
        Login(row.id, name, row.created_at, row.used_at, row.address, row.browser)
        for row, name in session.execute(query)
    ]


def revoke(session: Session, login_id: int, account_id: int | None = None) -> None:
    """End a session; with an account, only one of its own. Raises TiebreakError if there is no such session."""
    query = update(LoginRow).where(col(LoginRow.id) == login_id, col(LoginRow.revoked_at).is_(None))
    if account_id is not None:
        query = query.where(col(LoginRow.account_id) == account_id)
    changed = session.scalars(
        query.values(revoked_at=database.clock(session)).returning(col(LoginRow.account_id))
    ).all()
    if not changed:
        raise TiebreakError(f"There is no session {login_id}.")
    audit.record(session, Action.session, change="ended", account=by_id(session, changed[0]).name)


def revoke_all(session: Session, account_id: int, keep: int | None = None) -> None:
    """End every session of an account, except for one."""
    query = update(LoginRow).where(col(LoginRow.account_id) == account_id, col(LoginRow.revoked_at).is_(None))
    if keep is not None:
        query = query.where(col(LoginRow.id) != keep)
    session.execute(query.values(revoked_at=database.clock(session)))
    audit.record(session, Action.session, change="all ended", account=by_id(session, account_id).name)


def _find(session: Session, cookie: str) -> tuple[LoginRow, str, bool] | None:
    secret = tokens.find_secret(session) if cookie else None
    token = tokens.verify(cookie, secret) if secret else None
    if token is None:
        return None
    query = (
        select(LoginRow, col(AnnotatorRow.name), col(AccountRow.administrator))
        .join(AccountRow, col(AccountRow.id) == col(LoginRow.account_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(AccountRow.annotator_id))
        .where(col(LoginRow.token) == tokens.hash_token(token), *_is_active(session))
    )
    row = session.execute(query).first()
    return None if row is None else (row[0], row[1], row[2])


def _is_active(session: Session) -> tuple[ColumnElement[bool], ...]:
    at = database.clock(session)
    return (
        col(LoginRow.revoked_at).is_(None),
        col(LoginRow.expires_at) > at,
        col(LoginRow.used_at) > at - IDLE,
        col(AccountRow.disabled_at).is_(None),
    )
