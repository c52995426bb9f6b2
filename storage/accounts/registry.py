"""The accounts: who has one, and what an operator or the person changes about it."""

import threading
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.texts import _, number
from storage.db import audit, connections, guards
from storage.db.tables import AccountRow, AnnotatorRow, ApiTokenRow, InvitationRow, LoginRow
from storage.studies import annotators

if TYPE_CHECKING:
    from argon2 import PasswordHasher


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
    return guards.once("accounts", lambda: session.execute(query).first() is not None)


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
            created_at=connections.clock(session),
        )
    )
    session.flush()
    account = get(session, name)
    audit.record(session, audit.Action.account, change="added", account=name, administrator=account.administrator)
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
        raise TiebreakError(_("The account was erased."))
    return account


def everybody(session: Session) -> list[Account]:
    """Return all accounts, sorted by name."""
    return [Account(*row) for row in session.execute(_query().order_by(col(AnnotatorRow.name)))]


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
    change(session, account_id, disabled_at=connections.clock(session) if disabled else None)
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
    audit.record(session, audit.Action.account, change=changed, account=by_id(session, account_id).name)


def _end_credentials(session: Session, account_id: int) -> None:
    """End sessions, API tokens and invitations: whoever knew the former password may have created them."""
    tables: dict[Any, str] = {LoginRow: "revoked_at", ApiTokenRow: "revoked_at", InvitationRow: "used_at"}
    for table, column in tables.items():
        current = (table.account_id == account_id, getattr(table, column).is_(None))
        session.execute(update(table).where(*current).values({column: connections.clock(session)}))


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
    return None if row is None else Account(*row)


# Who acts: an account, or an annotator by name on a server without accounts.


@dataclass(frozen=True)
class Actor:
    """Somebody who uses the pages, the API or the command line."""

    name: str
    """The annotator's name; empty for a visitor of a server without accounts who has not entered one."""
    account_id: int | None = None
    """None on a server without accounts."""
    administrator: bool = False


@dataclass(frozen=True)
class Identity:
    """What a cookie or a token proves."""

    accounts: bool
    """Whether the server has accounts; without them a name is enough."""
    actor: Actor | None = None
    """None if nobody is signed in with an account."""
    login_id: int | None = None
    """The session; None for an API token."""
    token: str = ""
    """The name of the API token; empty for a session."""
    used_at: datetime | None = field(default=None, compare=False)
    """When the session or token was last stored as used."""


# Passwords: argon2id with the parameters that argon2-cffi recommends (RFC 9106, low memory).
#
# A hash takes 64 MiB and about a tenth of a second, so few are computed at a time.

# Characters. A limit above keeps hashing of a request of megabytes out.
SHORTEST, LONGEST = 10, 1_000
# Of the estimate of zxcvbn, 0 to 4: more than 100 million guesses.
LEAST_SCORE = 3
# Characters that zxcvbn estimates.
LONGEST_ESTIMATED = 72
_slots = threading.BoundedSemaphore(4)


def check(password: str) -> None:
    """Raise TiebreakError for a password that is too short, too long or predictable."""
    if len(password) < SHORTEST:
        raise TiebreakError(_("A password has at least {number} characters.", number=number(SHORTEST)))
    if len(password) > LONGEST:
        raise TiebreakError(_("A password has at most {number} characters.", number=number(LONGEST)))
    from zxcvbn import zxcvbn

    if zxcvbn(password[:LONGEST_ESTIMATED])["score"] < LEAST_SCORE:
        raise TiebreakError(
            _("This password is easy to guess: it is mainly common words, names, years, sequences or repetitions.")
        )


def hash_password(password: str) -> str:
    """Return the hash of a new password, with its salt and parameters."""
    check(password)
    return hash_again(password)


def hash_again(password: str) -> str:
    """Return the hash of a password that is stored already; one of an earlier version may be predictable."""
    with _slots:
        return _hasher().hash(password)


def verify_password(stored: str | None, password: str) -> bool:
    """Return whether a password has the stored hash; without one, the same work is done and the result is False."""
    from argon2.exceptions import InvalidHashError, VerificationError

    with _slots:
        try:
            matches = _hasher().verify(stored or _unused_hash(), password[:LONGEST])
        except (VerificationError, InvalidHashError):
            return False
    return matches and stored is not None and len(password) <= LONGEST


def is_password_outdated(stored: str) -> bool:
    """Return whether a hash has other parameters than new ones."""
    return _hasher().check_needs_rehash(stored)


@cache
def _hasher() -> "PasswordHasher":
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _unused_hash() -> str:
    """Return a hash to compare with if there is no account, so that the time reveals no name."""
    return _hasher().hash("no account has this password")
