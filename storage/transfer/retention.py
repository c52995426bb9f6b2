"""Removal of what is stored for a limited time: addresses of people, and deleted studies and runs."""

from datetime import timedelta

from sqlalchemy import delete, update
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.accounts import sign_in
from storage.db import dialects
from storage.db.connections import clock
from storage.db.tables import AuditRow, LoginRow, SignInAttemptRow
from storage.transfer import deletions

ADDRESS_DAYS = ("TIEBREAK_ADDRESS_DAYS", 90)
"""Days after which the addresses of people are removed."""


def remove_expired(session: Session) -> None:
    """Remove what has expired. Raises TiebreakError for a setting that is no positive number."""
    deletions.purge(session)
    at, days = clock(session), timedelta(days=dialects.number(*ADDRESS_DAYS, smallest=1))
    session.execute(delete(SignInAttemptRow).where(col(SignInAttemptRow.at) < at - sign_in.WINDOW))
    entries = update(AuditRow).where(col(AuditRow.address) != "", col(AuditRow.at) < at - days)
    session.execute(entries.values(address=""), execution_options={"synchronize_session": False})
    unused = (col(LoginRow.address) != "") | (col(LoginRow.browser) != "")
    logins = update(LoginRow).where(unused, col(LoginRow.used_at) < at - days)
    session.execute(logins.values(address="", browser=""), execution_options={"synchronize_session": False})
