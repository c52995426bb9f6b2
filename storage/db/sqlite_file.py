"""Creates the file of a SQLite database, and notices that it was deleted or replaced in use, or that its disk is full.

SQLite continues to write to a deleted file without an error, and everything that it stores is lost with the last
connection. On a full disk it cannot read either: it reports an I/O error, because its shared index needs a file.
"""

import errno
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, ExceptionContext, event

from storage.db.errors import FULL, NOT_SAVED, DatabaseUnavailable

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
SHARED_INDEX_BYTES = 32 * 1024
"""The size of the file `-shm`, which the first connection creates."""


def create_private(path: Path) -> None:
    """Create an empty file that only its owner may read; SQLite gives its other files the same permissions."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def create_at_connect(engine: Engine, path: Path) -> None:
    """Create the file before SQLite does, which lets everybody read it."""

    @event.listens_for(engine, "do_connect")
    def create(*_: Any) -> None:
        if not str(path).startswith("file:"):  # the URI of a file
            with suppress(OSError):  # it exists, or SQLite reports the reason
                create_private(path)


def watch(engine: Engine, path: Path) -> None:
    """Raise DatabaseUnavailable at the begin and at the commit of a transaction whose file is not the first one.

    An I/O error on a full disk is raised as DatabaseUnavailable too.
    """
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

    def find_full_disk(context: ExceptionContext) -> DatabaseUnavailable | None:
        code = getattr(context.original_exception, "sqlite_errorname", "")
        return DatabaseUnavailable(FULL) if code.startswith("SQLITE_IOERR") and _is_disk_full(path.parent) else None

    event.listen(engine, "handle_error", find_full_disk)
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


def _is_disk_full(folder: Path) -> bool:
    """Return whether the folder's disk, or the user's quota on it, has no space for SQLite's shared index."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(SHARED_INDEX_BYTES))
            file.flush()
    except OSError as error:
        return error.errno in NO_SPACE
    return False
