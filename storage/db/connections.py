"""Connections and transactions: SQLite in a file on one machine, PostgreSQL beyond it; the same tables and migrations.

On SQLite, writers begin with BEGIN IMMEDIATE. A transaction that reads first and writes later is otherwise refused
("database is locked") as soon as another one writes in between.
"""

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, TypeVar, cast

from sqlalchemy import URL, Connection, Result, create_engine, event, func, insert, inspect, select, text
from sqlalchemy import Engine as Engine  # re-exported: pages pass both on, and import nothing else of SQLAlchemy
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, TimeoutError
from sqlalchemy.orm import Session as Session
from sqlalchemy.pool import StaticPool

from core.errors import TiebreakError
from storage.db import backup, columns, dialects, errors


def parse_url(url: str) -> URL:
    """Return the parts of the URL of a database; raises TiebreakError if it is none."""
    try:
        return make_url(url)
    except ArgumentError:
        raise TiebreakError("The database's address cannot be read: it should look like sqlite:///file.db.") from None


def missing_file(url: str) -> str | None:
    """Return the path of a SQLite file that does not exist; None for any other database."""
    parsed = parse_url(url)
    is_file = parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:")
    return parsed.database if is_file and not Path(str(parsed.database)).exists() else None


Element = TypeVar("Element")
Stored = TypeVar("Stored")
DEFAULT_URL = "sqlite:///tiebreak.db"
URL_VARIABLE = "TIEBREAK_DATABASE_URL"
# Enough for the indexes of a large study; a connection allocates only as much as it uses.
CACHE_KILOBYTES = 32_000
# Of one operation that PostgreSQL ends because of another transaction.
MAX_ATTEMPTS = 6
# Seconds, doubled with every attempt.
FIRST_WAIT = 0.01
MIGRATIONS = Path(__file__).parent / "migrations"
# As Alembic creates it, without its import of half a second.
CREATE_REVISION = (
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
    "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)
# The key of the PostgreSQL advisory lock that lets one process upgrade at a time.
UPGRADE_LOCK = 8_442_325


def database_url(url: str | None = None) -> str:
    """Return `url`, or the value of TIEBREAK_DATABASE_URL, or the URL of a file in the working directory."""
    return url or os.environ.get(URL_VARIABLE) or DEFAULT_URL


@cache
def connect(url: str) -> Engine:
    """Return the engine for a URL; one for each URL in a process.

    Raises TiebreakError for an unknown type of database.
    """
    parsed = parse_url(url)
    if parsed.drivername in {"postgres", "postgresql"}:
        parsed = parsed.set(drivername="postgresql+psycopg")
    match parsed.drivername:
        case "sqlite" | "sqlite+pysqlite":
            return _sqlite(parsed)
        case "postgresql+psycopg":
            return create_engine(
                parsed,
                connect_args=dialects.connect_arguments(parsed.query),
                json_serializer=columns.to_json,
                pool_size=(size := dialects.number(*dialects.POOL_SIZE, smallest=1)),
                max_overflow=dialects.OVERFLOW * size,
                pool_pre_ping=True,  # after a restart of the server its connections are opened again
            )
    raise TiebreakError(f"Tiebreak stores its data in SQLite or PostgreSQL, not in {parsed.drivername!r}.")


def _sqlite(parsed: URL) -> Engine:
    if parsed.database in (None, "", ":memory:"):
        pool: dict[str, Any] = {"poolclass": StaticPool}
    else:
        _create_folder(Path(str(parsed.database)))
        pool = {"pool_size": 20, "max_overflow": 40}
    engine = create_engine(parsed, connect_args={"check_same_thread": False}, json_serializer=columns.to_json, **pool)

    wait = dialects.lock_milliseconds()

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # SQLAlchemy sends BEGIN (see below), not the driver
        for pragma in (
            f"busy_timeout={wait}",
            "journal_mode=WAL",
            "synchronous=NORMAL",
            "foreign_keys=ON",
            f"cache_size=-{CACHE_KILOBYTES}",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    if "poolclass" not in pool:
        path = Path(str(parsed.database))
        dialects.watch(engine, path)
        dialects.create_at_connect(engine, path)
    return engine


def _create_folder(file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TiebreakError(
            f"The database's folder {str(file.parent)!r} cannot be created: {error.strerror}."
        ) from error


@contextmanager
def reading(engine: Engine) -> Iterator[Session]:
    """Open a session that only reads, and sees one state of the database from its first query to its last."""
    with _clear_errors(), Session(engine, expire_on_commit=False) as session:
        if engine.dialect.name == "postgresql":
            session.connection(execution_options={"isolation_level": "REPEATABLE READ", "postgresql_readonly": True})
        yield session
        session.commit()  # after a rollback psycopg would forget the statements that it has prepared


def read(engine: Engine, operation: Callable[[Session], Stored]) -> Stored:
    """Return the result of an operation that only reads, as in `reading`."""
    with reading(engine) as session:
        return operation(session)


@contextmanager
def writing(engine: Engine) -> Iterator[Session]:
    """Open a session for one operation: it commits at the end, and rolls back on any exception.

    Raises DatabaseUnavailable if the database cannot store it now, as `reading` does.
    """
    with _clear_errors(), Session(engine) as session, session.begin():
        session.connection(execution_options={"writes": True})
        yield session


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Raise DatabaseUnavailable in place of the driver's errors that mean it."""
    try:
        yield
    except (DBAPIError, TimeoutError) as error:
        problem = errors.unavailable(error)
        if problem is None:
            raise
        raise problem from error


def write(engine: Engine, operation: Callable[[Session], Stored]) -> Stored:
    """Run one operation as `writing` does, and run it again if PostgreSQL ended it because of another transaction.

    The operation may run several times, so it changes nothing but the session.
    """
    for attempt in count(1):
        try:
            with writing(engine) as session:
                return operation(session)
        except DBAPIError as error:
            if attempt == MAX_ATTEMPTS or getattr(error.orig, "sqlstate", None) not in errors.CONFLICTS:
                raise
        time.sleep(random.uniform(0, FIRST_WAIT * 2**attempt))
    raise AssertionError("the last attempt returns or raises")


def execute(session: Session, statement: Any, parameters: Any = None) -> Result[*tuple[Any, ...]]:
    """Execute a statement about columns, without the ORM, which takes longer than a short query and its rows.

    A selected table gives rows with its columns. Changes are made of tables (`Row.__table__`), not of mapped classes.
    """
    session.flush()
    return session.connection().execute(statement, parameters)


def insert_all(session: Session, table: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows with the same columns. Mapped objects would take several times as long."""
    if rows:
        execute(session, insert(table.__table__).inline(), rows)


def insert_missing(session: Session, table: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, except those whose unique columns are in the table already."""
    if rows:
        execute(session, _dialect(session).insert(table.__table__).inline().on_conflict_do_nothing(), rows)


def upsert(session: Session, table: Any, unique: Sequence[str], row: Mapping[str, Any]) -> None:
    """Insert a row, or update the one with the same values in the `unique` columns."""
    upsert_all(session, table, unique, [row])


def upsert_all(session: Session, table: Any, unique: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows with the same columns, or update those with the same values in the `unique` columns."""
    if rows:
        statement = _dialect(session).insert(table.__table__).inline()
        changed = {name: statement.excluded[name] for name in rows[0] if name not in unique}
        execute(session, statement.on_conflict_do_update(index_elements=unique, set_=changed), rows)


def _dialect(session: Session) -> Any:
    return import_module(f"sqlalchemy.dialects.{session.get_bind().dialect.name}")


def clock(session: Session) -> datetime:
    """Return the database's time, so the leases of several servers expire by one clock.

    A SQLite database is on this machine.
    """
    if session.get_bind().dialect.name == "postgresql":
        return cast(datetime, session.scalar(select(func.clock_timestamp())))
    return datetime.now(UTC)


def update_statistics(engine: Engine) -> None:
    """Let PostgreSQL plan queries by the rows that the tables have now; it notices new ones only after a minute."""
    if engine.dialect.name == "postgresql":
        with engine.connect() as connection:
            connection.execute(text("ANALYZE"))
            connection.commit()


def batches(rows: Sequence[Element], size: int) -> Iterator[Sequence[Element]]:
    """Yield the rows, `size` at a time."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def upgrade(engine: Engine) -> str:
    """Create the tables, or migrate them to this version; a database with data is copied first (see `backup`).

    Return a sentence if tables with data were migrated, otherwise an empty text.
    """
    try:
        # Before Alembic, whose import takes half a second.
        with engine.connect() as connection:
            has_tables = inspect(connection).has_table("alembic_version")
            is_current = has_tables and _stored_revision(connection) == newest_revision()
        return "" if is_current else _migrate(engine)
    except DatabaseError as error:
        cause = " ".join(str(error.orig).split()).rstrip(".?")  # PostgreSQL's messages have several lines
        raise TiebreakError(f"The database cannot be opened: {cause}.") from error


def newest_revision() -> str:
    """Return the revision of this version: the number that the name of the newest migration begins with."""
    return max(path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*_*.py"))


def _migrate(engine: Engine) -> str:
    from alembic.util import CommandError

    try:
        with _upgrading(engine) as connection:
            if not inspect(connection).has_table("alembic_version"):
                _create_tables(connection)
                return ""
            if _stored_revision(connection) == newest_revision():
                return ""  # another process was faster
            # Both tables are in every revision.
            some = text("SELECT 1 FROM study UNION ALL SELECT 1 FROM annotator LIMIT 1")
            has_data = connection.execute(some).first() is not None
            copy = backup.copy_before_upgrade(engine, newest_revision()) if has_data else None
            from alembic import command

            command.upgrade(alembic_config(connection), "head")
    except CommandError as error:
        reason = str(error).rstrip(".")
        raise TiebreakError(
            f"The database belongs to a newer version of Tiebreak, or to none that was released: {reason}."
        ) from error
    if not has_data:
        return ""
    place = f" Its copy from before is {copy}." if copy is not None else ""
    return f"The database was migrated to revision {newest_revision()} of its tables.{place}"


def _create_tables(connection: Connection) -> None:
    """Create the tables of this version from their models."""
    from storage.db.tables import Table

    Table.metadata.create_all(connection)
    dialects.create_triggers(connection)
    connection.execute(text(CREATE_REVISION))
    connection.execute(text("INSERT INTO alembic_version VALUES (:revision)"), {"revision": newest_revision()})


def _stored_revision(connection: Connection) -> str:
    return str(connection.scalar(text("SELECT version_num FROM alembic_version")))


def alembic_config(connection: Connection) -> Any:
    """Return Alembic's configuration to work on `connection`."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@contextmanager
def _upgrading(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that only one process can have at a time.

    SQLite changes a table by copying it and dropping the original: with foreign keys on, the rows that refer to it
    would be deleted as well.
    """
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        if engine.dialect.name == "sqlite":
            driver.execute("PRAGMA foreign_keys=OFF")
        try:
            with connection.execution_options(writes=True).begin():
                if engine.dialect.name == "postgresql":
                    for setting in dialects.PARAMETERS:  # a migration may take long
                        connection.execute(text(f"SET LOCAL {setting} = 0"))
                    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": UPGRADE_LOCK})
                yield connection
        finally:
            if engine.dialect.name == "sqlite":
                driver.execute("PRAGMA foreign_keys=ON")


def is_empty(engine: Engine) -> bool:
    """Return whether the database has no tables yet."""
    return not inspect(engine).has_table("study")
