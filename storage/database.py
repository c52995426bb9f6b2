"""Where things are kept: SQLite in a file for one machine, PostgreSQL beyond it; the same tables and migrations.

Writers begin with BEGIN IMMEDIATE on SQLite: a transaction that reads first and writes later is otherwise refused
("database is locked") as soon as two of them meet.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, create_engine, event, insert, inspect, text
from sqlalchemy import Engine as Engine  # pages hand both on, and know nothing else of SQL
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError
from sqlalchemy.orm import Session as Session
from sqlalchemy.pool import StaticPool

from core.problems import Problem
from storage import json_columns

Thing = TypeVar("Thing")
DEFAULT = "sqlite:///tiebreak.db"
VARIABLE = "TIEBREAK_DATABASE_URL"
BUSY_MILLISECONDS = 60_000
"""Longer than the largest import holds the one place for writers."""
CACHE_KILOBYTES = 32_000
"""Enough for the indexes of a large study; a connection takes only what it uses."""
UPGRADES = 8_442_325
"""The number of PostgreSQL's advisory lock that lets one process upgrade at a time."""


def address(given: str | None = None) -> str:
    """The database's address: as given, else from the environment, else a file beside the app."""
    return given or os.environ.get(VARIABLE) or DEFAULT


@cache
def connect(url: str) -> Engine:
    """An engine for `url`, one for each address in a process."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise Problem("The database's address cannot be read: it should look like sqlite:///file.db.") from None
    if parsed.drivername in {"postgres", "postgresql"}:
        parsed = parsed.set(drivername="postgresql+psycopg")
    match parsed.drivername:
        case "sqlite" | "sqlite+pysqlite":
            return _sqlite(parsed)
        case "postgresql+psycopg":
            return create_engine(
                parsed, pool_pre_ping=True, pool_size=10, max_overflow=40, json_serializer=json_columns.to_json
            )
    raise Problem(f"Tiebreak keeps its data in SQLite or PostgreSQL, not in {parsed.drivername!r}.")


def _sqlite(parsed: URL) -> Engine:
    if parsed.database in (None, "", ":memory:"):
        pool: dict[str, Any] = {"poolclass": StaticPool}
    else:
        _make_folder(Path(str(parsed.database)))
        pool = {"pool_size": 20, "max_overflow": 40}
    engine = create_engine(
        parsed, connect_args={"check_same_thread": False}, json_serializer=json_columns.to_json, **pool
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # SQLAlchemy says BEGIN, not the driver
        for pragma in (
            f"busy_timeout={BUSY_MILLISECONDS}",
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

    return engine


def _make_folder(file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Problem(f"The database's folder {str(file.parent)!r} cannot be made: {error.strerror}.") from error


@contextmanager
def reading(engine: Engine) -> Iterator[Session]:
    """A short session that only looks, at one state of the database from its first query to its last."""
    with Session(engine) as session:
        if engine.dialect.name == "postgresql":
            session.connection(execution_options={"isolation_level": "REPEATABLE READ", "postgresql_readonly": True})
        yield session


@contextmanager
def writing(engine: Engine) -> Iterator[Session]:
    """A short session for one operation: committed at the end, undone on any error."""
    with Session(engine) as session, session.begin():
        session.connection(execution_options={"writes": True})
        yield session


def insert_all(session: Session, table: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add rows with every column said; an object of the mapped class for each would cost several times as much."""
    if rows:
        session.execute(insert(table.__table__), rows)


def insert_new(session: Session, table: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add rows, but for those that stand already by the table's unique columns; nobody has to look first."""
    if rows:
        session.execute(_dialect(session).insert(table.__table__).on_conflict_do_nothing(), rows)


def replace(session: Session, table: Any, unique: Sequence[str], row: Mapping[str, Any]) -> None:
    """Add a row, or change the one that stands under the same unique columns."""
    statement = _dialect(session).insert(table.__table__)
    changed = {name: statement.excluded[name] for name in row if name not in unique}
    session.execute(statement.on_conflict_do_update(index_elements=unique, set_=changed), [row])


def _dialect(session: Session) -> Any:
    return postgresql if session.get_bind().dialect.name == "postgresql" else sqlite


def batches(rows: Sequence[Thing], size: int) -> Iterator[Sequence[Thing]]:
    """The rows, `size` at a time."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def upgrade(engine: Engine) -> None:
    """Create the tables, or bring them to this version."""
    from alembic import command
    from alembic.util import CommandError

    try:
        with _upgrading(engine) as connection:
            command.upgrade(configuration(connection), "head")
    except CommandError as error:
        raise Problem(f"The database is not of this version of Tiebreak, nor of an older one: {error}.") from error
    except DatabaseError as error:
        cause = " ".join(str(error.orig).split()).rstrip(".?")  # PostgreSQL's own words are several lines
        raise Problem(f"The database cannot be opened: {cause}.") from error


def configuration(connection: Connection) -> Any:
    """What Alembic has to know to work on `connection`."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@contextmanager
def _upgrading(engine: Engine) -> Iterator[Connection]:
    """A transaction of one process at a time. To change a table SQLite makes it anew and drops the old one: with
    foreign keys on, whatever refers to it would go too."""
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        if engine.dialect.name == "sqlite":
            driver.execute("PRAGMA foreign_keys=OFF")
        try:
            with connection.execution_options(writes=True).begin():
                if engine.dialect.name == "postgresql":
                    connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": UPGRADES})
                yield connection
        finally:
            if engine.dialect.name == "sqlite":
                driver.execute("PRAGMA foreign_keys=ON")


def is_empty(engine: Engine) -> bool:
    """Whether no table was ever made."""
    return not inspect(engine).has_table("study")
