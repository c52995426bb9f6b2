import json

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import UniqueConstraint, inspect, text

from core.aius import Add, Piece
from core.critiques import Aiu, Critique
from core.errors import TiebreakError
from core.formats.records import CriterionRecord, ItemRecord, ScaleRecord
from core.items import Criterion
from core.labels import PREFERENCE
from core.trace import TraceRestarted
from storage.db.connections import _upgrading, alembic_config, connect, newest_revision, reading, upgrade, writing
from storage.db.tables import Table
from storage.labelling import queue
from storage.labels import labels, targets, views
from storage.runs import aius, run_claims, runs
from storage.studies import annotators, studies
from storage.transfer import import_records
from tests.conftest import make_item, make_label, make_target
from tests.storage.labelling.workbench import Client, lease, stored
from tests.storage.shared import (
    RUN,
    RUN_WITHOUT_CRITERION,
    a_trace,
    a_turn,
    a_verdict,
    an_unreadable,
    combined_verdict,
    debates,
)

DESCENDING = "ix_trace_study_id_contention_item_id_run_id"
pytestmark = pytest.mark.slow  # each test migrates a database


@pytest.fixture
def fresh(empty_address):
    engine = connect(empty_address)
    yield engine
    engine.dispose()


@pytest.mark.filterwarnings("ignore:autogenerate skipping metadata-specified expression-based index")
def test_the_migrations_create_the_tables_of_the_models(fresh):
    upgrade(fresh)
    with fresh.connect() as connection:
        options = {"compare_type": True, "include_name": is_own_table, "include_object": is_comparable}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, Table.metadata) == []


def is_own_table(name, kind, _) -> bool:
    """Return whether something belongs to Tiebreak, not to the job queue."""
    return kind != "table" or not name.startswith("procrastinate_")


def is_comparable(_, name, *other) -> bool:
    """Return whether Alembic can compare something; on SQLite it cannot compare an index with descending columns."""
    return name != DESCENDING


def test_the_pages_of_the_most_disputed_traces_have_their_index(fresh):
    upgrade(fresh)
    table = {index["name"]: index["column_names"] for index in inspect(fresh).get_indexes("trace")}
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


def test_every_migration_can_be_reversed_and_applied_again(fresh):
    upgrade(fresh)
    with fresh.execution_options(writes=True).begin() as connection:
        command.downgrade(alembic_config(connection), "base")
    assert set(inspect(fresh).get_table_names()) <= {"alembic_version"}
    upgrade(fresh)
    assert inspect(fresh).has_table("study")


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
        labels.save(session, a_study.id, make_target(), "ann", 1)
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
RENAMED_COLUMNS = {
    "doubt": "uncertainty",
    "carried_by": "claimed_by",
    "carried_until": "claimed_until",
    "origin": "fingerprint",
}


def read_tables(engine):
    """Return table -> its rows as dictionaries, in the order of their columns."""
    inspector = inspect(engine)
    tables = {}
    with engine.connect() as connection:
        for table in set(inspector.get_table_names()) - {"alembic_version"}:
            rows = connection.execute(text(f'SELECT * FROM "{table}"')).mappings().all()
            tables[table] = sorted((dict(row) for row in rows), key=repr)
    return tables


def test_the_third_migration_keeps_every_row_and_can_be_reversed(engine, a_study):
    """Revision 0003 renames tables and columns: `ruling`, `seen`, `doubt` and others."""
    study_with_all_tables(engine, a_study)
    migrate(engine, command.downgrade, "0003")
    new = read_tables(engine)
    migrate(engine, command.downgrade, "0002")
    old = read_tables(engine)
    assert {"ruling", "seen"} <= old.keys() and {"adjudication", "opinion_view"} & old.keys() == set()
    assert {table for table, rows in old.items() if not rows} == set()
    renamed = {
        RENAMED_TABLES.get(table, table): [{RENAMED_COLUMNS.get(name, name): row[name] for name in row} for row in rows]
        for table, rows in old.items()
    }
    migrate(engine, command.upgrade, "0003")
    assert renamed == read_tables(engine) == new
    upgrade(engine)


def migrate(engine, direction, revision):
    """Upgrade or downgrade to a revision."""
    with _upgrading(engine) as connection:
        direction(alembic_config(connection), revision)


