"""Notices that the file of a SQLite database was deleted or replaced while it is in use.

SQLite continues to write to a deleted file without an error, and everything that it stores is lost with the last
connection.
"""

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, event

from storage.database_errors import NOT_SAVED, DatabaseUnavailable


def watch(engine: Engine, path: Path) -> None:
    """Raise DatabaseUnavailable at the begin and at the commit of a transaction whose file is not the first one."""
    first: list[tuple[int, int]] = []

    def check(*_: Any) -> None:
        if first and _identity(path) != first[0]:
            raise DatabaseUnavailable(
                f"The database file {path.name!r} was deleted or replaced while it was in use. {NOT_SAVED} "
                "Stop the server, restore the file, and start the server again."
            )

    def check_commit(connection: Connection) -> None:
        try:
            check()
        except DatabaseUnavailable:
            # A failed commit ends SQLAlchemy's transaction, not SQLite's: the pool would return a connection with both.
            connection.connection.rollback()
            raise

    @event.listens_for(engine, "connect")
    def remember(*_: Any) -> None:
        if not first and (identity := _identity(path)) is not None:
            first.append(identity)

    event.listen(engine, "do_connect", check)  # it would create an empty database
    event.listen(engine, "begin", check)
    event.listen(engine, "commit", check_commit)


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and the inode of a file; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
