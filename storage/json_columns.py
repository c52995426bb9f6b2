"""JSON columns, and values that a database can store.

PostgreSQL refuses text with NUL or with half of a surrogate pair. Models and people can send both; each such character
is replaced by the Unicode replacement character.
"""

from typing import Any

import pydantic_core
from sqlalchemy import JSON
from sqlalchemy.ext.compiler import compiles

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


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
    return EncodedJson((pydantic_core.to_json(_sanitize_nested(value)) if encoded is None else encoded).decode())


def sanitize(value: Any) -> Any:
    """Return JSON-like data that every database can store; `value` itself if nothing has to be replaced."""
    return _sanitize_nested(value) if _encode(value) is None else value


def _encode(value: Any) -> bytes | None:
    """Return a value as JSON; None if a database may refuse it.

    Only this form is searched: walking the data would cost more, and it is nearly always clean.
    """
    try:
        encoded = pydantic_core.to_json(value)
    except pydantic_core.PydanticSerializationError:  # half of a surrogate pair
        return None
    return None if b"\\u0000" in encoded else encoded


def _sanitize_nested(value: Any) -> Any:
    match value:
        case str():
            whole = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            return whole.replace("\x00", REPLACEMENT)
        case dict():
            return {_sanitize_nested(name): _sanitize_nested(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_sanitize_nested(inner) for inner in value]
    return value
