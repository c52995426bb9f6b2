"""Replaces the database by a copy that `storage.db.backup` has made, and migrates it to this version.

Nobody else may use the database meanwhile. What it contains now is copied first.
"""

import re
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from sqlalchemy import Engine, text

from core.errors import TiebreakError
from storage.db import backup, connections

SQLITE_HEADER, POSTGRESQL_HEADER = b"SQLite format 3\x00", b"PGDMP"
IN_USE = "The database is in use; stop the server, its workers and other commands first."


def restore(engine: Engine, file: Path) -> Path | None:
    """Replace the database by the copy in `file`; returns the copy of what it contained, if it had tables.

    Raises TiebreakError, and changes nothing, if the file is no copy of a database of this type, if it is damaged or of
    a newer version, or if others use the database.
    """
    postgresql = engine.dialect.name == "postgresql"
    check_header(file, POSTGRESQL_HEADER if postgresql else SQLITE_HEADER, engine.dialect.name)
    if postgresql:
        _check_postgresql(file)
        _check_unused(engine)
    else:
        _check_sqlite(file)
    previous = None if connections.is_empty(engine) else _copy_current(engine, file)
    engine.dispose()
    if postgresql:
        _restore_postgresql(engine, file)
    else:
        _restore_sqlite(Path(str(engine.url.database)), file)
    connections.upgrade(engine)
    return previous


def _copy_current(engine: Engine, file: Path) -> Path:
    """Copy the database, next to itself or, from PostgreSQL, next to the file that is restored."""
    current = Path(str(engine.url.database))
    if engine.dialect.name == "postgresql":
        copy = backup.unused_file(file.parent, Path(f"{current.name}.dump"), "restore")
    else:
        copy = backup.unused_file(current.parent, current, "restore")
    backup.back_up(engine, copy)
    return copy


def check_header(file: Path, header: bytes, dialect: str) -> None:
    """Raise TiebreakError for a file that is no database of this type, or no copy of one."""
    try:
        with file.open("rb") as stream:
            start = stream.read(max(len(header), len(SQLITE_HEADER)))
    except OSError as error:
        raise TiebreakError(f"{file} cannot be read: {error.strerror}.") from error
    if start.startswith(header):
        return
    if start == SQLITE_HEADER:
        raise TiebreakError(
            f"{file} is a SQLite database, and this one is PostgreSQL: `cli.py server copy-database {file}` copies it "
            "into an empty PostgreSQL database."
        )
    raise TiebreakError(f"{file} is not a copy of a {dialect} database that the command backup has written.")


def _check_sqlite(file: Path) -> None:
    """Raise TiebreakError for a copy that is damaged, or of a newer version."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as copy:
            (result,) = copy.execute("PRAGMA quick_check(1)").fetchone()
            (revision,) = copy.execute("SELECT version_num FROM alembic_version").fetchone()
    except (sqlite3.Error, TypeError) as error:
        raise TiebreakError(f"{file} cannot be restored: {error}.") from error
    if result != "ok":
        raise TiebreakError(f"{file} is damaged: {result}.")
    _check_revision(file, revision)


def _check_revision(file: Path, revision: str) -> None:
    if not list((connections.MIGRATIONS / "versions").glob(f"{revision}_*.py")):
        raise TiebreakError(f"{file} is of a newer version of Tiebreak (revision {revision}).")


def _restore_sqlite(path: Path, file: Path) -> None:
    """Overwrite all pages in one transaction: after a crash the file has its former content."""
    with closing(sqlite3.connect(file)) as copy, closing(sqlite3.connect(path, timeout=1)) as current:
        try:
            require_unused(current)
            copy.backup(current, pages=-1)
        except sqlite3.OperationalError as error:
            raise TiebreakError(IN_USE if "locked" in str(error) else f"{path} cannot be written: {error}.") from error


def require_unused(connection: sqlite3.Connection) -> None:
    """Raise TiebreakError or sqlite3.OperationalError if another connection to a SQLite database is open."""
    (mode,) = connection.execute("PRAGMA journal_mode=DELETE").fetchone()  # this needs the file for itself
    if mode != "delete":
        raise TiebreakError(IN_USE)


def _check_postgresql(file: Path) -> None:
    """Raise TiebreakError for a copy that cannot be read, or of a newer version."""
    content = backup.run_program("pg_restore", "--data-only", "--table=alembic_version", "--file=-", str(file))
    found = re.search(r"^COPY \S*alembic_version .*\n(\S+)$", content, re.MULTILINE)
    if found is None:
        raise TiebreakError(f"{file} is not a copy of a database of Tiebreak.")
    _check_revision(file, found[1])


def _restore_postgresql(engine: Engine, file: Path) -> None:
    """Replace the schema in one transaction."""
    with tempfile.TemporaryDirectory(prefix="tiebreak-restore-") as folder:
        script, before = Path(folder) / "copy.sql", Path(folder) / "before.sql"
        # The schema is emptied first: tables of a newer version are not in the copy, and would remain.
        before.write_text("DROP SCHEMA public CASCADE;\nCREATE SCHEMA public;\n", encoding="utf-8")
        backup.run_program("pg_restore", "--no-owner", "--no-privileges", f"--file={script}", str(file))
        options = ("--quiet", "--no-psqlrc", "--single-transaction", "--set=ON_ERROR_STOP=1", "--output=/dev/null")
        backup.run_client(engine, "psql", *options, f"--file={before}", f"--file={script}")


def _check_unused(engine: Engine) -> None:
    """Raise TiebreakError if somebody else is connected to a PostgreSQL database."""
    engine.dispose()
    with engine.connect() as connection:
        others = connection.scalar(
            text(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        )
    engine.dispose()
    if others:
        raise TiebreakError(IN_USE)
