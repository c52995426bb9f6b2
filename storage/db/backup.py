"""Copies of the whole database: on request, and before a migration.

SQLite is copied with its backup API, which gives a consistent copy while others write; PostgreSQL with `pg_dump`, in
its custom format, which `pg_restore` reads.
"""

import logging
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine

from core.errors import TiebreakError
from storage.db import dialects

# The folder of the copies before migrations. Without it, SQLite's are next to the database, and PostgreSQL has none.
FOLDER_VARIABLE = "TIEBREAK_BACKUP_FOLDER"
log = logging.getLogger("tiebreak")


def back_up(engine: Engine, file: Path) -> None:
    """Copy the database to a new file; raises TiebreakError if that cannot be done, and leaves no partial file."""
    if file.exists():
        raise TiebreakError(f"{file} already exists; choose another file name for the backup.")
    partial = file.with_name(f"{file.name}.partial")
    try:
        partial.unlink(missing_ok=True)
        dialects.create_private(partial)
        _copy(engine, partial)
        os.replace(partial, file)
    except (OSError, sqlite3.Error) as error:
        raise TiebreakError(
            f"The backup {file} cannot be written: {getattr(error, 'strerror', None) or error}."
        ) from error
    finally:
        for ending in ("", "-journal", "-wal", "-shm"):  # SQLite keeps its journal if the disk is full
            partial.with_name(partial.name + ending).unlink(missing_ok=True)


def back_up_to_folder(engine: Engine, folder: Path, keep: int | None = None) -> Path:
    """Copy the database to a new file in a folder, named after the time, and return its path.

    Only the newest `keep` of these copies remain; None keeps all.
    """
    if not folder.is_dir():
        raise TiebreakError(f"There is no folder {folder}.")
    ending = "dump" if engine.dialect.name == "postgresql" else "db"
    file = folder / f"tiebreak-{datetime.now(UTC):%Y%m%d-%H%M%S}.{ending}"
    back_up(engine, file)
    copies = sorted(folder.glob(f"tiebreak-{'[0-9]' * 8}-{'[0-9]' * 6}.{ending}"))
    for old in copies[:-keep] if keep else []:
        old.unlink(missing_ok=True)
    return file


def copy_before_upgrade(engine: Engine, revision: str) -> Path | None:
    """Copy the database before it is migrated to `revision`, and return the file of the copy; None without a copy.

    A SQLite database that cannot be copied is not migrated. For PostgreSQL, whose server has its own backups, a
    sentence in the log says that there is no copy.
    """
    is_postgresql = engine.dialect.name == "postgresql"
    if engine.url.database in (None, "", ":memory:"):
        return None
    database = Path(f"{engine.url.database}.dump" if is_postgresql else str(engine.url.database))
    try:
        folder = _folder() or (None if is_postgresql else database.parent)
        if folder is None:
            raise TiebreakError(f"{FOLDER_VARIABLE} is not set.")
        file = unused_file(folder, database, revision)
        back_up(engine, file)
        return file
    except TiebreakError as error:
        if not is_postgresql:
            raise
        log.warning("The database is migrated to revision %s without a copy: %s", revision, error)
        return None


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


def unused_file(folder: Path, database: Path, revision: str) -> Path:
    """Return `<database>.before-<revision>.db`, numbered if an earlier attempt left such a file."""
    stem = f"{database.stem}.before-{revision}"
    names = (f"{stem}{f'-{number}' if number > 1 else ''}{database.suffix or '.db'}" for number in count(1))
    return next(path for path in map(folder.joinpath, names) if not path.exists())


def _copy(engine: Engine, file: Path) -> None:
    if engine.dialect.name == "postgresql":
        return run_client(engine, "pg_dump", "--format=custom", f"--file={file}")
    with engine.connect() as connection, closing(sqlite3.connect(file)) as copy:
        # All pages in one step: with smaller steps, SQLite starts again whenever another connection writes.
        driver: Any = connection.connection.driver_connection
        driver.backup(copy, pages=-1)


def run_client(engine: Engine, name: str, *arguments: str) -> None:
    """Run one of PostgreSQL's client programs on the database; raises TiebreakError if it fails."""
    url = URL.create(
        "postgresql",
        username=engine.url.username,
        host=engine.url.host,
        port=engine.url.port,
        database=engine.url.database,
        query=engine.url.query,
    )
    # The password is passed in the environment: other users of the machine can read a command line.
    environment = {"PGPASSWORD": str(engine.url.password)} if engine.url.password else {}
    run_program(name, *arguments, f"--dbname={url.render_as_string()}", environment=environment)


def run_program(name: str, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """Run a program of PostgreSQL's and return its output; raises TiebreakError if it is missing or fails."""
    program = shutil.which(name)
    if program is None:
        raise TiebreakError(f"{name} is not installed; install PostgreSQL's client programs (postgresql-client) first.")
    done = subprocess.run(
        [program, *arguments],
        env=os.environ | (environment or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[0].removeprefix(f"{name}: ")
        raise TiebreakError(f"{name} failed: {reason.removeprefix('error: ').rstrip('.')}.")
    return done.stdout
