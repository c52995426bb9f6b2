"""Many rows that PostgreSQL gets in one statement."""

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import DataError, IntegrityError

from storage.db.connections import insert_all, insert_missing, reading, writing
from storage.db.dialects import MIN_TOGETHER
from storage.db.errors import DatabaseUnavailable
from storage.db.tables import AnnotatorRow, now


@pytest.fixture
def postgresql(postgres_engine):
    """Return an engine of PostgreSQL whose table of annotators is empty."""
    yield postgres_engine
    with postgres_engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM annotator")


@pytest.mark.parametrize("insert", [insert_all, insert_missing])
def test_many_rows_are_inserted_in_one_statement(postgresql, insert):
    rows = [{"name": f"annotator {number}", "created_at": now()} for number in range(MIN_TOGETHER)]
    for pipelined in (False, True):  # in a pipeline rows cannot be copied
        with writing(postgresql, pipelined=pipelined) as session:
            insert(session, AnnotatorRow, rows)
            assert session.scalar(select(func.count()).select_from(AnnotatorRow)) == MIN_TOGETHER
            # The rows of one statement of the server have one command id.
            commands = session.scalar(text("SELECT count(DISTINCT cmin::text) FROM annotator"))
            session.rollback()
        assert commands == 1 or (pipelined and insert is insert_all)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"name": "annotator 0"}, IntegrityError),
        ({"name": None}, IntegrityError),
        ({"name": "a\x00b"}, DataError),
        ({"id": 2**40}, DataError),
    ],
)
def test_many_rows_with_an_invalid_one_raise_the_error_of_one_row(postgresql, changed, error):
    rows = [{"id": number, "name": f"annotator {number}", "created_at": now()} for number in range(2 * MIN_TOGETHER)]
    rows[-1] |= changed
    for inserted in (rows, [rows[0], rows[-1]]):
        with pytest.raises(error), writing(postgresql) as session:
            insert_all(session, AnnotatorRow, inserted)
    with writing(postgresql) as session:
        insert_all(session, AnnotatorRow, rows[:-1])
    with reading(postgresql) as session:
        assert session.scalar(select(func.count()).select_from(AnnotatorRow)) == len(rows) - 1


def test_a_connection_that_ends_while_rows_are_copied_is_a_sentence(postgresql):
    rows = [{"name": f"annotator {number}", "created_at": now()} for number in range(MIN_TOGETHER)]
    with pytest.raises(DatabaseUnavailable):
        insert_after_the_connection_ended(postgresql, rows)
    with writing(postgresql) as session:
        insert_all(session, AnnotatorRow, rows)


def insert_after_the_connection_ended(engine, rows):
    with writing(engine) as session:
        own = session.scalar(text("SELECT pg_backend_pid()"))
        with engine.connect() as other:
            other.execute(text("SELECT pg_terminate_backend(:own)"), {"own": own})
        insert_all(session, AnnotatorRow, rows)
