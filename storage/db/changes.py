"""Changes of the database that pages look for, without reading what they show again and again.

On PostgreSQL, triggers notify the channel CHANNEL when a transaction is committed: a notification
names a topic, such as "study 3", "run 12" or "trace 345". Each process listens on one connection of its own. On SQLite
there are no notifications: a version is the number of commits that SQLite counts for the whole file, so a caller that
compares versions reads the database again after any commit.
"""

import itertools
import logging
import sqlite3
import threading
import time
from collections import Counter
from pathlib import Path

from sqlalchemy import Engine

CHANNEL = "tiebreak"
# Seconds after which a version changes anyway: a claim can expire, and a notification can be lost.
MAX_AGE = 10.0
# The first and the longest wait between two attempts to connect.
RECONNECT_SECONDS = (0.1, 5.0)
# Interval at which a listener looks whether it should stop.
LISTEN_SECONDS = 1.0
log = logging.getLogger("tiebreak")
Version = tuple[object, ...]
_unique = itertools.count()


def version(engine: Engine, *topics: str) -> Version:
    """Return a value that differs from an earlier one if any of the topics may have changed since then."""
    if engine.dialect.name != "postgresql":
        return _commits(engine)
    with _starting:
        listener = _listeners.get(engine) or _listeners.setdefault(engine, _Listener(engine))
    return listener.version(topics)


def _commits(engine: Engine) -> Version:
    """Return a value that differs after a commit of another connection; always a new one for a database in memory.

    SQLite counts commits for each connection that did not make them, so one connection is only read from.
    """
    path = engine.url.database
    if path in (None, "", ":memory:"):
        return (next(_unique),)
    with _starting:
        try:
            if engine not in _watchers:  # a deleted file is not created again
                address = f"{Path(str(path)).absolute().as_uri()}?mode=rw"
                _watchers[engine] = sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)
            (commits,) = _watchers[engine].execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            if engine in _watchers:
                _watchers.pop(engine).close()
            return (next(_unique),)
    return commits, time.monotonic() // MAX_AGE  # the file may have been replaced


def stop(engine: Engine) -> None:
    """End the listening connection of an engine, if there is one; before its database is dropped, for instance."""
    with _starting:
        if engine in _listeners:
            _listeners.pop(engine).stop()
        if engine in _watchers:
            _watchers.pop(engine).close()


_listeners: dict[Engine, "_Listener"] = {}
_watchers: dict[Engine, sqlite3.Connection] = {}
_starting = threading.Lock()


class _Listener:
    """One connection that listens, in a thread; it connects again after a restart of the database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._counts: Counter[str] = Counter()
        self._connections = 0
        """Rises with every new connection: notifications between two connections are lost."""
        self._listening = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="database notifications", daemon=True)
        self._thread.start()

    def version(self, topics: tuple[str, ...]) -> Version:
        if not self._listening:
            return (next(_unique),)
        return (self._connections, *(self._counts[topic] for topic in topics), time.monotonic() // MAX_AGE)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(2 * LISTEN_SECONDS)

    def _run(self) -> None:
        import psycopg

        shortest, longest = RECONNECT_SECONDS
        pause = shortest
        while not self._stopping.is_set():
            try:
                # psycopg does not know SQLAlchemy's name of the driver.
                address = self._engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
                with psycopg.connect(address, autocommit=True, keepalives_idle=30) as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    self._connections += 1
                    self._listening = True
                    pause = shortest
                    while not self._stopping.is_set():
                        for notification in connection.notifies(timeout=LISTEN_SECONDS):
                            self._counts[notification.payload] += 1
            except psycopg.Error as error:
                if self._listening:
                    reason = str(error).partition("\n")[0]
                    log.warning("The connection for notifications ended; connecting again: %s.", reason)
            self._listening = False
            self._stopping.wait(pause)
            pause = min(2 * pause, longest)
