"""Replaces the database by a copy that `storage.db.backup` has made, or copies a SQLite database into PostgreSQL.

Nobody else may use the databases meanwhile. What is replaced is copied first.
"""

import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, func, select, text
from sqlalchemy.orm import Session

from core.errors import TiebreakError
from storage.db import audit, backup, columns, connections, dialects
from storage.db.tables import row_types

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


# Copies everything that a SQLite database contains into an empty PostgreSQL database: all tables, with all ids.
#
# Accounts, sessions, API tokens and fingerprints stay valid.

# Rows that are in memory at once.
BATCH = 1000


@dataclass(frozen=True)
class TableCount:
    """The rows of a table in both databases."""

    table: str
    source: int
    target: int


def copy_sqlite(file: Path, target: Engine, show: Callable[[int, int], None]) -> list[TableCount]:
    """Copy a SQLite database into an empty PostgreSQL database, in one transaction; return the counts of all tables.

    `show` gets the number of copied rows and that of all rows. The file is migrated to this version first. Raises
    TiebreakError, and stores nothing, if the target is not PostgreSQL or not empty, or if others use the file.
    """
    if target.dialect.name != "postgresql":
        raise TiebreakError(
            "The target is not PostgreSQL: set TIEBREAK_DATABASE_URL or --database to an empty PostgreSQL database. "
            "`restore` replaces a SQLite database by a copy."
        )
    check_header(file, SQLITE_HEADER, "SQLite")
    try:
        with closing(sqlite3.connect(file, timeout=1)) as connection:
            require_unused(connection)
    except sqlite3.Error as error:
        raise TiebreakError(IN_USE if "locked" in str(error) else f"{file} cannot be opened: {error}.") from error
    source = connections.connect(f"sqlite:///{file}")
    try:
        if connections.is_empty(source):
            raise TiebreakError(f"{file} is not a database of Tiebreak.")
        connections.upgrade(source)
        connections.upgrade(target)
        with connections.reading(source) as old, connections.writing(target) as new:
            counts = _copy(old, new, show)
    finally:
        source.dispose()
    connections.update_statistics(target)
    return counts


def _copy(old: Session, new: Session, show: Callable[[int, int], None]) -> list[TableCount]:
    for setting in dialects.PARAMETERS:  # copying may take long
        new.execute(text(f"SET LOCAL {setting} = 0"))
    _check_empty(new)
    _copy_tables(old, new, show)
    counts = [TableCount(name, _count(old, table), _count(new, table)) for name, table in row_types().items()]
    wrong = [f"{one.table} has {one.source:,} and {one.target:,} rows" for one in counts if one.source != one.target]
    if wrong:
        raise TiebreakError(f"Nothing is stored, because the counts differ: {', '.join(wrong)}.")
    total = sum(count.target for count in counts)
    audit.record(new, audit.Action.settings, change="database copied from SQLite", rows=total)
    return counts


def _check_empty(session: Session) -> None:
    for name, table in row_types().items():
        if count := _count(session, table):
            raise TiebreakError(
                f"The PostgreSQL database is not empty: its table {name} has {count:,} rows. Create an empty database; "
                "a server that starts with it before the copy adds sample studies."
            )


def _count(session: Session, table: Any) -> int:
    return session.execute(select(func.count()).select_from(table)).scalar_one()


def _copy_tables(old: Session, new: Session, show: Callable[[int, int], None]) -> None:
    total, done = sum(_count(old, table) for table in row_types().values()), 0
    for table in row_types().values():
        for rows in _read(old, table):
            connections.insert_all(new, table, rows)
            done += len(rows)
            show(done, total)
        _set_sequence(new, table)


def _read(session: Session, table: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a table in batches, without the characters that PostgreSQL refuses in texts and JSON."""
    found = session.connection().execute(select(*table.__table__.columns).execution_options(yield_per=BATCH))
    for rows in found.mappings().partitions(BATCH):
        yield [
            {
                name: columns.sanitize(value) if isinstance(value, str | list | dict) else value
                for name, value in row.items()
            }
            for row in rows
        ]


def _set_sequence(session: Session, table: Any) -> None:
    """Let the next row of a table get an id after those that were copied."""
    key = table.__table__.primary_key.columns
    if [column.name for column in key] != ["id"]:
        return
    largest = session.execute(select(func.max(table.__table__.c.id))).scalar()
    if largest is not None:
        name = table.__tablename__
        session.execute(
            text("SELECT setval(pg_get_serial_sequence(:name, 'id'), :largest)"), {"name": name, "largest": largest}
        )
