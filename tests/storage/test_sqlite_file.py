"""A SQLite file that is deleted or replaced while it is in use, or whose disk is full."""

import errno
import os
import resource
import sqlite3
import stat
import time
from contextlib import closing, contextmanager

import pytest
from sqlalchemy import text

from core.errors import TiebreakError
from storage.db import backup, connections, dialects, restore
from storage.db.errors import FULL, DatabaseUnavailable
from tests.databases import create_database


@pytest.mark.parametrize("mode", [connections.reading, connections.writing])
def test_a_commit_that_is_refused_leaves_no_transaction_open(mode, tmp_path):
    file, moved = tmp_path / "tiebreak.db", tmp_path / "moved.db"
    engine = connections.connect(f"sqlite:///{file}")
    connections.upgrade(engine)

    def move_in_transaction() -> None:
        with mode(engine) as session:
            session.execute(text("SELECT 1 FROM study"))
            file.rename(moved)

    with pytest.raises(DatabaseUnavailable, match="deleted or replaced"):
        move_in_transaction()
    moved.rename(file)
    with mode(engine) as session:
        assert session.scalar(text("SELECT count(*) FROM study")) == 0


@contextmanager
def no_growing_files():
    """Let no file of this process grow: SQLite reports the same I/O error as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_an_io_error_of_a_full_disk_says_that_it_is_full(tmp_path, monkeypatch):
    engine = connections.connect(create_database(tmp_path / "tiebreak.db"))
    with no_growing_files(), pytest.raises(TiebreakError, match="disk I/O error"):
        connections.upgrade(engine)
    monkeypatch.setattr(dialects, "NO_SPACE", (errno.EFBIG,))
    with no_growing_files():
        with pytest.raises(DatabaseUnavailable) as raised:
            connections.upgrade(engine)
        with pytest.raises(DatabaseUnavailable, match="is full"), engine.connect():
            pass
    assert str(raised.value) == FULL
    assert all(file.name.startswith("tiebreak.db") for file in tmp_path.iterdir()), "nothing else is left"
    connections.upgrade(engine)
    engine.dispose()


@pytest.fixture
def usual_umask():
    """Let others read new files, as most systems do."""
    former = os.umask(0o022)
    yield
    os.umask(former)


def test_a_database_its_log_its_backup_and_what_is_restored_from_it_can_be_read_by_the_owner_only(
    tmp_path, usual_umask
):
    engine = connections.connect(f"sqlite:///{tmp_path / 'tiebreak.db'}")
    connections.upgrade(engine)
    with connections.writing(engine) as session:
        session.execute(text("INSERT INTO annotator (name, created_at) VALUES ('ann', '2026-01-01')"))
    copy = backup.back_up_to_folder(engine, tmp_path)
    restore.restore(engine, copy)
    restored = connections.connect(f"sqlite:///{tmp_path / 'restored.db'}")
    restore.restore(restored, copy)
    with connections.reading(engine) as session:
        session.execute(text("SELECT 1 FROM study"))
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert {"tiebreak.db", "tiebreak.db-wal", "tiebreak.db-shm", copy.name, "restored.db"} <= modes.keys()
    assert set(modes.values()) == {0o600}, modes
    engine.dispose()
    restored.dispose()


def test_a_save_on_a_locked_file_waits_ten_seconds_before_its_sentence(tmp_path, monkeypatch):
    monkeypatch.delenv("TIEBREAK_LOCK_TIMEOUT", raising=False)
    assert dialects.lock_milliseconds() == 10_000
    monkeypatch.setenv("TIEBREAK_LOCK_TIMEOUT", "1")
    create_database(file := tmp_path / "tiebreak.db")
    engine = connections.connect(f"sqlite:///{file}")
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        begin = time.monotonic()
        with pytest.raises(DatabaseUnavailable, match="is busy"), connections.writing(engine):
            pass
    assert 1 <= time.monotonic() - begin < 5
    engine.dispose()
