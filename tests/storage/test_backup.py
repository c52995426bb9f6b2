"""Copies of the database: on request, and before a migration."""

import json
import logging
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Text, cast, select, text
from typer.testing import CliRunner

import cli
from core.errors import TiebreakError
from core.formats import tiebreak
from storage.accounts import access, logins, registry, tokens
from storage.db import backup, connections
from storage.db.backup import FOLDER_VARIABLE, back_up
from storage.db.columns import Json
from storage.db.connections import connect, newest_revision, reading, upgrade, writing
from storage.db.restore import copy_sqlite, restore
from storage.db.tables import AnnotatorRow, Table
from storage.studies import annotators, studies
from storage.transfer import imports, samples
from tests.accounts import PASSWORD, add_account, enter, fast_hashes
from tests.databases import create_database
from tests.sessions import read, write

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures(fast_hashes.__name__)]  # each test migrates a database

BEFORE, NEWEST = newest_revision(), "9000"
NEXT = f"""
from alembic import op
revision, down_revision, branch_labels, depends_on = "{NEWEST}", "{BEFORE}", None, None
def upgrade():
    op.execute("CREATE TABLE added (id INTEGER)")
"""


@pytest.fixture
def old_engine(own_address, request):
    """A database with the tables of this version and one study, and a later version."""
    engine = connect(own_address)
    with writing(engine) as session:
        studies.get_or_create(session, "s")
    request.getfixturevalue("next_version")
    yield engine
    engine.dispose()


@pytest.fixture
def next_version(tmp_path_factory, monkeypatch):
    """Add a migration to those of this version."""
    folder = tmp_path_factory.mktemp("next") / "migrations"
    shutil.copytree(connections.MIGRATIONS, folder)
    (folder / "versions" / f"{NEWEST}_next.py").write_text(NEXT)
    monkeypatch.setattr(connections, "MIGRATIONS", folder)


def downgrade(engine):
    engine.dispose()  # SQLite alters a table by the columns that the connection has read before
    with engine.execution_options(writes=True).begin() as connection:
        connection.execute(text("DROP TABLE added"))
        connection.execute(text("UPDATE alembic_version SET version_num = :before"), {"before": BEFORE})


def read_tables(path):
    """Return the revision of a SQLite file and the statements that create its tables and indexes."""
    with closing(sqlite3.connect(path)) as connection:
        (revision,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        return revision, set(connection.execute("SELECT name, sql FROM sqlite_master"))


ON_SQLITE = pytest.mark.parametrize("own_address", ["sqlite"], indirect=True)
ON_POSTGRESQL = pytest.mark.parametrize("own_address", ["postgresql"], indirect=True)


def require_pg_dump():
    if shutil.which("pg_dump") is None or shutil.which("pg_restore") is None:
        pytest.skip("pg_dump and pg_restore are not installed (Debian: apt install postgresql-client)")


def test_an_existing_file_is_never_overwritten(engine, tmp_path):
    file = tmp_path / "notes.db"
    file.write_text("notes")
    with pytest.raises(TiebreakError, match=r"notes\.db already exists"):
        back_up(engine, file)
    assert file.read_text() == "notes"


def test_a_backup_into_a_missing_folder_is_one_sentence(engine, tmp_path):
    with pytest.raises(TiebreakError, match=r"cannot be written|pg_dump"):
        back_up(engine, tmp_path / "missing" / "copy.db")
    assert list(tmp_path.glob("**/*.partial")) == []


def test_a_missing_pg_dump_is_one_sentence(postgres_engine, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TiebreakError, match="pg_dump is not installed"):
        back_up(postgres_engine, tmp_path / "copy")


def test_a_password_is_not_an_argument_of_pg_dump(tmp_path, monkeypatch):
    commands = []

    def run(command, *, env, **options):
        commands.append((command, env))
        Path(tmp_path / "copy.partial").write_bytes(b"")
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(backup.shutil, "which", lambda name: name)
    monkeypatch.setattr(backup.subprocess, "run", run)
    back_up(connect("postgresql://user:secret@127.0.0.1:1/tiebreak"), tmp_path / "copy")
    ((arguments, environment),) = commands
    assert "secret" not in " ".join(arguments)
    assert environment["PGPASSWORD"] == "secret"
    assert "--dbname=postgresql://user@127.0.0.1:1/tiebreak" in arguments


@ON_SQLITE
def test_a_database_with_data_is_copied_before_each_migration(old_engine, tmp_path):
    database, copy = tmp_path / "own.db", tmp_path / f"own.before-{NEWEST}.db"
    before = read_tables(database)
    assert before[0] == BEFORE
    upgrade(old_engine)
    after = read_tables(database)
    assert after[0] == NEWEST and after[1] != before[1]
    assert read_tables(copy) == before
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT name FROM study").fetchall() == [("s",)]
    upgrade(old_engine)
    assert [path.name for path in tmp_path.glob("*.before-*")] == [copy.name]
    downgrade(old_engine)
    upgrade(old_engine)
    assert {path.name for path in tmp_path.glob("*.before-*")} == {copy.name, f"own.before-{NEWEST}-2.db"}


def test_a_database_without_data_is_not_copied(own_address, request, tmp_path, caplog):
    engine = connect(own_address)
    request.getfixturevalue("next_version")
    upgrade(engine)
    engine.dispose()
    assert list(tmp_path.glob("*.before-*")) == []
    assert "without a copy" not in caplog.text


@ON_SQLITE
def test_a_sqlite_database_that_cannot_be_copied_is_not_migrated(old_engine, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(TiebreakError, match="cannot be written"):
        upgrade(old_engine)
    with old_engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one() == BEFORE


def test_copies_are_written_to_the_configured_folder(old_engine, tmp_path, monkeypatch):
    if old_engine.dialect.name == "postgresql":
        require_pg_dump()
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "backups"))
    upgrade(old_engine)
    (copy,) = (tmp_path / "backups").iterdir()
    start = b"SQLite format 3" if old_engine.dialect.name == "sqlite" else b"PGDMP"
    assert f".before-{NEWEST}." in copy.name and copy.read_bytes().startswith(start)


