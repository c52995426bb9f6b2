"""The tables of a new database, and the upgrade from those of version 0.1 and of later ones."""

import gzip
import sqlite3

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import UniqueConstraint, inspect, make_url, text

from core.designs import Form
from core.errors import TiebreakError
from core.formats import tiebreak
from storage.db.connections import _upgrading, alembic_config, connect, newest_revision, reading, upgrade, writing
from storage.db.tables import Table
from storage.labels import designs, labels, targets, views
from storage.runs import trace_opinions
from storage.studies import studies
from storage.transfer.imports import import_records
from tests.conftest import make_target
from tests.databases import create_database
from tests.paths import ROOT
from tests.sessions import read, write
from tests.storage.shared import (
    store_label,
)

VERSION_0_1 = ROOT / "tests" / "fixtures" / "version_0_1"
pytestmark = [
    pytest.mark.slow,  # databases are migrated
    pytest.mark.filterwarnings("ignore:autogenerate skipping metadata-specified expression-based index"),
]


@pytest.fixture
def migrated(own_address):
    engine = connect(own_address)
    yield engine
    engine.dispose()


def fill(address):
    """Create the tables and rows of version 0.1."""
    url = make_url(address)
    if url.get_backend_name() == "sqlite":
        with sqlite3.connect(url.database) as connection:
            connection.executescript(gzip.decompress((VERSION_0_1 / "database.sql.gz").read_bytes()).decode())
        connection.close()
        return
    script = gzip.decompress((VERSION_0_1 / "database.postgresql.sql.gz").read_bytes()).decode()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(script)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def upgraded(request, tmp_path_factory):
    """The database of version 0.1 with guidelines, its rows before the upgrade, and the notes of the upgrade."""
    if request.param == "sqlite":
        address = f"sqlite:///{tmp_path_factory.mktemp('old') / 'old.db'}"
    else:
        server = request.getfixturevalue("postgres")
        address = server.url(server.create())
    fill(address)
    engine = connect(address)
    with engine.execution_options(writes=True).begin() as connection:
        connection.execute(text("UPDATE study SET guidelines = 'Be fair.' WHERE name = 'Compatibility'"))
    before = read_tables(engine)
    yield engine, before, upgrade(engine)
    engine.dispose()


@pytest.fixture
def old(upgraded):
    """The database of version 0.1, upgraded."""
    return upgraded[0]


def test_a_new_database_has_the_tables_of_the_models(migrated):
    assert_tables_are_those_of_the_models(migrated)


def test_an_upgraded_database_has_the_tables_of_the_models(old):
    assert_tables_are_those_of_the_models(old)


def assert_tables_are_those_of_the_models(either):
    with either.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Table.metadata) == []
    # Alembic compares neither names of keys nor, on SQLite, every constraint.
    inspector = inspect(either)
    for name, table in Table.metadata.tables.items():
        assert inspector.get_pk_constraint(name)["name"] == table.primary_key.name
        keys = {key["name"] for key in inspector.get_foreign_keys(name)}
        assert keys == {key.name for key in table.foreign_key_constraints}
        declared = {c.name: [column.name for column in c.columns] for c in table.constraints if is_unique(c)}
        unique = {
            constraint["name"]: constraint["column_names"] for constraint in inspector.get_unique_constraints(name)
        }
        assert unique == declared
        indexes = {index["name"] for index in inspector.get_indexes(name)} - declared.keys()
        assert indexes == {index.name for index in table.indexes}


def test_the_newest_revision_is_the_last_one_of_alembic(sqlite_engine):
    with sqlite_engine.connect() as connection:
        assert newest_revision() == ScriptDirectory.from_config(alembic_config(connection)).get_current_head()


def test_upgrading_again_changes_nothing(migrated):
    write(migrated, studies.get_or_create, "s")
    upgrade(migrated)
    assert read(migrated, studies.names) == ["s"]


def test_a_database_of_a_newer_version_is_refused_in_one_sentence(migrated):
    with migrated.execution_options(writes=True).begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(TiebreakError, match="newer version of Tiebreak"):
        upgrade(migrated)


