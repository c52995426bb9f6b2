"""Copies everything that a SQLite database contains into an empty PostgreSQL database: all tables, with all ids.

Values are copied as they are stored, so accounts, sessions, API tokens and fingerprints stay valid.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Text, func, select, text, type_coerce
from sqlalchemy.orm import Session

from core.errors import TiebreakError
from storage.db import audit, columns, connections, restore
from storage.db import dialects as postgresql_settings
from storage.db.columns import EncodedJson, Json
from storage.db.tables import Table

BATCH = 1000
"""Rows that are in memory at once."""
NUL = "\\u0000"
"""In JSON. SQLite databases of earlier versions can have it, and PostgreSQL refuses it."""


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
    restore.check_header(file, restore.SQLITE_HEADER, "SQLite")
    _check_unused(file)
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
    for setting in postgresql_settings.PARAMETERS:  # copying may take long
        new.execute(text(f"SET LOCAL {setting} = 0"))
    _check_empty(new)
    _copy_tables(old, new, show)
    counts = [TableCount(name, _count(old, table), _count(new, table)) for name, table in _tables().items()]
    wrong = [one for one in counts if one.source != one.target]
    if wrong:
        raise TiebreakError(f"Nothing is stored, because the counts differ: {', '.join(map(_describe, wrong))}.")
    total = sum(count.target for count in counts)
    audit.record(new, audit.Action.settings, change="database copied from SQLite", rows=total)
    return counts


def _tables() -> dict[str, Any]:
    """Return name -> class of all tables, those that others refer to first."""
    classes: dict[str, Any] = {str(one.__tablename__): one for one in Table.__subclasses__()}
    return {table.name: classes[table.name] for table in Table.metadata.sorted_tables}


def _check_unused(file: Path) -> None:
    try:
        with closing(sqlite3.connect(file, timeout=1)) as connection:
            restore.require_unused(connection)
    except sqlite3.Error as error:
        raise TiebreakError(
            restore.IN_USE if "locked" in str(error) else f"{file} cannot be opened: {error}."
        ) from error


def _check_empty(session: Session) -> None:
    for name, table in _tables().items():
        if count := _count(session, table):
            raise TiebreakError(
                f"The PostgreSQL database is not empty: its table {name} has {count:,} rows. Create an empty database; "
                "a server that starts with it before the copy adds sample studies."
            )


def _count(session: Session, table: Any) -> int:
    return session.execute(select(func.count()).select_from(table)).scalar_one()


def _describe(count: TableCount) -> str:
    return f"{count.table} has {count.source:,} and {count.target:,} rows"


def _copy_tables(old: Session, new: Session, show: Callable[[int, int], None]) -> None:
    total, done = sum(_count(old, table) for table in _tables().values()), 0
    for table in _tables().values():
        for rows in _read(old, table):
            connections.insert_all(new, table, rows)
            done += len(rows)
            show(done, total)
        _set_sequence(new, table)


def _read(session: Session, table: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a table in batches; JSON is not decoded, because numbers could be written in another form."""
    columns = [
        type_coerce(column, Text).label(column.name) if isinstance(column.type, Json) else column
        for column in table.__table__.columns
    ]
    encoded = {column.name for column in table.__table__.columns if isinstance(column.type, Json)}
    found = session.connection().execute(select(*columns).execution_options(yield_per=BATCH))
    for rows in found.mappings().partitions(BATCH):
        yield [_storable(row, encoded) for row in rows]


def _storable(row: Mapping[Any, Any], encoded: set[str]) -> dict[str, Any]:
    """Return a row with JSON that is encoded already, without the characters that PostgreSQL refuses."""
    result = {}
    for name, value in row.items():
        if isinstance(value, str):
            if name not in encoded:
                value = columns.sanitize(value)
            else:
                value = columns.to_storable_json(json.loads(value)) if NUL in value else EncodedJson(value)
        result[name] = value
    return result


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