@ON_POSTGRESQL
def test_a_postgresql_database_without_a_folder_is_migrated_with_a_warning(old_engine, monkeypatch, caplog):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    with caplog.at_level(logging.WARNING):
        upgrade(old_engine)
    assert f"without a copy: {FOLDER_VARIABLE} is not set" in caplog.text
    assert read(old_engine, studies.names) == ["s"]


@ON_SQLITE
def test_a_backup_that_fails_leaves_no_journal(old_engine, tmp_path, monkeypatch):
    def fail(engine, file):
        file.write_text("half")
        file.with_name(f"{file.name}-journal").write_text("half")
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(backup, "_copy", fail)
    folder = tmp_path / "copies"
    folder.mkdir()
    with pytest.raises(TiebreakError, match="database or disk is full"):
        back_up(old_engine, folder / "bk.db")
    assert not list(folder.iterdir())


# Restoring a copy


@pytest.fixture
def opened(own_address):
    """A database with the study "s"."""
    engine = connect(own_address)
    if engine.dialect.name == "postgresql" and shutil.which("pg_restore") is None:
        pytest.skip("pg_restore is not installed (Debian: apt install postgresql-client)")
    write(engine, studies.get_or_create, "s")
    yield engine
    engine.dispose()


def test_a_restored_database_has_the_content_of_the_copy_and_the_former_one_is_copied(opened, tmp_path):
    copy = tmp_path / "copy"
    backup.back_up(opened, copy)
    assert copy.stat().st_mode & 0o777 == 0o600, "a copy is for its owner only"
    write(opened, studies.get_or_create, "later")
    previous = restore(opened, copy)
    assert read(opened, studies.names) == ["s"]
    assert restore(opened, previous) is not None
    assert read(opened, studies.names) == ["later", "s"]


def test_a_database_in_use_is_not_restored(opened, tmp_path):
    copy = tmp_path / "copy"
    backup.back_up(opened, copy)
    write(opened, studies.get_or_create, "later")
    other = connections.connect.__wrapped__(opened.url.render_as_string(hide_password=False))
    with reading(other) as session:
        assert studies.names(session) == ["later", "s"]
        with pytest.raises(TiebreakError, match="in use; stop the server"):
            restore(opened, copy)
    other.dispose()
    assert read(opened, studies.names) == ["later", "s"]


