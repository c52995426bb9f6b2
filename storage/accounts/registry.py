"""The accounts: who has one, and what an operator or the person changes about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from storage import annotators, audit, database, operations
from storage.audit import Action
from storage.tables import AccountRow, AnnotatorRow, ApiTokenRow, InvitationRow, LoginRow


@dataclass(frozen=True)
class Account:
    """An account, without its password."""

    id: int
    name: str
    """The annotator's name."""
    email: str | None
    administrator: bool
    has_password: bool
    disabled_at: datetime | None
    created_at: datetime


def exist(session: Session) -> bool:
    """Return whether there is any account, so that a name alone is not enough to sign in; a page reads it once."""
    query = select(col(AccountRow.id)).limit(1)
    return operations.once("accounts", lambda: session.execute(query).first() is not None)


def add(session: Session, name: str, *, administrator: bool = False, email: str | None = None) -> Account:
    """Create the account of an annotator, who may have labels already; the first account is an administrator's."""
    name = annotators.stored_name(session, name)
    if find(session, name) is not None:
        raise TiebreakError(f"There is an account of {name!r} already.")
    session.add(
        AccountRow(
            annotator_id=annotators.get_or_create_id(session, name),
            email=_new_email(session, email),
            administrator=administrator or not exist(session),
            created_at=database.clock(session),
        )
    )
    session.flush()
    account = get(session, name)
    audit.record(session, Action.account, change="added", account=name, administrator=account.administrator)
    return account


def find(session: Session, name: str) -> Account | None:
    """Return the account of an annotator."""
    return _first(session, _query().where(col(AnnotatorRow.name) == annotators.stored_name(session, name)))


def get(session: Session, name: str) -> Account:
    """Return the account of an annotator; raises TiebreakError if there is none."""
    account = find(session, name)
    if account is None:
        raise TiebreakError(f"There is no account of {name[:80]!r}.")
    return account


def by_id(session: Session, account_id: int) -> Account:
    """Return the account with an id; raises TiebreakError if it was erased meanwhile."""
    account = _first(session, _query().where(col(AccountRow.id) == account_id))
    if account is None:
        raise TiebreakError("The account was erased.")
    return account


def everybody(session: Session) -> list[Account]:
    """Return all accounts, sorted by name."""
    return [_account(row) for row in session.execute(_query().order_by(col(AnnotatorRow.name)))]


def password_hash(session: Session, account_id: int) -> str | None:
    """Return the stored hash of an account's password."""
    return session.scalar(select(col(AccountRow.password)).where(col(AccountRow.id) == account_id))


def set_password(session: Session, account_id: int, hashed: str) -> None:
    """Store the hash of a new password, and end the sessions, tokens and open invitations of the account."""
    change(session, account_id, password=hashed)
    _record(session, account_id, "password set")
    _end_credentials(session, account_id)


def set_disabled(session: Session, account_id: int, disabled: bool) -> None:
    """Disable an account, with its sessions, tokens and invitations; or allow new sign-ins again."""
    _record(session, account_id, "disabled" if disabled else "enabled")
    change(session, account_id, disabled_at=database.clock(session) if disabled else None)
    if disabled:
        _end_credentials(session, account_id)


def set_email(session: Session, account_id: int, email: str | None) -> None:
    """Change the address with which OIDC names the person; the next sign-in by it determines the subject again."""
    _record(session, account_id, "address of OpenID Connect")
    change(session, account_id, email=_new_email(session, email), subject=None)


def set_administrator(session: Session, account_id: int, administrator: bool) -> None:
    """Make the account an administrator's, or an ordinary one."""
    _record(session, account_id, "administrator" if administrator else "no administrator")
    change(session, account_id, administrator=administrator)


def change(session: Session, account_id: int, **values: Any) -> None:
    """Change columns of an account."""
    session.execute(update(AccountRow).where(col(AccountRow.id) == account_id).values(**values))


def _record(session: Session, account_id: int, changed: str) -> None:
    audit.record(session, Action.account, change=changed, account=by_id(session, account_id).name)


def _end_credentials(session: Session, account_id: int) -> None:
    """End sessions, API tokens and invitations: whoever knew the former password may have created them."""
    tables: tuple[tuple[Any, str], ...] = (
        (LoginRow, "revoked_at"),
        (ApiTokenRow, "revoked_at"),
        (InvitationRow, "used_at"),
    )
    for table, column in tables:
        current = (table.account_id == account_id, getattr(table, column).is_(None))
        session.execute(update(table).where(*current).values({column: database.clock(session)}))


def _new_email(session: Session, email: str | None) -> str | None:
    text = (email or "").strip().lower()
    if not text:
        return None
    if len(text) > 254 or "@" not in text or not text.isprintable():
        raise TiebreakError(f"{text[:80]!r} is not an address of e-mail.")
    if session.scalar(select(col(AccountRow.id)).where(col(AccountRow.email) == text)) is not None:
        raise TiebreakError(f"Another account has the address {text!r}.")
    return text


def _query() -> Select[*tuple[Any, ...]]:
    return select(
        col(AccountRow.id),
        col(AnnotatorRow.name),
        col(AccountRow.email),
        col(AccountRow.administrator),
        col(AccountRow.password).is_not(None),
        col(AccountRow.disabled_at),
        col(AccountRow.created_at),
    ).join(AnnotatorRow, col(AnnotatorRow.id) == col(AccountRow.annotator_id))


def _first(session: Session, query: Select[*tuple[Any, ...]]) -> Account | None:
    row = session.execute(query).first()
    return None if row is None else _account(row)


def _account(row: Sequence[Any]) -> Account:
    return Account(*row)
