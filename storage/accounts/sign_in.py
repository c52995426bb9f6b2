"""Sign-in with a password, with limits for each name and place: the address, or a device that has signed in before.

So a stranger's wrong passwords do not refuse the person. An attempt is stored before the password is compared, so the
limits hold for requests at the same time and over all processes. A successful sign-in removes the attempts of its name
from its place.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Engine, delete, func, select, text
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.texts import _, mark, ngettext
from storage.accounts import logins, registry
from storage.db import audit, connections
from storage.db.tables import AccountRow, AnnotatorRow, LoginRow, SignInAttemptRow
from storage.studies import annotators

WINDOW = timedelta(minutes=15)
# Failed sign-ins within WINDOW: under a name from one place; from an address (a lab often has one); under a name from
# all places, which are then refused unless the person has signed in from there before.
MOST_OF_NAME, MOST_OF_ADDRESS, MOST_OF_NAME_ELSEWHERE = 10, 100, 100
# The place of a change of a password.
SESSION = "a session"
WRONG = mark("The name or the password is wrong.")
# The key of the PostgreSQL advisory lock under which attempts are counted and stored.
ATTEMPT_LOCK = 8_442_326


class WrongPassword(TiebreakError):
    """A wrong name or password; the message does not state which."""


class TooManyAttempts(TiebreakError):
    """A sign-in beyond the limits; the password is not compared."""


def sign_in(engine: Engine, name: str, password: str, *, address: str, browser: str = "", device: str = "") -> str:
    """Return the value of a new session's cookie; raises WrongPassword or TooManyAttempts.

    `device`: see `logins.device_of`.
    """
    name, network = _stored_name(engine, name), _network(address)
    place = connections.write(engine, lambda session: _store_attempt(session, name, network, device))
    with connections.reading(engine) as session:
        account = registry.find(session, name) if name else None
        stored = registry.password_hash(session, account.id) if account else None
    matches = registry.verify_password(stored, password)
    if account is None or stored is None or not matches or account.disabled_at is not None:
        # Somebody may enter the password as the name, so only names of accounts are stored.
        known = account.name if account is not None else "unknown name"
        connections.write(
            engine, lambda session: audit.record(session, audit.Action.failed_sign_in, actor=known, address=address)
        )
        raise WrongPassword(_(WRONG))
    hashed = registry.hash_again(password) if registry.is_password_outdated(stored) else None
    account_id, account_name = account.id, account.name

    def finish(session: Session) -> str:
        _check_unchanged(session, account_id, stored)
        _forget_attempts(session, name, place)
        if hashed is not None:
            registry.change(session, account_id, password=hashed)
        audit.record(session, audit.Action.sign_in, actor=account_name, address=address)
        return logins.create(session, account_id, address=address, browser=browser)

    return connections.write(engine, finish)


UNVERIFIED = mark(
    "The provider does not state that it has verified the address {address!r}, so no account is opened by it."
)
# They do not tell whether there is such an account: anybody can state an address that nobody verifies.
NO_ADDRESS = mark("The provider states no address of yours, so no account is found; ask the operator of this server.")
UNKNOWN_ADDRESS = mark("No account has the address {address!r}; ask the operator of this server.")


def sign_in_by_claims(engine: Engine, claims: Mapping[str, Any], *, address: str, browser: str = "") -> str:
    """Return the value of a new session's cookie for verified claims of an OIDC provider.

    The first sign-in finds the account by its address, which the provider must have verified; later ones by issuer and
    subject, because an address can be given to another person. Raises TiebreakError if there is no such account.
    """
    subject, email = f"{claims.get('iss', '')} {claims.get('sub', '')}", str(claims.get("email") or "").lower()
    if not claims.get("iss") or not claims.get("sub"):
        raise TiebreakError(_("The provider named no issuer or no subject."))

    verified = bool(email) and claims.get("email_verified") in (True, "true")

    def enter(session: Session) -> str:
        known = select(col(AccountRow.id)).where(col(AccountRow.disabled_at).is_(None))
        account_id = session.scalar(known.where(col(AccountRow.subject) == subject))
        if account_id is None and verified:
            unnamed = (col(AccountRow.email) == email, col(AccountRow.subject).is_(None))
            account_id = session.scalar(known.where(*unnamed))
            if account_id is not None:
                registry.change(session, account_id, subject=subject)
        if account_id is None and not verified:
            raise TiebreakError(_(UNVERIFIED if email else NO_ADDRESS, address=email[:80]))
        if account_id is None:
            raise TiebreakError(_(UNKNOWN_ADDRESS, address=email[:80]))
        name = registry.by_id(session, account_id).name
        audit.record(session, audit.Action.sign_in, actor=name, address=address, provider=str(claims["iss"]))
        return logins.create(session, account_id, address=address, browser=browser)

    return connections.write(engine, enter)


def change_password(engine: Engine, name: str, current: str, new: str) -> None:
    """Change a password by the person who knows the current one; raises WrongPassword or TooManyAttempts.

    There is a limit as of sign-ins, so a stolen session cannot be used to guess the password.
    """
    hashed, name = registry.hash_password(new), _stored_name(engine, name)

    def begin(session: Session) -> None:
        at = _begin_attempt(session)
        _check_limit(session, [col(SignInAttemptRow.name) == name, col(SignInAttemptRow.address) == SESSION], at)
        session.add(SignInAttemptRow(name=name, address=SESSION, at=at))

    connections.write(engine, begin)
    with connections.reading(engine) as session:
        account_id = registry.get(session, name).id
        stored = registry.password_hash(session, account_id)
    if not registry.verify_password(stored, current):
        raise WrongPassword(_("The current password is wrong."))

    def finish(session: Session) -> None:
        _check_unchanged(session, account_id, stored)
        _forget_attempts(session, name, SESSION)
        registry.set_password(session, account_id, hashed)

    connections.write(engine, finish)


def _check_unchanged(session: Session, account_id: int, stored: str | None) -> None:
    """Raise WrongPassword if the password was changed or the account disabled after the password was compared."""
    query = select(col(AccountRow.password), col(AccountRow.disabled_at)).where(col(AccountRow.id) == account_id)
    password, disabled_at = session.execute(query.with_for_update()).one()
    if password != stored or disabled_at is not None:
        raise WrongPassword(_(WRONG))


def limit_invitations(engine: Engine, address: str) -> None:
    """Count the use of an invitation as an attempt of its address; raises TooManyAttempts."""
    connections.write(engine, lambda session: _store_attempt(session, "", _network(address), ""))


def _store_attempt(session: Session, name: str, network: str, device: str) -> str:
    """Store an attempt, and return its place; raises TooManyAttempts."""
    at, row = _begin_attempt(session), SignInAttemptRow
    places = _known_places(session, name)
    is_known_device = device in places
    place = f"device {device}" if is_known_device else network
    if name:
        _check_limit(session, [col(row.name) == name, col(row.address) == place], at)
    if not is_known_device:
        _check_limit(session, [col(row.address) == network], at, MOST_OF_ADDRESS)
        if name and network not in places:
            _check_limit(session, [col(row.name) == name], at, MOST_OF_NAME_ELSEWHERE)
    session.add(SignInAttemptRow(name=name, address=place, at=at))
    return place


def _begin_attempt(session: Session) -> datetime:
    """Remove attempts that count no longer, and return the time; one transaction at a time does this."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ATTEMPT_LOCK})
    at = connections.clock(session)
    session.execute(delete(SignInAttemptRow).where(col(SignInAttemptRow.at) < at - WINDOW))
    return at


