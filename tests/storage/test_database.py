import contextvars
import sqlite3
import subprocess
import sys
import threading
from datetime import UTC, datetime

import pytest
from sqlalchemy import delete, func, select, text
from sqlalchemy.exc import DBAPIError, OperationalError

from core.errors import TiebreakError
from storage.db import connections, errors, guards
from storage.db.connections import connect, insert_all, insert_missing, reading, upgrade, writing
from storage.db.fingerprints import label_row
from storage.db.guards import UncheckedChange
from storage.db.tables import AnnotatorRow, LabelRow
from storage.labels import labels
from storage.studies import studies
from tests.conftest import make_target
from tests.paths import ROOT
from tests.storage.shared import store_label


@pytest.fixture
def fresh(empty_address):
    engine = connect(empty_address)
    yield engine
    engine.dispose()


def test_the_url_is_passed_or_from_the_environment_or_the_default(monkeypatch):
    monkeypatch.setenv("TIEBREAK_DATABASE_URL", "sqlite:///environment.db")
    assert connections.database_url("sqlite:///passed.db") == "sqlite:///passed.db"
    assert connections.database_url() == "sqlite:///environment.db"
    monkeypatch.delenv("TIEBREAK_DATABASE_URL")
    assert connections.database_url() == "sqlite:///tiebreak.db"


@pytest.mark.parametrize(
    ("address", "sentence"),
    [("nonsense", "cannot be read"), ("mysql://u@h/d", "SQLite or PostgreSQL, not in 'mysql'"), ("", "cannot be read")],
)
def test_an_invalid_url_is_refused_in_one_sentence(address, sentence):
    with pytest.raises(TiebreakError, match=sentence):
        connect(address)


def test_a_connection_error_does_not_contain_the_password(monkeypatch):
    with pytest.raises(TiebreakError, match="cannot be opened") as caught:
        upgrade(connect("postgresql://user:secret@127.0.0.1:1/tiebreak"))
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_a_database_is_a_problem(tmp_path):
    path = tmp_path / "notes.db"
    path.write_text("Not a database. " * 200)
    with pytest.raises(TiebreakError, match="not a database"):
        upgrade(connect(f"sqlite:///{path}"))


def test_a_folder_that_cannot_be_created_is_a_problem(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TiebreakError, match="cannot be created"):
        connect(f"sqlite:///{tmp_path}/file/sub/tiebreak.db")


def test_a_database_is_created_in_a_new_folder(tmp_path):
    engine = connect(f"sqlite:///{tmp_path}/a/b/tiebreak.db")
    assert connections.is_empty(engine)
    upgrade(engine)
    assert not connections.is_empty(engine)
    engine.dispose()


def test_an_exception_rolls_the_operation_back(engine):
    def create_twice():
        with writing(engine) as session:
            studies.create(session, "s")
            studies.create(session, "s")

    with pytest.raises(TiebreakError):
        create_twice()
    with reading(engine) as session:
        assert studies.names(session) == []


def test_a_reader_sees_one_state_from_its_first_query_to_its_last(engine):
    with reading(engine) as session:
        assert studies.names(session) == []
        with writing(engine) as other:
            studies.create(other, "s")
        assert studies.names(session) == []
    with reading(engine) as session:
        assert studies.names(session) == ["s"]


def test_on_postgresql_a_reader_cannot_write(fresh):
    if fresh.dialect.name == "sqlite":
        pytest.skip("SQLite has no such transactions")
    with reading(fresh) as session, pytest.raises(DBAPIError, match="read-only"):
        session.execute(text("CREATE TABLE x (y int)"))


def test_concurrent_readers_and_writers_are_never_locked_out(engine, a_study):
    """SQLite refuses a transaction that reads first and writes later, unless it begins as a writer."""
    errors = []

    def work(annotator):
        try:
            for number in range(15):
                with writing(engine) as session:
                    labels.current(session, a_study.id, make_target(), annotator)
                    store_label(session, a_study.id, make_target(f"item {number % 3}"), annotator, 1)
                with reading(engine) as session:
                    labels.version(session, a_study.id)
        except DBAPIError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(f"annotator {number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with reading(engine) as session:
        assert session.scalars(select(func.count()).select_from(LabelRow)).one() == 8 * 15


def test_concurrent_writers_create_an_annotator_and_a_target_once(engine, a_study):
    start = threading.Barrier(6)
    errors = []

    def work(number):
        start.wait()
        try:
            with writing(engine) as session:
                store_label(session, a_study.id, make_target(kind="answer"), f"annotator {number % 2}", "yes")
        except DBAPIError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with reading(engine) as session:
        assert session.scalars(select(func.count()).select_from(AnnotatorRow)).one() == 2
        assert len(labels.history(session, a_study.id, make_target(kind="answer"))) == 6


def test_sqlite_uses_wal_and_foreign_keys(tmp_path):
    engine = connect(f"sqlite:///{tmp_path}/tiebreak.db")
    with engine.connect() as connection:
        settings = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "foreign_keys")]
    assert settings == ["wal", 1]
    engine.dispose()


@pytest.mark.slow
def test_two_processes_can_upgrade_at_once(empty_address):
    program = "import sys; from storage.db import connections; connections.upgrade(connections.connect(sys.argv[1]))"
    processes = [subprocess.Popen([sys.executable, "-c", program, empty_address], cwd=ROOT) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]


def test_many_rows_are_stored_as_few_are_and_need_the_same_permission(engine, a_study):
    values = [1, 1.0, -0.0, True, None, "a \u00e9", {"a": 0.5}]
    at = datetime(2026, 11, 20, 12, tzinfo=UTC)
    with writing(engine) as session:
        label = store_label(session, a_study.id, make_target(kind="answer"), "ann", "x")
        ids = session.execute(select(LabelRow.target_id, LabelRow.annotator_id)).one()
    row = label_row(label, a_study.id, *ids) | {"at": at, "evidence": [{"start": 1}]}
    rows = [row | {"value": value, "reason": str(n), "fingerprint": f"{n}"} for n, value in enumerate(values * 40)]
    with writing(engine) as session:
        session.execute(delete(LabelRow))
        for one in rows:
            insert_all(session, LabelRow, [one])
        columns = select(*(column for column in LabelRow.__table__.c if column.name != "id")).order_by(LabelRow.id)
        one_by_one = [tuple(map(repr, stored)) for stored in session.execute(columns)]
        session.execute(delete(LabelRow))
        insert_all(session, LabelRow, rows)
        insert_missing(session, LabelRow, rows)
        assert [tuple(map(repr, stored)) for stored in session.execute(columns)] == one_by_one
    enforced = contextvars.copy_context()
    enforced.run(guards.enforce)
    with writing(engine) as session, pytest.raises(UncheckedChange):
        enforced.run(insert_missing, session, LabelRow, rows)


def test_a_file_that_cannot_be_opened_is_described_by_what_can_be_done(tmp_path):
    with pytest.raises(sqlite3.OperationalError) as raised:
        sqlite3.connect(tmp_path)
    assert raised.value.sqlite_errorname == "SQLITE_CANTOPEN"
    sentence = errors.describe(OperationalError("select", {}, raised.value))
    assert sentence.startswith("The database file cannot be opened: it or its folder is missing")
