"""A SQLite file that is deleted or replaced while it is in use."""

import pytest
from sqlalchemy import text

from storage import database
from storage.database_errors import DatabaseUnavailable


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
