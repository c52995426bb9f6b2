"""API tokens, which are named, revocable credentials of scripts that act as an account; and invitations.

An invitation is a link that sets the password of an account once, also one that was forgotten.
"""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, or_, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.texts import _, mark
from storage.accounts import logins, registry
from storage.db import audit, connections
from storage.db.tables import AccountRow, AnnotatorRow, ApiTokenRow, InvitationRow

# So that scanners for secrets recognise a token.
PREFIX = "tiebreak_"
LONGEST_NAME = 80


def create_token(session: Session, account: registry.Account, name: str, lifetime: timedelta | None = None) -> str:
    """Return a new token, which is shown once; raises TiebreakError for a name that the account has used."""
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise TiebreakError(f"The name of a token has 1 to {LONGEST_NAME} printable characters.")
    if account.disabled_at is not None:
        raise TiebreakError(f"The account of {account.name!r} is disabled.")
    if session.scalar(select(col(ApiTokenRow.id)).where(*_named(account, name))) is not None:
        raise TiebreakError(f"{account.name} has had a token named {name!r} already.")
    token, at = PREFIX + logins.new_token(), connections.clock(session)
    expires_at = None if lifetime is None else at + lifetime
    row = ApiTokenRow(
        account_id=account.id, name=name, token=logins.hash_token(token), created_at=at, expires_at=expires_at
    )
    session.add(row)
    audit.record(session, audit.Action.token, change="created", account=account.name, token=name)
    return token


def active(session: Session, account: registry.Account) -> Sequence[ApiTokenRow]:
    """Return the tokens of an account that can be used, by name."""
    query = select(ApiTokenRow).where(col(ApiTokenRow.account_id) == account.id, *_is_active(session))
    return session.scalars(query.order_by(col(ApiTokenRow.name))).all()


def revoke(session: Session, account: registry.Account, name: str) -> None:
    """End a token; raises TiebreakError if the account has no such token."""
    query = update(ApiTokenRow).where(*_named(account, name), col(ApiTokenRow.revoked_at).is_(None))
    ended = query.values(revoked_at=connections.clock(session)).returning(col(ApiTokenRow.id))
    if not session.scalars(ended).all():
        raise TiebreakError(f"{account.name} has no token named {name[:80]!r}.")
    audit.record(session, audit.Action.token, change="revoked", account=account.name, token=name)


def identify(session: Session, token: str) -> registry.Identity:
    """Return who sends a token; nobody if it is unknown, revoked or expired."""
    if not registry.exist(session):
        return registry.Identity(accounts=False)
    query = (
        select(ApiTokenRow, col(AnnotatorRow.name), col(AccountRow.id), col(AccountRow.administrator))
        .select_from(ApiTokenRow)
        .join(AccountRow, col(AccountRow.id) == col(ApiTokenRow.account_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(AccountRow.annotator_id))
        .where(
            col(ApiTokenRow.token) == logins.hash_token(token),
            *_is_active(session),
            col(AccountRow.disabled_at).is_(None),
        )
    )
    found = session.execute(query).first()
    if found is None:
        return registry.Identity(True)
    row, name, account_id, administrator = found
    return registry.Identity(True, registry.Actor(name, account_id, administrator), token=row.name, used_at=row.used_at)


def _named(account: registry.Account, name: str) -> tuple[ColumnElement[bool], ...]:
    return col(ApiTokenRow.account_id) == account.id, col(ApiTokenRow.name) == name


def _is_active(session: Session) -> tuple[ColumnElement[bool], ...]:
    expiry = col(ApiTokenRow.expires_at)
    return col(ApiTokenRow.revoked_at).is_(None), or_(expiry.is_(None), expiry > connections.clock(session))


# Invitations.

LIFETIME = timedelta(days=7)
INVALID = mark("This invitation is unknown, expired or used; ask for a new one.")


def invite(session: Session, account: registry.Account, lifetime: timedelta = LIFETIME) -> str:
    """Return the token of a new invitation; earlier open ones of the account become useless."""
    if account.disabled_at is not None:
        raise TiebreakError(f"The account of {account.name!r} is disabled.")
    token, at = logins.new_token(), connections.clock(session)
    earlier = (col(InvitationRow.account_id) == account.id, col(InvitationRow.used_at).is_(None))
    session.execute(update(InvitationRow).where(*earlier).values(used_at=at))
    row = InvitationRow(account_id=account.id, token=logins.hash_token(token), created_at=at, expires_at=at + lifetime)
    session.add(row)
    audit.record(session, audit.Action.account, change="invited", account=account.name)
    return token


def link(address: str, token: str) -> str:
    """Return the link of an invitation. The token is in the fragment, which browsers send to no server."""
    return f"{address.rstrip('/')}/account/invitation#{token}"


def account_of(session: Session, token: str) -> registry.Account:
    """Return the account that an open invitation is for; raises TiebreakError for an invalid invitation."""
    account_id = session.scalars(select(col(InvitationRow.account_id)).where(*_is_open(session, token))).first()
    if account_id is None:
        raise TiebreakError(_(INVALID))
    return registry.by_id(session, account_id)


def accept(session: Session, token: str, hashed: str) -> registry.Account:
    """Set the hash of the invited account's password; raises TiebreakError for an invalid invitation."""
    used = update(InvitationRow).where(*_is_open(session, token)).values(used_at=connections.clock(session))
    account_id = session.scalars(used.returning(col(InvitationRow.account_id))).first()
    if account_id is None:
        raise TiebreakError(_(INVALID))
    account = registry.by_id(session, account_id)
    with audit.acting(account.name):
        registry.set_password(session, account_id, hashed)
    return account


def _is_open(session: Session, token: str) -> list[ColumnElement[bool]]:
    """Return the conditions of an invitation that can be accepted."""
    enabled = select(col(AccountRow.id)).where(col(AccountRow.disabled_at).is_(None))
    return [
        col(InvitationRow.token) == logins.hash_token(token),
        col(InvitationRow.used_at).is_(None),
        col(InvitationRow.expires_at) > connections.clock(session),
        col(InvitationRow.account_id).in_(enabled),
    ]