def test_a_file_that_is_no_copy_is_refused(opened, tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("notes")
    for file, sentence in ((text, "is not a copy"), (tmp_path / "missing", "cannot be read")):
        with pytest.raises(TiebreakError, match=sentence):
            restore(opened, file)
    assert read(opened, studies.names) == ["s"]


@ON_SQLITE
def test_a_damaged_copy_and_one_of_a_newer_version_are_refused(opened, tmp_path):
    newer, other, damaged = (tmp_path / f"{name}.db" for name in ("newer", "other", "damaged"))
    backup.back_up(opened, newer)
    with sqlite3.connect(newer) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    sqlite3.connect(other).execute("CREATE TABLE t (a)").connection.close()
    backup.back_up(opened, damaged)
    damaged.write_bytes(damaged.read_bytes()[:5000] + b"\xff" * 4000)
    for file, sentence in ((newer, "newer version"), (other, "cannot be restored"), (damaged, "restored|damaged")):
        with pytest.raises(TiebreakError, match=sentence):
            restore(opened, file)
    assert read(opened, studies.names) == ["s"]


def test_only_the_newest_copies_of_a_folder_remain(opened, tmp_path):
    folder = tmp_path / "copies"
    folder.mkdir()
    ending = "dump" if opened.dialect.name == "postgresql" else "db"
    others = [folder / f"tiebreak-2026010{day}-000000.{ending}" for day in range(1, 5)] + [folder / "tiebreak-mine.db"]
    for file in others:
        file.write_text("")
    newest = backup.back_up_to_folder(opened, folder, keep=2)
    assert set(folder.iterdir()) == {newest, others[3], others[4]}
    with pytest.raises(TiebreakError, match="There is no folder"):
        backup.back_up_to_folder(opened, tmp_path / "missing")


# Everything moves from SQLite to PostgreSQL: all tables, with accounts, sessions and the audit log


@pytest.fixture
def file(tmp_path):
    return tmp_path / "tiebreak.db"


@pytest.fixture
def source(file):
    """A database with a sample study, its labels and traces, and accounts with sessions, tokens and roles."""
    engine = connect(create_database(file))
    imports.import_records(engine, "s", tiebreak.read(samples.path()))
    add_account(engine, "ann")
    bob = add_account(engine, "bob")
    with writing(engine) as session:
        access.set_role(session, studies.get(session, "s").id, "bob", access.Role.annotator)
        session.execute(text("UPDATE item SET body = replace(body, 'a', 'a\\u0000')  WHERE id = 1"))
    engine.bob = bob
    yield engine
    engine.dispose()


@pytest.fixture
def target(postgres):
    engine = connect(postgres.url(postgres.create()))
    yield engine
    engine.dispose()
    postgres.drop(engine.url.database)


def rows(engine, table):
    """Return the rows of a table, with JSON as it is stored."""
    columns = [cast(one, Text) if isinstance(one.type, Json) else one for one in table.columns]
    with engine.connect() as connection:
        found = connection.execute(select(*columns))
        return sorted(repr([one.isoformat() if hasattr(one, "isoformat") else one for one in row]) for row in found)


def show(done, total):
    assert done <= total


def test_all_rows_accounts_sessions_and_ids_are_in_postgresql_and_the_file_is_as_it_was(file, source, target):
    cookie = enter(source, "bob")
    token = connections.write(source, lambda session: tokens.create_token(session, source.bob, "script"))
    invitation = connections.write(source, lambda session: tokens.invite(session, source.bob))
    before = {name: rows(source, table) for name, table in Table.metadata.tables.items()}
    source.dispose()
    counts = copy_sqlite(file, target, show)
    assert {one.table: one.source for one in counts} == {name: len(found) for name, found in before.items()}
    assert all(one.source == one.target for one in counts)
    for name, table in Table.metadata.tables.items():
        found = rows(target, table)
        if name == "audit":
            (added,) = set(found) - set(before[name])
            assert "database copied from SQLite" in added
            found.remove(added)
        different = 1 if name == "item" else 0  # its text has a character that PostgreSQL refuses
        assert len(set(found) ^ set(before[name])) == 2 * different, name
        assert rows(source, table) == before[name]
    with reading(target) as session:
        assert logins.identify(session, cookie).actor.name == "bob"
        assert tokens.identify(session, token).actor.name == "bob"
        assert tokens.account_of(session, invitation).name == "bob"
        assert registry.get(session, "ann").administrator
        largest = max(session.scalars(select(AnnotatorRow.id)))
    assert enter(target, "bob", PASSWORD)
    assert write(target, annotators.get_or_create_id, "new") == largest + 1
    source.dispose()
    with pytest.raises(TiebreakError, match="is not empty: its table annotator has"):
        copy_sqlite(file, target, show)


def test_a_copy_that_fails_stores_nothing(file, source, target, monkeypatch):
    source.dispose()
    monkeypatch.setattr("storage.db.restore._set_sequence", lambda session, table: 1 / (table.__tablename__ != "label"))
    with pytest.raises(ZeroDivisionError):
        copy_sqlite(file, target, show)
    monkeypatch.undo()
    assert copy_sqlite(file, target, show)


def test_a_file_in_use_another_database_and_another_target_are_refused(tmp_path, file, source, target):
    with reading(source), pytest.raises(TiebreakError, match="in use; stop the server"):
        copy_sqlite(file, target, show)
    with pytest.raises(TiebreakError, match="not PostgreSQL"):
        copy_sqlite(file, source, show)
    source.dispose()
    notes = tmp_path / "notes"
    notes.write_text("notes")
    with pytest.raises(TiebreakError, match="is not a copy of a SQLite database"):
        copy_sqlite(notes, target, show)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE t (a)")
    with pytest.raises(TiebreakError, match="not a database of Tiebreak"):
        copy_sqlite(tmp_path / "other.db", target, show)


def test_restore_names_the_command_that_copies_a_sqlite_database_and_the_command_prints_the_counts(
    tmp_path, source, target
):
    copy = tmp_path / "copy.db"
    backup.back_up(source, copy)
    with pytest.raises(TiebreakError, match=r"cli\.py server copy-database .*copy\.db"):
        restore(target, copy)
    url = target.url.render_as_string(hide_password=False)
    done = CliRunner().invoke(cli.app, ["server", "copy-database", str(copy), "--database", url])
    assert done.exit_code == 0 and done.stdout.endswith("all counts are equal.\n")
    again = CliRunner().invoke(cli.app, ["server", "copy-database", str(copy), "--database", url, "--json"])
    assert again.exit_code == 2 and "not empty" in again.stderr
    assert json.loads(CliRunner().invoke(cli.app, ["accounts", "list", "--json", "--database", url]).stdout)
    connect(url).dispose()
