"""The tables of a new database, and the upgrade from those of version 0.1 and of later ones."""

import gzip
import sqlite3

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import UniqueConstraint, inspect, make_url, text

from core.designs import Design, Form
from core.errors import TiebreakError
from core.formats import tiebreak
from core.formats.records import ItemRecord
from storage.db import audit
from storage.db.audit import Action
from storage.db.connections import _upgrading, alembic_config, connect, newest_revision, reading, upgrade, writing
from storage.db.tables import Table
from storage.labels import designs, labels, targets, views
from storage.runs import call_totals, trace_opinions
from storage.studies import studies
from storage.studies.items import rank
from storage.transfer.imports import import_records
from tests.conftest import make_item, make_label, make_target
from tests.paths import ROOT
from tests.storage.labelling.workbench import Client
from tests.storage.shared import (
    debates,
    store_label,
)

VERSION_0_1 = ROOT / "tests" / "fixtures" / "version_0_1"
DESCENDING = "ix_trace_study_id_contention_item_id_run_id"
pytestmark = pytest.mark.slow  # each test migrates a database


@pytest.fixture
def fresh(empty_address):
    engine = connect(empty_address)
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


@pytest.fixture
def old(empty_address):
    """The database of version 0.1, not upgraded."""
    fill(empty_address)
    engine = connect(empty_address)
    yield engine
    engine.dispose()


@pytest.fixture(params=["new", "version 0.1"])
def either(request, empty_address):
    """A database without tables, and one of version 0.1."""
    if request.param == "version 0.1":
        fill(empty_address)
    engine = connect(empty_address)
    yield engine
    engine.dispose()


@pytest.mark.filterwarnings("ignore:autogenerate skipping metadata-specified expression-based index")
def test_a_new_and_an_upgraded_database_have_the_tables_of_the_models(either):
    upgrade(either)
    with either.connect() as connection:
        options = {"compare_type": True, "include_object": is_comparable}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, Table.metadata) == []


def is_comparable(_, name, *other) -> bool:
    """Return whether Alembic can compare something; on SQLite it cannot compare an index with descending columns."""
    return name != DESCENDING


def test_the_pages_of_the_most_disputed_traces_have_their_index(either):
    upgrade(either)
    table = {index["name"]: index["column_names"] for index in inspect(either).get_indexes("trace")}
    assert len(table[DESCENDING]) == 4


def test_the_newest_revision_is_the_last_one_of_alembic(fresh):
    with fresh.connect() as connection:
        assert newest_revision() == ScriptDirectory.from_config(alembic_config(connection)).get_current_head()


def test_upgrading_again_changes_nothing(fresh):
    upgrade(fresh)
    with writing(fresh) as session:
        studies.create(session, "s")
    upgrade(fresh)
    with reading(fresh) as session:
        assert studies.names(session) == ["s"]


def test_the_migrations_have_one_head(fresh):
    with fresh.connect() as connection:
        assert len(ScriptDirectory.from_config(alembic_config(connection)).get_heads()) == 1


def test_a_database_of_a_newer_version_is_refused_in_one_sentence(fresh):
    upgrade(fresh)
    with fresh.execution_options(writes=True).begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(TiebreakError, match="newer version of Tiebreak"):
        upgrade(fresh)


def test_recreating_a_table_deletes_no_referring_rows(engine, a_study):
    """SQLite drops the old table; with foreign keys on, labels would go with their study."""
    from alembic.operations import Operations

    from storage.db.connections import _upgrading

    with writing(engine) as session:
        store_label(session, a_study.id, make_target(), "ann", 1)
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


def as_of(engine, revision, *statements):
    """Make the tables those of an earlier revision, with statements that undo what came after it."""
    with _upgrading(engine) as connection:
        for statement in statements:
            connection.execute(text(statement))
        connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})


def test_no_row_of_version_0_1_is_lost(old):
    before = {RENAMED_TABLES.get(table, table): len(rows) for table, rows in read_tables(old).items()}
    assert before["label"] == 529 and before["adjudication"] == 8 and before["opinion_view"] == 11
    assert "Its copy" in upgrade(old) or old.dialect.name == "postgresql"
    after = read_tables(old)
    assert before.items() <= {table: len(rows) for table, rows in after.items()}.items()
    assert {len(row["secret"]) for row in after["study"]} == {32}
    assert len({row["secret"] for row in after["study"]}) == len(after["study"])


def test_the_guidelines_of_version_0_1_become_version_1(old):
    with old.execution_options(writes=True).begin() as connection:
        connection.execute(text("UPDATE study SET guidelines = 'Be fair.' WHERE name = 'Compatibility'"))
    upgrade(old)
    assert ("Be fair.", 1) in [(row["text"], row["version"]) for row in read_tables(old)["guidelines"]]


def test_rows_can_be_added_to_renamed_tables(old):
    """On PostgreSQL their sequences continue."""
    upgrade(old)
    with reading(old) as session:
        study = studies.get(session, "Compatibility")
        before = list(labels.adjudications(session, study.id))
    target = before[0].target
    with writing(old) as session:
        labels.adjudicate(session, study.id, target, 1, rule="expert", reason="better", adjudicator="dee")
        views.record(session, study.id, [target], "ann")
    with reading(old) as session:
        assert len(list(labels.adjudications(session, study.id))) == len(before) + 1


def test_keys_constraints_and_indexes_are_those_of_the_models(either):
    """Alembic compares neither names of keys nor, on SQLite, every constraint."""
    upgrade(either)
    either.dispose()  # on SQLite a PRAGMA of an earlier connection has what was there before
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


