"""Rows that are inserted by columns: SQLAlchemy prepares each row by itself, in twice the time.

PostgreSQL gets many rows in one statement, because it needs twice as long for one statement for each row. Functions
that listen to statements of SQLAlchemy do not see copied rows, nor any of SQLite.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import JSON, Connection
from sqlalchemy.exc import DBAPIError

from storage.postgresql import DEFERRED

MIN_TOGETHER = 50
"""Rows from which PostgreSQL gets them in one statement; that of fewer rows is prepared, and takes less time."""
SHARED_BY = 4
"""Rows that share a value, on average, from which it takes less time to find the values that are shared."""
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class _Insert:
    """An insert as SQL, with the columns of its parameters and the functions that convert their values."""

    text: str
    columns: tuple[tuple[str, Callable[[Any], Any] | None], ...]

    def values(self, rows: Rows) -> Iterator[Iterable[Any]]:
        """Yield the values of each column, as the driver expects them."""
        for name, convert in self.columns:
            values = [row[name] for row in rows]
            yield values if convert is None else _converted(values, convert)


def _converted(values: Sequence[Any], convert: Callable[[Any], Any]) -> Iterable[Any]:
    """Return converted values; those that many rows share are converted once."""
    distinct = dict(zip(map(id, values), values, strict=True))
    if SHARED_BY * len(distinct) > len(values):
        return map(convert, values)
    known = {identity: convert(value) for identity, value in distinct.items()}
    return map(known.__getitem__, map(id, values))


def insert_by_columns(connection: Connection, statement: Any, table: Any, rows: Rows) -> bool:
    """Execute an insert of rows into SQLite; return False if it has to be executed otherwise.

    All rows have the same columns, as for the other functions.
    """
    insert = _compile(statement, table, connection.dialect, tuple(rows[0]))
    if insert is not None:
        connection.exec_driver_sql(insert.text, list(zip(*insert.values(rows), strict=True)))
    return insert is not None


def copy(connection: Connection, statement: Any, table: Any, rows: Rows) -> bool:
    """Copy rows into a table of PostgreSQL instead of executing their insert; return False if this is not possible."""
    insert = _compile(statement, table, connection.dialect, tuple(rows[0]))
    driver: Any = connection.connection.driver_connection
    if insert is None or driver.pgconn.pipeline_status:  # psycopg cannot copy in a pipeline
        return False
    text = f"COPY {_name(connection, table)} ({_columns(connection, insert)}) FROM STDIN"
    dialect = connection.dialect
    try:
        with driver.cursor() as cursor, cursor.copy(text) as stream:
            for row in zip(*insert.values(rows), strict=True):
                stream.write_row(row)
    except dialect.loaded_dbapi.Error as error:
        if driver.closed:
            connection.invalidate(error)
        raise DBAPIError.instance(text, None, error, dialect.loaded_dbapi.Error, dialect=dialect) from error
    return True


def insert_missing(connection: Connection, statement: Any, table: Any, rows: Rows) -> bool:
    """Insert rows into PostgreSQL, except those that are there; return False if this is not possible."""
    insert = _compile(statement, table, connection.dialect, tuple(rows[0]))
    if insert is None:
        return False
    types = (table.__table__.c[name].type.compile(connection.dialect) for name, _ in insert.columns)
    arrays = ", ".join(f"%s::{type_}[]" for type_ in types)
    text = f"{DEFERRED} INSERT INTO {_name(connection, table)} ({_columns(connection, insert)}) "
    text += f"SELECT * FROM unnest({arrays}) ON CONFLICT DO NOTHING"
    connection.exec_driver_sql(text, tuple(map(list, insert.values(rows))))
    return True


def _name(connection: Connection, table: Any) -> str:
    return connection.dialect.identifier_preparer.format_table(table.__table__)


def _columns(connection: Connection, insert: _Insert) -> str:
    return ", ".join(map(connection.dialect.identifier_preparer.quote, (name for name, _ in insert.columns)))


@lru_cache(maxsize=256)  # to compile an insert takes longer than to execute it
def _compile(statement: Any, table: Any, dialect: Any, names: tuple[str, ...]) -> _Insert | None:
    """Return an insert into the columns `names`; None if SQLAlchemy computes the values of other columns."""
    compiled = statement.compile(dialect=dialect, column_keys=list(names))
    if compiled.insert_prefetch:
        return None
    types = {name: table.__table__.c[name].type.dialect_impl(dialect) for name in names}
    ordered = compiled.positiontup or names
    return _Insert(str(compiled), tuple((name, _processor(types[name], dialect)) for name in ordered))


def _processor(type_: Any, dialect: Any) -> Any:
    """Return the function that converts the values of a column; JSON becomes text, not an object of the driver."""
    of_type: Any = JSON if isinstance(type_, JSON) else type(type_)
    return of_type.bind_processor(type_, dialect)
