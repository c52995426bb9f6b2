"""Errors of the database that are transient or that an operator can fix, as one sentence for the user."""

import sqlite3
from typing import Any

from sqlalchemy.exc import DBAPIError as DBAPIError  # re-exported: pages import nothing of SQLAlchemy
from sqlalchemy.exc import TimeoutError

from core.errors import TiebreakError

# SQLSTATE of a serialization failure and of a deadlock: the transaction can be retried.
CONFLICTS = ("40001", "40P01")
NOT_SAVED = "Changes that were not confirmed as saved are not stored."
FULL = f"The disk of the database is full. {NOT_SAVED} Free some space; a server that is running needs no restart."
BUSY = f"The database is busy: another process has been writing to it for a long time. {NOT_SAVED}"
READ_ONLY = f"The database cannot be written: its file or disk is read-only. {NOT_SAVED}"
UNREACHABLE = f"The database cannot be reached. {NOT_SAVED}"
NOT_OPENED = f"The database file cannot be opened: it or its folder is missing, or may not be written. {NOT_SAVED}"
# By the beginning of the name of an error code: SQLITE_BUSY_SNAPSHOT is a case of SQLITE_BUSY.
_SQLITE = {
    "SQLITE_FULL": FULL,
    "SQLITE_BUSY": BUSY,
    "SQLITE_LOCKED": BUSY,
    "SQLITE_READONLY": READ_ONLY,
    "SQLITE_CANTOPEN": NOT_OPENED,
    "SQLITE_IOERR": UNREACHABLE,
}
# By SQLSTATE or its class, the longer ones first.
_POSTGRESQL = {
    "53100": FULL,
    "53": f"The database has no free connection. {NOT_SAVED}",
    "55P03": BUSY,
    "57014": f"The database took too long for this operation, and ended it. {NOT_SAVED}",
    "25006": READ_ONLY,
    "25P03": f"The database closed the connection, because an operation paused for too long. {NOT_SAVED}",
    "08": UNREACHABLE,
    "57P": UNREACHABLE,
    "3D000": f"The database does not exist. {NOT_SAVED}",
}


class DatabaseUnavailable(TiebreakError):
    """The database cannot store or return anything now; the same operation may succeed later."""


def unavailable(error: DBAPIError | TimeoutError) -> DatabaseUnavailable | None:
    """Return the problem to raise in place of an error; None for an error of the operation itself."""
    if isinstance(error, TimeoutError):
        return DatabaseUnavailable(f"All connections to the database are in use. {NOT_SAVED}")
    cause: Any = error.orig
    if isinstance(cause, sqlite3.Error):
        sentence = _by_beginning(_SQLITE, getattr(cause, "sqlite_errorname", ""))
    else:
        sentence = _by_beginning(_POSTGRESQL, getattr(cause, "sqlstate", None) or "")
        if not sentence and _is_lost_connection(error, cause):
            sentence = UNREACHABLE
    return DatabaseUnavailable(sentence) if sentence else None


def describe(error: DBAPIError) -> str:
    """Return an error of the database as one sentence, without the statement and its values."""
    if (problem := unavailable(error)) is not None:
        return str(problem)
    lines = str(error.orig).strip().splitlines() or ["no details"]
    return f"The database reported an error: {lines[0].rstrip('.')[:200]}."


def _by_beginning(sentences: dict[str, str], code: str) -> str:
    return next((sentence for beginning, sentence in sentences.items() if code.startswith(beginning)), "")


def _is_lost_connection(error: DBAPIError, cause: Any) -> bool:
    """Return whether there is no connection: psycopg's errors have no SQLSTATE then."""
    return error.connection_invalidated or (
        type(cause).__module__.startswith("psycopg")
        and type(cause).__name__ == "OperationalError"
        and cause.sqlstate is None
    )