def _known_places(session: Session, name: str) -> set[str]:
    """Return the devices and the networks from which an annotator has signed in."""
    query = (
        select(col(LoginRow.token), col(LoginRow.address))
        .join(AccountRow, col(AccountRow.id) == col(LoginRow.account_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(AccountRow.annotator_id))
        .where(col(AnnotatorRow.name) == name)
    )
    rows = session.execute(query).all()
    return {token for token, _ in rows} | {_network(address) for _, address in rows}


def _forget_attempts(session: Session, name: str, place: str) -> None:
    row = SignInAttemptRow
    session.execute(delete(row).where(col(row.name) == name, col(row.address) == place))


def _check_limit(
    session: Session, conditions: Sequence[ColumnElement[bool]], at: datetime, most: int = MOST_OF_NAME
) -> None:
    query = select(func.count(), func.min(col(SignInAttemptRow.at))).where(*conditions)
    count, oldest = session.execute(query).one()
    if count >= most:
        minutes = int((oldest + WINDOW - at).total_seconds() // 60) + 1
        sentence = ngettext(
            "Too many failed sign-ins; try again in {minutes} minute.",
            "Too many failed sign-ins; try again in {minutes} minutes.",
            minutes,
            minutes=minutes,
        )
        raise TooManyAttempts(sentence)


def _stored_name(engine: Engine, name: str) -> str:
    """Return the name as it is counted, in the case of the annotator that it finds; empty for an invalid one."""
    try:
        with connections.reading(engine) as session:
            return annotators.stored_name(session, name)
    except TiebreakError:
        return ""


def _network(address: str) -> str:
    """Return what is counted of an address: all of IPv4, and of IPv6 the network that one customer has (/64)."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:80]
    # A server on "::" has IPv4 clients under mapped addresses.
    mapped = parsed.ipv4_mapped if parsed.version == 6 else None
    if parsed.version == 4 or mapped is not None:
        return str(mapped or parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
