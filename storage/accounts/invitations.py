"""Invitations: links that set the password of an account once. They also replace a forgotten password."""

from datetime import timedelta

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from storage.accounts import logins, registry
from storage.accounts.registry import Account
from storage.db import audit, connections
from storage.db.audit import Action
from storage.db.tables import AccountRow, InvitationRow

LIFETIME = timedelta(days=7)
INVALID = "This invitation is unknown, expired or used; ask for a new one."


def create(session: Session, account: Account, lifetime: timedelta = LIFETIME) -> str:
    """Return the token of a new invitation; earlier open ones of the account become useless."""
    if account.disabled_at is not None:
        raise TiebreakError(f"The account of {account.name!r} is disabled.")
    token, at = logins.new_token(), connections.clock(session)
    earlier = (col(InvitationRow.account_id) == account.id, col(InvitationRow.used_at).is_(None))
    session.execute(update(InvitationRow).where(*earlier).values(used_at=at))
    row = InvitationRow(account_id=account.id, token=logins.hash_token(token), created_at=at, expires_at=at + lifetime)
    session.add(row)
    audit.record(session, Action.account, change="invited", account=account.name)
    return token


def link(address: str, token: str) -> str:
    """Return the link of an invitation. The token is in the fragment, which browsers send to no server."""
    return f"{address.rstrip('/')}/account/invitation#{token}"


def account_of(session: Session, token: str) -> Account:
    """Return the account that an open invitation is for; raises TiebreakError for an invalid invitation."""
    account_id = session.scalars(select(col(InvitationRow.account_id)).where(*_is_open(session, token))).first()
    if account_id is None:
        raise TiebreakError(INVALID)
    return registry.by_id(session, account_id)


def accept(session: Session, token: str, hashed: str) -> Account:
    """Set the hash of the invited account's password; raises TiebreakError for an invalid invitation."""
    used = (
        update(InvitationRow)
        .where(*_is_open(session, token))
        .values(used_at=connections.clock(session))
        .returning(col(InvitationRow.account_id))
    )
    account_id = session.scalars(used).first()
    if account_id is None:
        raise TiebreakError(INVALID)
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
