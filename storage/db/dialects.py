"""What is particular to each database: settings of connections, the file of SQLite, and triggers.

The settings are read from environment variables; except for the wait for locks, they are of PostgreSQL only.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, event, text

from core.errors import TiebreakError
from storage.db.errors import NOT_SAVED, DatabaseUnavailable

# Connections that a process holds open. While all are in use it opens up to four times as many more.
POOL_SIZE = ("TIEBREAK_POOL_SIZE", 10)
# Seconds after which PostgreSQL ends a statement, including its wait for locks; 0 for no limit.
STATEMENT_TIMEOUT = ("TIEBREAK_STATEMENT_TIMEOUT", 120)
# Seconds that a statement waits for a lock, or a writer for another one on SQLite: a person waits for the sentence that
# nothing was saved; 0 for no limit. Commands wait longer than the largest import takes (`cli.py`).
LOCK_TIMEOUT = ("TIEBREAK_LOCK_TIMEOUT", 10)
# Seconds after which PostgreSQL closes the connection of a transaction that sends nothing; 0 for no limit.
IDLE_TIMEOUT = ("TIEBREAK_IDLE_TRANSACTION_TIMEOUT", 300)
# Seconds.
LONGEST_WAIT = 1_000_000
OVERFLOW = 4
PARAMETERS = {
    "statement_timeout": STATEMENT_TIMEOUT,
    "lock_timeout": LOCK_TIMEOUT,
    "idle_in_transaction_session_timeout": IDLE_TIMEOUT,
}
# A connection whose server has disappeared is noticed after a minute, not after hours.
KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}


def connect_arguments(query: Any) -> dict[str, Any]:
    """Return the arguments of a connection; an `options` in the query of the URL has precedence over the settings."""
    timeouts = [f"-c {name}={1000 * number(*setting)}" for name, setting in PARAMETERS.items()]
    given = query.get("options", ())
    options = " ".join([*timeouts, *([given] if isinstance(given, str) else given)])
    return KEEPALIVES | {"options": options}


def lock_milliseconds() -> int:
    """Return how long a writer waits for another one on SQLite, which has no wait without a limit."""
    return 1000 * (number(*LOCK_TIMEOUT) or LONGEST_WAIT)


def number(variable: str, default: int, smallest: int = 0) -> int:
    """Return a setting of the environment; raises TiebreakError if it is no whole number of at least `smallest`."""
    text = os.environ.get(variable, "").strip() or str(default)
    if not (text.isascii() and text.isdigit() and smallest <= int(text) <= LONGEST_WAIT):
        raise TiebreakError(f"{variable} should be a whole number of at least {smallest}, not {text[:40]!r}.")
    return int(text)


# The file of a SQLite database: created for its owner only, and watched: it may be deleted or replaced in use. SQLite
# continues to write to a deleted file without an error, and everything that it stores is lost with the last connection.


def create_private(path: Path) -> None:
    """Create an empty file that only its owner may read; SQLite gives its other files the same permissions."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def create_at_connect(engine: Engine, path: Path) -> None:
    """Create the file before SQLite does, which lets everybody read it."""

    @event.listens_for(engine, "do_connect")
    def create(*_: Any) -> None:
        if not str(path).startswith("file:"):  # the URI of a file
            with suppress(OSError):  # it exists, or SQLite reports the reason
                create_private(path)


def watch(engine: Engine, path: Path) -> None:
    """Raise DatabaseUnavailable at the begin and at the commit of a transaction whose file is not the first one."""
    first: list[tuple[int, int]] = []

    def check(*_: Any) -> None:
        if first and _identity(path) != first[0]:
            raise DatabaseUnavailable(
                f"The database file {path.name!r} was deleted or replaced while it was in use. {NOT_SAVED} "
                "Stop the server, restore the file, and start the server again."
            )

    def check_commit(connection: Connection) -> None:
        try:
            check()
        except DatabaseUnavailable:
            # A failed commit ends SQLAlchemy's transaction, not SQLite's: the pool would return a connection with both.
            connection.connection.rollback()
            raise

    @event.listens_for(engine, "connect")
    def remember(*_: Any) -> None:
        if not first and (identity := _identity(path)) is not None:
            first.append(identity)

    event.listen(engine, "do_connect", check)  # it would create an empty database
    event.listen(engine, "begin", check)
    event.listen(engine, "commit", check_commit)


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and the inode of a file; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


# What the tables need beside their models: notifications on PostgreSQL, and the guards of the audit log.