def test_the_fourth_migration_keeps_labels_and_makes_the_guidelines_version_1(engine, a_study):
    study_with_all_tables(engine, a_study)
    with writing(engine) as session:
        studies.update(session, a_study.id, description="", guidelines="Be fair.", rules=a_study.rules)
    migrate(engine, command.downgrade, "0003")
    before = read_tables(engine)
    upgrade(engine)
    after = read_tables(engine)
    assert {table: len(rows) for table, rows in before.items()}.items() <= {t: len(r) for t, r in after.items()}.items()
    assert [(bool(row["surplus"]), row["evidence"], row["guidelines"]) for row in after["label"]] == [
        (False, None, None)
    ]
    assert [(row["version"], row["text"]) for row in after["guidelines"]] == [(1, "Be fair.")]
    assert {len(row["secret"]) for row in after["study"]} == {32}


def study_with_all_tables(engine, study):
    """Add at least one row to every table."""
    critique = Critique(id="c", author="a", text="Short.", aius=(Aiu(id="c.1", text="Short."),))
    criterion = CriterionRecord(criterion=Criterion(name="helpfulness"))
    scale = ScaleRecord(kind="preference", criterion="helpfulness", scale=PREFERENCE)
    item = ItemRecord(item=make_item("criticised", critiques=(critique,)))
    import_records(engine, study.name, [criterion, scale, item, RUN, a_trace("item 0")])
    with writing(engine) as session:
        labels.save(session, study.id, make_target(), "ann", 1, reason="so", seconds=1.5)
        views.record(session, study.id, [make_target()], "ann")
        labels.adjudicate(session, study.id, make_target(), 0, rule="expert", reason="equal", adjudicator="dee")
        target_id = targets.get_or_create_id(session, study.id, make_target("item 1"))
        queue.save_draft(session, target_id, annotators.get_or_create_id(session, "ann"), {"value": 1})
        lease(session, study.id, make_target("item 1"), "ann")
        queue.set_mark(session, study.id, make_target("item 1"), "ann", "note", text="odd")
        aius.save_edit(session, study.id, "criticised", "ann", Add(critique="c", piece=Piece(text="New.")))
        run = runs.create(session, study.id, "live", protocol="scaleeval", criterion="", settings={}, prompts={})
        run_claims.claim_run(session, run, "worker")
        run_claims.claim_run(session, run, "worker")
        run_claims.claim_traces(session, run, "worker", 1)


def test_rows_can_be_added_after_the_third_migration(engine, a_study):
    """On PostgreSQL the sequences of renamed tables continue."""
    with writing(engine) as session:
        labels.adjudicate(session, a_study.id, make_target(), 0, rule="expert", reason="equal", adjudicator="dee")
    with engine.execution_options(writes=True).begin() as connection:
        command.downgrade(alembic_config(connection), "0002")
    upgrade(engine)
    with writing(engine) as session:
        labels.adjudicate(session, a_study.id, make_target(), 1, rule="expert", reason="better", adjudicator="dee")
        views.record(session, a_study.id, [make_target()], "ann")
    with reading(engine) as session:
        assert [adjudication.value for adjudication in labels.adjudications(session, a_study.id)] == [0, 1]


def test_keys_constraints_and_indexes_are_those_of_the_models(fresh):
    """Alembic compares neither names of keys nor, on SQLite, every constraint."""
    upgrade(fresh)
    inspector = inspect(fresh)
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


def test_the_fifth_migration_computes_contention_and_lists_unreadable_replies(engine, a_study):
    """Revision 0005 derives both from the stored events; the result is what new events are stored with."""
    unreadable = a_turn(1, reading=None, problem='no number in "hm 12"', reply="hm 12")
    records = [
        RUN,
        a_trace("item 0", a_turn(), unreadable, a_verdict()),
        a_trace("item 1", a_turn(), a_verdict(last=(1, 1, 2))),
        a_trace("item 2", unreadable, TraceRestarted(reason="new prompts"), a_turn(), a_verdict("agreed", (1, 1, 1))),
    ]
    import_records(engine, "s", records)
    stored = read_tables(engine)
    assert sorted(row["contention"] for row in stored["trace"]) == [0.0, 0.5, 1.0]
    (row,) = stored["unread_reply"]
    assert (row["judge"], row["step"], row["reason"], row["ask"], row["read_by"]) == (
        *("j1", "opinion", "no number in …", 1, ""),
    )
    migrate(engine, command.downgrade, "0004")
    assert "unread_reply" not in read_tables(engine)
    migrate(engine, command.upgrade, "head")
    migrated = read_tables(engine)
    for name in ("trace", "unread_reply"):
        assert [{**row, "id": 0} for row in migrated[name]] == [{**row, "id": 0} for row in stored[name]]


