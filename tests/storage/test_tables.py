import importlib
import subprocess
import sys

from storage import db
from storage.db import tables
from tests.paths import ROOT


def test_the_tables_can_be_imported_again_while_the_app_runs(monkeypatch):
    monkeypatch.delattr(db, "tables")
    monkeypatch.delitem(sys.modules, "storage.db.tables")
    reloaded = importlib.import_module("storage.db.tables")
    assert reloaded is not tables
    assert reloaded.Table.metadata.tables.keys() == tables.Table.metadata.tables.keys()


def test_the_tables_can_be_reloaded_in_place():
    before = dict(vars(tables))
    try:
        importlib.reload(tables)
        assert before.keys() <= vars(tables).keys()
        assert tables.Table.metadata.tables.keys() == before["Table"].metadata.tables.keys()
    finally:
        vars(tables).update(before)


def test_every_foreign_key_cascades_except_that_of_a_run_to_its_experiment():
    keys = [key for table in tables.Table.metadata.tables.values() for key in table.foreign_keys]
    assert len(keys) > 20
    others = {str(key.parent): key.ondelete for key in keys if key.ondelete != "CASCADE"}
    assert others == {"run.experiment_id": "SET NULL"}


def test_every_constraint_has_a_name():
    constraints = [c for table in tables.Table.metadata.tables.values() for c in table.constraints]
    assert all(constraint.name for constraint in constraints)


def test_no_table_has_built_the_validator_that_it_does_not_use():
    script = (
        "from storage.db import tables\n"
        "tables.LabelRow(study_id=1, target_id=1, annotator_id=1, fingerprint='f')\n"
        "print([table.__name__ for table in tables.row_types().values() if table.__pydantic_complete__])"
    )  # in a process of its own: other tests may have validated a row
    printed = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert printed.stdout == "[]\n"