# A statement notifies each of its topics once. A statement that changes very many traces names some of them only:
# pages read the rest when a version expires (`storage.db.changes.MAX_AGE`).
NOTIFY_IDS = """
CREATE OR REPLACE FUNCTION tiebreak_notify_ids() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format(
        'SELECT pg_notify(''tiebreak'', %L || '' '' || id) FROM (SELECT DISTINCT %I AS id FROM changed LIMIT 500) ids',
        TG_ARGV[0], TG_ARGV[1]
    );
    RETURN NULL;
END $$
"""
NOTIFY_STUDY_OF_TARGET = """
CREATE OR REPLACE FUNCTION tiebreak_notify_study_of_target() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('tiebreak', 'study ' || study_id)
    FROM (SELECT DISTINCT target.study_id FROM changed JOIN target ON target.id = changed.target_id) ids;
    RETURN NULL;
END $$
"""
NOTIFY_RUN = """
CREATE OR REPLACE FUNCTION tiebreak_notify_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('tiebreak', 'run ' || NEW.id), pg_notify('tiebreak', 'study ' || NEW.study_id);
    RETURN NULL;
END $$
"""
STATEMENTS = (
    ("label", "INSERT", "tiebreak_notify_ids('study', 'study_id')"),
    ("opinion", "INSERT", "tiebreak_notify_ids('study', 'study_id')"),
    ("adjudication", "INSERT", "tiebreak_notify_study_of_target()"),
    ("item", "INSERT", "tiebreak_notify_ids('study', 'study_id')"),
    ("event", "INSERT", "tiebreak_notify_ids('run', 'run_id')"),
    ("event", "INSERT", "tiebreak_notify_ids('trace', 'trace_id')"),
    ("trace", "UPDATE", "tiebreak_notify_ids('run', 'run_id')"),
    ("trace", "UPDATE", "tiebreak_notify_ids('trace', 'id')"),
    ("trace", "UPDATE", "tiebreak_notify_ids('study', 'study_id')"),
)

APPEND_ONLY = "The audit log is append-only."
# Those of an entry that never change; the address is removed after a set time.
AUDIT_COLUMNS = ("id", "at", "actor", "action", "study_id", "study", "details")
SAME = " AND ".join(f"NEW.{name} IS OLD.{name}" for name in AUDIT_COLUMNS)
# On SQLite, INSERT OR REPLACE deletes rows without the trigger of a deletion.
SQLITE_AUDIT = {
    "audit_update": f"BEFORE UPDATE ON audit WHEN NOT (NEW.address = '' AND {SAME})",
    "audit_delete": "BEFORE DELETE ON audit",
    "audit_replace": "BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)",
}
# JSON has no equality on PostgreSQL.
ROWS = ["({})".format(", ".join(f"{row}.{name}::text" for name in AUDIT_COLUMNS)) for row in ("NEW", "OLD")]
REMOVED = f"NEW.address = '' AND {ROWS[0]} IS NOT DISTINCT FROM {ROWS[1]}"
REFUSE = (
    "CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS "
    f"$$ BEGIN IF TG_OP = 'UPDATE' THEN IF {REMOVED} THEN RETURN NEW; END IF; END IF; "
    f"RAISE EXCEPTION '{APPEND_ONLY}'; END $$"
)
POSTGRESQL_AUDIT = {
    "audit_change": "BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION refuse_audit_change()",
    "audit_truncate": "BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()",
}


def create_triggers(connection: Connection) -> None:
    """Create or replace what the tables need beside their models; the tables must exist."""
    if connection.dialect.name == "sqlite":
        for name, when in SQLITE_AUDIT.items():
            connection.execute(text(f"DROP TRIGGER IF EXISTS {name}"))
            refuse = f"BEGIN SELECT RAISE(ABORT, '{APPEND_ONLY}'); END"
            connection.execute(text(f"CREATE TRIGGER {name} {when} {refuse}"))
        return
    for function in (NOTIFY_IDS, NOTIFY_STUDY_OF_TARGET, NOTIFY_RUN, REFUSE):
        connection.exec_driver_sql(function.replace("%", "%%"))
    for name, (table, when) in _postgresql_triggers().items():
        connection.execute(text(f"DROP TRIGGER IF EXISTS {name} ON {table}"))
        connection.execute(text(f"CREATE TRIGGER {name} {when}"))


def _postgresql_triggers() -> dict[str, tuple[str, str]]:
    """Return the name of each trigger -> its table, and when it does what."""
    triggers = {name: ("audit", when) for name, when in POSTGRESQL_AUDIT.items()}
    for number, (table, operation, function) in enumerate(STATEMENTS):
        when = f"AFTER {operation} ON {table} REFERENCING NEW TABLE AS changed FOR EACH STATEMENT"
        triggers[f"tiebreak_notify_{number}"] = (table, f"{when} EXECUTE FUNCTION {function}")
    run = "EXECUTE FUNCTION tiebreak_notify_run()"
    changed = "OLD.state IS DISTINCT FROM NEW.state OR OLD.claimed_by IS DISTINCT FROM NEW.claimed_by"
    triggers["tiebreak_notify_new"] = ("run", f"AFTER INSERT ON run FOR EACH ROW {run}")
    # not for the renewal of a claim
    triggers["tiebreak_notify_changed"] = ("run", f"AFTER UPDATE ON run FOR EACH ROW WHEN ({changed}) {run}")
    return triggers
