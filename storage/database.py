"""Where things are kept: SQLite in a file for one machine, PostgreSQL beyond it; the same tables and migrations.

Writers begin with BEGIN IMMEDIATE on SQLite: a transaction that reads first and writes later is otherwise refused
("database is locked") as soon as two of them meet.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, inspect
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, OperationalError
from sqlalchemy.orm import Session
from sqlalchemy.pool import StaticPool

from core.problems import Problem

DEFAULT = "sqlite:///tiebreak.db"
VARIABLE = "TIEBREAK_DATABASE_URL"
BUSY_MILLISECONDS = 15_000


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
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed)
    return create_engine(parsed, pool_pre_ping=True, pool_size=10, max_overflow=20)


def _sqlite(parsed: Any) -> Engine:
    memory = parsed.database in (None, "", ":memory:")
    if not memory:
        Path(parsed.database).expanduser().parent.mkdir(parents=True, exist_ok=True)
    pool = {"poolclass": StaticPool} if memory else {"pool_size": 20, "max_overflow": 40}
    engine = create_engine(parsed, connect_args={"check_same_thread": False}, **pool)

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # SQLAlchemy says BEGIN, not the driver
        for pragma in (
            "journal_mode=WAL",
            "synchronous=NORMAL",
            "foreign_keys=ON",
            f"busy_timeout={BUSY_MILLISECONDS}",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Session]:
    """A short session that only looks."""
    with Session(engine) as session:
        yield session


@contextmanager
def writing(engine: Engine) -> Iterator[Session]:
    """A short session for one operation: committed at the end, undone on any error."""
    with Session(engine.execution_options(writes=True)) as session, session.begin():
        yield session


def upgrade(engine: Engine) -> None:
    """Create the tables, or bring them to this version."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    try:
        with engine.execution_options(writes=True).begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except OperationalError as error:
        raise Problem(f"The database cannot be opened: {error.orig}.") from None


def is_empty(engine: Engine) -> bool:
    """Whether no table was ever made."""
    return not inspect(engine).has_table("study")
