import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from core.problems import Problem
from storage import labels, studies
from storage.database import configuration, connect, reading, upgrade, writing
from storage.tables import Table
from tests.conftest import a_target


@pytest.fixture
def fresh(empty_address):
    engine = connect(empty_address)
    yield engine
    engine.dispose()


def test_the_migrations_make_exactly_the_tables(fresh):
    upgrade(fresh)
    with fresh.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Table.metadata) == []


def test_upgrading_again_changes_nothing(fresh):
    upgrade(fresh)
    with writing(fresh) as session:
        studies.create(session, "s")
    upgrade(fresh)
    with reading(fresh) as session:
        assert studies.names(session) == ["s"]


def test_every_migration_can_be_undone_and_done_again(fresh):
    upgrade(fresh)
    with fresh.execution_options(writes=True).begin() as connection:
        command.downgrade(configuration(connection), "base")
    assert set(inspect(fresh).get_table_names()) <= {"alembic_version"}
    upgrade(fresh)
    assert inspect(fresh).has_table("study")


def test_there_is_one_line_of_migrations(fresh):
    with fresh.connect() as connection:
        assert len(ScriptDirectory.from_config(configuration(connection)).get_heads()) == 1


def test_a_database_of_a_newer_version_is_refused_in_one_sentence(fresh):
    upgrade(fresh)
    with fresh.execution_options(writes=True).begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(Problem, match="not of this version of Tiebreak"):
        upgrade(fresh)


def test_a_table_that_is_made_anew_takes_nothing_with_it(engine, a_study):
    """SQLite drops the old table; with foreign keys on, labels would go with their study."""
    from alembic.operations import Operations

    from storage.database import _upgrading

    with writing(engine) as session:
        labels.put(session, a_study.id, a_target(), "ann", 1)
    with _upgrading(engine) as connection:
        operations = Operations(MigrationContext.configure(connection))
        for default in ("0", None):
            with operations.batch_alter_table("study", recreate="auto") as batch:
                batch.alter_column("name", server_default=default)
    with reading(engine) as session:
        assert len(labels.history(session, a_study.id, a_target())) == 1
        if engine.dialect.name == "sqlite":
            assert session.execute(text("PRAGMA foreign_keys")).scalar() == 1