def is_unique(constraint):
    return isinstance(constraint, UniqueConstraint)


def test_what_follows_from_stored_rows_is_that_of_an_import(old, tmp_path):
    """Contention, outcomes of criteria, unreadable replies, and summaries of targets, traces and runs."""
    upgrade(old)
    with reading(old) as session:
        assert targets.summary_differences(session) == []
        assert trace_opinions.order_differences(session) == []
        assert call_totals.size_differences(session) == []
        study = studies.get(session, "Compatibility")
    new = connect(f"sqlite:///{tmp_path / 'new.db'}")
    upgrade(new)
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


NO_DESIGNS = (
    "DROP TABLE design",
    *(f"ALTER TABLE target DROP COLUMN {name}" for name in ("stratum", "probability", "drawn", "round")),
)


def migrated_designs(engine, *more):
    """Return (form, shares, drawn targets) of the designs that the upgrade from 0028 proves."""
    as_of(engine, "0028", *NO_DESIGNS, *more)
    upgrade(engine)
    with reading(engine) as session:
        study = studies.get(session, "s").id
        found, drawn = designs.current(session, study), designs.frame(session, study)
        return [
            (str(one.form), dict(one.shares), set(drawn[drawn["drawn"]]["item"])) for _, one in sorted(found.items())
        ]


def offered(engine, drawn, seed, names):
    """Store what an offer of an earlier version did."""
    with writing(engine) as session:
        study = studies.get(session, "s").id
        keys = [(name, "preference", "helpfulness", "") for name in names]
        targets.get_or_create_by_keys(session, study, keys)
        audit.record(
            session, Action.settings, study_id=study, change="pairs offered", criterion="helpfulness", drawn=drawn,
            added=drawn, seed=seed,
        )  # fmt: skip


def request(names):
    listed = ", ".join(f"'{name}'" for name in names)
    return f"UPDATE target SET overlap = 3 WHERE item_id IN (SELECT id FROM item WHERE key IN ({listed}))"


def ranked(names, seed):
    return sorted(names, key=lambda name: rank(seed, f"{name}:"))


def test_disputes_that_nobody_added_to_are_a_design(engine):
    debates(engine, 3)
    import_records(engine, "s", [ItemRecord(item=make_item("new"))])
    Client(engine).label(Client(engine).tasks()[0], 1)
    shares = {"disputed": 1, "agreed": 0, "unjudged": 0}
    assert migrated_designs(engine) == [("disputed", shares, {"item 0", "item 1", "item 2"})]


def test_labels_of_files_and_requests_without_an_offer_prove_no_design(engine):
    debates(engine, 3)
    import_records(engine, "s", [make_label(1, "bob")])
    assert migrated_designs(engine) == []
    debates(engine, 2, study="t")
    assert migrated_designs(engine, request(["item 1"])) == []


@pytest.mark.parametrize("with_disputes", [True, False])
def test_pairs_that_were_drawn_with_one_seed_are_a_design(engine, with_disputes):
    names = [f"item {number}" for number in range(10)]
    debates(engine, 2 if with_disputes else 0)
    import_records(engine, "s", [ItemRecord(item=make_item(name)) for name in names])
    first = ranked(names, 7)[:4]
    offered(engine, 4, 7, names)
    disputed = {"item 0", "item 1"} if with_disputes else set()
    shares = {"disputed": 1, "agreed": 0.4, "unjudged": 0.4} if with_disputes else {"": 0.4}
    form = "stratified" if with_disputes else "random"
    found = migrated_designs(engine, request(set(first) - disputed))
    assert found == [(form, shares, {*first, *disputed})]


@pytest.mark.parametrize("seeds", [(7, 8), (9,)])
def test_pairs_of_several_seeds_or_other_pairs_than_those_of_the_seed_are_no_design(engine, seeds):
    names = [f"item {number}" for number in range(10)]
    import_records(engine, "s", [ItemRecord(item=make_item(name)) for name in names])
    for seed in seeds:
        offered(engine, 4, seed, names)
    assert migrated_designs(engine, request(ranked(names, 7)[:4])) == []


def test_an_offer_of_every_pair_is_a_design_of_everything(engine):
    names = [f"item {number}" for number in range(4)]
    import_records(engine, "s", [ItemRecord(item=make_item(name)) for name in names])
    offered(engine, 4, 0, names)
    assert migrated_designs(engine, request(names)) == [("everything", {}, set(names))]


@pytest.mark.parametrize("of_file", [False, True])
def test_labels_that_are_known_to_precede_a_round_are_stored_with_it(engine, of_file):
    names = [f"item {number}" for number in range(3)]
    import_records(engine, "s", [ItemRecord(item=make_item(name)) for name in names])
    if of_file:
        import_records(engine, "s", [make_label(1, "ann", "item 1")])
    with writing(engine) as session:
        study = studies.get(session, "s").id
        if not of_file:
            store_label(session, study, make_target("item 1"), "ann", 1)
        designs.set_design(session, study, "helpfulness", Design(Form.everything))
        store_label(session, study, make_target("item 2"), "ann", 1)
    as_of(engine, "0029", "ALTER TABLE design DROP COLUMN before")
    upgrade(engine)
    with reading(engine) as session:
        (design,) = designs.rounds(session, study)["preference", "helpfulness"]
    assert design.before == (() if of_file else ("item 1:",))