def test_recreating_a_table_deletes_no_referring_rows(engine, a_study):
    """SQLite drops the old table; with foreign keys on, labels would go with their study."""
    from alembic.operations import Operations

    write(engine, store_label, a_study.id, make_target(), "ann", 1)
    with _upgrading(engine) as connection:
        operations = Operations(MigrationContext.configure(connection))
        for default in ("0", None):
            with operations.batch_alter_table("study", recreate="auto") as batch:
                batch.alter_column("name", server_default=default)
    with reading(engine) as session:
        assert len(labels.history(session, a_study.id, make_target())) == 1
        if engine.dialect.name == "sqlite":
            assert session.execute(text("PRAGMA foreign_keys")).scalar() == 1


RENAMED_TABLES = {"ruling": "adjudication", "seen": "opinion_view"}


def read_tables(engine):
    """Return table -> its rows as dictionaries, in the order of their columns."""
    inspector = inspect(engine)
    tables = {}
    with engine.connect() as connection:
        for table in set(inspector.get_table_names()) - {"alembic_version"}:
            rows = connection.execute(text(f'SELECT * FROM "{table}"')).mappings().all()
            tables[table] = sorted((dict(row) for row in rows), key=repr)
    return tables


def test_no_row_of_version_0_1_is_lost(upgraded):
    old, rows_before, notes = upgraded
    before = {RENAMED_TABLES.get(table, table): len(rows) for table, rows in rows_before.items()}
    assert before["label"] == 529 and before["adjudication"] == 8 and before["opinion_view"] == 11
    assert "Its copy" in notes or old.dialect.name == "postgresql"
    after = read_tables(old)
    assert before.items() <= {table: len(rows) for table, rows in after.items()}.items()
    assert {len(row["secret"]) for row in after["study"]} == {32}
    assert len({row["secret"] for row in after["study"]}) == len(after["study"])
    assert ("Be fair.", 1) in [(row["text"], row["version"]) for row in after["guidelines"]]


def is_unique(constraint):
    return isinstance(constraint, UniqueConstraint)


def test_what_follows_from_stored_rows_is_that_of_an_import(old, tmp_path):
    """Contention, outcomes of criteria, unreadable replies, and summaries of targets, traces and runs."""
    with reading(old) as session:
        assert targets.summary_differences(session) == []
        assert trace_opinions.order_differences(session) == []
        study = studies.get(session, "Compatibility")
    new = connect(create_database(tmp_path / "new.db"))
    file = tmp_path / "study.jsonl"
    file.write_bytes(gzip.decompress((VERSION_0_1 / "study.jsonl.gz").read_bytes()))
    import_records(new, "s", tiebreak.read(file))
    assert derived(old, study.id) == derived(new, 1)
    new.dispose()


def derived(engine, study_id):
    """Return the columns that follow from events, without ids."""
    columns = {
        "trace": ("outcome", "contention"),
        "opinion": ("judge", "stage", "outcome"),
        "unread_reply": ("ask", "seq", "judge", "step", "reason", "read_by"),
    }
    tables = read_tables(engine)
    return {
        name: sorted(repr([row[column] for column in of]) for row in tables[name] if row["study_id"] == study_id)
        for name, of in columns.items()
    }


def test_disputes_of_criteria_without_a_label_are_a_design(old):
    with reading(old) as session:
        study = studies.get(session, "Compatibility")
        ((subject, design),) = designs.current(session, study.id).items()
        drawn = designs.frame(session, study.id)
    assert (subject, design.form) == (("preference", "reasoning"), Form.disputed)
    assert design.shares == {"disputed": 1, "agreed": 0, "unjudged": 0}
    own = drawn[drawn["criterion"] == "reasoning"]
    assert set(own["stratum"]) >= {"agreed"} and (own["drawn"] == (own["stratum"] == "disputed")).all()


def test_rows_can_be_added_to_renamed_tables(old):
    """On PostgreSQL their sequences continue. It is the last test of this database, which it changes."""
    with reading(old) as session:
        study = studies.get(session, "Compatibility")
        before = list(labels.adjudications(session, study.id))
    target = before[0].target
    with writing(old) as session:
        labels.adjudicate(session, study.id, target, 1, rule="expert", reason="better", adjudicator="dee")
        views.record(session, study.id, [target], "ann")
    assert len(list(read(old, labels.adjudications, study.id))) == len(before) + 1
