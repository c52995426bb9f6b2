import importlib
import json
import os
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing

import psycopg
import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError, OperationalError

from core.errors import TiebreakError
from storage import db
from storage.db import backup, connections, dialects, errors, restore, tables
from storage.db.columns import sanitize, to_json, to_storable_json
from storage.db.connections import connect, insert_all, reading, upgrade, writing
from storage.db.errors import DatabaseUnavailable
from storage.db.tables import AnnotatorRow, LabelRow, now
from storage.labels import labels
from storage.studies import annotators, studies
from tests.conftest import make_item, make_target
from tests.databases import create_database
from tests.paths import ROOT
from tests.sessions import read, write
from tests.storage.shared import store_label
from tests.waiting import at_once


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


def test_a_file_that_is_not_a_database_and_a_folder_that_cannot_be_created_are_problems(tmp_path):
    path = tmp_path / "notes.db"
    path.write_text("Not a database. " * 200)
    with pytest.raises(TiebreakError, match="not a database"):
        upgrade(connect(f"sqlite:///{path}"))
    with pytest.raises(TiebreakError, match="cannot be created"):
        connect(f"sqlite:///{path}/sub/tiebreak.db")


def test_a_database_is_created_in_a_new_folder_and_uses_wal_and_foreign_keys(tmp_path):
    engine = connect(f"sqlite:///{tmp_path}/a/b/tiebreak.db")
    assert connections.is_empty(engine)
    upgrade(engine)
    assert not connections.is_empty(engine)
    with engine.connect() as connection:
        settings = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "foreign_keys")]
    assert settings == ["wal", 1]
    engine.dispose()


def test_an_exception_rolls_the_operation_back(engine):
    def create_two():
        with writing(engine) as session:
            studies.get_or_create(session, "s")
            studies.get_or_create(session, "")

    with pytest.raises(TiebreakError):
        create_two()
    assert read(engine, studies.names) == []


def test_a_reader_sees_one_state_from_its_first_query_to_its_last(engine):
    with reading(engine) as session:
        assert studies.names(session) == []
        write(engine, studies.get_or_create, "s")
        assert studies.names(session) == []
    assert read(engine, studies.names) == ["s"]


def test_on_postgresql_a_reader_cannot_write(postgres_engine):
    with reading(postgres_engine) as session, pytest.raises(DBAPIError, match="read-only"):
        session.execute(text("CREATE TABLE x (y int)"))


def test_concurrent_readers_and_writers_are_never_locked_out(engine, a_study):
    """SQLite refuses a transaction that reads first and writes later, unless it begins as a writer."""

    def work(annotator):
        for number in range(15):
            with writing(engine) as session:
                labels.current(session, a_study.id, make_target(), annotator)
                store_label(session, a_study.id, make_target(f"item {number % 3}"), annotator, 1)
            read(engine, labels.version, a_study.id)

    at_once(work, [f"annotator {number}" for number in range(8)])
    with reading(engine) as session:
        assert session.scalars(select(func.count()).select_from(LabelRow)).one() == 8 * 15


def test_concurrent_writers_create_an_annotator_and_a_target_once(engine, a_study):
    def work(number):
        write(engine, store_label, a_study.id, make_target(kind="answer"), f"annotator {number % 2}", "yes")

    at_once(work, range(6))
    with reading(engine) as session:
        assert session.scalars(select(func.count()).select_from(AnnotatorRow)).one() == 2
        assert len(labels.history(session, a_study.id, make_target(kind="answer"))) == 6


@pytest.mark.slow
def test_two_processes_can_upgrade_at_once(empty_address):
    program = "import sys; from storage.db import connections; connections.upgrade(connections.connect(sys.argv[1]))"
    processes = [subprocess.Popen([sys.executable, "-c", program, empty_address], cwd=ROOT) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]


def test_a_file_that_cannot_be_opened_is_described_by_what_can_be_done(tmp_path):
    with pytest.raises(sqlite3.OperationalError) as raised:
        sqlite3.connect(tmp_path)
    assert raised.value.sqlite_errorname == "SQLITE_CANTOPEN"
    sentence = errors.describe(OperationalError("select", {}, raised.value))
    assert sentence.startswith("The database file cannot be opened: it or its folder is missing")


# A SQLite file that is deleted or replaced while it is in use


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
    assert restore.restore(restored, copy) is None, "an empty database is restored without a copy of it"
    assert read(restored, annotators.names) == ["ann"]
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


@pytest.fixture
def postgresql(postgres_engine):
    """Return an engine of PostgreSQL whose table of annotators is empty."""
    yield postgres_engine
    with postgres_engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM annotator")


def test_a_connection_that_ends_while_rows_are_inserted_is_a_sentence(postgresql):
    rows = [{"name": f"annotator {number}", "created_at": now()} for number in range(60)]
    with pytest.raises(DatabaseUnavailable):
        insert_after_the_connection_ended(postgresql, rows)
    write(postgresql, insert_all, AnnotatorRow, rows)