def test_the_outcomes_of_criteria_are_those_of_new_verdicts(engine):
    """Earlier verdicts have one outcome for all criteria; a criterion with a value is agreed if another has none."""
    verdict = combined_verdict(depth="disputed", tone="agreed", brevity="no_verdict")
    earlier = verdict.model_copy(update={"verdict": verdict.verdict.model_copy(update={"outcomes": {}})})
    records = [ItemRecord(item=make_item()), RUN_WITHOUT_CRITERION, a_trace("item 0", earlier)]
    import_records(engine, "s", records)
    stored = read_tables(engine)
    assert sorted(str(row["outcome"]) for row in stored["opinion"]) == ["None", "None", "agreed"]
    assert sorted(row["disputed"] for row in stored["target"]) == [False, True, True]
    migrate(engine, command.downgrade, "0018")
    before = read_tables(engine)
    assert "outcome" not in before["opinion"][0] and all(row["disputed"] for row in before["target"])
    migrate(engine, command.upgrade, "head")
    migrated = read_tables(engine)
    assert (migrated["opinion"], migrated["target"]) == (stored["opinion"], stored["target"])


def test_the_orders_shown_are_those_of_new_traces(engine, a_study):
    """Revision 0024 reads them from the turns."""
    forward, reverse = (a_turn(number, shown=shown) for number, shown in enumerate(((1, 2), (2, 1))))
    records = [
        RUN,
        a_trace("item 0", forward, reverse, a_verdict()),
        a_trace("item 1", a_turn(), a_verdict()),
        a_trace("item 2", reverse, TraceRestarted(reason="new prompts"), forward, a_verdict()),
    ]
    import_records(engine, "s", records)
    stored = read_tables(engine)["trace"]
    migrate(engine, command.downgrade, "0023")
    assert "shown_orders" not in read_tables(engine)["trace"][0]
    migrate(engine, command.upgrade, "head")
    assert read_tables(engine)["trace"] == stored
    assert {str(row["shown_orders"]).replace(" ", "") for row in stored} == {"[[1,2],[2,1]]", "[]", "[[1,2]]"}


def test_labels_of_the_workbench_were_given_in_the_order_of_the_item(engine):
    """Revision 0027 states it for labels with an entry of the undo stack; of imported ones the order is not known."""
    debates(engine, 2)
    client = Client(engine)
    labelled = client.tasks()[0]
    client.label(labelled, 2)
    import_records(engine, "s", [make_label(1, "bob"), make_label(1, "bob", "item 1")])
    migrate(engine, command.downgrade, "0026")
    assert "shown" not in read_tables(engine)["label"][0]
    migrate(engine, command.upgrade, "head")
    assert [(row.value, row.shown) for row in stored(engine)] == [(2, [1, 2]), (1, None), (1, None)]


def test_the_sums_over_calls_are_those_of_an_import(engine, a_study):
    """Revision 0026 adds them up for the runs that have ended."""
    import_records(engine, "s", [RUN, a_trace("item 0", a_turn(), a_turn(1, reused="r"), an_unreadable(), a_verdict())])
    stored = read_tables(engine)["run"]
    migrate(engine, command.downgrade, "0025")
    assert "call_totals" not in read_tables(engine)["run"][0]
    migrate(engine, command.upgrade, "head")
    migrated = read_tables(engine)["run"]
    assert [sums_of(row) for row in migrated] == [sums_of(row) for row in stored]
    assert sums_of(stored[0])["calls"] == 3


def sums_of(row) -> dict[str, float]:
    sums = row["call_totals"]
    return json.loads(sums) if isinstance(sums, str) else sums
