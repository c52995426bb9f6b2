"""Copies of the whole database: on request, and before a migration.

SQLite is copied with its backup API, which gives a consistent copy while others write; PostgreSQL with `pg_dump`, in
its custom format, which `pg_restore` reads.
"""

import logging
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine

from core.errors import TiebreakError

FOLDER_VARIABLE = "TIEBREAK_BACKUP_FOLDER"
"""The folder of the copies before migrations. Without it, SQLite's are next to the database, and PostgreSQL has
none."""
log = logging.getLogger("tiebreak")


def back_up(engine: Engine, file: Path) -> None:
    """Copy the database to a new file; raises TiebreakError if that cannot be done, and leaves no partial file."""
    if file.exists():
        raise TiebreakError(f"{file} already exists; choose another file name for the backup.")
    partial = file.with_name(f"{file.name}.partial")
    try:
        _copy(engine, partial)
        os.replace(partial, file)
    except (OSError, sqlite3.Error) as error:
        raise TiebreakError(
            f"The backup {file} cannot be written: {getattr(error, 'strerror', None) or error}."
        ) from error
    finally:
        for ending in ("", "-journal", "-wal", "-shm"):  # SQLite keeps its journal if the disk is full
            partial.with_name(partial.name + ending).unlink(missing_ok=True)


def copy_before_upgrade(engine: Engine, revision: str) -> None:
    """Copy the database before it is migrated to `revision`.

    A SQLite database that cannot be copied is not migrated. For PostgreSQL, whose server has its own backups, a
    sentence in the log says that there is no copy.
    """
    if engine.dialect.name != "postgresql":
        if engine.url.database not in (None, "", ":memory:"):
            database = Path(str(engine.url.database))
            back_up(engine, _unused_file(_folder() or database.parent, database, revision))
        return
    try:
        folder = _folder()
        if folder is None:
            raise TiebreakError(f"{FOLDER_VARIABLE} is not set.")
        back_up(engine, _unused_file(folder, Path(f"{engine.url.database}.dump"), revision))
    except TiebreakError as error:
        log.warning("The database is migrated to revision %s without a copy: %s", revision, error)


def _folder() -> Path | None:
    """Return the folder of TIEBREAK_BACKUP_FOLDER, created if new."""
    path = os.environ.get(FOLDER_VARIABLE)
    if not path:
        return None
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TiebreakError(f"The folder {path} of {FOLDER_VARIABLE} cannot be written: {error.strerror}.") from error
    return Path(path)


def _unused_file(folder: Path, database: Path, revision: str) -> Path:
    """Return `<database>.before-<revision>.db`, numbered if an earlier attempt left such a file."""
    stem = f"{database.stem}.before-{revision}"
    names = (f"{stem}{f'-{number}' if number > 1 else ''}{database.suffix or '.db'}" for number in count(1))
    return next(path for path in map(folder.joinpath, names) if not path.exists())


def _copy(engine: Engine, file: Path) -> None:
    if engine.dialect.name == "postgresql":
        _dump_postgresql(engine, file)
        return
    with engine.connect() as connection, closing(sqlite3.connect(file)) as copy:
        # All pages in one step: with smaller steps, SQLite starts again whenever another connection writes.
        driver: Any = connection.connection.driver_connection
        driver.backup(copy, pages=-1)


def _dump_postgresql(engine: Engine, file: Path) -> None:
    program = shutil.which("pg_dump")
    if program is None:
        raise TiebreakError("pg_dump is not installed; install PostgreSQL's client programs (postgresql-client) first.")
    url = URL.create(
        "postgresql",
        username=engine.url.username,
        host=engine.url.host,
        port=engine.url.port,
        database=engine.url.database,
        query=engine.url.query,
    )
    # The password is passed in the environment: other users of the machine can read a command line.
    environment = os.environ | ({"PGPASSWORD": str(engine.url.password)} if engine.url.password else {})
    command = [program, "--format=custom", f"--file={file}", f"--dbname={url.render_as_string()}"]
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[0].removeprefix("pg_dump: ")
        raise TiebreakError(f"pg_dump failed: {reason.removeprefix('error: ').rstrip('.')}.")
