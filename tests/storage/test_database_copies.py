"""Everything moves from SQLite to PostgreSQL: all tables, with accounts, sessions and the audit log."""

import json
import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import Text, cast, select, text
from typer.testing import CliRunner

import cli
from core.errors import TiebreakError
from core.formats import tiebreak
from storage.accounts import access, logins, registry, tokens
from storage.db import backup, connections, restore
from storage.db.columns import Json
from storage.db.connections import connect, reading, writing
from storage.db.restore import copy_sqlite
from storage.db.tables import AnnotatorRow, Table
from storage.studies import annotators, studies
from storage.transfer import imports, samples
from tests.accounts import PASSWORD, add_account, enter, fast_hashes
from tests.databases import create_database
from tests.sessions import write

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures(fast_hashes.__name__)]


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
        restore.restore(target, copy)
    url = target.url.render_as_string(hide_password=False)
    done = CliRunner().invoke(cli.app, ["server", "copy-database", str(copy), "--database", url])
    assert done.exit_code == 0 and done.stdout.endswith("all counts are equal.\n")
    again = CliRunner().invoke(cli.app, ["server", "copy-database", str(copy), "--database", url, "--json"])
    assert again.exit_code == 2 and "not empty" in again.stderr
    assert json.loads(CliRunner().invoke(cli.app, ["accounts", "list", "--json", "--database", url]).stdout)
    connect(url).dispose()
