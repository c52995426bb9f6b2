"""SQLite files for tests, with empty tables or a study: each is made once in a process, and the others are copies."""

import tempfile
from collections.abc import Callable, Hashable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

from core.formats import tiebreak
from core.formats.records import Record, StudyRecord
from storage.db import connections
from storage.transfer import imports, samples

_make_engine = connections._sqlite
_statements: LRUCache[Any, Any] = LRUCache(2000)


def _engine_with_shared_statements(address: URL) -> Engine:
    """Return an engine that keeps its compiled statements where all of the process do.

    Most tests have a database of their own; compiling its statements takes longer than executing them.
    """
    engine = _make_engine(address)
    engine._compiled_cache = _statements
    return engine


def _is_same_type(dialect: object, other: object) -> bool:
    return type(dialect) is type(other)


def _hash_of_type(dialect: object) -> int:
    return hash(type(dialect))


# The key of a compiled statement has its dialect, which each engine makes anew with the same options.
SQLiteDialect_pysqlite.__eq__ = _is_same_type  # type: ignore[method-assign]
SQLiteDialect_pysqlite.__hash__ = _hash_of_type  # type: ignore[method-assign]
connections._sqlite = _engine_with_shared_statements


def create_database(path: Path) -> str:
    """Create a SQLite file with empty tables, and return its URL; the migrations take a hundred times as long."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_migrated_file())
    return f"sqlite:///{path}"


def create_sample_database(path: Path) -> str:
    """Create a SQLite file with the sample studies, as a server does at its start, and return its URL."""
    path.write_bytes(_file_with_samples())
    return f"sqlite:///{path}"


def create_study(path: Path, make: Callable[..., Iterable[Record]], *arguments: Hashable, name: str = "s") -> str:
    """Create a SQLite file with a study of the records that a function returns, and return its URL."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_file_with_study(make, arguments, name))
    return f"sqlite:///{path}"


def sample_records(protocol: str) -> list[Record]:
    """Return the records of the sample study of a protocol."""
    return list(tiebreak.read(samples.path(protocol)))


@cache
def _file_with_study(make: Callable[..., Iterable[Record]], arguments: tuple[Hashable, ...], name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tiebreak.db"
        engine = connections.connect.__wrapped__(create_database(path))
        imports.import_records(engine, name, [StudyRecord(), *make(*arguments)])
        engine.dispose()
        return path.read_bytes()


@cache
def _file_with_samples() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tiebreak.db"
        engine = connections.connect.__wrapped__(create_database(path))
        for name, protocol in reversed(samples.studies().items()):
            imports.import_records(engine, name, tiebreak.read(samples.path(protocol)))
        engine.dispose()
        return path.read_bytes()


@cache
def _migrated_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tiebreak.db"
        engine = connections.connect.__wrapped__(f"sqlite:///{path}")  # the engines of tests stay in the cache
        connections.upgrade(engine)
        engine.dispose()
        return path.read_bytes()


def clear_audit(connection: Connection) -> None:
    """Delete the entries of the audit log, which its triggers refuse."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        connection.exec_driver_sql("DELETE FROM audit")
        return
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit'"
    triggers = connection.exec_driver_sql(query).all()
    assert len(triggers) == 3
    for name, _ in triggers:
        connection.exec_driver_sql(f"DROP TRIGGER {name}")
    connection.exec_driver_sql("DELETE FROM audit")
    for _, sql in triggers:
        connection.exec_driver_sql(sql)