def insert_after_the_connection_ended(engine, rows):
    with writing(engine) as session:
        own = session.scalar(text("SELECT pg_backend_pid()"))
        with engine.connect() as other:
            other.execute(text("SELECT pg_terminate_backend(:own)"), {"own": own})
        insert_all(session, AnnotatorRow, rows)


# The tables, and the JSON of their columns


def test_the_tables_can_be_imported_again_while_the_app_runs(monkeypatch):
    monkeypatch.delattr(db, "tables")
    monkeypatch.delitem(sys.modules, "storage.db.tables")
    reloaded = importlib.import_module("storage.db.tables")
    assert reloaded is not tables
    assert reloaded.Table.metadata.tables.keys() == tables.Table.metadata.tables.keys()


def test_every_constraint_has_a_name_and_keys_cascade_except_that_of_a_run_to_its_experiment():
    constraints = [c for table in tables.Table.metadata.tables.values() for c in table.constraints]
    assert all(constraint.name for constraint in constraints)
    keys = [key for table in tables.Table.metadata.tables.values() for key in table.foreign_keys]
    assert len(keys) > 20
    others = {str(key.parent): key.ondelete for key in keys if key.ondelete != "CASCADE"}
    assert others == {"run.experiment_id": "SET NULL"}


MARK = "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("value", [None, True, 1, 1.0, -0.0, 2**70, "日本 🙂\u2028", {"a": [1, {"b": None}]}, []])
def test_json_keeps_types_and_values(value):
    assert sanitize(value) is value
    assert to_storable_json(value) == to_json(value)
    assert repr(json.loads(to_json(value))) == repr(value)


def test_a_model_is_serialised_as_its_fields():
    assert json.loads(to_json(make_item())) == make_item().model_dump(mode="json")


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ({"a\x00": ["b\ud83d", {"c": "\x00"}], "d": 1}, {f"a{MARK}": [f"b{MARK}", {"c": MARK}], "d": 1}),
        ("\ud83d\ude42 \x00", f"🙂 {MARK}"),  # a whole surrogate pair is one character
        ("\\u0000", "\\u0000"),  # an escaped backslash is no NUL
    ],
)
def test_unstorable_text_is_replaced_at_every_depth(value, stored):
    assert sanitize(value) == stored
    assert json.loads(to_storable_json(value)) == stored


# The settings of the connections to PostgreSQL, and the sentences for operations that they end


@pytest.fixture
def connect_with(postgres, postgres_engine, monkeypatch):
    """Return an engine with settings, given as environment variables."""
    opened = []

    def connect_with(**settings):
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        opened.append(connect.__wrapped__(postgres_engine.url.render_as_string(hide_password=False)))
        return opened[-1]

    yield connect_with
    for engine in opened:
        engine.dispose()


def setting(engine, name):
    with reading(engine) as session:
        return session.scalar(text(f"SHOW {name}"))


def test_the_timeouts_and_the_pool_have_defaults_and_are_set_by_environment_variables(connect_with):
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    engine = connect_with()
    assert [setting(engine, name) for name in names] == ["2min", "10s", "5min"]
    assert engine.pool.size() == 10
    engine = connect_with(
        TIEBREAK_POOL_SIZE="3",
        TIEBREAK_STATEMENT_TIMEOUT="7",
        TIEBREAK_LOCK_TIMEOUT="0",
        TIEBREAK_IDLE_TRANSACTION_TIMEOUT="90",
    )
    assert [setting(engine, name) for name in names] == ["7s", "0", "90s"]
    assert engine.pool.size() == 3


def test_options_of_the_url_have_precedence(postgres, postgres_engine):
    url = postgres_engine.url.update_query_dict({"options": "-c statement_timeout=1234"})
    engine = connect.__wrapped__(url.render_as_string(hide_password=False))
    assert setting(engine, "statement_timeout") == "1234ms"
    engine.dispose()


@pytest.mark.parametrize("value", ["ten", "-1", "0", "1.5", "99999999999", "１"])
def test_a_setting_that_is_no_number_is_refused_in_one_sentence(monkeypatch, value):
    monkeypatch.setenv("TIEBREAK_POOL_SIZE", value)
    with pytest.raises(TiebreakError, match="TIEBREAK_POOL_SIZE should be a whole number of at least 1"):
        connect.__wrapped__("postgresql://tests@/none")


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("55P03", "is busy"),
        ("57014", "took too long"),
        ("25P03", "paused for too long"),
        ("53300", "no free connection"),
    ],
)
def test_an_operation_that_postgresql_ended_is_a_sentence(code, sentence):
    ended = psycopg.errors.lookup(code)("ended")
    assert sentence in str(errors.unavailable(OperationalError("select", {}, ended)))
