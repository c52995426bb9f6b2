"""Sessions: a random token in a signed cookie, of which the database has the hash."""

import hashlib
import hmac
import os
import secrets
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from storage.accounts.registry import Account, Actor, Identity, by_id, exist
from storage.db import audit, connections
from storage.db.tables import AccountRow, AnnotatorRow, ApiTokenRow, LoginRow, ServerSecretRow

# Random tokens, of which only hashes are stored, and the signature of the session's cookie.

# The key with which cookies are signed; without it a random key is stored in the database.
SECRET_VARIABLE = "TIEBREAK_SECRET"
SHORTEST_SECRET = 32
TOKEN_BYTES = 32
PURPOSE = "cookies"


def new_token() -> str:
    """Return a random token: 256 bits in 43 characters, safe in URLs and cookies."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def hash_token(token: str) -> str:
    """Return what is stored of a token. A token is random, so its hash needs neither a salt nor work."""
    return hashlib.sha256(token.encode()).hexdigest()


def sign(token: str, secret: str) -> str:
    """Return a token with its signature, as it is in the cookie."""
    return f"{token}.{_signature(token, secret)}"


def verify_signature(signed: str, secret: str) -> str | None:
    """Return the token of a cookie; None unless the signature is of this secret."""
    token, _, signature = signed.partition(".")
    return token if hmac.compare_digest(signature.encode(), _signature(token, secret).encode()) else None


def find_secret(session: Session) -> str | None:
    """Return the server's secret; None if the database has none yet.

    Raises TiebreakError for a secret in the environment that is too short.
    """
    given = os.environ.get(SECRET_VARIABLE)
    if given:
        if len(given) < SHORTEST_SECRET:
            raise TiebreakError(f"{SECRET_VARIABLE} should have at least {SHORTEST_SECRET} characters.")
        return given
    query = select(col(ServerSecretRow.value)).where(col(ServerSecretRow.purpose) == PURPOSE)
    return session.scalar(query)


def get_or_create_secret(session: Session) -> str:
    """Return the server's secret, which is created at the first sign-in."""
    found = find_secret(session)
    if found is None:
        row = {"purpose": PURPOSE, "value": secrets.token_urlsafe(TOKEN_BYTES)}
        connections.insert_missing(session, ServerSecretRow, [row])
        found = find_secret(session)
    assert found is not None, "it was inserted above"
    return found


def _signature(token: str, secret: str) -> str:
    return hmac.new(secret.encode(), f"tiebreak session {token}".encode(), hashlib.sha256).hexdigest()


# From the sign-in to the end of a session.
LIFETIME = timedelta(days=30)
# A session that was not used for this long has ended.
IDLE = timedelta(days=7)
# How often the time of the last use of a session and of a token is stored.
USED_INTERVAL, TOKEN_INTERVAL = timedelta(minutes=10), timedelta(minutes=1)


def create(session: Session, account_id: int, *, address: str, browser: str) -> str:
    """Store a new session and return the value of its cookie, which is stored nowhere."""
    token, at = new_token(), connections.clock(session)
    session.add(
        LoginRow(
            account_id=account_id,
            token=hash_token(token),
            created_at=at,
            used_at=at,
            expires_at=at + LIFETIME,
            address=address[:80],
            browser="".join(filter(str.isprintable, browser))[:200],
        )
    )
    return sign(token, get_or_create_secret(session))


def device_of(cookie: str) -> str:
    """Return the name of the device on which a session began, for a cookie that outlives the session.

    It is the stored hash, from which nobody can compute the session's cookie.
    """
    return hash_token(cookie.partition(".")[0])


def identify(session: Session, cookie: str) -> Identity:
    """Return who sends the cookie: nobody if its session has ended, its secret is another, or there are no accounts."""
    if not exist(session):
        return Identity(accounts=False)
    secret = find_secret(session) if cookie else None
    token = verify_signature(cookie, secret) if secret else None
    if token is None:
        return Identity(accounts=True)
    found = session.execute(_active_logins(session).where(col(LoginRow.token) == hash_token(token))).first()
    if found is None:
        return Identity(accounts=True)
    row, name, administrator = found
    return Identity(True, Actor(name, row.account_id, administrator), row.id, used_at=row.used_at)


def is_use_due(session: Session, identity: Identity) -> bool:
    """Return whether the time of the last use of a session or token should be stored again."""
    if identity.actor is None:
        return False
    interval = TOKEN_INTERVAL if identity.token else USED_INTERVAL
    return identity.used_at is None or connections.clock(session) - identity.used_at > interval


def record_use(session: Session, identity: Identity) -> None:
    """Store the time of the last use of a session or token."""
    actor, table = identity.actor, ApiTokenRow if identity.token else LoginRow
    own: ColumnElement[bool] = col(LoginRow.id) == identity.login_id
    if actor is not None and identity.token:
        own = (col(ApiTokenRow.account_id) == actor.account_id) & (col(ApiTokenRow.name) == identity.token)
    session.execute(update(table).where(own).values(used_at=connections.clock(session)))


def active(session: Session, account: Account | None = None) -> list[tuple[LoginRow, str]]:
    """Return the sessions that have not ended with the names of their accounts, newest first, of one account or all."""
    query = _active_logins(session).order_by(col(LoginRow.id).desc())
    if account is not None:
        query = query.where(col(LoginRow.account_id) == account.id)
    return [(row, name) for row, name, _ in session.execute(query)]


def revoke(session: Session, login_id: int, account_id: int | None = None) -> None:
    """End a session; with an account, only one of its own. Raises TiebreakError if there is no such session."""
    query = update(LoginRow).where(col(LoginRow.id) == login_id, col(LoginRow.revoked_at).is_(None))
    if account_id is not None:
        query = query.where(col(LoginRow.account_id) == account_id)
    changed = session.scalars(
        query.values(revoked_at=connections.clock(session)).returning(col(LoginRow.account_id))
    ).all()
    if not changed:
        raise TiebreakError(f"There is no session {login_id}.")
    audit.record(session, audit.Action.session, change="ended", account=by_id(session, changed[0]).name)


def revoke_all(session: Session, account_id: int) -> None:
    """End every session of an account."""
    query = update(LoginRow).where(col(LoginRow.account_id) == account_id, col(LoginRow.revoked_at).is_(None))
    session.execute(query.values(revoked_at=connections.clock(session)))
    audit.record(session, audit.Action.session, change="all ended", account=by_id(session, account_id).name)


def _active_logins(session: Session) -> Select[*tuple[Any, ...]]:
    """Select the sessions that have not ended, each with the name of its account and whether it is an administrator."""
    at = connections.clock(session)
    return (
        select(LoginRow, col(AnnotatorRow.name), col(AccountRow.administrator))
        .join(AccountRow, col(AccountRow.id) == col(LoginRow.account_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(AccountRow.annotator_id))
        .where(
            col(LoginRow.revoked_at).is_(None),
            col(LoginRow.expires_at) > at,
            col(LoginRow.used_at) > at - IDLE,
            col(AccountRow.disabled_at).is_(None),
        )
    )
