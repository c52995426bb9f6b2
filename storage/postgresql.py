"""Settings of the connections to PostgreSQL, read from environment variables."""

import os
import time
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.exc import InvalidatePoolError

from core.errors import TiebreakError

POOL_SIZE = ("TIEBREAK_POOL_SIZE", 10)
"""Connections that a process holds open. While all are in use it opens up to four times as many more."""
STATEMENT_TIMEOUT = ("TIEBREAK_STATEMENT_TIMEOUT", 120)
"""Seconds after which PostgreSQL ends a statement, including its wait for locks; 0 for no limit."""
LOCK_TIMEOUT = ("TIEBREAK_LOCK_TIMEOUT", 60)
"""Seconds that a statement waits for a lock: longer than the largest import takes; 0 for no limit."""
IDLE_TIMEOUT = ("TIEBREAK_IDLE_TRANSACTION_TIMEOUT", 300)
"""Seconds after which PostgreSQL closes the connection of a transaction that sends nothing; 0 for no limit."""
OVERFLOW = 4
PARAMETERS = {
    "statement_timeout": STATEMENT_TIMEOUT,
    "lock_timeout": LOCK_TIMEOUT,
    "idle_in_transaction_session_timeout": IDLE_TIMEOUT,
}
KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
"""A connection whose server has disappeared is noticed after a minute, not after hours."""
PING_AFTER = 0.25
"""Seconds after which an idle connection is tested before it is used; a test takes longer than most queries."""


def pool_arguments() -> dict[str, int]:
    """Return the arguments of SQLAlchemy's pool; raises TiebreakError for a setting that is no positive number."""
    size = _number(*POOL_SIZE, smallest=1)
    return {"pool_size": size, "max_overflow": OVERFLOW * size}


def connect_arguments(query: Any) -> dict[str, Any]:
    """Return the arguments of a connection; an `options` in the query of the URL has precedence over the settings."""
    timeouts = [f"-c {name}={1000 * _number(*setting)}" for name, setting in PARAMETERS.items()]
    given = query.get("options", ())
    return KEEPALIVES | {"options": " ".join([*timeouts, *([given] if isinstance(given, str) else given)])}


def _number(variable: str, default: int, smallest: int = 0) -> int:
    text = os.environ.get(variable, "").strip() or str(default)
    if not (text.isascii() and text.isdigit() and smallest <= int(text) <= 1_000_000):
        raise TiebreakError(f"{variable} should be a whole number of at least {smallest}, not {text[:40]!r}.")
    return int(text)


def ping_idle_connections(engine: Engine) -> None:
    """Test connections that were idle before they are used, and open new ones after a restart of the server."""

    @event.listens_for(engine, "checkin")
    def _returned(_: Any, record: Any) -> None:
        record.info["returned"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def _test(connection: Any, record: Any, _: Any) -> None:
        returned = record.info.get("returned")
        if returned is None or time.monotonic() - returned < PING_AFTER:
            return
        try:
            connection.execute("SELECT 1")
            connection.rollback()
        except engine.dialect.loaded_dbapi.Error as error:
            raise InvalidatePoolError from error
