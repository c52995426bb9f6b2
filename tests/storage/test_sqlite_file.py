"""A SQLite file that is deleted or replaced while it is in use, or whose disk is full."""

import errno
import resource
from contextlib import contextmanager

import pytest
from sqlalchemy import text

from core.errors import TiebreakError
from storage import database, sqlite_file
from storage.database_errors import FULL, DatabaseUnavailable
from tests.databases import create_database


@pytest.mark.parametrize("mode", [database.reading, database.writing])
def test_a_commit_that_is_refused_leaves_no_transaction_open(mode, tmp_path):
    file, moved = tmp_path / "tiebreak.db", tmp_path / "moved.db"
    engine = database.connect(f"sqlite:///{file}")
    database.upgrade(engine)

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
    engine = database.connect(create_database(tmp_path / "tiebreak.db"))
    with no_growing_files(), pytest.raises(TiebreakError, match="disk I/O error"):
        database.upgrade(engine)
    monkeypatch.setattr(sqlite_file, "NO_SPACE", (errno.EFBIG,))
    with no_growing_files():
        with pytest.raises(DatabaseUnavailable) as raised:
            database.upgrade(engine)
        with pytest.raises(DatabaseUnavailable, match="is full"), engine.connect():
            pass
    assert str(raised.value) == FULL
    assert all(file.name.startswith("tiebreak.db") for file in tmp_path.iterdir()), "nothing else is left"
    database.upgrade(engine)
    engine.dispose()
