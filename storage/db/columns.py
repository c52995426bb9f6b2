"""JSON columns, and values that a database can store.

PostgreSQL refuses text with NUL or with half of a surrogate pair (`core.frozen`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pydantic_core
from sqlalchemy import JSON, Select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session

from core.frozen import valid_texts


class Json(JSON):
    """JSON, stored as TEXT on SQLite: a column declared as JSON has numeric affinity there, and returns 1.0 as 1."""


class EncodedJson(str):
    """A value that is JSON already, and stored as it is."""


@compiles(Json, "sqlite")
def _compile_as_text(*_: Any, **__: Any) -> str:
    return "TEXT"


def to_json(value: Any) -> str:
    """Return `value` as JSON. Accepts pydantic models; several times as fast as the standard library."""
    if isinstance(value, EncodedJson):
        return value
    return pydantic_core.to_json(value).decode()


def to_storable_json(value: Any) -> EncodedJson:
    """Return JSON-like data that every database can store, as JSON; it is encoded once."""
    encoded = _encode(value)
    return EncodedJson((pydantic_core.to_json(valid_texts(value)) if encoded is None else encoded).decode())


def sanitize(value: Any) -> Any:
    """Return JSON-like data that every database can store; `value` itself if nothing has to be replaced."""
    return valid_texts(value) if _encode(value) is None else value


def _encode(value: Any) -> bytes | None:
    """Return a value as JSON; None if a database may refuse it.

    Only this form is searched: walking the data would cost more, and it is nearly always clean.
    """
    try:
        encoded = pydantic_core.to_json(value)
    except pydantic_core.PydanticSerializationError:  # half of a surrogate pair
        return None
    return None if b"\\u0000" in encoded else encoded


# Pages of a list that begin after a key: a page costs the same anywhere in the list, and new rows do not shift it.

# In place of a key: before the first row. Keys are ids of rows, from 1.
START = 0

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Page(Generic[T]):
    """The rows of a page, and the keys after which other pages begin; None if there is no such page."""

    rows: list[T]
    previous: int | None
    next: int | None
    last: int | None
    """That of the page with the last rows of the list, which is full if the list is longer than a page."""

    def with_rows(self, rows: list[U]) -> "Page[U]":
        """Return the page with other rows, such as those of its keys."""
        return Page(rows, self.previous, self.next, self.last)


def read_page(read: Callable[[int, int, bool], list[int]], after: int, size: int) -> Page[int]:
    """Return the keys of a page.

    `read(after, limit, backwards)` returns the first keys after a key, or backwards those before it; from START, those
    from the start or from the end.
    """
    rows = read(after, size + 1, False)
    is_last = len(rows) <= size
    previous = last = None
    if after != START:
        previous = _key(read(after, size, True), size)
    if not is_last:
        last = _key(read(START, size + 1, True), size + 1)
    return Page(rows[:size], previous, None if is_last else rows[size - 1], last)


def page_by_id(
    session: Session, query: Select[int], id: Any, *, after: int, size: int, newest_first: bool = False
) -> Page[int]:
    """Return the ids of a page of a query that selects them."""

    def read(after: int, limit: int, backwards: bool) -> list[int]:
        falling = backwards != newest_first
        found = query.order_by(id.desc() if falling else id).limit(limit)
        if after != START:
            found = found.where(id < after if falling else id > after)
        return list(session.scalars(found))

    return read_page(read, after, size)


def _key(backwards: list[int], number: int) -> int:
    """Return the key `number` rows back; START if there are fewer."""
    return backwards[-1] if len(backwards) == number else START
