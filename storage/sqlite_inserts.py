"""Rows that are inserted into SQLite by columns: SQLAlchemy prepares each row by itself, in twice the time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection


@dataclass(frozen=True)
class _Insert:
    """An insert as SQL, with the columns of its parameters and the functions that convert their values."""

    text: str
    columns: tuple[tuple[str, Callable[[Any], Any] | None], ...]


def insert_by_columns(connection: Connection, statement: Any, table: Any, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Execute an insert of rows that all have the same columns; return False if it has to be executed otherwise.

    Functions that listen to statements of SQLAlchemy do not see it.
    """
    insert = _compile(statement, table, connection.dialect, tuple(rows[0]))
    if insert is None:
        return False
    columns: list[Iterable[Any]] = []
    for name, convert in insert.columns:
        values = [row[name] for row in rows]
        columns.append(values if convert is None else map(convert, values))
    connection.exec_driver_sql(insert.text, list(zip(*columns, strict=True)))
    return True


@lru_cache(maxsize=256)  # to compile an insert takes longer than to execute it
def _compile(statement: Any, table: Any, dialect: Any, names: tuple[str, ...]) -> _Insert | None:
    """Return an insert into the columns `names`; None if SQLAlchemy computes the values of other columns."""
    compiled = statement.compile(dialect=dialect, column_keys=list(names))
    if compiled.insert_prefetch:
        return None
    types = {name: table.__table__.c[name].type.dialect_impl(dialect) for name in compiled.positiontup}
    return _Insert(str(compiled), tuple((name, types[name].bind_processor(dialect)) for name in compiled.positiontup))
